public import Music
public import RenderCore
internal import Sharing
internal import Synchronization
public import Voices

/// Plays tracks of patterns and clips on instruments, each note on its frame. Run it before them; it pushes and pops nothing.
///
///     let sequencer = Sequencer(tracks: [
///         Track("beat", Pattern("kick [~ hat] snare [hat hat]"), to: player.kit(sounds)),
///         Track("bass", Pattern.euclid(5, of: 16, note: "A1"), to: synth),
///     ])
///     let renderer = try Renderer { context in
///         context.run(sequencer)
///         context.run(player)
///         context.run(synth)
///         …
///     }
///     sequencer.start(at: .nextBar)
///     sequencer.loop = .bars(4)..<(.bars(12))
///     sequencer["beat"]?.isMuted = true
///     sequencer.locate(.bars(8))
///
/// It goes by the renderer's ``/RenderCore/Renderer/tempo``, or by a tempo of its own; a new position of the renderer's tempo does not
/// move the song. Commands from any thread take effect at their moment; inside
/// ``/RenderCore/Renderer/transaction(whenApplied:_:)`` they come together with the other changes. Notes are looked up in each slice,
/// never sent ahead: when the tempo moves, they move with it. Notes that a stop, a loop, a new place or an edit cuts get their end.
/// The functions of patterns run on a thread beside the audio, some beats ahead; offline they are waited for, so that the same commands
/// give the same samples, however the cycles are cut.
///
/// In one slice it begins 4,096 notes at most, and an instrument takes 1,024 beginnings, ends and messages; what is beyond is counted
/// (``lostCount``). Stop it before you take it out of the render loop: nothing ends its notes after that.
///
/// Threads: control.
public final class Sequencer: StreamingModule {
    /// The name in faults and statistics.
    public let name: String
    /// The number of tracks that it has room for.
    public let capacity: Int

    let list: ManagedValue<TrackList>
    let flags: ChangeFlags
    // Each by itself, so that a change which comes later takes nothing back that was set meanwhile.
    let songLoop = ManagedValue(SongLoop())
    let ownTempo = ManagedValue(SongTempo())
    let follows = ManagedValue(false)
    let pen = ManagedValue(JournalPen.Shared())
    let commands = CommandQueue<SequencerCommand>(capacity: 256)
    private let performance: RenderState<Performance>
    /// The way of the song through the slice, for modules that run after this one.
    let songLegs = SharedState(SongLegs())
    /// Told by the render thread: the bits of the beats of the clock and of the song, and 1 while it plays.
    private let told = SharedWords()
    /// Told by the render thread: the version of the list that was looked at last, the newest of which no older track sounds, the
    /// frame at which the last slice ended, and the marks that its journal had no room for.
    let seen = SharedWords()
    private let lost = SharedCount()
    private let late = SharedCount()
    private let changes = SharedCount()
    let control = Lock(Control(), .module)

    struct Control {
        /// The tracks in the order in which they came, and in their places.
        var tracks: [Track] = []
        var places: [SeatedTrack?] = []
        /// Places that are free between others.
        var vacant: [Int] = []
        /// Tracks that have left, which the render thread may still need.
        var leaving: [(seat: SeatedTrack, departure: UInt64)] = []
        /// The journal that is being kept.
        var journal: JournalKeeper?
        /// Beats of the song that commands have named.
        var named: [Double] = []
        /// The place of the tracks when their notes were worked out last.
        var looked = Looked()
    }

    struct Looked {
        var clock = Double.nan
        var song = 0.0
        var isPlaying = false
        var changes = 0

        /// Returns whether what was worked out for here is enough for there.
        func isNear(_ other: Looked) -> Bool {
            abs(clock - other.clock) < 4 && abs(song - other.song) < 4 && isPlaying == other.isPlaying
                && changes == other.changes
        }
    }

    private static let numbers = Atomic<Int>(0)
    private static let questions = Atomic<Int>(0)

    /// Creates a sequencer, which is stopped at beat 0.
    ///
    /// - Parameters:
    ///   - tracks: Its tracks, each of which is in no other sequencer.
    ///   - capacity: The number of tracks that it has room for, at least as many as it gets now: 1…65,536.
    ///   - name: The name in faults and statistics.
    public init(tracks: [Track] = [], capacity: Int = 64, name: String = "Sequencer") {
        self.name = name
        let room = max(1, min(max(capacity, tracks.count), 65_536))
        self.capacity = room
        let list = ManagedValue(TrackList([]))
        let place = ManagedPlace(of: list)
        self.list = list
        let number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        // Not `self.capacity`: Swift 6.3.1 keeps the object for ever if it is asked for before all of it is there.
        let flags = ChangeFlags(count: room)
        self.flags = flags
        performance = RenderState(
            Performance(tracks: room, number: number & 0x3F_FFFF, list: place, flags: flags.place))
        for track in tracks { seat(track) }
        control.withLock { _ = show(&$0) }
        provide(self.tracks)
        TableThread.shared.add(self)
    }

