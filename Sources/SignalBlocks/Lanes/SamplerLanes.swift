internal import CKernels

/// The frames of a sample, as the render thread reads them. Its owner keeps them for as long as a voice may.
@safe package struct SampleFrames: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because the pointers lead to memory that is never written while it can be read, or to a ring whose frames
    // are read only after the count of them was.
    var source: kernel_sampler_source

    /// No frames.
    @_noLocks @_noAllocation
    package init() {
        unsafe source = kernel_sampler_source(
            words: nil, low: nil, floats: nil, ring: nil, mask: 0, resident: 0, written: 0, end: 0, loopStart: 0,
            loopEnd: 0)
    }

    /// Frames as 16-bit numbers, with eight more bits each if there are any.
    @_noLocks @_noAllocation
    package init(words: UnsafePointer<Int16>, low: UnsafePointer<UInt8>?, count: Int) {
        self.init()
        unsafe (source.words, source.low, source.end) = (words, low, Int64(count))
    }

    /// Frames as floating-point numbers.
    @_noLocks @_noAllocation
    package init(floats: UnsafePointer<Float>, count: Int) {
        self.init()
        unsafe (source.floats, source.end) = (floats, Int64(count))
    }

    /// The number of frames.
    package var count: Int { @_noLocks @_noAllocation get { unsafe Int(source.end) } }

    /// Takes the frames from one on out of a ring, up to those that were written.
    @_noLocks @_noAllocation
    package mutating func read(ring: UnsafePointer<Int16>, mask: Int, from resident: Int, upTo written: Int64) {
        unsafe (source.ring, source.mask, source.resident) = (ring, Int64(mask), Int64(resident))
        unsafe source.written = written
    }

    /// Leaves out frames at the beginning and behind an end, and sets the loop, in frames of what remains.
    @_noLocks @_noAllocation
    package mutating func cut(from first: Int, to end: Int, loopStart: Int, loopEnd: Int) {
        unsafe source.words = source.words.map { unsafe $0 + first }
        unsafe source.low = source.low.map { unsafe $0 + first }
        unsafe source.floats = source.floats.map { unsafe $0 + first }
        unsafe source.resident = max(0, source.resident &- Int64(first))
        unsafe (source.end, source.loopStart, source.loopEnd) = (
            Int64(end &- first), Int64(loopStart &- first), Int64(loopEnd &- first)
        )
    }
}

/// The place of a voice in its sample.
@safe package struct SamplePlace: BitwiseCopyable, Sendable {
    var place = kernel_sampler_place(position: 0, step: 1 << 32, loops: 0, hasLooped: 0, missing: 0)

    /// The beginning.
    @_noLocks @_noAllocation
    package init() {}

    /// Frames of the sample for each frame, 0 < step ≤ 64, in units of 2⁻³².
    package var step: Int64 {
        @_noLocks @_noAllocation get { place.step }
        @_noLocks @_noAllocation set {
            let fastest = Int64(kernel_sampler_fastest) &<< 32
            place.step = newValue < 1 ? 1 : newValue > fastest ? fastest : newValue
        }
    }
    /// The frame of the sample that is next.
    package var frame: Int64 { @_noLocks @_noAllocation get { place.position &>> 32 } }
    /// Indicates whether the voice goes from the loop's end to its start.
    package var loops: Bool {
        @_noLocks @_noAllocation get { place.loops != 0 }
        @_noLocks @_noAllocation set { place.loops = newValue ? 1 : 0 }
    }
    /// The number of frames that had not come from the disk in time.
    package var missing: Int64 { @_noLocks @_noAllocation get { place.missing } }
}

