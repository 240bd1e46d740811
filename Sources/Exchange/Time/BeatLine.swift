/// A position that moves evenly with the sample clock: where it is at a frame, and how much of it a frame takes. The same frame
/// has the same bits in every slice.
@usableFromInline package struct BeatLine: BitwiseCopyable, Sendable {
    /// The frame of the sample clock with a known position.
    @usableFromInline package var origin: Int64
    /// That position.
    @usableFromInline package var position: Double
    /// The position's way in ``divisor`` frames.
    @usableFromInline package var step: Double
    /// The number of frames for which it is known.
    @usableFromInline package var divisor: Double

    /// Creates a line.
    @_noLocks @_noAllocation
    package init(origin: Int64, position: Double, step: Double, divisor: Double) {
        self.origin = origin
        self.position = position
        self.step = step
        self.divisor = divisor
    }

    /// Returns the position at a frame of the sample clock.
    @_noLocks @_noAllocation
    @inlinable package func position(at frame: Int64) -> Double {
        position + Double(frame &- origin) * step / divisor
    }

    /// Returns the first frame of the sample clock that is at a position or behind it, if the line goes on.
    @_noLocks @_noAllocation
    package func frame(of position: Double) -> Int64 {
        let exact = (position - self.position) * divisor / step
        guard exact > -0x1p52, exact < 0x1p52 else { return exact < 0 ? .min : .max }
        var frame = origin &+ Int64(exact) &- 1
        var tries = 0
        while self.position(at: frame) < position && tries < 8 {
            frame &+= 1
            tries &+= 1
        }
        return frame
    }
}
