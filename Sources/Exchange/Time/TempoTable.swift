/// The pieces of a ``TempoMap`` in a row, as a render thread reads them. All copies of the map share it.
@safe package final class TempoTable: @unchecked Sendable {
    // Unchecked because the memory is written once, before any other thread sees it.
    /// The pieces, for as long as the table lives.
    package let places: Places

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

        /// Returns whether both are the pieces of one table.
        package func isSame(as other: Places) -> Bool { unsafe base == other.base }

        fileprivate init(_ base: UnsafePointer<Entry>, _ count: Int) { unsafe (self.base, self.count) = (base, count) }

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

    /// Keeps some pieces, one or more.
    init(_ entries: [Entry]) {
        let base = UnsafeMutablePointer<Entry>.allocate(capacity: entries.count)
        for (index, entry) in entries.enumerated() { unsafe (base + index).initialize(to: entry) }
        places = unsafe Places(UnsafePointer(base), entries.count)
    }

    deinit { places.free() }
}

extension TempoTable.Places {
    fileprivate func free() { unsafe UnsafeMutablePointer(mutating: base).deallocate() }
}
