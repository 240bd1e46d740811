public import RenderCore

/// A renderer inside a renderer: pushes the output of another render loop.
///
///     let drums = try Renderer { context in … }
///     let submix = SubRenderer(drums)
///     …
///     context.run(submix)                 // pushes as many channels as `drums` has
///
/// The inner renderer has its own stack, sample clock, messages and events; it is called once per slice of the outer
/// one, at the outer one's sample rate, and has its beats, inputs and MIDI. It can be exchanged while it runs. A renderer
/// that is to hear the outer loop's buffers goes into an ``Insert``.
///
/// Threads: control.
public final class SubRenderer: Generator, SupplyPassing {
    private let inner: ExchangeableRenderer

    /// Creates a module that renders with another renderer.
    public init(_ renderer: Renderer) { inner = ExchangeableRenderer(renderer) }

    /// The inner renderer. A new one is heard from the next slice on.
    public var renderer: Renderer {
        get { inner.renderer }
        set { inner.renderer = newValue }
    }

    package var innerRenderers: [Renderer] { [renderer] }

    /// Returns the latency of the inner renderer.
    public func latency(at sampleRate: Double) -> Int { renderer.latency(at: sampleRate) }

    /// Gives the inner renderer the sample rate of the outer one.
    public func prepare(_ preparation: Preparation) { inner.prepare(preparation) }

    /// Pushes a slice of the inner renderer.
    ///
    /// Threads: render.
    public func process(_ context: inout RenderContext) {
        let resets = inner.takeReset()
        var isDone = false
        inner.with(&context) { inner, context in
            isDone = unsafe context.pushRendered(by: inner.state, supply: context.supply(), resets: resets)
        }
        if resets && !isDone { inner.reset() }
    }

    /// Resets the modules of the inner renderer, before its next slice. Its clock goes on.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { inner.reset() }
}

extension RenderContext {
    /// Pushes a buffer and has another renderer fill it. `false`: there was no room for the buffer, and nothing was
    /// rendered.
    ///
    /// - Parameters:
    ///   - supply: What the inner renderer gets in this slice besides the outputs to fill.
    ///   - resets: `true` if its modules are reset before.
    @discardableResult
    @unsafe mutating func pushRendered(
        by state: Unmanaged<CycleState>, supply: PassedSupply, resets: Bool = false
    ) -> Bool {
        let channels = unsafe state._withUnsafeGuaranteedRef { $0.channelCount }
        guard claim(channels: min(channels, channelLimit), for: .push) else { return false }
        let entry = unsafe entries + (depth &- 1)
        let count = unsafe entry.pointee.channelCount
        unsafe fill(
            state, frameCount, entry.pointee.channels, count, offset, hostTime, isOffline, beatSource(), resets,
            supply, inside: outerSlice)
        return true
    }
}
