/// The sound at its new pitch on its way into the blocks of a ``TimeStretch``: the last frames of it, and for each where in
/// the input it is.
///
/// Frames are counted from the reset on. Each is written twice, so that any of the last frames follow one another in memory, and
/// no cycle has to move them all to make room.
struct StretchLine: ~Copyable, Sendable {
    let channelCount: Int
    /// The number of frames that are kept.
    let length: Int
    /// The frames since the reset.
    private(set) var filled = 0
    private var block: AudioBlock
    private let places: AlignedMemory<Double>
    private let mask: Int

    /// - Parameters:
    ///   - channels: The channels.
    ///   - length: The number of frames that are kept.
    init(channels: Int, length: Int) {
        channelCount = channels
        self.length = length
        block = AudioBlock(channels: channels, frames: 2 * length)
        var count = 64
        while count < length { count *= 2 }
        mask = count - 1
        places = AlignedMemory(count: count)
    }

    @_noLocks @_noAllocation
    mutating func reset() { filled = 0 }

    /// Indicates whether all of these frames are there.
    @_noLocks @_noAllocation
    func has(_ frame: Int, count: Int) -> Bool {
        frame >= 0 && frame &+ count <= filled && frame &+ length >= filled
    }

    /// Returns the address of a frame that is kept, behind which the later ones follow.
    @_noLocks @_noAllocation
    @unsafe func samples(_ channel: Int, from frame: Int) -> UnsafePointer<Float> {
        unsafe UnsafePointer(block.pointers[channel] + frame % length)
    }

    /// Returns the place of a frame in the input.
    @_noLocks @_noAllocation
    func place(_ frame: Int) -> Double { unsafe places.base[frame & mask] }

    /// Takes frames out of a resampler.
    ///
    /// - Parameters:
    ///   - count: The number of frames, up to ``length``.
    ///   - step: Frames of the input for each of them.
    ///   - place: The place of the first in the input.
    @_noLocks @_noAllocation
    mutating func take(_ count: Int, from resampler: inout Resampler, at step: Double, place: Double) {
        let first = filled % length
        let taken: Int
        if step == 1 && resampler.isOnFrame {
            taken = resampler.copy(count, into: &block, from: first)
        } else {
            taken = unsafe resampler.pull(
                count, at: Resampler.Step(step), from: 0, into: block.pointers, channelCount, first)
        }
        let end = first &+ taken
        let inFirst = (end < length ? end : length) &- first
        for channel in 0..<channelCount {
            let samples = unsafe block.pointers[channel]
            unsafe (samples + length + first).copySamples(from: samples + first, count: inFirst)
            unsafe samples.copySamples(from: samples + length, count: taken &- inFirst)
        }
        var next = place
        for frame in filled..<filled &+ taken {
            unsafe places.base[frame & mask] = next
            next += step
        }
        filled &+= taken
    }
}
