internal import RenderCore
internal import SignalBlocks

/// Something that a ``ClipRecorder`` is to do.
struct RecorderCommand: BitwiseCopyable, Sendable {
    /// The number of the take that begins; 0 for the end of the one that there is.
    var take = 0
    /// The distance of the beats at one of which it happens, as in ``Moment``, and the bars after that.
    var grid = 0.0
    var bars = 0
    /// The beats of the clip; 0 if it has no end.
    var length = 0.0
    var goesRound = false
    /// The beat of the song at which the clip's beat 0 is; no number for that at which the take begins.
    var anchor = Double.nan

    @_noLocks @_noAllocation
    init() {}
}

/// Something that was played or has happened, on its way to control code.
struct RecorderEntry: BitwiseCopyable, Sendable {
    enum Kind: UInt8, Sendable {
        /// A take waits for its beat.
        case waits
        /// It begins: the beat of the song at which the clip's beat 0 is, the place in the clip, and the beats of a bar.
        case begins
        /// A message.
        case message
        /// Notes that were held up to a place end there, and the clip goes on at another one: in its next round, or elsewhere.
        case goesRound, jumps
        /// The take is over.
        case ends
        /// Early notes are dropped: the take begins elsewhere.
        case forgets
    }
    var kind: Kind
    var take: Int
    var place = 0.0
    var other = 0.0
    var bar = 0.0
    var message = MIDIMessage.activeSensing

    @_noLocks @_noAllocation
    init(_ kind: Kind, _ take: Int, _ place: Double = 0, _ other: Double = 0) {
        (self.kind, self.take, self.place, self.other) = (kind, take, place, other)
    }
}

/// The state by which a ``ClipRecorder`` finds the place in the clip of each message, on the render thread.
///
/// Whatever happens is taken in the order of its frames, so that it makes no difference where slices begin.
struct RecorderHead: BitwiseCopyable, Sendable {
    private enum Phase: BitwiseCopyable, Sendable { case idle, waiting, recording }

    /// The beats by which a note may be early.
    static var early: Double { @_noLocks @_noAllocation get { 1.0 / 8 } }
    /// The parts of a beat to which places are rounded: frames of 120 beats per minute at 44.1, 48, 88.2 and 96 kHz are whole.
    static var parts: Double { @_noLocks @_noAllocation get { 7_056_000 } }
    /// The corrections of a transport's position that are no jumps, as for the sequencer.
    private static var tick: Double { @_noLocks @_noAllocation get { 1.0 / 48 } }

    private var phase = Phase.idle
    private var command = RecorderCommand()
    /// The beat of the clock at which a take that waits begins.
    private var beat = 0.0
    /// Indicates that it has come, but the song does not play.
    private var isDue = false
    /// The beat of the clock at which the take ends, and the distance of the beats of which it is one.
    private var end = Double.infinity
    private var endGrid = 0.0
    /// The beat of the song at which the clip's beat 0 is, and the rounds of the clip since then.
    private var start = 0.0
    private var round = 0.0

    /// The last slice, the beat of the clock at which the next one should begin, and that of the song.
    private var lastTime = Int64.min
    private var expected = Double.nan
    private var song = 0.0
    /// The part of the slice, and the frame, up to which everything has been.
    private var leg = 0
    private var frame = 0
    private var legs = SongLegs()
    /// The entries that found no room.
    private(set) var lost = 0

    @_noLocks @_noAllocation
    init() {}

    /// Indicates that there is no take.
    var isIdle: Bool { @_noLocks @_noAllocation get { phase == .idle } }
    /// Indicates that the take waits for its beat.
    var isWaiting: Bool { @_noLocks @_noAllocation get { phase == .waiting } }

    // MARK: A slice

