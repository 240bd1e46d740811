internal import RenderCore

/// Takes that wait for the render thread, in order, in a `ManagedValue`: as long as it can be read, they are there.
package struct ReadyTakes: ~Copyable, Sendable {
    private let takes: [DiskTake]
    private var references = InlineArray<64, TakeReference?>(repeating: nil)
    private let count: Int

    /// Creates a list of 64 takes at most.
    package init(_ takes: [DiskTake] = []) {
        self.takes = takes
        count = min(takes.count, 64)
        for (place, take) in takes.prefix(64).enumerated() { references[place] = take.reference }
        for take in takes { take.countCue(1) }
    }

    deinit { for take in takes { take.countCue(-1) } }

    /// Reserves the first take that can be begun at a sample rate. On the render thread.
    @_noLocks @_noAllocation
    package func reserve(at rate: Double) -> TakeReference? {
        for place in 0..<count {
            if let take = references[place], take.isReady(at: rate), take.reserve() { return take }
        }
        return nil
    }
}
