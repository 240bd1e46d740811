internal import SignalBlocks

/// A question for the latency of a renderer.
struct LatencyQuestion: Hashable, Sendable {
    let renderer: ObjectIdentifier
    let source: ObjectIdentifier?
    let output: Int?
    let sampleRate: Double
}

/// The answers since the first question for a latency: each renderer is asked once. Renderers and modules may be inside of
/// themselves, by mistake, and there would be no end to it; and without a memory renderers that are inside of several
/// others would be asked as often as there are ways to them.
final class LatencyAnswers: Sendable {
    private struct State {
        /// `nil` for a renderer that is being asked.
        var renderers: [LatencyQuestion: ClosedRange<Int>?] = [:]
        /// The modules whose members have been asked.
        var modules: Set<ObjectIdentifier> = []
        var depth = 0
    }
    private let state = Lock(State())
    @TaskLocal private static var current: LatencyAnswers?

    private static func run<Result>(_ body: (LatencyAnswers) -> Result) -> Result {
        if let current { return body(current) }
        let first = LatencyAnswers()
        return $current.withValue(first) { body(first) }
    }

    /// Returns the answer of a renderer. A renderer inside of itself has none.
    static func answer(_ question: LatencyQuestion, _ ask: () -> ClosedRange<Int>?) -> ClosedRange<Int>? {
        run { answers in
            let known = answers.state.withLock { state -> ClosedRange<Int>?? in
                if let known = state.renderers[question] { return .some(known) }
                // Each renderer inside of another takes some of the thread's stack.
                if state.depth >= RenderContext.nestingLimit { return .some(nil) }
                state.renderers[question] = .some(nil)
                state.depth += 1
                return nil
            }
            if let known { return known }
            let answer = ask()
            answers.state.withLock { state in
                state.renderers[question] = .some(answer)
                state.depth -= 1
            }
            return answer
        }
    }

    /// Returns the latency of a module that does not say its own: that of its members, one after the other.
    static func sum(of module: any Module, at sampleRate: Double) -> Int {
        let members = module.members
        if members.isEmpty { return 0 }
        return run { answers in
            let isNew = answers.state.withLock { state in
                guard state.depth < RenderContext.nestingLimit, state.modules.insert(ObjectIdentifier(module)).inserted
                else { return false }
                state.depth += 1
                return true
            }
            guard isNew else { return 0 }
            defer { answers.state.withLock { $0.depth -= 1 } }
            var walk = LatencyWalk(from: nil, at: sampleRate)
            var end = LatencyWalk.Lateness.start
            for member in members { end = walk.through(member, end) }
            return end.all.upperBound
        }
    }
}

extension Module {
    /// Returns the latency of the members, one after the other; 0 without members.
    public func latency(at sampleRate: Double) -> Int { LatencyAnswers.sum(of: self, at: sampleRate) }
}
