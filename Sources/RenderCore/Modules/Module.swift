/// A unit that a render loop runs: it pushes, edits or reads buffers of the stack.
///
/// Conform to ``Generator``, ``Effect`` or ``Tap``, which declare a stack effect. For any other effect conform to
/// `Module` itself, and declare the ``stackEffect``.
///
///     public final class Tremolo: Effect {
///         public let rate = Parameter(5, in: 0...40, unit: .hertz)
///         private let phase = RenderState<Float>(0)
///
///         @_noLocks @_noAllocation
///         public func process(_ context: inout RenderContext) { … }
///     }
///
/// A module is a `final class` whose stored properties are `let`: ``Parameter`` for values that control code sets,
/// ``RenderState`` for values that only the render thread touches. Then it is `Sendable` and the compiler proves that
/// no data race is possible. With `@_noLocks @_noAllocation` it proves that `process` neither locks nor allocates.
///
/// Threads: control.
public protocol Module: AnyObject, Sendable {
    /// The buffers that ``process(_:)`` takes from the stack and leaves on it. It must not change.
    var stackEffect: StackEffect { get }

    /// The module's name in faults and statistics; by default the name of its type.
    var name: String { get }

    /// Returns by how many frames the sound comes out later than it went in. The renderer adds up the
    /// latencies: ``Renderer/latency``. The default is the latency of the ``members``, one after the other.
    ///
    ///     public func latency(at sampleRate: Double) -> Int { Int(0.005 * sampleRate) }      // it looks 5 ms ahead
    ///
    /// - Parameter sampleRate: Frames per second, which may be another rate than the module is prepared for.
    func latency(at sampleRate: Double) -> Int

    /// Indicates whether the module may run several times in a slice: because it keeps no memory of the sound, or is made
    /// for several places, as a `Splitter` is. `false` by default. A renderer reports a module that runs twice and may
    /// not.
    var isRepeatable: Bool { get }

    /// The parameters by name: for panels of knobs, MIDI maps and presets. None by default.
    ///
    ///     public var parameters: [ParameterReference] { [rate.named("rate"), depth.named("depth")] }
    var parameters: [ParameterReference] { get }

    /// The modules that ``process(_:)`` runs, if it is made of others: see ``Member``. None by default.
    ///
    ///     public var members: [any Module] { [filter.module, echo.module] }
    ///
    /// The renderer reads the list whenever the module joins a render loop, and should get the same modules each time.
    /// Keep modules that come and go in a ``/Composition/ModuleList``, which can be a member. A module may be a member of one module
    /// only, and once.
    var members: [any Module] { get }

    /// The renderer calls this on the control side before the module is heard, and again when the sample rate or the
    /// layout changes: make memory that depends on them here. Changes that it makes take effect with the render loop
    /// that the module is prepared for; the loop before may still be rendered. It may ask and change anything, also the
    /// module's own renderer.
    func prepare(_ preparation: Preparation)

    /// Renders one slice. It may touch only the buffers that ``stackEffect`` declares.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext)

    /// Goes back to silence, as after ``prepare(_:)``: empties delay lines and filters. The renderer calls it on the
    /// render thread, and resets the ``members`` after it.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext)

    /// Returns whether a mixer has to run the module: `false` while it would give silence anyway. On the render thread.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    func isActive(_ context: borrowing RenderContext) -> Bool
}

extension Module {
    /// The name of the type.
    public var name: String { String(describing: type(of: self)) }

    /// `false`.
    public var isRepeatable: Bool { false }

    /// An empty list.
    public var parameters: [ParameterReference] { [] }

    /// An empty list.
    public var members: [any Module] { [] }

    /// Does nothing: most modules need no memory that depends on the rate.
    public func prepare(_ preparation: Preparation) {}

    /// Does nothing, which is right for a module without a memory of the sound.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @inlinable public func reset(_ context: inout RenderContext) {}

    /// Returns `true`: always.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @inlinable public func isActive(_ context: borrowing RenderContext) -> Bool { true }
}

/// A module that pushes one buffer.
///
/// Threads: control.
public protocol Generator: Module {}

extension Generator {
    /// Pushes one buffer.
    @inlinable public var stackEffect: StackEffect { .generates }
}

/// A module that edits the buffer on top.
///
/// Threads: control.
public protocol Effect: Module {}

extension Effect {
    /// Edits the top.
    @inlinable public var stackEffect: StackEffect { .edits }
}

/// A module that reads the buffer on top and leaves it as it is.
///
/// Threads: control.
public protocol Tap: Module {}

extension Tap {
    /// Reads the top.
    @inlinable public var stackEffect: StackEffect { .reads }
}

/// The number of buffers that a module takes from the stack and leaves on it.
///
/// Threads: control.
public struct StackEffect: Sendable, Hashable {
    /// The number of buffers that it needs, and can reach: 0…1024.
    public let pops: Int
    /// The number of buffers that it leaves in their place: 0…1024.
    public let pushes: Int
    /// Indicates whether the module leaves those buffers as they were.
    public let isReadOnly: Bool

    /// Creates the effect of a module that takes `pops` buffers and leaves `pushes` in their place.
    ///
    /// - Precondition: Both are 0…1024, as many as the largest stack holds.
    @inlinable public init(pops: Int, pushes: Int) { self.init(pops: pops, pushes: pushes, isReadOnly: false) }

    @inlinable init(pops: Int, pushes: Int, isReadOnly: Bool) {
        demand(
            pops >= 0 && pops <= 1_024 && pushes >= 0 && pushes <= 1_024,
            "StackEffect: \(pops) buffers popped and \(pushes) pushed; both must be 0…1024")
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

/// The settings that a module is prepared for.
///
/// Threads: any.
public struct Preparation: Sendable, Hashable {
    /// Frames per second.
    public let sampleRate: Double
    /// The longest slice, in frames.
    public let maximumFrameCount: Int
    /// The largest number of channels of a buffer.
    public let maximumChannelCount: Int

    package init(sampleRate: Double, maximumFrameCount: Int, maximumChannelCount: Int) {
        self.sampleRate = sampleRate
        self.maximumFrameCount = maximumFrameCount
        self.maximumChannelCount = maximumChannelCount
    }
}
