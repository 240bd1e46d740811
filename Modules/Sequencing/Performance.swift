internal import RenderCore
internal import Sharing
internal import Voices

/// The state of a ``Sequencer`` on the render thread: the place of the song, the next note of each track, and the notes that sound.
///
/// All times are beats of one clock, the renderer's or the sequencer's own. The song's beat 0 is at ``origin`` on it. Whatever happens
/// is taken in the order of its beats, so that it makes no difference where slices begin.
struct Performance: ~Copyable, Sendable {
    /// A place in a track.
    struct Place: BitwiseCopyable, Sendable {
        /// The table of this cycle.
        var table: ManagedSnapshot<NoteTable>?
        /// The note that comes next, and how many times the track has begun again before it.
        var index = 0
        var round = 0.0
        /// The beat of the clock at which the track's beat 0 is.
        var origin = 0.0
        /// The length after which it begins again; 0 if it does not.
        var length = 0.0
        var contentVersion: UInt64 = 0
        var tableVersion: UInt64 = 0
        var settingsVersion: UInt64 = 0
        var number = 0
        /// The length of its clip; 0 for a pattern.
        var clipLength = 0.0
        /// Indicates that slices begin with its events.
        var cutsSlices = false
        /// The number of the stay of the track that is here; 0 for none.
        var stay = 0
        var settings = TrackSettings()
        /// Indicates that it was launched, and does not go with the song.
        var isFree = false
        var isHalted = false
        /// Indicates that its target has got a program or a controller.
        var hasSaid = false
        /// Indicates that what comes next is not known yet.
        var isBlocked = false

        @_noLocks @_noAllocation
        init() {}
    }

    /// A note that sounds.
    struct Sounding: BitwiseCopyable, Sendable {
        var note: TargetNote
        var target: TargetPlace?
        /// The place of its track, and the number of the stay in which it began.
        var track = -1
        var stay = 0
        /// Its beat in the track.
        var start = 0.0
        var hasKey = false

        @_noLocks @_noAllocation
        init() { note = TargetNote(voice: 0, number: 0, velocity: 0) }
    }

    /// A command that waits for its beat.
    struct Pending: BitwiseCopyable, Sendable {
        var command = SequencerCommand(.stop)
        var beat = 0.0
        /// The frame of the sample clock from which it counts.
        var time = Int64.min

        @_noLocks @_noAllocation
        init() {}
    }

    /// Numbers that were counted since they were taken.
    struct Counts: BitwiseCopyable, Sendable {
        var lost = 0
        var late = 0

        @_noLocks @_noAllocation
        init() {}
    }

    /// Beats by which rounding may move a beat that is meant to be the same.
    static var rounding: Double { @_noLocks @_noAllocation get { 1e-9 } }
    /// The notes that may sound at once, the commands that may wait for a beat, and those that may come in a slice besides.
    static var soundingLimit: Int { @_noLocks @_noAllocation get { 4_096 } }
    static var waitingLimit: Int { @_noLocks @_noAllocation get { 256 } }
    static var sentLimit: Int { @_noLocks @_noAllocation get { 256 } }
    /// The tracks that go with the song, and all tracks, in the place of the number of one.
    static var song: Int { @_noLocks @_noAllocation get { -1 } }
    static var all: Int { @_noLocks @_noAllocation get { -2 } }
    /// The shortest loop of a song, in beats.
    static var shortestLoop: Double { @_noLocks @_noAllocation get { 1.0 / 16 } }

    /// The fastest tempo that may have been.
    static var fastest: Double { @_noLocks @_noAllocation get { 1e4 } }
    /// The beats of a window of ``TrackSource``.
    static var window: Double { @_noLocks @_noAllocation get { 16 } }

    var places: RenderMemory<Place>
    var next: BeatHeap
    var sounding: RenderMemory<Sounding>
    var ends: BeatHeap
    var free: RenderMemory<Int>
    var freeCount: Int
    var pending: RenderMemory<Pending>
    var pendingCount = 0
    /// The commands that may wait for a beat: those of all tracks.
    let waitingLimit: Int
    /// The notes that may still begin in this slice.
    var budget = 0
    var counts = Counts()
    let voiceBase: Int
    var voice = 0
    let list: ManagedPlace<TrackList>

    // The clock of this slice.
    var clock: BeatClock
    var base: Int64 = 0
    var frameCount = 0
    /// The beat at which this slice should begin; no number before the first.
    var expected = Double.nan
    /// The sequencer's own clock.
    var own: BeatClock
    var tempoVersion: UInt64 = 0
    /// The map of the own clock, and the number of the setting that it is from.
    private var map: TempoTable.Places?
    private var mapVersion: UInt64 = 0
    private var hasNewMap = false
    /// Indicates that a piece of the clock's map begins with this slice, and where the last one of the renderer's map began.
    private var hasNewPiece = false
    private var outerPiece = Double.nan
    /// Indicates that a map has given the own clock its tempo and bars.
    private var hasOtherTempo = false

