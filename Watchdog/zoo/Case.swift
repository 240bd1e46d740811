/// The tier in which a case must be reported, or that it must not be.
enum Expected: String {
    case blocks = "blocks", mayBlock = "may-block", notes, clean
}

/// The level at which a case is seen: with a static standard library, only calls that reach libc or the kernel can be.
enum Seen: String {
    case libc, swift
}

/// One thing that a programmer may do on an audio thread.
///
/// Its function does that on a line marked `HERE` (scripts/checks/watchdog reads the marks), and returns a number, so that the
/// call is not the last thing it does: a call in tail position leaves no trace of its caller.
struct Case: @unchecked Sendable {
    /// At most 23 characters.
    let name: StaticString
    let expected: Expected
    /// The function that must be named; "|" between several that are right.
    let function: String
    let seen: Seen
    /// Indicates whether the function has run once before, outside of a cycle.
    var isWarm = false
    /// The preparation, outside of the cycle.
    var prepare: @convention(c) () -> Void = {}
    let body: @convention(c) () -> Int
}

func blocks(
    _ name: StaticString, _ function: String, warm: Bool = false, prepare: @escaping @convention(c) () -> Void = {},
    seen: Seen = .libc, _ body: @escaping @convention(c) () -> Int
) -> Case {
    Case(
        name: name, expected: .blocks, function: function, seen: seen, isWarm: warm, prepare: prepare, body: body)
}

func mayBlock(
    _ name: StaticString, _ function: String, warm: Bool = false, prepare: @escaping @convention(c) () -> Void = {},
    seen: Seen = .swift, _ body: @escaping @convention(c) () -> Int
) -> Case {
    Case(
        name: name, expected: .mayBlock, function: function, seen: seen, isWarm: warm, prepare: prepare, body: body)
}

func notes(
    _ name: StaticString, _ function: String, warm: Bool = true, prepare: @escaping @convention(c) () -> Void = {},
    seen: Seen = .swift, _ body: @escaping @convention(c) () -> Int
) -> Case {
    Case(name: name, expected: .notes, function: function, seen: seen, isWarm: warm, prepare: prepare, body: body)
}

func clean(
    _ name: StaticString, _ function: String, warm: Bool = false, prepare: @escaping @convention(c) () -> Void = {},
    _ body: @escaping @convention(c) () -> Int
) -> Case {
    Case(name: name, expected: .clean, function: function, seen: .libc, isWarm: warm, prepare: prepare, body: body)
}

/// Keeps the optimiser from knowing what a value is.
@inline(never) @_optimize(none) func opaque<Value>(_ value: Value) -> Value { value }
/// Does the same for values that may not be copied, and for those that generic code would count.
@inline(never) @_optimize(none) func opaque(_ value: Int) -> Int { value }
@inline(never) @_optimize(none) func opaque(_ value: Float) -> Float { value }

let table: [Case] =
    valueCases + textCases + objectCases + dynamicCases + lazyCases + taskCases + lockCases + waitCases + fileCases
    + systemCases + cleanCases + renderCases
