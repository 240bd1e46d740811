internal import CKernels

/// Brings a stream from one sample rate to another whose ratio is one of small whole numbers, as 160 : 147 is that of 48 kHz
/// and 44.1: with taps for the places between input frames that occur, and no others.
///
/// Output frame *n* is the input at *n* × `down` / `up`. How the blocks are cut changes nothing, bit for bit. It works on some
/// thousand frames at once, and gives none out before those are there: for files, not for the render thread.
package struct RatioResampler: ~Copyable, Sendable {
    private let table: RatioTable
    private let channelCount: Int
    /// A sixteenth of the frames that are computed at once, and of their input.
    private let rows: Int
    private let advance: Int
    private let columns: Int
    private let scratch: AlignedMemory<Float>
    /// The input that comes next.
    private var line: AudioBlock
    /// Indicates whether the first channel of the line has pairs of 16-bit integers in the place of samples.
    private var isPairs = false
    private var filled = 0
    /// The output that was computed last; the frames from `first` on have not been given out.
    private var made: AudioBlock
    private var first = 0

    /// Creates a resampler at the start of a stream.
    ///
    /// - Parameters:
    ///   - up: The number of output frames for `down` input frames.
    ///   - down: The number of input frames, without a common divisor with `up`.
    ///   - channels: 1…64.
    /// - Returns: `nil` if the ratio has too many places, or goes down so far that there are faster ways.
    package init?(up: Int, down: Int, channels: Int) {
        guard up >= 1 && down >= 1 && up <= 640 && 10 * down <= 11 * up else { return nil }
        table = RatioTable.table(up: up, down: down)
        channelCount = channels
        // A multiple of eight, which the kernel wants, and of `up`, so that each part begins with the first row.
        var rows = up
        while rows % 8 != 0 { rows *= 2 }
        rows *= (127 + rows) / rows
        (self.rows, advance) = (rows, rows / up * down)
        columns = advance + 2 * table.halfLength + 16
        scratch = AlignedMemory(count: 16 * (columns + rows) * min(channels, 2))
        line = AudioBlock(channels: channels, frames: 15 * advance + columns)
        made = AudioBlock(channels: channels, frames: 16 * rows)
        reset()
    }

    /// Forgets the stream: the next frame is the first of another.
    package mutating func reset() {
        filled = table.halfLength - 1
        first = made.frameCount
        line.silence(from: 0, frames: filled)
    }

    /// Takes frames in and gives frames out, as many as there are and have room. Input is left over only where the output
    /// is full, whose channels have the room from `start` on.
    ///
    /// - Parameter isPairs: `true` if each sample of the input's one channel is a pair of 16-bit integers, for two channels. It
    ///   is the same for all of a stream.
    package mutating func convert(
        _ input: borrowing AudioBlock, isPairs: Bool = false, from offset: Int, frames: Int,
        into output: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at start: Int, room: Int
    ) -> (consumed: Int, produced: Int) {
        self.isPairs = isPairs
        var (consumed, produced) = (0, 0)
        while true {
            produced += unsafe give(room - produced, into: output, at: start + produced)
            if first < made.frameCount { return (consumed, produced) }
            let count = min(frames - consumed, line.frameCount - filled)
            if isPairs {
                unsafe Kernel.copy(input.pointers[0] + offset + consumed, to: line.pointers[0] + filled, count)
            } else {
                line.copy(from: input, sourceOffset: offset + consumed, to: filled, frames: count)
            }
            filled += count
            consumed += count
            if filled < line.frameCount { return (consumed, produced) }
            if room - produced < made.frameCount {
                compute()
            } else {
                unsafe compute(into: output, at: start + produced)
                produced += made.frameCount
            }
        }
    }

    /// Gives frames out as if silence came in.
    package mutating func finish(
        into output: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at start: Int, room: Int
    ) {
        var produced = unsafe give(room, into: output, at: start)
        while produced < room {
            line.silence(from: filled, frames: line.frameCount - filled)
            compute()
            produced += unsafe give(room - produced, into: output, at: start + produced)
        }
    }

    private mutating func give(
        _ most: Int, into output: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at start: Int
    ) -> Int {
        let count = min(most, made.frameCount - first)
        for channel in 0..<channelCount {
            unsafe Kernel.copy(made.pointers[channel] + first, to: output[channel] + start, count)
        }
        first += count
        return count
    }

    /// Computes the next frames, to be given out.
    private mutating func compute() {
        unsafe compute(into: made.pointers, at: 0)
        first = 0
    }

    /// Computes the next frames from a line that is full, and moves the frames that are still needed to its start.
    private mutating func compute(into target: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at place: Int) {
        let taps = 2 * table.halfLength
        var ratio = unsafe kernel_ratio(
            table: table.coefficients.base + 16, taps: taps, stride: table.stride, up: table.up, down: table.down,
            rows: rows, advance: advance, columns: columns, pairs: table.pairs.base, pairCount: table.pairCount,
            extra: table.extra)
        if isPairs {
            let pairs = unsafe UnsafeRawPointer(line.pointers[0]).assumingMemoryBound(to: Int16.self)
            unsafe kernel_resample_fixed_int16_pairs(
                &ratio, pairs, scratch.base, target[0] + place, target[1] + place)
        } else {
            unsafe weigh(&ratio, into: target, at: place)
        }
        filled = line.frameCount - 16 * advance
        for channel in 0..<channelCount {
            let samples = unsafe line.pointers[channel]
            unsafe samples.update(from: samples + 16 * advance, count: filled)
        }
    }

    /// Computes the next frames of all channels from samples, two channels at once.
    private func weigh(
        _ ratio: inout kernel_ratio, into target: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at place: Int
    ) {
        var channel = 0
        while channel < channelCount {
            let samples = unsafe line.pointers[channel]
            let output = unsafe target[channel] + place
            if channel + 1 < channelCount {
                unsafe kernel_resample_fixed_pair(
                    &ratio, samples, line.pointers[channel + 1], scratch.base, output, target[channel + 1] + place)
            } else {
                unsafe kernel_resample_fixed(&ratio, samples, scratch.base, output)
            }
            channel += 2
        }
    }
}
