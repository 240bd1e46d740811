/// The latency of a module that does not say its own: that of its members, one after the other.
enum MemberLatency {
    /// The modules whose members have been asked since the first was. A module may be inside of itself, by mistake, and
    /// there would be no end to it.
    private final class Asked: Sendable {
        let modules = Lock((known: Set<ObjectIdentifier>(), depth: 0))
    }
    @TaskLocal private static var asked: Asked?

    static func sum(of module: any Module, at sampleRate: Double) -> Int {
        let members = module.members
        if members.isEmpty { return 0 }
        guard let asked else {
            let first = Asked()
            return $asked.withValue(first) { sum(of: module, members, at: sampleRate, first) }
        }
        return sum(of: module, members, at: sampleRate, asked)
    }

    private static func sum(
        of module: any Module, _ members: [any Module], at sampleRate: Double, _ asked: Asked
    ) -> Int {
        let isNew = asked.modules.withLock { asked in
            guard asked.depth < RenderContext.nestingLimit, asked.known.insert(ObjectIdentifier(module)).inserted else {
                return false
            }
            asked.depth += 1
            return true
        }
        guard isNew else { return 0 }
        defer { asked.modules.withLock { $0.depth -= 1 } }
        var walk = LatencyWalk(from: nil, at: sampleRate)
        var end = LatencyWalk.Lateness.start
        for member in members { end = walk.through(member, end) }
        return end.all.upperBound
    }
}

extension Module {
    /// Returns the latency of the members, one after the other; 0 without members.
    public func latency(at sampleRate: Double) -> Int { MemberLatency.sum(of: self, at: sampleRate) }
}