    /// Begins a slice. Returns `false` if there is nothing to do in it.
    @_noLocks @_noAllocation
    mutating func begin(_ legs: SongLegs, _ time: Int64, _ ring: TurnRing<RecorderEntry>) -> Bool {
        // A module that runs twice in a slice hears everything twice.
        if time == lastTime { return false }
        (lastTime, leg, frame, lost) = (time, 0, 0, 0)
        guard legs.count > 0 else {
            if phase == .recording { finish(at: place(of: song), ring) }
            expected = .nan
            return false
        }
        self.legs = legs
        let here = legs.beat(at: 0)
        let way = here - expected
        if way.magnitude > 1e-6 { leap(by: way, to: here, ring) }
        if phase == .recording {
            if !legs[0].isPlaying {
                finish(at: place(of: song), ring)
            } else if (here - legs[0].origin - song).magnitude >= RecorderHead.tick {
                jump(from: song, to: here - legs[0].origin, ring)
            }
        }
        beginIfDue(at: 0)
        return true
    }

    /// Ends a slice. Returns the place in the clip.
    @_noLocks @_noAllocation
    mutating func end(_ frameCount: Int, _ ring: TurnRing<RecorderEntry>) -> Double {
        advance(to: frameCount &- 1, ring)
        expected = legs.beat(at: frameCount)
        song = expected - legs[leg].origin
        return phase == .recording ? place(of: song) : 0
    }

    /// Ends the take.
    @_noLocks @_noAllocation
    mutating func reset(_ ring: TurnRing<RecorderEntry>) {
        if phase != .idle { finish(at: phase == .recording ? place(of: song) : 0, ring) }
        (lastTime, expected) = (.min, .nan)
    }

    // MARK: What comes in

    /// Takes a command at a frame.
    @_noLocks @_noAllocation
    mutating func take(_ new: RecorderCommand, at frame: Int, _ ring: TurnRing<RecorderEntry>) {
        advance(to: frame, ring)
        let beat = legs.clock.beat(on: new.grid, bars: new.bars, from: legs.beat(at: frame))
        if new.take == 0 {
            if phase != .idle { (end, endGrid) = (beat, new.grid) }
            return
        }
        if phase != .idle { finish(at: phase == .recording ? place(of: song(at: frame)) : 0, ring) }
        (phase, command, self.beat, isDue) = (.waiting, new, beat, false)
        send(RecorderEntry(.waits, new.take), ring)
    }

    /// Takes a message at a frame.
    @_noLocks @_noAllocation
    mutating func take(_ message: MIDIMessage, at frame: Int, _ ring: TurnRing<RecorderEntry>) {
        advance(to: frame, ring)
        var entry = RecorderEntry(.message, command.take)
        switch phase {
        case .idle: return
        case .waiting: entry.place = legs.beat(at: frame) - beat
        case .recording: entry.place = song(at: frame) - start - round * command.length
        }
        if isDue || entry.place < -RecorderHead.early { return }
        entry.message = message.held
        if case .systemExclusive = message {} else if entry.message.bytes.status >= 0xF0 { return }
        send(entry, ring)
    }

    // MARK: What happens

    /// Lets happen what comes up to a frame.
    @_noLocks @_noAllocation
    private mutating func advance(to last: Int, _ ring: TurnRing<RecorderEntry>) {
        while true {
            // Of one frame: the end of the take, another place of the song, the end of the clip, the beginning of the take.
            var (next, what) = (phase == .idle ? Int.max : legs.frame(of: end), 0)
            if leg &+ 1 < legs.count, legs[leg &+ 1].frame < next { (next, what) = (legs[leg &+ 1].frame, 1) }
            if phase == .recording && command.length > 0 {
                let seam = legs.frame(of: legs[leg].origin + start + (round + 1) * command.length)
                if seam < next { (next, what) = (seam, 2) }
            } else if phase == .waiting && !isDue {
                let beginning = legs.frame(of: beat)
                if beginning < next { (next, what) = (beginning, 3) }
            }
            if next > last { break }
            if next > frame { frame = next }
            switch what {
            case 0:
                let place = place(of: end - legs[leg].origin)
                finish(at: phase == .recording ? place : 0, ring)
            case 1: goOn(ring)
            case 2: comeRound(ring)
            default: start(ring)
            }
        }
        if last > frame { frame = last }
    }

    /// The next part of the slice begins.
    @_noLocks @_noAllocation
    private mutating func goOn(_ ring: TurnRing<RecorderEntry>) {
        let old = song(at: frame)
        leg &+= 1
        if phase == .recording {
            let isFar = (song(at: frame) - old).magnitude > 1e-9
            if !legs[leg].isPlaying {
                finish(at: place(of: old), ring)
            } else if isFar {
                jump(from: old, to: song(at: frame), ring)
            }
        }
        beginIfDue(at: frame)
    }

