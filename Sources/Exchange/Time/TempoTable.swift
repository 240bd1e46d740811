internal import SignalBlocks
internal import Synchronization

/// What a ``TempoMap`` consists of, and its pieces in a row, as a render thread reads them. All copies of the map share it.
@safe package final class TempoTable: @unchecked Sendable {
    // Unchecked because the memory is written once, before any other thread sees it.
    let points: [TempoMap.Point]
    let metres: [TempoMap.MetreChange]
    /// The pieces, for as long as the table lives.
    package let places: Places

    private static let numbers = Atomic<Int>(0)
    private static let living = Lock<[Int: Reference]>([:], .leaf)

    private struct Reference: Sendable { weak var table: TempoTable? }

    /// Returns the table of a number; `nil` if it is gone.
    static func table(_ number: Int) -> TempoTable? { living.withLock { $0[number]?.table } }

    /// A piece with its place.
    package struct Entry: BitwiseCopyable, Sendable {
        /// The beat with which it begins, and the minutes up to there.
        package let beat: Double
        let minutes: Double
        let piece: TempoPiece
        let bars: BarLines
    }

    /// The pieces without the right to keep them.
    @safe package struct Places: BitwiseCopyable, @unchecked Sendable {
        // Unchecked because the memory is never written while it can be read.
        private let base: UnsafePointer<Entry>
        /// The number of pieces, one or more.
        package let count: Int
        /// The number of the table, which no other has.
        package let number: Int

        fileprivate init(_ base: UnsafePointer<Entry>, _ count: Int, _ number: Int) {
            unsafe (self.base, self.count, self.number) = (base, count, number)
        }

        /// A piece, or the nearest one that there is.
        package subscript(_ index: Int) -> Entry {
            @_noLocks @_noAllocation get { unsafe base[index < 0 ? 0 : index < count ? index : count &- 1] }
        }

        /// Returns the last piece that begins at a beat or before it.
        @_noLocks @_noAllocation
        package func index(of beat: Double) -> Int {
            var (low, high) = (0, count)
            while high &- low > 1 {
                let middle = (low &+ high) / 2
                if self[middle].beat <= beat { low = middle } else { high = middle }
            }
            return low
        }

        /// Returns the last piece that begins after some minutes or before.
        @_noLocks @_noAllocation
        func index(after minutes: Double) -> Int {
            var (low, high) = (0, count)
            while high &- low > 1 {
                let middle = (low &+ high) / 2
                if self[middle].minutes <= minutes { low = middle } else { high = middle }
            }
            return low
        }

        /// Returns the minutes up to a beat.
        @_noLocks @_noAllocation
        package func minutes(of beat: Double) -> Double {
            let entry = self[index(of: beat)]
            return entry.minutes + entry.piece.minutes(of: beat - entry.beat)
        }

        /// Returns the beat after some minutes.
        @_noLocks @_noAllocation
        package func beat(after minutes: Double) -> Double {
            let entry = self[index(after: minutes)]
            return entry.beat + entry.piece.beats(in: minutes - entry.minutes)
        }

        /// Returns the tempo at a beat.
        @_noLocks @_noAllocation
        package func tempo(at beat: Double) -> Double {
            let entry = self[index(of: beat)]
            return entry.piece.tempo(after: beat - entry.beat)
        }
    }

    /// - Parameter entries: The pieces, one or more.
    init(_ points: [TempoMap.Point], _ metres: [TempoMap.MetreChange], _ entries: [Entry]) {
        (self.points, self.metres) = (points, metres)
        let base = UnsafeMutablePointer<Entry>.allocate(capacity: entries.count)
        for (index, entry) in entries.enumerated() { unsafe (base + index).initialize(to: entry) }
        let number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        places = unsafe Places(UnsafePointer(base), entries.count, number)
        // Those that are gone leave here, and not where they go: a lock may be held there.
        Self.living.withLock { living in
            if number & 63 == 0 { living = living.filter { $0.value.table != nil } }
            living[number] = Reference(table: self)
        }
    }

    deinit { places.free() }
}

extension TempoTable.Places {
    fileprivate func free() { unsafe UnsafeMutablePointer(mutating: base).deallocate() }
}
