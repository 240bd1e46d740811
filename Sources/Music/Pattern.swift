/// A function of beats: it says which events begin in a span.
///
///     let drums: Pattern = "kick [~ hat] snare [hat hat]"             // four steps to a bar
///     let bass = Pattern.euclid(5, of: 16, note: "A1").every(4) { $0.reversed() }
///     let melody = Pattern("0 2 4 <7 9>").scale(.minor, root: "A3")
///     let all = drums + bass + melody.fast(2)
///
/// A pattern has no clock and no state: the same span has the same events whenever it is asked for, and spans that are cut out of a
/// longer one have its events, each once. So a pattern may be replaced while it plays, and goes on where the old one was.
///
/// A ``cycle`` is what ``reversed()``, ``every(_:at:_:)`` and others count by: a bar of four beats, if you say nothing else.
///
/// Threads: control.
public struct Pattern: Sendable {
    let source: any PatternSource
    /// The beats after which the pattern comes again, or goes on with its next variant; more than 0.
    public let cycle: Fraction
    /// The mistake in a text that it was made of; `nil` if there is none. That part of the text is silent.
    public let problem: PatternError?
    /// The text that it was made of; `nil` if it was made otherwise, or changed since.
    public private(set) var text: String?
    /// The seed that it was made with.
    package private(set) var seed: UInt64 = 0

    /// How many changes were made one upon the other. To ask the last one calls all of them, so that their number has a bound.
    private let depth: Int
    private static let mostDepth = 256

    init(_ source: any PatternSource, cycle: Fraction, problem: PatternError? = nil) {
        (self.source, self.problem, depth) = (source, problem, 0)
        self.cycle = cycle > 0 ? cycle : 4
    }

    /// Creates a pattern of a source that was made of the sources of others.
    init(_ source: any PatternSource, cycle: Fraction, of others: [Pattern]) {
        depth = others.reduce(0) { max($0, $1.depth) } + 1
        self.cycle = cycle > 0 ? cycle : 4
        if depth <= Pattern.mostDepth {
            self.source = source
            problem = others.lazy.compactMap(\.problem).first
        } else {
            let reason =
                "More than \(Pattern.mostDepth) changes were made one upon the other, and the pattern is silent: make it anew from a text."
            self.source = SilentSource()
            problem = PatternError("", at: 0, reason)
        }
    }

    /// Returns the pattern with another source, which was made of its own and those of others.
    func with(_ source: any PatternSource, of others: Pattern...) -> Pattern {
        Pattern(source, cycle: cycle, of: [self] + others)
    }

    /// A pattern without events.
    public static let silence = Pattern(SilentSource(), cycle: 4)

    /// Creates a pattern of a text; see <doc:MusicInTime>.
    ///
    /// A text that is wrong gives silence, and ``problem`` says what is wrong and where: who changes a text while it plays must not end
    /// the program. ``init(checking:cycle:seed:)`` throws instead.
    ///
    /// - Parameters:
    ///   - text: One cycle, such as `kick [~ hat] snare [hat hat]`.
    ///   - cycle: The beats of a cycle. What is not more than 0 becomes 4.
    ///   - seed: Another number gives other random choices. They depend on nothing but it, the text and the cycle's number.
    public init(_ text: String, cycle: Fraction = 4, seed: UInt64 = 0) {
        do throws(PatternError) { self = try Pattern(checking: text, cycle: cycle, seed: seed) } catch {
            self.init(SilentSource(), cycle: cycle, problem: error)
            (self.text, self.seed) = (text, seed)
        }
    }

    /// Creates a pattern of a text, or says what is wrong with it.
    ///
    /// - Throws: An error that points at the character.
    public init(checking text: String, cycle: Fraction = 4, seed: UInt64 = 0) throws(PatternError) {
        var parser = PatternParser(text)
        let root = try parser.read()
        let cycle = cycle > 0 ? cycle : 4
        self.init(PatternCompiler.source(root, cycle: cycle, seed: seed), cycle: cycle)
        (self.text, self.seed) = (text, seed)
    }

    /// Creates a pattern of a function, which returns the events that begin in a span, in any order.
    ///
    /// The function must return the same events whenever it is asked for the same beats. Those out of the span are left out.
    ///
    /// - Parameters:
    ///   - cycle: The beats of a cycle. What is not more than 0 becomes 4.
    ///   - function: It takes the first beat, and the one at which the span ends.
    public init(cycle: Fraction = 4, _ function: @escaping @Sendable (Fraction, Fraction) -> [MusicEvent]) {
        self.init(ClosureSource(function: function), cycle: cycle)
    }

    /// Creates a pattern that plays a clip again and again; its cycle is the clip's length. A clip without a length is silent.
    public init(_ clip: Clip) {
        let isSilent = clip.length <= 0 || clip.events.isEmpty
        self.init(
            isSilent ? SilentSource() : TableSource(clip.events, round: clip.length), cycle: clip.length)
    }

    /// Returns the events that begin in a span, by their beginnings. Those of one beginning keep the order of the pattern's parts.
    ///
    /// A span may begin before 0. The work for a span has a bound: one with more than some hundred thousand events ends early, and beyond
    /// 2⁴⁰ beats there is none.
    public func events(from: Fraction, to: Fraction) -> [MusicEvent] {
        let most = Fraction(1 << 40)
        let span = Span(from: max(from, -most), to: min(to, most))
        if span.isEmpty { return [] }
        var found = Found()
        source.collect(span, into: &found)
        return found.events.sortedByStart()
    }
}

extension Pattern: ExpressibleByStringInterpolation {
    /// Creates a pattern of a text in the code; see ``init(_:cycle:seed:)``.
    public init(stringLiteral text: String) { self.init(text, cycle: 4) }
}
