/// Works out how late the sound is, on its way through modules and those inside of them.
struct LatencyWalk {
    /// The lateness of a sound at one place.
    struct Lateness {
        /// The least and the most frames over all ways to the place.
        var all: ClosedRange<Int>
        /// The least and the most over the ways that begin at the source; `nil` if there is none.
        var fromSource: ClosedRange<Int>?

        /// The lateness at which a way begins.
        static var start: Lateness { Lateness(all: 0...0, fromSource: nil) }

        func moved(by frames: Int) -> Lateness {
            Lateness(all: all.moved(by: frames), fromSource: fromSource?.moved(by: frames))
        }

        /// Returns the lateness over both ways at once.
        func joined(with other: Lateness) -> Lateness {
            var ranges: (ClosedRange<Int>?, ClosedRange<Int>?) = (fromSource, other.fromSource)
            if ranges.0 == nil { ranges = (ranges.1, nil) }
            let fromSource = ranges.0.map { first in ranges.1.map { first.covering($0) } ?? first }
            return Lateness(all: all.covering(other.all), fromSource: fromSource)
        }
    }

    /// The module at which the ways must begin; `nil` for any beginning.
    private let source: (any Module)?
    private let sampleRate: Double
    /// The number of modules that have been gone through. Modules may be in one another more often than there is time
    /// for.
    private var count = 0
    private static let limit = 100_000

    /// - Parameter sampleRate: The rate for which the modules' latencies are asked.
    init(from source: (any Module)?, at sampleRate: Double) {
        self.source = source
        self.sampleRate = sampleRate.asSampleRate
    }

    /// Returns the lateness of a module's output, given that of its input. Lists may be in lists, but a list in itself
    /// has no end.
    mutating func through(_ module: any Module, _ input: Lateness, level: Int = 0) -> Lateness {
        var input = input
        if let source, module === source { input.fromSource = 0...0 }
        count += 1
        if level > 16 || count > Self.limit { return input }
        guard let composite = module as? any CompositeModule else {
            var output = input.moved(by: frames(of: module))
            if source != nil { output.fromSource = output.joined(with: inside(module, level)).fromSource }
            return output
        }
        switch composite.arrangement {
        case .asShown: return input
        case .chain(let members):
            for member in members { input = through(member, input, level: level + 1) }
            return input
        case .parallel(let members): return members.isEmpty ? input : Self.join(parts(members, level))
        case .aligned(let members): return members.isEmpty ? input : Self.align(parts(members, level))
        }
    }

    private mutating func parts(_ members: [any Module], _ level: Int) -> [Lateness] {
        members.map { through($0, .start, level: level + 1) }
    }

    /// Returns the way from a source among a module's members to its end.
    private mutating func inside(_ module: any Module, _ level: Int) -> Lateness {
        var way = Lateness.start
        for member in module.members { way = through(member, way, level: level + 1) }
        // An input may be in a renderer inside of the module.
        if let source, let inner = module as? any SupplyPassing {
            way.fromSource = inner.latencies(fromInside: source, at: sampleRate) ?? way.fromSource
        }
        return way
    }

    /// Parts that are held back until the latest: the sum of them.
    static func align(_ parts: [Lateness]) -> Lateness {
        let latest = parts.map(\.all.upperBound).max() ?? 0
        return join(parts.map { $0.moved(by: latest - $0.all.upperBound) })
    }

    static func join(_ parts: [Lateness]) -> Lateness {
        parts.dropFirst().reduce(parts.first ?? .start) { $0.joined(with: $1) }
    }

    /// Returns the latency that a module adds, limited so that any number of modules can be added up.
    private func frames(of module: any Module) -> Int {
        max(0, min(module.latency(at: sampleRate), 1 << 40))
    }
}

extension ClosedRange<Int> {
    fileprivate func moved(by frames: Int) -> ClosedRange<Int> { lowerBound + frames...upperBound + frames }

    fileprivate func covering(_ other: ClosedRange<Int>) -> ClosedRange<Int> {
        Swift.min(lowerBound, other.lowerBound)...Swift.max(upperBound, other.upperBound)
    }
}
