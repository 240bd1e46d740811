import RenderCore

/// How a piece of a block looks back at what came in: where the room stands between two sizes and pre-delays.
struct ReverbView: BitwiseCopyable {
    /// Pre-delay and mean path, in frames.
    let from: (Float, Float)
    let to: (Float, Float)
    let isFading: Bool
    let fade: Ramp
    let position: Int
    let count: Int

    @_noLocks @_noAllocation
    init(from: (Float, Float), to: (Float, Float), isFading: Bool, fade: Ramp, position: Int, count: Int) {
        self.from = from
        self.to = to
        self.isFading = isFading
        self.fade = fade
        self.position = position
        self.count = count
    }

    /// Adds what is as old as the pre-delay and a multiple of the mean path.
    @_noLocks @_noAllocation
    func add(
        _ past: borrowing DelayRing, to sum: inout RenderMemory<Float>, at base: Int, _ channel: Int, _ place: Float,
        _ gain: Ramp
    ) {
        let now = Int(from.0 + place * from.1 + 0.5)
        if !isFading {
            past.add(to: &sum, at: base, channel: channel, delay: now, gain: gain, position: position, count: count)
            return
        }
        let then = Int(to.0 + place * to.1 + 0.5)
        let (start, end) = (gain.start, gain.value(at: DelayRing.block))
        let (away, arrived) = (fade.start, fade.value(at: DelayRing.block))
        past.add(
            to: &sum, at: base, channel: channel, delay: now,
            gain: Ramp(from: start * (1 - away), to: end * (1 - arrived)), position: position, count: count)
        past.add(
            to: &sum, at: base, channel: channel, delay: then, gain: Ramp(from: start * away, to: end * arrived),
            position: position, count: count)
    }
}
