import RenderStack

// Lines about threads that lie. `scripts/checks/threads` finds each line that ends with `found`, and no other. Nothing compiles them.

/// Says nothing.
public final class Silent {}  // found

/// Says it with another word.
///
/// Threads: main.
public final class Misspelt {}  // found

/// Says it too early.
///
/// Threads: control.
///
/// And goes on.
public final class Early {}  // found

/// Says it in the middle of a paragraph.
/// Threads: control.
public final class Joined {}  // found

/// Counts references.
///
/// Threads: any.
public final class Counted {}  // found

/// A name, and its text: a copy counts references.
///
/// Threads: any.
public struct Named: Sendable {
    /// The name.
    public let name: String  // found
    private let places: [Int]  // found
    private static let all: [Named] = []
    private let eight: [8 of Float]
}

/// Proves more than it says.
///
/// Threads: control.
public struct Plain: Sendable, BitwiseCopyable {  // found
    /// A number.
    public let number: Int
}

/// Has the stack of a cycle.
///
/// Threads: render.
public struct Cyclic: ~Copyable, ~Escapable {
    /// Needs no line.
    public mutating func pop() {}
}

/// A module.
///
/// Threads: control.
public final class Echo: Effect {
    /// The renderer calls it in a cycle.
    @_noLocks @_noAllocation
    public func process(_ context: inout Cyclic) {}  // found

    /// The renderer calls it in a cycle.
    ///
    /// Threads: any.
    @_noLocks @_noAllocation
    public func reset(_ context: inout Cyclic) {}  // found

    /// A closure takes a context, and not the function.
    public func replace(_ loop: (inout Cyclic) -> Void) {}

    /// Repeats its type.
    ///
    /// Threads: control.
    public func prepare() {}  // found

    /// The compiler proves more.
    @_noLocks @_noAllocation
    public func age(  // found
        of name: @Sendable (_ text: String) -> Int = { "\($0 == "{" ? "}" : "(")".count }
    ) -> Int { 0 }

    /// The compiler proves both accessors.
    public var level: Float {  // found
        @_noLocks @_noAllocation get { 0 }
        @_noLocks @_noAllocation set {}
    }

    /// The compiler proves one accessor.
    ///
    /// Threads: any.
    public var width: Float {  // found
        @_noLocks @_noAllocation get { 0 }
        set { print(newValue) }
    }

    /// Nothing proves it.
    ///
    /// Threads: any.
    public func wait() {}  // found

    /// Nobody needs a cycle for it.
    ///
    /// Threads: render.
    public func listen() {}  // found

    /// Attributes of other kinds stand between.
    public var samples: Cyclic {  // found
        @_noLocks @_noAllocation @_lifetime(&self) mutating get { Cyclic() }
    }

    /// Whoever calls it from a checked function shows the compiler its body.
    ///
    /// Threads: any.
    @inlinable public func twice(_ number: Int) -> Int { 2 * number }

    /// Not public.
    @_noLocks @_noAllocation
    func hidden() {}
}

/// A voice.
///
/// Threads: control.
public protocol Voice {
    /// The renderer calls it in a cycle.
    func next(_ context: borrowing Cyclic)  // found
    /// Its name.
    var name: String { get }
}

/// Leaves the cycle.
///
/// Threads: render.
public struct Escaped: Sendable {}  // found

/// Its types may be anything.
///
/// Threads: any.
public protocol Anything: Sendable {}  // found

extension SIMD8 {
    /// Belongs to a type of another package.
    public func sum() {}  // found
}
