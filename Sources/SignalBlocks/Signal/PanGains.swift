/// The gains of the two sides when a sound is panned with equal power: a sine and its cosine, -3 dB each in the middle.
package struct PanGains: Sendable, BitwiseCopyable {
    /// The position from -1 (left) to 1 (right).
    package let position: Float
    package let left, right: Float

    @_noLocks @_noAllocation @inlinable
    package init(_ position: Float) {
        let turn = (1 + max(-1, min(1, position))) * 0.125
        self.position = position
        left = RenderMath.sin(turns: 0.25 - turn)
        right = RenderMath.sin(turns: turn)
    }
}
