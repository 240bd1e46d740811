/// A renderer inside a renderer: pushes what another closure puts on its output.
///
///     let drums = try Renderer { context in … }
///     let submix = SubRenderer(drums)
///     …
///     context.run(submix)                 // pushes as many channels as `drums` has
///
/// The inner renderer has its own stack, sample clock, messages and events; it is called once per slice of the outer one,
/// at the outer one's sample rate. It can be exchanged while it runs.
public final class SubRenderer: Generator {
    private let inner: ManagedValue<InnerRenderer>
    private let newest: Lock<(renderer: Renderer, preparation: Preparation?)>

    /// A module that renders with another renderer.
    public init(_ renderer: Renderer) {
        inner = ManagedValue(InnerRenderer(renderer))
        newest = Lock((renderer, nil))
    }

    /// The inner renderer. A new one is heard from the next slice on.
    public var renderer: Renderer {
        get { newest.withLock { $0.renderer } }
        set {
            let preparation = newest.withLock { newest in
                newest.renderer = newValue
                return newest.preparation
            }
            // Not under the lock: the renderer may be the one that this module is in.
            if let preparation { newValue.configure(sampleRate: preparation.sampleRate) }
            inner.set(InnerRenderer(newValue))
        }
    }

    /// That of the inner renderer.
    public var latency: Int { renderer.latency }

    /// Gives the inner renderer the sample rate of the outer one.
    public func prepare(_ preparation: Preparation) {
        let renderer = newest.withLock { newest in
            newest.preparation = preparation
            return newest.renderer
        }
        renderer.configure(sampleRate: preparation.sampleRate)
    }

    /// Pushes a slice of the inner renderer.
    public func process(_ context: inout RenderContext) {
        inner.with(&context) { inner, context in
            unsafe context.pushRendered(by: inner.state)
        }
    }
}

extension RenderContext {
    /// Pushes a buffer and has another renderer fill it.
    @unsafe mutating func pushRendered(by state: Unmanaged<CycleState>) {
        let channels = unsafe state._withUnsafeGuaranteedRef { $0.channelCount }
        guard claim(channels: min(channels, channelLimit), for: .push) else { return }
        let entry = unsafe entries + (depth &- 1)
        let count = unsafe entry.pointee.channelCount
        let (frames, due, isOffline, pass) = (frameCount, hostTime, isOffline, pass)
        unsafe withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<Float>.self, capacity: count) { table in
            for channel in 0..<count {
                let samples = unsafe entry.pointee.channels[channel] + offset
                unsafe table.initializeElement(at: channel, to: samples)
            }
            unsafe state._withUnsafeGuaranteedRef { state in
                unsafe state.render(
                    frames: frames, into: UnsafeBufferPointer(table), hostTime: due, isOffline: isOffline,
                    inside: pass)
            }
        }
    }
}
