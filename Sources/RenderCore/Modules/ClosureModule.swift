/// A closure as a module: with a name in faults and statistics, a declared stack effect, and a life of its own.
///
///     let halve = ClosureModule(.edits, name: "Halve") { context in context.gain(0.5) }
///     …
///     context.run(halve)
///     …
///     halve.replace { context in context.gain(0.25) }      // while it runs
///
/// What the closure does the compiler cannot check: that is for the watchdog. A class with an annotated `process` is
/// checked.
public final class ClosureModule: CompositeModule {
    /// What the closure takes from the stack and leaves there.
    public let stackEffect: StackEffect
    /// What faults and statistics call it.
    public let name: String
    private let body: ManagedValue<Body>
    /// In use while the closure runs: one that runs itself is a fault, and not the end of the thread's stack.
    private let isRunning = RenderState<Bool>(false)

    /// The closure, to be called without a count.
    @safe private struct Body: ~Copyable, Sendable {
        let message: Unmanaged<Message>
        init(_ body: @escaping RenderLoop) { unsafe message = .passRetained(Message(body, completion: nil)) }
        deinit { unsafe message.release() }
        func run(_ context: inout RenderContext) { unsafe message._withUnsafeGuaranteedRef { $0.run(&context) } }
    }

    /// A module that calls a closure.
    ///
    /// - Parameters:
    ///   - stackEffect: what the closure takes from the stack and leaves there; for good.
    ///   - name: what faults and statistics call it.
    ///   - body: called once per slice.
    public init(_ stackEffect: StackEffect, name: String = "ClosureModule", _ body: @escaping RenderLoop) {
        self.stackEffect = stackEffect
        self.name = name
        self.body = ManagedValue(Body(body))
    }

    /// Puts another closure in the place of this one, from any thread. The stack effect stays.
    public func replace(_ body: @escaping RenderLoop) { self.body.set(Body(body)) }

    /// Calls the closure.
    public func process(_ context: inout RenderContext) {
        isRunning.with(&context) { _, context in
            body.with(&context) { body, context in body.run(&context) }
        }
    }

    // The modules inside show themselves in the dry run.
    package var members: [any Module] { [] }
    package var arrangement: ModuleArrangement { .asShown }
    package func dryRun(_ context: inout RenderContext) { process(&context) }
    package func attach(_ renderer: Renderer) {}
}