    // MARK: Tracks

    /// The tracks, in the order in which they came.
    public var tracks: [Track] { control.withLock { $0.tracks } }

    /// The first track of a name.
    public subscript(_ name: String) -> Track? { tracks.first { $0.name == name } }

    /// Has a track of a name play a pattern on a target: the track is made if there is none. Returns the track; `nil` if there is no
    /// room, or if a track of that name has another target.
    ///
    ///     sequencer.play("kick [~ hat] snare hat", as: "beat", on: kit)       // again and again, with another text each time
    @discardableResult
    public func play(_ pattern: Pattern, as name: String, on target: any NoteTarget, channel: Int = 0) -> Track? {
        if let track = self[name] {
            guard track.target === target else { return nil }
            track.replace(with: pattern)
            return track
        }
        let track = Track(name, pattern, to: target, channel: channel)
        return append(track) ? track : nil
    }

    // MARK: The song

    /// Starts the song. Returns `false` if 256 commands wait.
    ///
    /// - Parameters:
    ///   - moment: The time at which it starts.
    ///   - beat: The beat of the song with which it begins; by default that at which it stopped.
    @discardableResult
    public func start(at moment: Moment = .now, from beat: Fraction? = nil) -> Bool {
        send(SequencerCommand(.start, beat: beat.map(named) ?? .nan, grid: moment.grid), moment)
    }

    /// Stops the song and all tracks. Returns `false` if 256 commands wait.
    @discardableResult
    public func stop(at moment: Moment = .now) -> Bool {
        send(SequencerCommand(.stop, grid: moment.grid), moment)
    }

    /// Goes to a beat of the song. Returns `false` if 256 commands wait.
    @discardableResult
    public func locate(_ beat: Fraction, at moment: Moment = .now) -> Bool {
        send(SequencerCommand(.locate, beat: named(beat), grid: moment.grid), moment)
    }

    /// The beats of the song between which it goes round; `nil` for none, as is a loop of less than 1/16 of a beat. A song that is
    /// behind the loop goes on.
    public var loop: Range<Fraction>? {
        get {
            let now = songLoop.value
            return now.end > now.start ? Fraction(now.start)..<Fraction(now.end) : nil
        }
        set {
            let (start, end) = newValue.map { (named($0.lowerBound), min($0.upperBound.value, 1e9)) } ?? (0, 0)
            songLoop.set(end - start < Performance.shortestLoop ? SongLoop() : SongLoop(start, end))
        }
    }

    /// Beats per minute of its own: 1…999; `nil` for the renderer's tempo. Its bars have four beats. The song stays where it is when this
    /// changes.
    public var tempo: Double? {
        get { ownTempo.value.beatsPerMinute }
        set {
            if newValue == nil && tempoMap != nil { return }
            let held = newValue.map { $0.isNaN ? 120 : max(1, min($0, 999)) }
            ownTempo.set(SongTempo(beatsPerMinute: held))
        }
    }

    /// The tempo and the metre of the song, beat by beat of the song: a place of the song has its tempo, wherever the song was located to or
    /// looped. It takes the place of ``tempo``, and the reverse; `nil` at first.
    ///
    ///     sequencer.tempoMap = TempoMap(file)
    ///     sequencer.tempoMap = sequencer.tempoMap?.scaled(by: 0.9)            // a little slower, from here on
    public var tempoMap: TempoMap? {
        get { ownTempo.value.map }
        set {
            if newValue == nil && tempo != nil { return }
            if let newValue { keep(newValue) }
            ownTempo.set(SongTempo(map: newValue))
        }
    }

    /// Indicates that it starts and stops with the transport of the session, and is where that is; then it has no tempo of its own.
    public var followsTransport: Bool {
        get { follows.value }
        set { follows.set(newValue) }
    }

    /// Indicates whether the song plays, after the last cycle.
    public var isPlaying: Bool { told[2] == 1 }

    /// The beat of the song, after the last cycle.
    public var position: Double { Double(bitPattern: told[1]) }

    /// The number of notes, messages and commands that were not played: their target took them not, or too many sounded or waited.
    public var lostCount: Int { lost.value }

    /// The number of times that the notes of a pattern were not worked out in time, and left out.
    public var lateCount: Int { late.value }

    /// Notes are worked out from this beat on before it is played.
    private func named(_ beat: Fraction) -> Double { named(max(-1e9, min(beat.value, 1e9))) }

