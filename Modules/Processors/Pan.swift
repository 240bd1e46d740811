public import RenderCore

/// Moves the sound between left and right at an even loudness. Edits the top.
///
/// Equal power: -3 dB on both sides in the middle. Mono becomes stereo, of two channels each is weighted; a buffer of
/// more is silenced and counts as a fault (``Balance`` takes those). Latency: none.
///
/// Threads: control.
public final class Pan: Effect {
    /// The position from left (-1) over the middle (0) to right (1). A change glides for 10 ms.
    public let position: Parameter

    /// The gains of the last slice at rest.
    private let gains = RenderState(PanGains(0))

    /// Creates a pan.
    ///
    /// - Parameter position: -1…1.
    public init(_ position: Float = 0) { self.position = Parameter(position, in: -1...1) }

    /// `true`: the module keeps no memory of the sound.
    public var isRepeatable: Bool { true }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [position.named("position")] }

    /// Weights the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        guard let position = position.atRest(context) else { return processAnew(&context) }
        let gains = gains.read(context)
        if gains.position != position { return processAnew(&context) }
        context.weigh(gains)
    }

    /// Processes a slice in which the position moves or has changed.
    @_noLocks @_noAllocation
    @inline(never) private func processAnew(_ context: inout RenderContext) {
        let position = position.glide(context)
        guard position.isFlat else { return context.pan(position) }
        let gains = PanGains(position.end)
        self.gains.write(gains, context)
        context.weigh(gains)
    }
}
