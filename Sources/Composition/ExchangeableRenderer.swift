package import RenderCore
package import Sharing
internal import Synchronization

/// A renderer inside of a module that renders with it, at the outer one's sample rate or at one of its own: it can be exchanged while
/// it runs.
package struct ExchangeableRenderer: ~Copyable, Sendable {
    /// The channels that a new renderer gets; `nil`: it keeps its own.
    private let channels: Int?
    /// Its own sample rate; `nil`: the outer one's.
    private let sampleRate: Double?
    /// The renderer of this slice, for an annotated `process` of another module: a function in between could not call it, because
    /// where each file is compiled by itself the compiler has no specialised form of the call here.
    package let current: ManagedValue<InnerRenderer>
    private let newest: Lock<(renderer: Renderer, preparation: Preparation?)>
    private let pendingReset = PendingReset()

    package init(_ renderer: Renderer, channels: Int? = nil, sampleRate: Double? = nil) {
        self.channels = channels
        self.sampleRate = sampleRate
        current = ManagedValue(InnerRenderer(renderer))
        newest = Lock((renderer, nil), .module)
    }

    /// The inner renderer. A new one is heard from the next slice on.
    package var renderer: Renderer {
        get { newest.withLock { $0.renderer } }
        nonmutating set {
            let (old, preparation, version) = newest.withLock { newest in
                let old = newest.renderer
                newest.renderer = newValue
                return (old, newest.preparation, current.makeVersion())
            }
            // This runs without the lock: the renderer may be the one that this module is in.
            if preparation != nil || channels != nil {
                newValue.configure(sampleRate: sampleRate ?? preparation?.sampleRate, channels: channels)
            }
            current.set(InnerRenderer(newValue), version: version)
            // Here it may end, with no lock held.
            withExtendedLifetime(old) {}
        }
    }

    /// Gives the inner renderer the sample rate of the outer one.
    package func prepare(_ preparation: Preparation) {
        let renderer = newest.withLock { newest in
            newest.preparation = preparation
            return newest.renderer
        }
        renderer.configure(sampleRate: preparation.sampleRate)
    }

    /// Resets the modules of the inner renderer, before it renders next.
    @_noLocks @_noAllocation
    package func reset() { pendingReset.ask() }

    /// Returns whether the modules are to be reset in this slice.
    @_noLocks @_noAllocation
    package func takeReset() -> Bool { pendingReset.take() }

    /// Calls `body` with the renderer of this slice. On the render thread.
    @inline(__always)
    func with(_ context: inout RenderContext, _ body: (borrowing InnerRenderer, inout RenderContext) -> Void) {
        current.with(&context, body)
    }
}

/// A reset that waits for the next call of an inner renderer: only there are its modules at hand.
package struct PendingReset: ~Copyable, Sendable {
    private let isAsked = Atomic<Bool>(false)

    package init() {}

    /// Asks for a reset.
    @_noLocks @_noAllocation
    package func ask() { isAsked.store(true, ordering: .relaxed) }

    /// Returns whether a reset was asked for since the last time.
    @_noLocks @_noAllocation
    package func take() -> Bool {
        isAsked.load(ordering: .relaxed) && isAsked.exchange(false, ordering: .relaxed)
    }
}