    // The song.
    var isPlaying = false
    /// The beat of the clock at which the song's beat 0 is: that of the last start, and the loops since then.
    var origin = 0.0
    var firstOrigin = 0.0
    var rounds = 0.0
    /// The beat of the clock at which the loop ends; infinite if there is none ahead.
    var loopBeat = Double.infinity
    var settings = SequencerSettings()
    /// The beat of the song at which it stopped, and at which it began last.
    var stopped = 0.0
    var begun = 0.0
    var soloCount = 0
    /// The places that tracks may be in.
    var trackCount = 0
    /// The list of this slice, and the version of the one that was looked at last.
    var shown: ManagedSnapshot<TrackList>?
    var listVersion: UInt64 = 0
    /// The newest version of which no older track sounds any more.
    var settledVersion: UInt64 = 0
    /// Indicates that notes of tracks which have left may sound, and that every track is to be looked at.
    var hasOrphans = false
    var isAllStale = true
    let flags: FlagsPlace
    /// The pen of the journal, and the values that were written last.
    var pen = JournalPen()
    var page = JournalPage()
    /// The tracks with whose events slices begin.
    var cutterCount = 0
    var wasRolling = false
    /// Indicates that the tracks are to be told the programs and controllers of their place.
    var hasNewPlace = false
    /// Indicates that the song begins again with this slice, where it was started.
    private var beginsAgain = false
    private var hasOwn = false
    private var hadOwn = false
    /// Indicates that an earlier slice went by the own clock.
    private(set) var hasRunOwn = false
    /// The way of the song through this slice.
    var legs = SongLegs()
    var time: Int64 = 0

    init(tracks: Int, number: Int, list: ManagedPlace<TrackList>, flags: FlagsPlace) {
        self.list = list
        self.flags = flags
        places = RenderMemory(repeating: Place(), count: tracks)
        next = BeatHeap(capacity: tracks)
        sounding = RenderMemory(repeating: Sounding(), count: Self.soundingLimit)
        ends = BeatHeap(capacity: Self.soundingLimit)
        free = RenderMemory(Array((0..<Self.soundingLimit).reversed()))
        freeCount = Self.soundingLimit
        waitingLimit = max(Self.waitingLimit, 2 * tracks)
        pending = RenderMemory(repeating: Pending(), count: waitingLimit + Self.sentLimit)
        clock = BeatClock(sampleRate: 48_000)
        own = BeatClock(sampleRate: 48_000)
        voiceBase = -(number &<< 40)
    }

    // MARK: A slice

    /// Begins a slice: takes the clock.
    ///
    /// - Parameters:
    ///   - outer: The renderer's clock.
    ///   - frame: The slice's first frame on it.
    ///   - time: The slice's first frame on the sample clock, by which the own tempo goes.
    ///   - tempo: The own tempo, if there is one.
    @_noLocks @_noAllocation
    mutating func begin(
        _ outer: BeatClock, _ frame: Int64, _ time: Int64, _ sampleRate: Double, _ tempo: SongTempo.Places
    ) {
        self.time = time
        (hasOwn, map) = (tempo.isOwn, tempo.map)
        let version = map == nil ? 0 : tempo.version
        // The memory of another map may be gone.
        if version != mapVersion { own.leaveMap(at: time) }
        hasNewMap = version != mapVersion && map != nil
        mapVersion = version
        if map != nil { hasOtherTempo = true }
        guard hasOwn else {
            (clock, base) = (outer, frame)
            hasNewPiece = outer.map != nil && outer.pieceBeginning != outerPiece
            outerPiece = outer.pieceBeginning
            return
        }
        base = time
        if own.framesPerMinute != 60 * sampleRate { own.setRate(60 * sampleRate, at: time) }
        if map == nil && (hasOtherTempo || own.ownBeatsPerMinute != tempo.beatsPerMinute) {
            tempoVersion &+= 1
            own.set(.beatsPerMinute(tempo.beatsPerMinute), tempoVersion, at: time)
            if hasOtherTempo { own.set(.metre(Metre(4)), tempoVersion, at: time) }
            hasOtherTempo = false
        }
        hasNewPiece = own.advance(to: time)
        clock = own
    }

    /// Has the map of the own clock be where the song is.
    ///
    /// - Parameter beat: The beat of the clock from which on.
    @_noLocks @_noAllocation
    mutating func followMap(from beat: Double, movesGrid: Bool = true) {
        guard let map else { return }
        if isPlaying { own.lead(by: map, origin: origin, from: beat) } else { own.hold(map, at: stopped, from: beat) }
        clock = own
        setGrid(from: beat, movesGrid: movesGrid)
    }

