public import RenderCore
internal import Sharing

/// A closure as a module: with a name in faults and statistics, a declared stack effect, and a life of its own.
///
///     let halve = ClosureModule(.edits, name: "Halve") { context in context.gain(0.5) }
///     …
///     context.run(halve)
///     …
///     halve.replace { context in context.gain(0.25) }      // while it runs
///
/// A module with memory of its own, and with a silence that a mixer need not run, says so with closures too:
///
///     let pluck = ClosureModule(
///         .generates, name: "Pluck", prepare: { string.set(SampleMemory(count: Int($0.sampleRate / 20))) },
///         isActive: { context in level.value > 0 }
///     ) { context in … }
///
/// The compiler cannot check what the closure does: the watchdog can. It does check a class with an annotated
/// `process`.
///
/// Threads: control.
public final class ClosureModule: CompositeModule {
    /// The buffers that the closure takes from the stack and leaves there.
    public let stackEffect: StackEffect
    /// The name of the module in faults and statistics.
    public let name: String
    /// `true`: the module keeps nothing itself; the closure's states are the closure's.
    public var isRepeatable: Bool { true }
    private let body: ManagedValue<Body>
    private let preparing: (@Sendable (Preparation) -> Void)?
    private let resetting: RenderLoop?
    private let activity: (@Sendable (borrowing RenderContext) -> Bool)?
    /// A state that is in use while the closure runs: a closure that runs itself is a fault, and not the end of the
    /// thread's stack.
    private let isRunning = RenderState<Bool>(false)

    /// The closure, to be called without a count.
    @safe private struct Body: ~Copyable, Sendable {
        private let box: Unmanaged<Box>
        init(_ run: @escaping RenderLoop) { unsafe box = .passRetained(Box(run)) }
        deinit { unsafe box.release() }
        func run(_ context: inout RenderContext) { unsafe box._withUnsafeGuaranteedRef { $0.run(&context) } }
    }

    private final class Box: Sendable {
        let run: RenderLoop
        init(_ run: @escaping RenderLoop) { self.run = run }
    }

    /// Creates a module that calls a closure.
    ///
    /// - Parameters:
    ///   - stackEffect: The buffers that the closure takes from the stack and leaves there; for good.
    ///   - name: The name in faults and statistics.
    ///   - prepare: Called on the control side before the module is heard, and when the sample rate or the layout changes.
    ///   - reset: Called on the render thread, to forget the sound before.
    ///   - isActive: Returns on the render thread whether a mixer has to run the module; by default it always does.
    ///   - body: Called once per slice.
    public init(
        _ stackEffect: StackEffect, name: String = "ClosureModule",
        prepare: (@Sendable (Preparation) -> Void)? = nil, reset: RenderLoop? = nil,
        isActive: (@Sendable (borrowing RenderContext) -> Bool)? = nil, _ body: @escaping RenderLoop
    ) {
        self.stackEffect = stackEffect
        self.name = name
        (preparing, resetting, activity) = (prepare, reset, isActive)
        self.body = ManagedValue(Body(body))
    }

    /// Replaces the closure. The stack effect and the other closures stay.
    public func replace(_ body: @escaping RenderLoop) { self.body.set(Body(body)) }

    /// Calls the closure.
    ///
    /// Threads: render.
    public func process(_ context: inout RenderContext) {
        isRunning.with(&context) { _, context in
            body.with(&context) { body, context in body.run(&context) }
        }
    }

    /// Calls the closure for it.
    public func prepare(_ preparation: Preparation) { preparing?(preparation) }

    /// Calls the closure for it.
    ///
    /// Threads: render.
    public func reset(_ context: inout RenderContext) { resetting?(&context) }

    /// Asks the closure for it: `true` without one.
    ///
    /// Threads: render.
    public func isActive(_ context: borrowing RenderContext) -> Bool { activity?(context) ?? true }

    // The modules inside show themselves in the dry run.
    package var arrangement: ModuleArrangement { .asShown }
    package func dryRun(_ context: inout RenderContext) { process(&context) }
    package func attach(_ renderer: Renderer) {}
}
