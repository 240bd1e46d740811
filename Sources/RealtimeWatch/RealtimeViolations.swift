internal import CRealtimeWatch

/// The violations that the watchdog found while a closure ran.
///
///     let found = try realtimeViolations { renderer.render(into: &block) }
///     #expect(found.isEmpty)
///
/// A failing test shows the ``description``. Where the watchdog does not run there is nothing to ask: see ``NotWatched``.
///
/// Threads: control.
public struct RealtimeViolations: Sendable, Equatable, CustomStringConvertible {
    /// The number of calls that allocated, locked, waited, did input or output, or entered the kernel.
    public let blocks: UInt64
    /// The number of calls that woke a thread, cast, or looked metadata up.
    public let mayBlock: UInt64
    /// The number of calls that retained, checked exclusivity or read a clock. A program need not avoid those.
    public let notes: UInt64
    /// The calls that block or may block, each function once, worst and most frequent first. Beyond sixteen different
    /// ones the first are forgotten.
    public let calls: [Call]

    /// A function that was called, and the number of calls.
    ///
    /// Threads: control.
    public struct Call: Sendable, Equatable, CustomStringConvertible {
        /// Its name as the linker knows it, `malloc`, or `system call` and its number.
        public let function: String
        /// The severity of the violation.
        public let tier: RealtimeWatch.Tier
        /// The number of times that it was called.
        public let count: UInt64

        /// `3 × malloc`.
        public var description: String { "\(count) × \(function)" }
    }

    /// Indicates whether nothing in the closure blocks or may block.
    public var isEmpty: Bool { blocks == 0 && mayBlock == 0 }

    /// A sentence that says what was found.
    public var description: String {
        if isEmpty { return "no real-time violations" }
        var parts: [String] = []
        if blocks > 0 { parts.append("\(blocks) blocking call\(blocks == 1 ? "" : "s")") }
        if mayBlock > 0 { parts.append("\(mayBlock) call\(mayBlock == 1 ? "" : "s") that may block") }
        let list = calls.isEmpty ? "" : ": " + calls.map(\.description).joined(separator: ", ")
        return parts.joined(separator: " and ") + list + " (functions and lines are in rtwatch's report)"
    }

    /// Returns the calls in this thread's list.
    static func callsOfThisThread() -> [Call] {
        var calls: [Call] = []
        var tier: Int32 = 0
        var count: UInt64 = 0
        while let name = unsafe crealtimewatch_found(Int32(calls.count), &tier, &count) {
            calls.append(
                unsafe Call(
                    function: String(cString: name), tier: RealtimeWatch.Tier(rawValue: tier) ?? .notes, count: count))
        }
        return calls.sorted { ($0.tier.rawValue, $1.count) < ($1.tier.rawValue, $0.count) }
    }
}

/// The watchdog does not run, so that nothing was found because nothing looked. It is thrown, so that no test passes then,
/// also none that expects violations.
///
/// Threads: control.
public struct NotWatched: Error, CustomStringConvertible {
    /// A sentence that says how to run the tests under the watchdog.
    public var description: String {
        "not watched: run the tests under the watchdog: "
            + "swift build --build-tests && rtwatch --follow -- swift test --skip-build"
    }
}

/// Runs a closure as a cycle of an audio thread and returns the violations that the watchdog found in it.
///
/// - Parameters:
///   - warmUp: The number of times that the closure is run before, without counting. Code in a debug build allocates
///     when it first runs; a release build of good code is clean with 0.
///   - body: Runs `warmUp` times and once more.
/// - Throws: The error that `body` throws; ``NotWatched`` if no watchdog runs. To leave such tests out there, give them
///   `.enabled(if: RealtimeWatch.isPresent)`.
///
/// Threads: control.
public func realtimeViolations(warmUp: Int = 0, _ body: () throws -> Void) throws -> RealtimeViolations {
    if warmUp < 0 { fatalError("realtimeViolations: a warm-up of \(warmUp) runs; it must be 0 or more") }
    for _ in 0..<warmUp { try body() }
    let before = (crealtimewatch_violations(1), crealtimewatch_violations(2), crealtimewatch_violations(3))
    crealtimewatch_forget()
    try RealtimeWatch.watched("test", body)
    guard RealtimeWatch.isPresent else { throw NotWatched() }
    return RealtimeViolations(
        blocks: crealtimewatch_violations(1) - before.0,
        mayBlock: crealtimewatch_violations(2) - before.1, notes: crealtimewatch_violations(3) - before.2,
        calls: RealtimeViolations.callsOfThisThread())
}

/// Returns whether a closure is fit for an audio thread: nothing in it blocks or may block.
///
///     @Test func theSynthIsClean() throws {
///         #expect(try noRealtimeViolations { renderer.render(into: &block) })
///     }
///
/// The function writes the violations to standard error.
///
/// - Parameters:
///   - warmUp: The number of times that the closure is run before, without counting; see
///     ``realtimeViolations(warmUp:_:)``.
///   - file: The file of the call.
///   - line: The line of the call.
///   - body: The closure, which runs `warmUp` times and once more.
/// - Throws: The error that `body` throws; ``NotWatched`` if no watchdog runs: see ``realtimeViolations(warmUp:_:)``.
///
/// Threads: control.
public func noRealtimeViolations(
    warmUp: Int = 0, file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> Void
) throws -> Bool {
    let found = try realtimeViolations(warmUp: warmUp, body)
    if !found.isEmpty { writeToStandardError("\(file):\(line): \(found)\n") }
    return found.isEmpty
}
