/// A Boolean value that control code sets and the render thread reads: mute, solo, enabled.
///
///     public let bypass = Switch(glide: .linear(.milliseconds(5)))
///
///     effect.bypass.isOn = true                               // in control code, in transactions and at a time
///     if bypass.isOn(context) { … }                           // in `process`
///     let share = bypass.glide(context)                       // 0 if it is off, 1 where it is on, and in between
///
/// In the list of a module's parameters a switch is 0 or 1.
///
/// Threads: control.
public struct Switch: ~Copyable, Sendable {
    @usableFromInline let position: Parameter

    /// Creates a switch.
    ///
    /// - Parameters:
    ///   - isOn: The position at first.
    ///   - glide: The way in which ``glide(_:)`` goes from one to the other.
    public init(_ isOn: Bool = false, glide: Parameter.Curve = .none) {
        position = Parameter(isOn ? 1 : 0, in: 0...1, glide: glide)
    }

    /// Creates another reference to the same switch: one value, one glide.
    package init(sharing other: borrowing Switch) { position = Parameter(sharing: other.position) }

    /// Indicates whether the switch is on. One that is set inside of a transaction is part of that: see
    /// ``Parameter/value``.
    public var isOn: Bool {
        get { position.value >= 0.5 }
        nonmutating set { position.value = newValue ? 1 : 0 }
    }

    /// Returns whether the switch is on. On the render thread.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) public func isOn(_ context: borrowing RenderContext) -> Bool {
        position.current(context) >= 0.5
    }

    /// Returns how far the switch is on over the frames of this slice: 0 to 1, with the glide that it was made with.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func glide(_ context: borrowing RenderContext) -> Glide { position.glide(context) }

    /// Returns whether the switch is off and does not glide, at a glance: ``glide(_:)`` is then 0 for all frames.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package func restsOff(_ context: borrowing RenderContext) -> Bool {
        if let share = position.atRest(context) { return share == 0 }
        return false
    }

    /// Returns a reference to the switch with a name, for ``Module/parameters``.
    public borrowing func named(_ name: String) -> ParameterReference { position.named(name) }
}
