/// Which renderer has which module. A module is one renderer's at a time: the first whose loop contains it.
///
/// The others render silence in its place until that renderer has let go of it: got another loop, or ceased to be.
final class Leases: Sendable {
    static let shared = Leases()

    private struct Lease {
        let token: UInt
        /// The loops that contain the module. The first one's renderer holds it.
        var claims: [Claim]
        var preparation: Preparation?
    }
    private struct Claim {
        let loop: LoopID
        let renderer: UInt
        let grant: @Sendable (UInt) -> Void
    }
    /// What a claim is withdrawn by.
    typealias LoopID = Int

    private let leases = Lock<[ObjectIdentifier: Lease]>([:])

    /// A loop will run a module. `grant` is called with the module's token, now or when its holder lets it go.
    ///
    /// - Returns: whether that was now.
    func claim(
        _ module: any Module, for loop: LoopID, of renderer: UInt, _ preparation: Preparation,
        grant: @escaping @Sendable (UInt) -> Void
    ) -> Bool {
        let key = ObjectIdentifier(module)
        let claim = Claim(
            loop: loop, renderer: renderer,
            grant: { token in
                Leases.shared.prepare(module, preparation)
                grant(token)
            })
        let token: UInt? = leases.withLock { leases in
            var lease = leases[key] ?? Lease(token: Tokens.shared.make(), claims: [], preparation: nil)
            let holder = lease.claims.first?.renderer ?? renderer
            lease.claims.append(claim)
            leases[key] = lease
            return holder == renderer ? lease.token : nil
        }
        if let token { claim.grant(token) }
        return token != nil
    }

    /// A loop has ended, and no render thread is in it: its modules go to whoever waits for them.
    func withdraw(_ modules: [any Module], from loop: LoopID) {
        var grants: [(@Sendable (UInt) -> Void, UInt)] = []
        leases.withLock { leases in
            for module in modules {
                let key = ObjectIdentifier(module)
                guard var lease = leases[key], let index = lease.claims.firstIndex(where: { $0.loop == loop })
                else { continue }
                let holder = lease.claims[0].renderer
                lease.claims.remove(at: index)
                // A renderer that exchanges its loop keeps the modules that are in both, whoever else waits.
                if let again = lease.claims.firstIndex(where: { $0.renderer == holder }) {
                    lease.claims.swapAt(0, again)
                } else if let next = lease.claims.first {
                    lease.preparation = nil
                    grants += lease.claims.filter { $0.renderer == next.renderer }.map { ($0.grant, lease.token) }
                }
                if lease.claims.isEmpty {
                    leases[key] = nil
                    Tokens.shared.remove(lease.token)
                } else {
                    leases[key] = lease
                }
            }
        }
        for (grant, token) in grants { grant(token) }
    }

    /// Prepares a module unless it has been, for the same.
    private func prepare(_ module: any Module, _ preparation: Preparation) {
        let key = ObjectIdentifier(module)
        let isNew = leases.withLock { leases in
            guard leases[key]?.preparation != preparation else { return false }
            leases[key]?.preparation = preparation
            return true
        }
        if isNew { module.prepare(preparation) }
    }
}
