/// Chooses the pitch in a row of windows: the path through their candidates that is the most likely as a whole.
///
/// A voice moves in small steps, and a window that is wrong by an octave has two neighbours that are not. The path is
/// found by Viterbi's algorithm. A step costs 12 nepers for an octave, but never more than 6; from sound to silence or
/// back costs 4.6. A choice waits for a number of later windows.
///
/// Threads: control.
public struct PitchPath: Sendable {
    private struct Step: Sendable {
        let candidates: [PitchFinder.Candidate]
        /// For each candidate, and for silence behind the last, the choice in the step before.
        let before: [Int]
    }

    private let delay: Int
    private var steps: [Step] = []
    private var scores: [Double] = []

    /// Creates a path.
    ///
    /// - Parameter delay: The number of later windows that a choice waits for, 0…100.
    /// - Precondition: The number is in range.
    public init(delay: Int = 3) {
        demand((0...100).contains(delay), "PitchPath: a delay of \(delay) windows; it must be 0…100")
        self.delay = delay
    }

    /// The number of windows whose choice waits.
    public var waitingCount: Int { steps.count }

    /// Goes on by a window.
    ///
    /// - Parameters:
    ///   - candidates: The candidates of the window.
    ///   - voice: The likelihood that there is a tone at all, 0…1. By default it is found from the clarity of the best
    ///     candidate: 0.5 at a clarity of 0.4.
    /// - Returns: The choice for the window that lies `delay` windows back, `.some(nil)` for silence; `nil` if there
    ///   were not so many.
    public mutating func add(_ candidates: [PitchFinder.Candidate], voice: Double? = nil) -> PitchFinder.Candidate?? {
        let likelihood = voice ?? Self.voice(candidates)
        let all: [PitchFinder.Candidate?] = candidates + [nil]
        let last: [PitchFinder.Candidate?]? = steps.last.map { $0.candidates + [nil] }
        var next: [Double] = []
        var before: [Int] = []
        for candidate in all {
            let share = candidate.map { likelihood * $0.weight } ?? max(1e-4, 1 - likelihood)
            let own = Self.log(share + 1e-9)
            var best = (score: last == nil ? 0 : -Double.infinity, from: 0)
            for (i, old) in (last ?? []).enumerated() {
                let score = scores[i] - Self.cost(old?.frequency, candidate?.frequency)
                if score > best.score { best = (score, i) }
            }
            next.append(best.score + own)
            before.append(best.from)
        }
        let highest = next.max() ?? 0
        scores = next.map { $0 - highest }
        steps.append(Step(candidates: candidates, before: before))
        return steps.count > delay ? takeFirst() : nil
    }

    /// Ends the path: returns the choice for the next window that waits; `nil` if none does.
    public mutating func finishNext() -> PitchFinder.Candidate?? { steps.isEmpty ? nil : takeFirst() }

    /// Takes the oldest step out, with what the present best path chooses there.
    private mutating func takeFirst() -> PitchFinder.Candidate?? {
        var choice = scores.indices.max { scores[$0] < scores[$1] } ?? 0
        for step in steps.dropFirst().reversed() { choice = step.before[choice] }
        let first = steps.removeFirst()
        if steps.isEmpty { scores = [] }
        return .some(choice < first.candidates.count ? first.candidates[choice] : nil)
    }

    private static func cost(_ a: Double?, _ b: Double?) -> Double {
        switch (a, b) {
        case (let a?, let b?): min(6, 12 * abs(RenderMath.log2(a / b))) + 0.01
        case (nil, nil): 0.01
        default: 4.6
        }
    }

    private static func voice(_ candidates: [PitchFinder.Candidate]) -> Double {
        let clarity = candidates.map(\.clarity).max() ?? 0
        return 1 / (1 + RenderMath.exp(25 * (0.4 - clarity)))
    }

    private static func log(_ x: Double) -> Double { RenderMath.log2(x) * 0.6931471805599453 }
}
