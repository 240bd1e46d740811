// The law of a mixer's fader.
extension RenderMath {
    /// Returns the level in decibels at a position of a fader, from 0 (bottom: silence, -infinity) to 1 (top:
    /// `maximum`).
    ///
    /// The lower 20 % of the travel go from `minimum` to `middle`, the next 60 % from `middle` to 0 dB and the top
    /// 20 % from 0 dB to `maximum`, each evenly in decibels. Positions beyond the ends count as the ends. The levels
    /// must ascend: `minimum` < `middle` < 0 < `maximum`.
    @inlinable @_noLocks @_noAllocation
    public static func decibels(
        faderPosition position: Float, minimum: Float = -60, middle: Float = -20, maximum: Float = 6
    ) -> Float {
        if position <= 0 { return -.infinity }
        if position >= 1 { return maximum }
        if position >= Approximation.unityPosition {
            return maximum * ((position - Approximation.unityPosition) / (1 - Approximation.unityPosition))
        }
        if position >= Approximation.middlePosition {
            return middle
                * ((Approximation.unityPosition - position)
                    / (Approximation.unityPosition - Approximation.middlePosition))
        }
        return middle - (middle - minimum) * (1 - position / Approximation.middlePosition)
    }

    /// Returns the position of a fader, from 0 to 1, at which it gives a level in decibels; the inverse of
    /// ``decibels(faderPosition:minimum:middle:maximum:)``.
    ///
    /// Levels at or below `minimum` lie at 0, levels above `maximum` at 1.
    @inlinable @_noLocks @_noAllocation
    public static func faderPosition(
        decibels: Float, minimum: Float = -60, middle: Float = -20, maximum: Float = 6
    ) -> Float {
        if decibels <= minimum { return 0 }
        if decibels >= maximum { return 1 }
        if decibels >= 0 {
            return Approximation.unityPosition + (1 - Approximation.unityPosition) * (decibels / maximum)
        }
        if decibels >= middle {
            return Approximation.middlePosition + (Approximation.unityPosition - Approximation.middlePosition)
                * (1 - decibels / middle)
        }
        return Approximation.middlePosition * (1 - (middle - decibels) / (middle - minimum))
    }
}

extension RenderMath.Approximation {
    /// The position of a fader at its middle level.
    @inlinable static var middlePosition: Float { @_noLocks @_noAllocation get { 0.2 } }
    /// The position of a fader at 0 dB.
    @inlinable static var unityPosition: Float { @_noLocks @_noAllocation get { 0.8 } }
}
