internal import Glibc
public import Music
public import RenderCore
internal import Sharing
internal import SignalBlocks
public import Supply
public import Voices

/// Records what is played on a MIDI input as a ``/Music/Clip``, in time with a sequencer's song. Run it after the sequencer; it pushes and
/// pops nothing.
///
///     let recorder = ClipRecorder(keys, of: sequencer, into: sequencer["tune"], click: sequencer["click"])
///     let renderer = try Renderer { context in
///         context.run(sequencer)
///         context.run(recorder)
///         …
///     }
///     recorder.begin(at: .nextBar, countIn: 1, length: .bars(4), rounds: .add)
///     …
///     recorder.end(at: .nextBar)
///     …                                                           // when `recorder.isRecording` is false again
///     sequencer["tune"]?.replace(with: recorder.clip.quantised(to: 1 / 4, strength: 0.8))
///
/// A message is recorded at the beat of the frame on which it came, rounded to 1/7,056,000 of a beat: the clip plays it on that frame again,
/// at any rate, tempo and length of the cycles. Without a sequencer the beats are those of the renderer's tempo.
///
/// The clip's beats are the song's from the one on at which the recording began (``start``), and go round with its length. When the song
/// goes elsewhere, by a loop or to another place, so does the recording; when the song stops, it ends. What is held there gets its end.
///
/// It is a target too: a track of the sequencer, or of another one, can be recorded like a keyboard.
///
///     Track("chance", Pattern.random(["c4", "e4", "g4"], steps: 8), to: recorder)
///
/// Threads: control.
public final class ClipRecorder: StreamingModule {
    /// The way in which a recording goes on when the clip is full.
    ///
    /// Threads: any.
    public enum Rounds: Sendable, Hashable {
        /// It ends.
        case one
        /// It goes on at the clip's beginning, and what is played is added.
        case add
        /// It goes on at the clip's beginning. A round in which something is played takes the place of what there was, as far as it comes.
        case replace
    }

    /// The track that plays the clip while it is recorded.
    public let track: Track?
    /// The track that is launched for the count-in, and stopped where the recording begins.
    public let click: Track?

    private let hasSequencer: Bool
    private let keys: MIDIReader
    private let channel: UInt8
    private let songLegs: SharedState<SongLegs>
    private let commands = CommandQueue<RecorderCommand>(capacity: 16)
    private let messages = CommandQueue<MIDIMessage>(capacity: 256)
    private let head = RenderState(RecorderHead())
    private let ring = TurnRing<RecorderEntry>(capacity: 4_096)
    /// Told by the render thread: the bits of the place in the clip, the phase, and 1 if the sequencer was not found.
    private let told = SharedWords()
    private let lost = SharedCount()
    private let control: Lock<Control>

    private struct Control {
        /// Not kept: a track of it may have this recorder as its target.
        weak var sequencer: Sequencer?
        var turn: UInt = 0
        /// The number of the newest take, and the wishes of those that have not begun to wait.
        var number = 0
        var wishes: [Int: ClipTake.Wishes] = [:]
        var take = ClipTake()
        /// The take and its version that the track plays, and whether a thread gives it that.
        var given = (0, 0)
        var isGiving = false
    }

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - input: The keyboard; `nil` for a recorder that is a target and nothing else.
    ///   - sequencer: The sequencer whose song it goes by, which it does not keep alive; `nil` for the renderer's tempo.
    ///   - channel: The one channel that is recorded, 0…15; `nil` for all.
    ///   - track: A track that plays the clip while it is recorded: each note from the next round on. Its offset becomes ``start``.
    ///   - click: A track that clicks in the count-in.
    public init(
        _ input: MIDIInput? = nil, of sequencer: Sequencer? = nil, channel: Int? = nil, into track: Track? = nil,
        click: Track? = nil
    ) {
        (self.track, self.click) = (track, click)
        control = Lock(Control(sequencer: sequencer), .module)
        hasSequencer = sequencer != nil
        keys = MIDIReader(input ?? MIDIInput(name: "none"))
        self.channel = channel.map { UInt8(max(0, min($0, 15))) } ?? 255
        songLegs = sequencer.map { SharedState(sharing: $0.songLegs) } ?? SharedState(SongLegs())
        TableThread.shared.add(self)
    }

    deinit { ring.deallocate() }

    // MARK: Recording