/// The arithmetic of a sampler's voices: each reads its sample between the frames, then eight at a time go through a low-pass
/// filter and into two or four sums, with gains that move in straight lines.
@safe package struct SamplerLanes: ~Copyable, Sendable {
    /// The number of voices, a multiple of eight.
    package let count: Int
    private let groups: AlignedMemory<kernel_sampler>
    private let window: AlignedMemory<Float>
    private let samples: AlignedMemory<Float>
    private let sums: AlignedMemory<Float>
    /// Rows of taps for sixteen neighbours; empty for four.
    private let taps: RenderMemory<Float>

    /// Voices that are computed together.
    package static var width: Int { @_noLocks @_noAllocation get { kernel_sampler_lanes } }
    /// The most frames of one call.
    package static var frames: Int { @_noLocks @_noAllocation get { kernel_sampler_frames } }

    /// Silent voices.
    ///
    /// - Parameters:
    ///   - count: Their number; it is rounded up to a multiple of eight.
    ///   - isFine: `true` for sixteen neighbours in the place of four.
    package init(count: Int, isFine: Bool) {
        let number = (max(1, count) + SamplerLanes.width - 1) / SamplerLanes.width
        self.count = number * SamplerLanes.width
        groups = AlignedMemory(count: number)
        window = AlignedMemory(count: kernel_sampler_window)
        samples = AlignedMemory(count: SamplerLanes.width * SamplerLanes.frames)
        sums = AlignedMemory(count: 4 * SamplerLanes.width * SamplerLanes.frames)
        taps = isFine ? SamplerLanes.taps : RenderMemory(repeating: 0, count: 0)
        for voice in 0..<self.count { begin(voice, g: 1, k: 1) }
    }

    /// Sixteen taps for each of 257 places from one frame to the next: a sine cardinal under Kaiser's window.
    package static var taps: RenderMemory<Float> {
        // More of it makes images fainter, and the top of the band duller.
        let beta = 7.0
        var table = RenderMemory<Float>(repeating: 0, count: 257 * 16)
        for row in 0...256 {
            let values = (0..<16).map { tap in
                let x = Double(tap - 7) - Double(row) / 256
                let edge = max(0, 1 - (x / 8) * (x / 8))
                let sinc = x == 0 ? 1 : x == x.rounded() ? 0 : RenderMath.sin(.pi * x) / (.pi * x)
                return sinc * RenderMath.bessel(beta * edge.squareRoot()) / RenderMath.bessel(beta)
            }
            let sum = values.reduce(0, +)
            for tap in 0..<16 { table[16 * row + tap] = Float(values[tap] / sum) }
        }
        return table
    }

    /// Has a voice begin: silent, with an empty filter.
    @_noLocks @_noAllocation
    package mutating func begin(_ voice: Int, g: Float, k: Float) {
        precondition(voice >= 0 && voice < count)
        unsafe kernel_sampler_begin(groups.base + voice / SamplerLanes.width, voice % SamplerLanes.width, g, k)
    }

    /// Has a voice be at these numbers after that many frames, on a straight line from where it is.
    ///
    /// - Parameters:
    ///   - voice: The voice.
    ///   - g: `tan(π cutoff / rate)`.
    ///   - k: 1 / Q, at once.
    ///   - gains: Left, right, and the sends.
    ///   - frames: The number of frames; 0 for at once.
    @_noLocks @_noAllocation
    package mutating func aim(_ voice: Int, g: Float, k: Float, _ gains: SIMD4<Float>, frames: Int) {
        precondition(voice >= 0 && voice < count)
        unsafe kernel_sampler_aim(
            groups.base + voice / SamplerLanes.width, voice % SamplerLanes.width, g, k, gains[0], gains[1], gains[2],
            gains[3], Int32(truncatingIfNeeded: frames))
    }

    /// Empties the sums, for that many frames.
    @_noLocks @_noAllocation
    package mutating func clear(outputs: Int, frames: Int) {
        var output = 0
        while output < outputs {
            let first = output &* SamplerLanes.width &* SamplerLanes.frames
            unsafe (sums.base + first).clearSamples(count: SamplerLanes.width &* frames)
            output &+= 1
        }
    }

    /// Reads frames for a voice.
    ///
    /// - Returns: The number of frames before the end of its sample.
    @_noLocks @_noAllocation
    package mutating func read(_ voice: Int, _ frames: SampleFrames, _ place: inout SamplePlace, count: Int) -> Int {
        precondition(count >= 0 && count <= SamplerLanes.frames)
        let output = unsafe samples.base + voice % SamplerLanes.width
        var (source, now) = unsafe (frames.source, place.place)
        let lasts = unsafe kernel_sampler_read(
            &source, &now, taps.count > 0 ? UnsafePointer(taps.memory.base) : nil, window.base, output, count)
        place.place = now
        return lasts
    }

    /// Has a voice of the group be silent.
    @_noLocks @_noAllocation
    package mutating func rest(_ voice: Int, count: Int) {
        let output = unsafe samples.base + voice % SamplerLanes.width
        var i = 0
        while i < count {
            unsafe output[8 &* i] = 0
            i &+= 1
        }
    }

    /// Adds the voices of a group, all of which have been read or rest, to the sums.
    @_noLocks @_noAllocation
    package mutating func mix(group: Int, outputs: Int, sweeps: Bool, count: Int) {
        precondition(group >= 0 && group < self.count / SamplerLanes.width && count <= SamplerLanes.frames)
        unsafe kernel_sampler_mix(groups.base + group, samples.base, sums.base, outputs, sweeps, count)
    }

    /// Puts a sum into samples from a frame on.
    @_noLocks @_noAllocation
    package mutating func sum(_ output: Int, into samples: inout MutableSpan<Float>, at frame: Int, count: Int) {
        precondition(output >= 0 && output < 4 && frame >= 0 && count >= 0 && frame &+ count <= samples.count)
        let lanes = unsafe sums.base + output &* SamplerLanes.width &* SamplerLanes.frames
        unsafe samples.withUnsafeMutableBufferPointer { target in
            if let base = target.baseAddress { unsafe kernel_sampler_sum(lanes, base + frame, count) }
        }
    }
}