    /// The clip is full.
    @_noLocks @_noAllocation
    private mutating func comeRound(_ ring: TurnRing<RecorderEntry>) {
        if !command.goesRound { return finish(at: command.length, ring) }
        round += 1
        send(RecorderEntry(.goesRound, command.take, command.length, 0), ring)
    }

    /// The beat of a take that waits has come.
    @_noLocks @_noAllocation
    private mutating func start(_ ring: TurnRing<RecorderEntry>) {
        guard legs[leg].isPlaying else {
            isDue = true
            return
        }
        let song = beat - legs[leg].origin
        phase = .recording
        start =
            command.anchor.isNaN
            ? BeatClock.floor(song * RecorderHead.parts + 0.5) / RecorderHead.parts : command.anchor
        round = rounds(to: song)
        var entry = RecorderEntry(.begins, command.take, start, place(of: song))
        entry.bar = legs.clock.bars.place(of: beat).beatsPerBar
        send(entry, ring)
    }

    /// Has a take that waits for the song begin with it, at its next beat or bar.
    @_noLocks @_noAllocation
    private mutating func beginIfDue(at frame: Int) {
        guard phase == .waiting, isDue, legs[leg].isPlaying else { return }
        isDue = false
        beat = legs.clock.beat(on: command.grid, bars: 0, from: legs.beat(at: frame))
    }

    /// The song is elsewhere.
    @_noLocks @_noAllocation
    private mutating func jump(from old: Double, to new: Double, _ ring: TurnRing<RecorderEntry>) {
        let place = place(of: old)
        let isFull = command.length > 0 && place >= command.length - margin
        if isFull && !command.goesRound { return finish(at: command.length, ring) }
        if !command.goesRound && rounds(to: new) > round { return finish(at: place, ring) }
        let kind = isFull || new < old ? RecorderEntry.Kind.goesRound : .jumps
        round = rounds(to: new)
        send(RecorderEntry(kind, command.take, place, self.place(of: new)), ring)
    }

    /// The clock is elsewhere.
    @_noLocks @_noAllocation
    private mutating func leap(by way: Double, to here: Double, _ ring: TurnRing<RecorderEntry>) {
        if phase == .waiting && !isDue {
            beat += way
            if command.grid != 0 {
                beat = legs.clock.beat(on: command.grid, bars: 0, from: command.bars > 0 ? beat : here)
            }
            send(RecorderEntry(.forgets, command.take), ring)
        }
        if end != .infinity { end = endGrid == 0 ? end + way : legs.clock.beat(on: endGrid, bars: 0, from: here) }
    }

    @_noLocks @_noAllocation
    private mutating func finish(at place: Double, _ ring: TurnRing<RecorderEntry>) {
        send(RecorderEntry(.ends, command.take, place), ring)
        (phase, isDue, end) = (.idle, false, .infinity)
    }

    @_noLocks @_noAllocation
    private mutating func send(_ entry: RecorderEntry, _ ring: TurnRing<RecorderEntry>) {
        if !ring.send(entry) { lost &+= 1 }
    }

    // MARK: Places

    /// The beats of half a frame: a frame that is nearest to a beat counts as on it.
    private var margin: Double {
        @_noLocks @_noAllocation get { 0.499999 * legs.clock.tempo(at: legs.base) / legs.clock.framesPerMinute }
    }

    @_noLocks @_noAllocation
    private func song(at frame: Int) -> Double { legs.beat(at: frame) - legs[leg].origin }

    /// Returns how many times the clip has gone round before a beat of the song.
    @_noLocks @_noAllocation
    private func rounds(to song: Double) -> Double {
        if command.length <= 0 { return 0 }
        let rounds = BeatClock.floor((song - start + margin) / command.length)
        return rounds > 0 ? rounds : 0
    }

    /// Returns the place in the clip of a beat of the song, in this round.
    @_noLocks @_noAllocation
    private func place(of song: Double) -> Double {
        let place = song - start - round * command.length
        return place > 0 ? (command.length > 0 && place > command.length ? command.length : place) : 0
    }
}
