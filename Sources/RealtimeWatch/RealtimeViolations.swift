internal import CRealtimeWatch

/// What the watchdog found while a closure ran.
///
///     let found = realtimeViolations { renderer.render(into: &block) }
///     #expect(found.isEmpty)
///
/// A failing test shows the ``description``.
public struct RealtimeViolations: Sendable, Equatable, CustomStringConvertible {
    /// Whether there was a watchdog to find anything.
    public let isWatched: Bool
    /// How many calls allocated, locked, waited, did input or output, or entered the kernel.
    public let blocks: UInt64
    /// How many woke somebody, cast, or looked metadata up.
    public let mayBlock: UInt64
    /// How many retained, checked exclusivity or read a clock. Nobody has to avoid those.
    public let notes: UInt64
    /// The calls that block or may block, each function once, worst and most frequent first. Beyond sixteen different
    /// ones the first are forgotten.
    public let calls: [Call]

    /// A function that was called, and how often.
    public struct Call: Sendable, Equatable, CustomStringConvertible {
        /// Its name as the linker knows it, `malloc`, or `system call` and its number.
        public let function: String
        /// How bad that is.
        public let tier: RealtimeWatch.Tier
        /// How many times it was called.
        public let count: UInt64

        /// `3 × malloc`.
        public var description: String { "\(count) × \(function)" }
    }

    /// Whether the closure was watched, and nothing in it blocks or may block.
    public var isEmpty: Bool { isWatched && blocks == 0 && mayBlock == 0 }

    /// What was found, in a sentence; without the watchdog, how to run the tests with it.
    public var description: String {
        guard isWatched else { return "not watched: \(Self.advice)" }
        if isEmpty { return "no real-time violations" }
        var parts: [String] = []
        if blocks > 0 { parts.append("\(blocks) blocking call\(blocks == 1 ? "" : "s")") }
        if mayBlock > 0 { parts.append("\(mayBlock) call\(mayBlock == 1 ? "" : "s") that may block") }
        let list = calls.isEmpty ? "" : ": " + calls.map(\.description).joined(separator: ", ")
        return parts.joined(separator: " and ") + list + " (functions and lines are in rtwatch's report)"
    }

    /// What this thread's list holds.
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

    static let advice =
        "run the tests under the watchdog: swift build --build-tests && rtwatch --follow -- swift test --skip-build"
}

/// Runs a closure as a cycle of an audio thread and says what the watchdog found in it.
///
/// - Parameters:
///   - warmUp: how often the closure is run before, unjudged. Code in a debug build allocates when it first runs; a
///     release build of good code is clean with 0.
///   - body: runs `warmUp` times and once more.
public func realtimeViolations<Failure: Error>(
    warmUp: Int = 0, _ body: () throws(Failure) -> Void
) throws(Failure) -> RealtimeViolations {
    precondition(warmUp >= 0, "realtimeViolations: a warm-up of \(warmUp) runs")
    for _ in 0..<warmUp { try body() }
    let before = (crealtimewatch_violations(1), crealtimewatch_violations(2), crealtimewatch_violations(3))
    crealtimewatch_forget()
    try RealtimeWatch.watched("test", body)
    return RealtimeViolations(
        isWatched: RealtimeWatch.isPresent, blocks: crealtimewatch_violations(1) - before.0,
        mayBlock: crealtimewatch_violations(2) - before.1, notes: crealtimewatch_violations(3) - before.2,
        calls: RealtimeViolations.callsOfThisThread())
}

/// Whether a closure is fit for an audio thread: nothing in it blocks or may block.
///
///     @Test func theSynthIsClean() {
///         #expect(noRealtimeViolations { renderer.render(into: &block) })
///     }
///
/// What was found is said on standard error. It is false without the watchdog too, and then says how to run the tests
/// with it; to leave such tests out there, give them `.enabled(if: RealtimeWatch.isPresent)`.
///
/// - Parameters:
///   - warmUp: how often the closure is run before, unjudged; see ``realtimeViolations(warmUp:_:)``.
///   - file: where it stands.
///   - line: where it stands.
///   - body: runs `warmUp` times and once more.
public func noRealtimeViolations<Failure: Error>(
    warmUp: Int = 0, file: StaticString = #fileID, line: UInt = #line, _ body: () throws(Failure) -> Void
) throws(Failure) -> Bool {
    let found = try realtimeViolations(warmUp: warmUp, body)
    if !found.isEmpty { writeToStandardError("\(file):\(line): \(found)\n") }
    return found.isEmpty
}