    func named(_ beat: Double) -> Double {
        let tracks = control.withLock { control in
            control.named = control.named.suffix(15) + [beat]
            return control.tracks
        }
        provide(tracks)
        return beat
    }

    func send(_ command: SequencerCommand, _ moment: Moment) -> Bool {
        var command = command
        command.bars = moment.bars
        return commands.send(command, at: moment.time)
    }

    // MARK: Tables

    /// Works out the notes that some tracks play soon.
    func provide(_ tracks: [Track], after leap: Double = 0) {
        let place = place(after: leap)
        for track in tracks { track.provide(place) }
    }

    /// Works out the notes that all tracks play soon, unless that has been done for where they are.
    ///
    /// - Parameter leap: The beats by which the clock will leap before the next slice.
    func provideAll(after leap: Double = 0) {
        let here = Looked(
            clock: Double(bitPattern: told[0]) + leap, song: position + leap, isPlaying: isPlaying,
            changes: changes.value)
        release()
        drainJournal()
        let tracks = control.withLock { $0.looked.isNear(here) ? [] : $0.tracks }
        if tracks.isEmpty { return }
        provide(tracks, after: leap)
        // Only now: another thread that asks meanwhile does not go on before the notes are there.
        control.withLock { $0.looked = here }
    }

    /// A track or a setting was changed.
    func noteChange() { changes.add(1) }

    private func place(after leap: Double) -> SongPlace {
        let question = Self.questions.wrappingAdd(1, ordering: .relaxed).newValue
        let named = control.withLock { $0.named }
        let now = songLoop.value
        let loop = now.end > now.start ? [now.start] : []
        let clock = Double(bitPattern: told[0])
        return SongPlace(
            question: question, clocks: [clock + leap, clock], beats: [position + leap, position] + named + loop)
    }

    /// Works out what is wanted soon, offline.
    ///
    /// Threads: render.
    public func awaitDisk(_ context: inout RenderContext) {
        let (clock, frame) = context.beatPlace
        let isOwn = ownTempo.value.places.isOwn
        provideAll(after: isOwn ? 0 : clock.position(at: frame) - Double(bitPattern: told[0]))
    }

    // MARK: Render thread

    /// Pops and pushes nothing.
    public var stackEffect: StackEffect { StackEffect(pops: 0, pushes: 0) }

    /// Plays a slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if context.isDryRun { return }
        var now = SequencerSettings()
        songLoop.with(&context) { loop, _ in now.loop = loop }
        ownTempo.with(&context) { tempo, _ in now.tempo = tempo.places }
        follows.with(&context) { follows, _ in now.followsTransport = follows }
        var pen = JournalPen()
        self.pen.with(&context) { now, _ in pen = now.pen }
        let outer = context.beatPlace
        let (time, rate) = (context.sampleTime, context.sampleRate)
        if now.followsTransport { now.tempo = SongTempo.Places() }
        performance.with(&context) { performance, context in
            performance.begin(outer.clock, outer.frame, time, rate, now.tempo)
            performance.write(with: pen, outer.clock, outer.frame, now, &context)
            performance.take(now)
            performance.settle(&context)
        }
        var frame = 0
        while let due = commands.next(&context, from: frame) {
            frame = due.frame
            performance.with(&context) { performance, _ in performance.keep(due.command, at: due.frame) }
        }
        performance.with(&context) { performance, context in
            // After the commands: a track is there if one that came with it is.
            performance.refresh(&context)
            performance.play(&context)
        }
        var (here, song, plays, counts, way) = (0.0, 0.0, false, Performance.Counts(), SongLegs())
        var (newest, settled, missing): (UInt64, UInt64, UInt64) = (0, 0, 0)
        performance.with(&context) { performance, _ in
            here = performance.expected
            song = performance.song(at: here)
            plays = performance.isPlaying
            (newest, settled) = (performance.listVersion, performance.settledVersion)
            missing = performance.page.lostCount
            counts = performance.takeCounts()
            way = performance.legs
        }
        songLegs.with(&context) { legs, _ in legs = way }
        told[0] = here.bitPattern
        told[1] = song.bitPattern
        told[2] = plays ? 1 : 0
        seen[0] = newest
        seen[1] = settled
        seen[3] = missing
        seen[2] = UInt64(bitPattern: time &+ Int64(context.frameCount))
        if counts.lost > 0 { lost.add(counts.lost) }
        if counts.late > 0 { late.add(counts.late) }
    }

    /// Ends all notes. A song that plays begins again where it was started.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var pen = JournalPen()
        self.pen.with(&context) { now, _ in pen = now.pen }
        performance.with(&context) { performance, context in
            performance.noteReset(with: pen, at: context.sampleTime)
            performance.startOver(&context)
        }
    }
}
