internal import RenderCore
internal import Sharing
internal import Synchronization
internal import Voices

/// A note or a message of a track, in the track's beats.
struct TableNote: BitwiseCopyable, Sendable {
    var start = 0.0
    var length = 0.0
    var number: Float = 0
    var velocity: Float = 0
    var isMessage = false
    var message = MIDIMessage.activeSensing

    @_noLocks @_noAllocation
    init() {}
}

/// A span of beats that a table has the notes of.
struct TableSpan: BitwiseCopyable, Sendable, Equatable {
    var from = 0.0
    var to = 0.0
}

/// The notes of a track, as far as they have been worked out, in the order of their beats.
struct NoteTable: ~Copyable, Sendable {
    let notes: RenderMemory<TableNote>
    let spans: RenderMemory<TableSpan>
    /// The programs and controllers that hold at a place.
    let states: ChannelStates

    init(_ notes: [TableNote], _ spans: [TableSpan], _ states: consuming ChannelStates) {
        self.notes = RenderMemory(notes)
        self.spans = RenderMemory(spans)
        self.states = states
    }

    /// Returns the first note that begins at a beat or later.
    @_noLocks @_noAllocation
    func index(from beat: Double) -> Int {
        var (low, high) = (0, notes.count)
        while low < high {
            let middle = (low &+ high) &>> 1
            if notes[middle].start < beat { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Returns whether there is a note of a number at a beat, or may be one, as nothing is known of there.
    @_noLocks @_noAllocation
    func mayHave(_ beat: Double, _ number: Float) -> Bool {
        if end(from: beat) <= beat { return true }
        var index = index(from: beat - Performance.rounding)
        while index < notes.count, notes[index].start <= beat + Performance.rounding {
            if !notes[index].isMessage && notes[index].number == number { return true }
            index &+= 1
        }
        return false
    }

    /// Returns the beat up to which the notes from another one on are there; that one itself if they are not.
    @_noLocks @_noAllocation
    func end(from beat: Double) -> Double {
        var index = 0
        while index < spans.count {
            let span = spans[index]
            if beat >= span.from - Performance.rounding && beat < span.to { return span.to }
            index &+= 1
        }
        return beat
    }
}

/// The settings of a track.
struct TrackSettings: BitwiseCopyable, Sendable {
    var isMuted = false
    var isSoloed = false
    /// The beat of the song at which the track begins.
    var offset = 0.0
    /// Beats of the track for one of the song.
    var rate = 1.0
    /// The beats after which it begins again; 0 if it does not.
    var loop = 0.0

    @_noLocks @_noAllocation
    init() {}
}

/// The way to the notes of a content.
struct ContentPlace: BitwiseCopyable, Sendable {
    let table: ManagedPlace<NoteTable>
    /// The number of the content, which no other has.
    let number: Int
    /// Its length, after which it begins again; 0 if it has none.
    let length: Double
}

/// The content of a track, as the render thread reads it.
struct TrackContent: ~Copyable, Sendable {
    let place: ContentPlace
    /// ``TrackSource/told``.
    let told: SharedWords
    /// Keeps the table.
    let source: TrackSource

    init(_ source: TrackSource) {
        self.source = source
        place = ContentPlace(table: ManagedPlace(of: source.table), number: source.number, length: source.length)
        told = SharedWords(sharing: source.told)
    }
}

/// A track in the list of a sequencer.
struct TrackEntry: BitwiseCopyable, Sendable {
    /// The number of its stay in the sequencer, which no other stay has.
    let stay: Int
    /// The number of the stay that a transaction has ended.
    let ended: ManagedPlace<Int>
    let content: ManagedPlace<TrackContent>
    let target: TargetPlace
    let channel: UInt8
    let hasKeys: Bool
    /// Indicates that slices begin with its events: the target sets a parameter, which a module may read once in a slice.
    let cutsSlices: Bool
    // Each by itself, so that a change which comes later takes nothing back that was set meanwhile.
    let isMuted: ManagedPlace<Bool>
    let isSoloed: ManagedPlace<Bool>
    let offset: ManagedPlace<Double>
    let rate: ManagedPlace<Double>
    let loop: ManagedPlace<Double>

    /// A number that is another one when any of the settings is.
    var settingsVersion: UInt64 {
        @_noLocks @_noAllocation get {
            isMuted.version &+ isSoloed.version &+ offset.version &+ rate.version &+ loop.version
        }
    }

    /// Returns whether its stay is over, although it is still in the list.
    @_noLocks @_noAllocation
    func hasLeft(_ context: inout RenderContext) -> Bool {
        var hasLeft = false
        ended.with(&context) { ended, _ in hasLeft = ended == stay }
        return hasLeft
    }

    /// Returns the settings.
    @_noLocks @_noAllocation
    func settings(_ context: inout RenderContext) -> TrackSettings {
        var found = TrackSettings()
        isMuted.with(&context) { value, _ in found.isMuted = value }
        isSoloed.with(&context) { value, _ in found.isSoloed = value }
        offset.with(&context) { value, _ in found.offset = value }
        rate.with(&context) { value, _ in found.rate = value }
        loop.with(&context) { value, _ in found.loop = value }
        return found
    }

    /// Returns where the notes of its content are.
    @_noLocks @_noAllocation
    func place(_ context: inout RenderContext) -> ContentPlace? {
        var found: ContentPlace?
        content.with(&context) { content, _ in found = content.place }
        return found
    }
}

/// The tracks of a sequencer, each in its place.
struct TrackList: ~Copyable, Sendable {
    /// For each place the number of its entry; -1 for none.
    private let numbers: RenderMemory<Int32>
    private let entries: RenderMemory<TrackEntry>
    private let tracks: [Track]

    /// - Parameter places: The tracks; nothing for a place that is free.
    init(_ places: [SeatedTrack?]) {
        var (numbers, entries, tracks): ([Int32], [TrackEntry], [Track]) = ([], [], [])
        for place in places {
            numbers.append(place == nil ? -1 : Int32(entries.count))
            if let place {
                entries.append(place.track.entry(place.stay))
                tracks.append(place.track)
            }
        }
        self.numbers = RenderMemory(numbers)
        self.entries = RenderMemory(entries)
        self.tracks = tracks
    }

    /// The number of places.
    var count: Int { @_noLocks @_noAllocation get { numbers.count } }

    /// The entry of a place.
    subscript(_ place: Int) -> TrackEntry? {
        @_noLocks @_noAllocation get {
            guard place >= 0 && place < numbers.count, numbers[place] >= 0 else { return nil }
            return entries[Int(numbers[place])]
        }
    }
}

/// The beats between which a song goes round; none if the second is not above the first.
struct SongLoop: BitwiseCopyable, Sendable {
    var start = 0.0
    var end = 0.0

    @_noLocks @_noAllocation
    init(_ start: Double = 0, _ end: Double = 0) { (self.start, self.end) = (start, end) }
}

/// The settings of a sequencer.
struct SequencerSettings: BitwiseCopyable, Sendable {
    var loop = SongLoop()
    var followsTransport = false
    var tempo = SongTempo.Places()

    @_noLocks @_noAllocation
    init() {}
}

/// The tempo of a sequencer's own: one number, a map, or none.
struct SongTempo: Sendable {
    let beatsPerMinute: Double?
    let map: TempoMap?
    let places: Places

    private static let numbers = Atomic<UInt64>(0)

    init(beatsPerMinute: Double? = nil, map: TempoMap? = nil) {
        (self.beatsPerMinute, self.map) = (beatsPerMinute, map)
        var places = Places()
        places.beatsPerMinute = beatsPerMinute ?? 0
        places.map = map?.table.places
        places.version = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        self.places = places
    }

    /// The tempo, as the render thread reads it.
    struct Places: BitwiseCopyable, Sendable {
        /// 0 for the renderer's tempo.
        var beatsPerMinute = 0.0
        var map: TempoTable.Places?
        /// The number of the setting.
        var version: UInt64 = 0

        /// Indicates that it is another one than the renderer's.
        var isOwn: Bool { @_noLocks @_noAllocation get { beatsPerMinute > 0 || map != nil } }

        @_noLocks @_noAllocation
        init() {}
    }
}

/// Something that a sequencer is to do.
struct SequencerCommand: BitwiseCopyable, Sendable {
    enum Action: BitwiseCopyable, Sendable { case start, stop, locate, launch, halt, rejoin }

    var action: Action
    /// The place of a track, and the number of its stay there.
    var track = 0
    var stay = 0
    /// The beat of the song; no number if none is meant.
    var beat = Double.nan
    /// The distance of the beats at one of which it happens: 0 for at once, below 0 for bars.
    var grid = 0.0
    /// The bars after that.
    var bars = 0

    /// Indicates that it is for one track.
    var isForTrack: Bool {
        @_noLocks @_noAllocation get {
            switch action {
            case .launch, .halt, .rejoin: true
            case .start, .stop, .locate: false
            }
        }
    }

    @_noLocks @_noAllocation
    init(_ action: Action, track: Int = 0, stay: Int = 0, beat: Double = .nan, grid: Double = 0) {
        (self.action, self.track, self.stay, self.beat, self.grid) = (action, track, stay, beat, grid)
    }
}