    /// Returns what was counted since then.
    @_noLocks @_noAllocation
    mutating func takeCounts() -> Counts {
        let counted = counts
        counts = Counts()
        return counted
    }

    /// Ends all notes; a song that plays begins again where it was started.
    @_noLocks @_noAllocation
    mutating func startOver(_ context: inout RenderContext) {
        cut(Self.all, &context, at: 0)
        next.removeAll()
        for track in 0..<trackCount {
            places[track].contentVersion = 0
            (places[track].isFree, places[track].isHalted) = (false, false)
        }
        isAllStale = true
        (expected, wasRolling, beginsAgain) = (.nan, false, true)
    }

    /// Takes in what has changed before a slice: the clock, the transport.
    @_noLocks @_noAllocation
    mutating func settle(_ context: inout RenderContext) {
        frameCount = context.frameCount
        // The list may be another one by the end of the slice.
        shown = list.snapshot
        let here = clock.position(at: base)
        budget = Self.soundingLimit
        if (here - expected).magnitude > 1e-6 { leap(here, &context, isOther: hasOwn != hadOwn) }
        hadOwn = hasOwn
        if hasOwn { hasRunOwn = true }
        if beginsAgain {
            (beginsAgain, hasNewPlace) = (false, isPlaying)
            if isPlaying { place(origin: here - begun) }
            followMap(from: here)
            findLoop(from: here)
            setGrid(from: here)
            // Ends that were refused then are asked for again.
            for item in 0..<sounding.count where sounding[item].track >= 0 { ends.set(item, here) }
        }
        followTransport(&context, here)
        if hasNewMap { followMap(from: here) }
        // As where it begins in the middle of a slice.
        if hasNewPiece {
            let start = clock.pieceBeginning
            setGrid(from: frame(of: start) < 0 ? here : start)
        }
    }

    /// Plays a slice.
    @_noLocks @_noAllocation
    mutating func play(_ context: inout RenderContext) {
        var first = 0
        legs.begin(clock, base, at: time, isPlaying: isPlaying, origin: origin)
        while true {
            let (beat, command) = boundary()
            let frame = frame(of: beat)
            if frame >= frameCount { break }
            let place = frame > first ? frame : first
            run(&context, until: beat, through: place, from: first)
            first = place
            if command == Self.pieceEnd {
                own.goOn()
                clock = own
                setGrid(from: beat)
            } else if command == Self.loopEnd {
                wrap(&context, at: first)
            } else {
                let due = pending[command]
                drop(command)
                act(due, &context, at: first)
            }
            legs.add(first, isPlaying: isPlaying, origin: origin)
        }
        run(&context, until: .infinity, through: frameCount &- 1, from: first)
        expected = clock.position(at: base &+ Int64(frameCount))
        if cutterCount > 0 { announce(&context) }
    }

    /// Returns the frame of a beat, from the first of the slice.
    @_noLocks @_noAllocation
    func frame(of beat: Double) -> Int {
        if beat == .infinity { return .max }
        let frame = clock.frame(of: beat).subtractingSaturated(base)
        return Int(frame)
    }

    // In the place of the number of a command.
    private static var loopEnd: Int { @_noLocks @_noAllocation get { -1 } }
    private static var pieceEnd: Int { @_noLocks @_noAllocation get { -2 } }

    /// Returns the beat of the next command, loop, or piece of the own clock's map, and the command, ``loopEnd`` or ``pieceEnd``.
    @_noLocks @_noAllocation
    func boundary() -> (Double, Int) {
        var (beat, command) = (isPlaying ? loopBeat : .infinity, Self.loopEnd)
        var (index, first) = (0, Double.infinity)
        while index < pendingCount {
            if pending[index].beat < first { first = pending[index].beat }
            index &+= 1
        }
        if first < .infinity && first <= beat + Self.rounding {
            beat = first
            // Of those for one beat the one that came first, however their beats were rounded.
            command = 0
            while pending[command].beat > first + Self.rounding { command &+= 1 }
        }
        let end = hasOwn ? own.pieceEndPosition : .infinity
        return end <= beat + Self.rounding ? (end, Self.pieceEnd) : (beat, command)
    }

    /// Begins and ends notes before a beat, as far as their frames are not behind one.
    @_noLocks @_noAllocation
    private mutating func run(
        _ context: inout RenderContext, until limit: Double, through last: Int, from first: Int
    ) {
        while true {
            let (on, off) = (next.beat, ends.beat)
            if off <= on {
                let frame = frame(of: off)
                if off > limit || frame > last { return }
                end(ends.first, &context, at: frame > first ? frame : first)
            } else {
                let frame = frame(of: on)
                if on > limit - Self.rounding || frame > last { return }
                begin(next.first, &context, at: frame > first ? frame : first)
            }
        }
    }
}
