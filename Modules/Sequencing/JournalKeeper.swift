internal import RenderCore
internal import Sharing
internal import Synchronization

/// The pen with which the render thread writes marks. It is good for the cycle in which it was taken.
struct JournalPen: Sendable {
    let ring: TurnRing<JournalMark>?
    /// The clocks of the marks that have one.
    let clocks: TurnRing<BeatClock>?
    /// The number of the journal, which no other has.
    let number: Int

    /// Creates a pen that writes nothing.
    @_noLocks @_noAllocation
    init() { (ring, clocks, number) = (nil, nil, 0) }

    init(_ keeper: JournalKeeper) { (ring, clocks, number) = (keeper.ring, keeper.clocks, keeper.number) }

    /// The pen together with what keeps it, also in a cycle that is still under way.
    struct Shared: ~Copyable, Sendable {
        let pen: JournalPen
        private let keeper: JournalKeeper?

        init(_ keeper: JournalKeeper? = nil) {
            pen = keeper.map { JournalPen($0) } ?? JournalPen()
            self.keeper = keeper
        }
    }
}

/// The journal of a sequencer while it is kept.
final class JournalKeeper: Sendable {
    let ring: TurnRing<JournalMark>
    let clocks = TurnRing<BeatClock>(capacity: 1_024)
    let number: Int
    /// The notes that were late before it, and those that were lost.
    let lateBefore: Int
    let lostBefore: Int
    private let state = Lock(State(), .stream)
    private static let numbers = Atomic<Int>(0)

    private struct State {
        var marks: [JournalMark] = []
        var clocks: [BeatClock] = []
        var turn: UInt = 0
        var clockTurn: UInt = 0
        /// The tracks by their stays, and the contents by their numbers.
        var tracks: [Int: SequencerJournal.TrackName] = [:]
        var contents: [Int: TrackSource.Content] = [:]
        var maps: [Int: TempoMap] = [:]
    }

    init(tracks: Int, late: Int, lost: Int) {
        let least = 2 * tracks + 16_000
        ring = TurnRing(capacity: 1 << (Int.bitWidth - least.leadingZeroBitCount))
        number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        (lateBefore, lostBefore) = (late, lost)
    }

    deinit {
        ring.deallocate()
        clocks.deallocate()
    }

    func name(_ track: Track, _ stay: Int) {
        let sources = track.sources
        state.withLock { state in
            state.tracks[stay] = SequencerJournal.TrackName(
                name: track.name, channel: track.midiChannel, repeats: track.repeats)
            for source in sources { state.contents[source.number] = source.content }
        }
    }

    func keep(_ source: TrackSource) { state.withLock { $0.contents[source.number] = source.content } }

    func keep(_ map: TempoMap) { state.withLock { $0.maps[map.table.places.number] = map } }

    /// Takes in what the render thread has written.
    func drain() {
        state.withLock { state in
            while let mark = ring.take(&state.turn) {
                state.marks.append(mark)
                guard let number = mark.map, state.maps[number] == nil else { continue }
                state.maps[number] = TempoMap(number: number)
            }
            while let clock = clocks.take(&state.clockTurn) { state.clocks.append(clock) }
        }
    }

    /// Returns what has been written of the slices before a frame.
    ///
    /// - Parameters:
    ///   - late: The notes that have been late.
    ///   - lost: Those that have been lost.
    ///   - missing: The marks for which there was no room.
    func journal(capacity: Int, until end: Int64, late: Int, lost: Int, missing: Int) -> SequencerJournal {
        drain()
        let state = state.withLock { $0 }
        var journal = SequencerJournal(capacity: capacity)
        journal.tracks = state.tracks
        journal.contents = state.contents
        journal.maps = state.maps
        journal.read(state.marks, state.clocks, until: end)
        if state.marks.contains(where: { mark in mark.map.map { state.maps[$0] == nil } ?? false }) {
            journal.add("A tempo map was gone before it was kept: the journal cannot be performed.")
        }
        if late > lateBefore {
            journal.add("\(late - lateBefore) notes were late, and left out; played again they are there.")
        }
        if lost > lostBefore {
            journal.add("\(lost - lostBefore) notes or commands were lost; played again they may be there.")
        }
        if missing > 0 && journal.sampleRate > 0 {
            journal.add("\(missing) changes are missing: too many came at once.")
        }
        return journal
    }
}

extension Sequencer {
    /// Keeps a journal from the next slice on: each command, edit and setting, of the sequencer and its tracks, and what becomes of the
    /// tempo, with the frame on which it took effect. One that is kept already ends.
    ///
    ///     sequencer.keepJournal()                     // before the renderer runs
    ///     …                                           // the concert
    ///     if let journal = sequencer.endJournal() { try save(journal.text) }
    ///
    /// ``SequencerJournal/perform(on:of:targets:cycle:each:)`` plays it again to the same bits.
    public func keepJournal() {
        let keeper = JournalKeeper(tracks: capacity, late: lateCount, lost: lostCount)
        // A track that comes from now on is named by who adds it.
        let seats = control.change { control in
            control.journal = keeper
            return control.places.compactMap { $0 }
        }
        for seat in seats { keeper.name(seat.track, seat.stay) }
        if let map = tempoMap { keeper.keep(map) }
        control.withLock { control in
            // Another thread may have begun one meanwhile.
            guard control.journal === keeper else { return }
            OpenTransaction.suspended { pen.set(JournalPen.Shared(keeper)) }
        }
    }

    /// The journal as far as it has come, up to the last cycle; `nil` if none is kept.
    public var journal: SequencerJournal? {
        // The end first: what is written before it is there.
        let end = Int64(bitPattern: seen[2])
        return keeper?.journal(
            capacity: capacity, until: end, late: lateCount, lost: lostCount, missing: Int(seen[3]))
    }

    /// Ends the journal, and returns it; `nil` if none is kept.
    @discardableResult
    public func endJournal() -> SequencerJournal? {
        let journal = journal
        control.change { control in
            control.journal = nil
            OpenTransaction.suspended { pen.set(JournalPen.Shared()) }
        }
        return journal
    }

    private var keeper: JournalKeeper? { control.withLock { $0.journal } }

    /// Keeps a content for the journal, before it can be heard.
    func keep(_ source: TrackSource) { keeper?.keep(source) }

    /// Keeps a map for the journal: another one may have taken its place before its mark is read.
    func keep(_ map: TempoMap) { keeper?.keep(map) }

    /// Makes room for more marks.
    func drainJournal() { keeper?.drain() }
}