    /// Begins a recording, and starts the song with it if that does not play. A recording that is under way ends before.
    ///
    /// A note that begins up to 1/8 of a beat before the first beat belongs to it.
    ///
    /// - Parameters:
    ///   - moment: The time at which the count-in begins, or the recording if there is none.
    ///   - countIn: The bars of count-in: 0…16.
    ///   - length: The length of the clip, 1/16…65,536 beats; `nil` for a recording that goes on up to ``end(at:)``, whose clip ends with
    ///     a bar.
    ///   - rounds: The way in which it goes on when the clip is full.
    /// - Returns: `false` if 16 commands wait; then nothing begins.
    @discardableResult
    public func begin(
        at moment: Moment = .nextBar, countIn: Int = 0, length: Fraction? = nil, rounds: Rounds = .one
    ) -> Bool {
        let length = length.map { max(1 / 16, min($0, 65_536)) }
        return begin(moment, countIn, ClipTake.Wishes(length: length, rounds: rounds), anchor: .nan)
    }

    /// Begins a recording on top of a clip, which has the length of that. A recording that is under way ends before.
    ///
    ///     recorder.overdub(recorder.clip)
    ///
    /// - Parameters:
    ///   - clip: The clip.
    ///   - start: The beat of the song at which the clip's beat 0 is; by default the offset of ``track``, or else that of the last
    ///     recording.
    ///   - moment: The time at which the count-in begins, or the recording if there is none.
    ///   - countIn: The bars of count-in: 0…16.
    ///   - rounds: The way in which it goes on when the clip is full.
    /// - Returns: `false` if 16 commands wait; then nothing begins.
    @discardableResult
    public func overdub(
        _ clip: Clip, from start: Fraction? = nil, at moment: Moment = .nextBar, countIn: Int = 0, rounds: Rounds = .add
    ) -> Bool {
        let anchor = start ?? track?.offset ?? self.start ?? 0
        let length = max(1 / 16, min(clip.length, 65_536))
        return begin(
            moment, countIn, ClipTake.Wishes(length: length, rounds: rounds, onto: clip),
            anchor: max(-1e6, min(anchor.value, 1e6)))
    }

    private func begin(_ moment: Moment, _ countIn: Int, _ wishes: ClipTake.Wishes, anchor: Double) -> Bool {
        let beginning = moment.plus(bars: max(0, min(countIn, 16)))
        var command = RecorderCommand()
        command.take = control.withLock { control in
            control.number += 1
            control.wishes[control.number] = wishes
            return control.number
        }
        (command.grid, command.bars) = (beginning.grid, beginning.bars)
        (command.length, command.goesRound) = (wishes.length?.value ?? 0, wishes.rounds != .one)
        command.anchor = anchor
        // First the recorder: if a bar begins meanwhile, it waits for the song.
        guard commands.send(command, at: moment.time) else {
            control.withLock { $0.wishes[command.take] = nil }
            return false
        }
        if beginning.bars > 0 {
            click?.launch(at: moment)
            click?.stop(at: beginning)
        }
        if let sequencer = control.withLock({ $0.sequencer }), !sequencer.followsTransport {
            sequencer.start(at: beginning)
        }
        return true
    }

    /// Ends the recording: what is held gets its end. A recording that waits does not begin. Returns `false` if 16 commands wait.
    @discardableResult
    public func end(at moment: Moment = .now) -> Bool {
        var command = RecorderCommand()
        (command.grid, command.bars) = (moment.grid, moment.bars)
        return commands.send(command, at: moment.time)
    }

    /// Indicates that a recording waits for its beat, after the last cycle.
    public var isWaiting: Bool { told[1] == 1 }

    /// Indicates that it records, after the last cycle.
    public var isRecording: Bool { told[1] == 2 }

    // MARK: What was recorded

    /// The clip of the last recording, as far as it has come; it is whole when ``isRecording`` is false again. Notes that are held are as long
    /// as they are so far. Pedals that are down at the end are let go there.
    public var clip: Clip { newest().clip() }

    /// Returns the part of ``clip`` that was played on one channel, and what was overdubbed.
    public func clip(ofChannel channel: Int) -> Clip { newest().clip(channel: channel) }

    /// The beat of the song at which the clip's beat 0 is; `nil` before the first recording.
    public var start: Fraction? { newest().start }

    /// The number of messages that were not recorded: more than 4,096 came before they were taken from the render thread, which
    /// happens every 20 ms, or a clip has more than 262,144.
    public var lostCount: Int { lost.value + control.withLock { $0.take.lost } }

    /// A sentence about what keeps it from recording; `nil` if nothing does.
    public var problem: String? {
        told[2] == 1
            ? "The sequencer has not run before the recorder in the render loop; the recorder does not know where the song is."
            : nil
    }

