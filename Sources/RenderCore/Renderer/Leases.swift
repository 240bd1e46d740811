internal import Synchronization

/// The table of the renderers that have modules. One renderer has a module at a time: the first whose loop contains it.
///
/// Other renderers render silence in its place until that renderer has released it: it got another loop, or is gone.
final class Leases: Sendable {
    static let shared = Leases()

    private struct Lease {
        var token: UInt
        /// The loops that contain the module. The first one's renderer holds it.
        var claims: [Claim]
        /// The settings for which the module was prepared last; `nil` before, and when another renderer has taken it
        /// over.
        var preparation: Preparation?
        /// Indicates whether a thread is preparing the module. That thread looks again when it is done.
        var isPreparing = false

        /// The newest loop of the renderer that holds the module: the older ones are on their way out.
        var newest: Claim? {
            let holder = claims.first?.renderer
            return claims.filter { $0.renderer == holder }.max { $0.loop < $1.loop }
        }
    }
    private struct Claim {
        let module: any Module
        let loop: ImageID
        let renderer: UInt
        let preparation: Preparation
        let entrance: Entrance
        /// Lets the loop run the module. It runs no code of a user.
        let grant: @Sendable (UInt) -> Void
        /// The token with which the loop runs the module; 0 until it may.
        var token: UInt = 0
    }
    /// The number by which claims of a loop are withdrawn. Newer loops have higher numbers.
    typealias ImageID = Int

    private let leases = Lock<[ObjectIdentifier: Lease]>([:], .leases)

    /// Claims a module that a loop will run. `grant` is called with the module's token, now or when its holder lets it
    /// go, after the module has been prepared for the loop.
    ///
    /// - Parameter entrance: Keeps the changes that the module makes as it is prepared, until the loop is rendered.
    func claim(
        _ module: any Module, for loop: ImageID, of renderer: UInt, _ preparation: Preparation, _ entrance: Entrance,
        grant: @escaping @Sendable (UInt) -> Void
    ) {
        let key = ObjectIdentifier(module)
        let claim = Claim(
            module: module, loop: loop, renderer: renderer, preparation: preparation, entrance: entrance, grant: grant)
        leases.withLock { leases in
            // If there is no token left, the module stays silent.
            guard
                var lease = leases[key]
                    ?? Tokens.shared.make().map({ Lease(token: $0, claims: [], preparation: nil) })
            else { return }
            lease.claims.append(claim)
            leases[key] = lease
        }
        serve(key)
    }

    /// Withdraws the claims of a loop that has ended, with no render thread in it: its modules go to the renderers that
    /// wait for them.
    func withdraw(_ modules: [any Module], from loop: ImageID) {
        let (waiting, ended): ([ObjectIdentifier], [Claim]) = leases.withLock { leases in
            // Claims that end hold modules, and may be the last to do so: they are freed after the lock is released.
            var (waiting, ended): ([ObjectIdentifier], [Claim]) = ([], [])
            for module in modules {
                let key = ObjectIdentifier(module)
                guard var lease = leases[key], let index = lease.claims.firstIndex(where: { $0.loop == loop })
                else { continue }
                let holder = lease.claims[0].renderer
                ended.append(lease.claims.remove(at: index))
                // A renderer that exchanges its loop keeps the modules that are in both, even if another one waits.
                if let again = lease.claims.firstIndex(where: { $0.renderer == holder }) {
                    lease.claims.swapAt(0, again)
                } else {
                    lease.preparation = nil
                    waiting.append(key)
                }
                leases[key] = lease
            }
            return (waiting, ended)
        }
        for key in waiting { serve(key) }
        withExtendedLifetime(ended) {}
    }

    /// Prepares a module for the newest loop of its holder, unless it has been, and lets that run it. One thread at a
    /// time: a thread that finds another one at it leaves its loop to that.
    private func serve(_ key: ObjectIdentifier) {
        while let (claim, preparing) = leases.withLock({ takeTurn(&$0, key) }) {
            HeldLocks.expectNone(before: "\(claim.module.name) is prepared")
            preparing.run {
                if preparing.isFirst {
                    Transaction.suspended { claim.module.prepare(claim.preparation) }
                } else {
                    claim.entrance.record { claim.module.prepare(claim.preparation) }
                }
            }
            leases.withLock { $0[key]?.isPreparing = false }
        }
    }

    /// Returns the claim for which the module is to be prepared; `nil` if there is none, or another thread does it.
    /// Grants the claims that can be granted.
    private func takeTurn(
        _ leases: inout [ObjectIdentifier: Lease], _ key: ObjectIdentifier
    ) -> (claim: Claim, preparing: Preparing)? {
        guard var lease = leases[key], !lease.isPreparing else { return nil }
        guard let newest = lease.newest else {
            leases[key] = nil
            Tokens.shared.remove(lease.token.withoutEpoch)
            return nil
        }
        defer { leases[key] = lease }
        // The loops that may be rendered. One that was asked for before the newest of them must not follow it.
        let granted = lease.claims.filter { $0.renderer == newest.renderer && $0.token != 0 }
        if lease.preparation != newest.preparation {
            let isFirst = lease.preparation == nil
            // The token tells the states of a module for this loop from those that an older loop may be rendering.
            lease.token = lease.token.nextEpoch
            lease.preparation = newest.preparation
            lease.isPreparing = true
            let oldest = granted.map(\.token).reduce(lease.token) { $0.isLater(than: $1) ? $1 : $0 }
            return (newest, Preparing(token: lease.token, isFirst: isFirst, oldest: oldest))
        }
        let last = granted.map(\.loop).max() ?? 0
        for index in lease.claims.indices
        where lease.claims[index].renderer == newest.renderer && lease.claims[index].token == 0
            && lease.claims[index].preparation == newest.preparation && lease.claims[index].loop > last
        {
            lease.claims[index].token = lease.token
            lease.claims[index].grant(lease.token)
        }
        return nil
    }
}
