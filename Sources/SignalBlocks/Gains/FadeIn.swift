/// The fade-in of the sound that goes into a memory after a rest, in which nothing of that was heard and nothing was kept: the
/// line of a delay, a reverb or an echo. Otherwise the sound would begin there in the middle of a wave, and click when it is
/// heard.
///
/// It is over at first, so that a memory that is new takes its first sound as it is.
@usableFromInline package struct FadeIn: Sendable, BitwiseCopyable {
    @usableFromInline var length = 0
    @usableFromInline var passed = 0

    /// Creates one that is over.
    @_noLocks @_noAllocation
    @inlinable package init() {}

    /// Begins anew: 10 ms, with the next frame.
    @_noLocks @_noAllocation
    package mutating func begin(sampleRate: Double) {
        length = Int(0.01 * sampleRate)
        passed = 0
    }

    /// Indicates whether the sound goes in as it is.
    @inlinable package var isOver: Bool { @_noLocks @_noAllocation get { passed >= length } }

    /// Returns the gain with which a frame goes in, counted from the frames that have passed: a smooth step.
    @_noLocks @_noAllocation
    package func gain(_ frame: Int) -> Float {
        let now = passed &+ frame
        if now >= length { return 1 }
        let t = Float(now) / Float(length)
        return t * t * t * (10 + t * (6 * t - 15))
    }

    /// Goes on by some frames.
    @_noLocks @_noAllocation
    @inlinable package mutating func advance(by frames: Int) { passed = min(passed &+ frames, length) }
}
