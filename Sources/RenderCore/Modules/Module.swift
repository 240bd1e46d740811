/// Something that a render closure runs: it pushes, edits or reads buffers of the stack.
///
/// Conform to ``Generator``, ``Effect`` or ``Tap``, which say what the module does to the stack; conform to `Module`
/// itself for anything else, and declare the ``stackEffect``.
///
///     public final class Tremolo: Effect {
///         public let rate = Parameter(5, in: 0...40, unit: .hertz)
///         private let phase = RenderState<Float>(0)
///
///         @_noLocks @_noAllocation
///         public func process(_ context: inout RenderContext) { … }
///     }
///
/// A module is a `final class` whose stored properties are `let`: ``Parameter`` for what control code sets,
/// ``RenderState`` for what only the render thread touches. Then it is `Sendable` and the compiler proves that no data
/// race is possible. With `@_noLocks @_noAllocation` it proves that `process` neither locks nor allocates.
public protocol Module: AnyObject, Sendable {
    /// What ``process(_:)`` takes from the stack and leaves on it. It must not change.
    var stackEffect: StackEffect { get }

    /// What faults and statistics call it: the name of its type if nothing else is said.
    var name: String { get }

    /// How many frames later the sound comes out than it went in. The renderer adds them up: ``Renderer/latency``.
    var latency: Int { get }

    /// Called on the control side before the module is heard, and again when the sample rate or the layout changes:
    /// the place to make memory that depends on them.
    func prepare(_ preparation: Preparation)

    /// Renders one slice. It may touch nothing of the stack but what ``stackEffect`` declares.
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext)

    /// Goes back to silence, as after ``prepare(_:)``: empties delay lines and filters. On the render thread.
    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext)

    /// Whether a mixer has to run it: `false` while it would give silence anyway. On the render thread.
    @_noLocks @_noAllocation
    func isActive(_ context: borrowing RenderContext) -> Bool
}

extension Module {
    /// The name of the type.
    public var name: String { String(describing: type(of: self)) }

    /// None.
    public var latency: Int { 0 }

    /// Does nothing: most modules need no memory that depends on the rate.
    public func prepare(_ preparation: Preparation) {}

    /// Does nothing: right for a module without a memory of what it has heard.
    @_noLocks @_noAllocation
    @inlinable public func reset(_ context: inout RenderContext) {}

    /// Always.
    @_noLocks @_noAllocation
    @inlinable public func isActive(_ context: borrowing RenderContext) -> Bool { true }
}

/// A module that pushes one buffer.
public protocol Generator: Module {}

extension Generator {
    /// Pushes one buffer.
    @inlinable public var stackEffect: StackEffect { .generates }
}

/// A module that edits the buffer on top.
public protocol Effect: Module {}

extension Effect {
    /// Edits the top.
    @inlinable public var stackEffect: StackEffect { .edits }
}

/// A module that reads the buffer on top and leaves it as it is.
public protocol Tap: Module {}

extension Tap {
    /// Reads the top.
    @inlinable public var stackEffect: StackEffect { .reads }
}

/// What a module does to the stack.
public struct StackEffect: Sendable, Hashable {
    /// Buffers that it needs, and can reach: 0 or more.
    public let pops: Int
    /// Buffers that it leaves in their place: 0 or more.
    public let pushes: Int
    /// Whether it leaves those buffers as they were.
    public let isReadOnly: Bool

    /// Takes `pops` buffers and leaves `pushes` in their place.
    ///
    /// - Precondition: neither is negative.
    @inlinable public init(pops: Int, pushes: Int) { self.init(pops: pops, pushes: pushes, isReadOnly: false) }

    @inlinable init(pops: Int, pushes: Int, isReadOnly: Bool) {
        precondition(pops >= 0 && pushes >= 0, "StackEffect: a module cannot pop or push fewer than no buffers")
        self.pops = pops
        self.pushes = pushes
        self.isReadOnly = isReadOnly
    }

    /// Pushes one buffer.
    @inlinable public static var generates: StackEffect { StackEffect(pops: 0, pushes: 1) }
    /// Edits the top.
    @inlinable public static var edits: StackEffect { StackEffect(pops: 1, pushes: 1) }
    /// Reads the top.
    @inlinable public static var reads: StackEffect { StackEffect(pops: 1, pushes: 1, isReadOnly: true) }
}

/// What a module is prepared for.
public struct Preparation: Sendable, Hashable {
    /// Frames per second.
    public let sampleRate: Double
    /// The longest slice.
    public let maximumFrameCount: Int
    /// The most channels that a buffer can have.
    public let maximumChannelCount: Int
}
