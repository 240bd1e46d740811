internal import SignalBlocks

/// A question for the latency of a renderer, or of the members of a module.
struct LatencyQuestion: Hashable, Sendable {
    let subject: ObjectIdentifier
    var source: ObjectIdentifier?
    var output: Int?
    let sampleRate: Double
}

/// The answers since the first question for a latency: each question is asked once. Renderers and modules may be inside of
/// themselves, by mistake, and there would be no end to it; and without a memory those that are inside of several others
/// would be asked as often as there are ways to them.
final class LatencyAnswers: Sendable {
    private struct State {
        /// `nil` for a question that is being asked.
        var known: [LatencyQuestion: ClosedRange<Int>?] = [:]
        var depth = 0
    }
    private let state = Lock(State())
    @TaskLocal private static var current: LatencyAnswers?

    /// Returns the answer to a question. What is inside of itself has none.
    static func answer(_ question: LatencyQuestion, _ ask: () -> ClosedRange<Int>?) -> ClosedRange<Int>? {
        if let current { return current.answer(question, ask) }
        let first = LatencyAnswers()
        return $current.withValue(first) { first.answer(question, ask) }
    }

    private func answer(_ question: LatencyQuestion, _ ask: () -> ClosedRange<Int>?) -> ClosedRange<Int>? {
        let known = state.withLock { state -> ClosedRange<Int>?? in
            if let known = state.known[question] { return .some(known) }
            // Each question inside of another takes some of the thread's stack.
            if state.depth >= RenderContext.nestingLimit { return .some(nil) }
            state.known[question] = .some(nil)
            state.depth += 1
            return nil
        }
        if let known { return known }
        let answer = ask()
        state.withLock { state in
            state.known[question] = .some(answer)
            state.depth -= 1
        }
        return answer
    }
}

extension Module {
    /// Returns the latency of the members, one after the other; 0 without members.
    public func latency(at sampleRate: Double) -> Int {
        let members = members
        if members.isEmpty { return 0 }
        let question = LatencyQuestion(subject: ObjectIdentifier(self), sampleRate: sampleRate.asSampleRate)
        let answer = LatencyAnswers.answer(question) {
            var walk = LatencyWalk(from: nil, at: question.sampleRate)
            var end = LatencyWalk.Lateness.start
            for member in members { end = walk.through(member, end) }
            return end.all
        }
        return answer?.upperBound ?? 0
    }
}