    private func newest() -> ClipTake {
        control.withLock { control in
            drain(&control)
            var take = control.take
            if isRecording { take.reach(Double(bitPattern: told[0])) }
            return take
        }
    }

    /// Takes what the render thread has sent.
    private func drain(_ control: inout Control) {
        while let entry = ring.take(&control.turn) {
            if entry.kind == .waits {
                let wishes = control.wishes.removeValue(forKey: entry.take) ?? ClipTake.Wishes()
                control.wishes = control.wishes.filter { $0.key > entry.take }
                control.take = ClipTake(number: entry.take, wishes)
            }
            if entry.take == control.take.number { control.take.take(entry) }
        }
    }

    /// Has the track play what is new. Returns when it does, whichever thread sees to it.
    func giveTrack() {
        while true {
            let (mine, isOver) = control.withLock { control -> (ClipTake?, Bool) in
                if control.isGiving { return (nil, false) }
                drain(&control)
                let now = (control.take.number, control.take.version)
                if track == nil || control.take.start == nil || now == control.given { return (nil, true) }
                (control.given, control.isGiving) = (now, true)
                return (control.take, false)
            }
            if isOver { return }
            guard let mine, let track else {
                // Another thread is at it.
                usleep(200)
                continue
            }
            // No lock is held: the target's words are the user's code.
            OpenTransaction.suspended {
                if let start = mine.start, abs(track.offset.value - start.value) > 1e-9 { track.offset = start }
                track.replace(with: mine.clip(hasOpenNotes: false))
            }
            control.withLock { $0.isGiving = false }
        }
    }

    /// Takes what was played, offline.
    ///
    /// Threads: render.
    public func awaitDisk(_ context: inout RenderContext) { giveTrack() }

    // MARK: Render thread

    /// Pops and pushes nothing.
    public var stackEffect: StackEffect { StackEffect(pops: 0, pushes: 0) }

    /// Records a slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if context.isDryRun { return }
        var legs = SongLegs()
        if hasSequencer {
            songLegs.with(&context) { found, _ in legs = found }
            if legs.time != context.sampleTime { legs = SongLegs() }
            told[2] = legs.count == 0 ? 1 : 0
        } else {
            let (clock, frame) = context.beatPlace
            legs.begin(clock, frame, at: context.sampleTime, isPlaying: true, origin: 0)
        }
        var head = head.read(context)
        if head.begin(legs, context.sampleTime, ring) {
            record(&head, &context)
            told[0] = head.end(context.frameCount, ring).bitPattern
        }
        told[1] = head.isIdle ? 0 : head.isWaiting ? 1 : 2
        if head.lost > 0 { lost.add(head.lost) }
        self.head.write(head, context)
    }

    /// Takes commands and messages in the order of their frames.
    @_noLocks @_noAllocation
    private func record(_ head: inout RecorderHead, _ context: inout RenderContext) {
        var events = keys.events
        var event = events.next(context)
        var message = messages.next(&context)
        var command = commands.next(&context)
        while true {
            let (played, sent, due) = (event?.frame ?? .max, message?.frame ?? .max, command?.frame ?? .max)
            if let now = command, due <= played, due <= sent {
                head.take(now.command, at: due, ring)
                command = commands.next(&context, from: due)
            } else if let now = event, played <= sent {
                take(now.message, at: played, &head)
                event = events.next(context)
            } else if let now = message {
                take(now.command, at: sent, &head)
                message = messages.next(&context, from: sent)
            } else {
                return
            }
        }
    }

    @_noLocks @_noAllocation
    private func take(_ message: MIDIMessage, at frame: Int, _ head: inout RecorderHead) {
        if channel <= 15, let its = message.channel, its != channel { return }
        head.take(message, at: frame, ring)
    }

    /// Ends the recording. A recording that waits does not begin.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var head = head.read(context)
        head.reset(ring)
        told[1] = 0
        self.head.write(head, context)
    }
}

/// A track can be recorded.
extension ClipRecorder: NoteTarget {
    /// Returns `true`: a key sounds once.
    public var hasKeys: Bool { true }

    /// Records the beginning of a note, as its nearest key.
    ///
    /// Threads: render.
    public func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        messages.send(note.on, inFrame: frame, context)
    }

    /// Records the end of a note.
    ///
    /// Threads: render.
    public func end(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        messages.send(note.off, inFrame: frame, context)
    }

    /// Records a message.
    ///
    /// Threads: render.
    public func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        messages.send(message, inFrame: frame, context)
    }
}
