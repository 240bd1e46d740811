public import Music
internal import RenderCore
internal import Sharing
internal import Synchronization
public import Voices

/// A track of a ``Sequencer``: a pattern or a clip, and the target that plays it.
///
///     let drums = Track("drums", Pattern("kick hat snare hat"), to: player.kit(["kick": kick, "hat": hat, "snare": snare]))
///     let tune = Track("tune", Clip(file.tracks[2], of: file), to: synth)
///     …
///     drums.replace(with: Pattern("kick*4"))                      // while it plays: notes that are in both go on
///     tune.isMuted = true
///     tune.launch(at: .nextBar)                                   // runs by itself from there
///
/// A clip begins again after its length, and a pattern goes on for ever. Notes that a change cuts get their end.
///
/// Threads: control.
public final class Track: Sendable {
    /// The name of the track.
    public let name: String
    /// The target that plays it.
    public let target: any NoteTarget

    private let slot: TargetSlot
    private let content: ManagedValue<TrackContent>
    private let channel: UInt8
    /// Indicates that its clips begin again after their length.
    let repeats: Bool
    private let muted = ManagedValue(false)
    private let soloed = ManagedValue(false)
    private let offsetBeats = ManagedValue(0.0)
    private let rateFactor = ManagedValue(1.0)
    private let loopBeats = ManagedValue(0.0)
    /// The number of the stay that a transaction has ended.
    private let endedStay = ManagedValue(0)
    private let signal = ChangeSignal()
    private let control: Lock<Control>

    private typealias Edit = @Sendable (inout TrackSettings) -> Void

    private struct Control {
        /// The newest content, and older ones that may still be played.
        var source: TrackSource
        var older: [TrackSource] = []
        /// Changes of settings that the render thread may not have seen yet, with their numbers.
        var coming: [(number: Int, edit: Edit)] = []

        /// The contents that are heard or may be, the newest at the end.
        var live: [TrackSource] {
            let all = older + [source]
            // Those before the one that was heard last are not heard any more.
            return Array(all[(all.lastIndex { $0.told[1] == 1 } ?? 0)...])
        }
        weak var sequencer: Sequencer?
        /// Its place in the sequencer, and the number of its stay there.
        var index = 0
        var stay = 0

        /// Takes back a content that was never shown.
        mutating func forget(_ new: TrackSource) {
            if source !== new { return older.removeAll { $0 === new } }
            if let last = older.popLast() { source = last }
        }
    }

    /// Creates a track of a pattern.
    ///
    /// - Parameters:
    ///   - name: A name for people, and for ``Sequencer/subscript(_:)``.
    ///   - pattern: The pattern.
    ///   - target: The target that plays it.
    ///   - channel: The MIDI channel, 0…15, if the target has such.
    public convenience init(_ name: String, _ pattern: Pattern, to target: any NoteTarget, channel: Int = 0) {
        self.init(name, TrackSource(pattern, target), target, channel)
    }

    /// Creates a track of either.
    convenience init(
        _ name: String, _ content: TrackSource.Content, to target: any NoteTarget, channel: Int, repeats: Bool
    ) {
        self.init(name, TrackSource(content, target, repeats: repeats), target, channel, repeats: repeats)
    }

    /// Creates a track of a clip.
    ///
    /// - Parameters:
    ///   - name: A name for people, and for ``Sequencer/subscript(_:)``.
    ///   - clip: The clip.
    ///   - target: The target that plays it.
    ///   - channel: The MIDI channel, 0…15, if the target has such.
    ///   - repeats: `true` to begin again after the length of the clip, `false` to play it once: that holds for clips that take its
    ///     place too.
    public convenience init(
        _ name: String, _ clip: Clip, to target: any NoteTarget, channel: Int = 0, repeats: Bool = true
    ) {
        self.init(name, TrackSource(clip, target, repeats: repeats), target, channel, repeats: repeats)
    }

    private init(
        _ name: String, _ source: TrackSource, _ target: any NoteTarget, _ channel: Int, repeats: Bool = true
    ) {
        self.name = name
        self.repeats = repeats
        self.target = target
        slot = target.makeSlot()
        content = ManagedValue(TrackContent(source))
        self.channel = UInt8(max(0, min(channel, 15)))
        control = Lock(Control(source: source), .part)
    }

    // MARK: What it plays

    /// Plays another pattern from now on, or in a transaction with the other changes.
    public func replace(with pattern: Pattern) { replace(with: TrackSource(pattern, target)) }

    /// Plays another clip from now on, or in a transaction with the other changes.
    public func replace(with clip: Clip) { replace(with: TrackSource(clip, target, repeats: repeats)) }

    /// Plays another content from now on.
    func replace(with content: TrackSource.Content) {
        replace(with: TrackSource(content, target, repeats: repeats))
    }

    private func replace(with source: TrackSource) {
        let sequencer = control.withLock { control in
            control.older = control.live
            control.source = source
            return control.sequencer
        }
        // Its first notes are there before it is heard.
        if let sequencer { sequencer.provide([self]) }
        OpenTransaction.ifCalledOff { [weak self] in self?.control.withLock { $0.forget(source) } }
        sequencer?.keep(source)
        signal.raise { content.set(TrackContent(source)) }
        sequencer?.noteChange()
    }

    /// A sentence about the first note that the target cannot play; `nil` if there is none so far.
    public var problem: String? { control.withLock { $0.source }.problem }

    // MARK: Settings

    /// Indicates that it is silent.
    public var isMuted: Bool {
        get { muted.value }
        set {
            muted.set(newValue)
            signal.raise()
        }
    }

    /// Indicates that tracks without this are silent.
    public var isSoloed: Bool {
        get { soloed.value }
        set {
            soloed.set(newValue)
            signal.raise()
        }
    }

    /// The beat of the song at which the track begins: -1e6…1e6, 0 at first.
    public var offset: Fraction {
        get { Fraction(offsetBeats.value) }
        set {
            let beats = max(-1e6, min(newValue.value, 1e6))
            change {
                $0.offset = beats
            } set: {
                offsetBeats.set(beats)
            }
        }
    }

    /// The speed: beats of the track for one of the song, 1/64…64, 1 at first.
    public var rate: Fraction {
        get { Fraction(rateFactor.value) }
        set {
            let factor = max(1.0 / 64, min(newValue.value, 64))
            change {
                $0.rate = factor
            } set: {
                rateFactor.set(factor)
            }
        }
    }

    /// The beats of the track after which it begins again, 1/16 or more; `nil` for the length of the clip, and for a pattern that goes
    /// on for ever.
    public var loop: Fraction? {
        get { loopBeats.value > 0 ? Fraction(loopBeats.value) : nil }
        set {
            let beats = newValue.map { max(Performance.shortestLoop, min($0.value, 1e6)) } ?? 0
            change {
                $0.loop = beats
            } set: {
                loopBeats.set(beats)
            }
        }
    }

    /// The newest settings; in a transaction, as it will have them.
    private var settings: TrackSettings {
        var settings = TrackSettings()
        (settings.isMuted, settings.isSoloed) = (muted.value, soloed.value)
        (settings.offset, settings.rate, settings.loop) = (offsetBeats.value, rateFactor.value, loopBeats.value)
        return settings
    }

    /// Changes settings. The notes that the track has there are worked out first.
    private func change(_ edit: @escaping Edit, set: () -> Void) {
        let number = Self.changes.wrappingAdd(1, ordering: .relaxed).newValue
        let sequencer = control.withLock { control in
            control.coming = control.coming.suffix(255) + [(number, edit)]
            return control.sequencer
        }
        sequencer?.provide([self])
        set()
        signal.raise()
        sequencer?.noteChange()
        let isOver: @Sendable () -> Void = { [weak self] in
            guard let self else { return }
            let sequencer = control.withLock { control in
                control.coming.removeAll { $0.number == number }
                return control.sequencer
            }
            sequencer?.noteChange()
        }
        OpenTransaction.afterCycles(isOver, ifCalledOff: isOver)
    }

    /// Sets all of them.
    func set(_ settings: TrackSettings) {
        change {
            $0 = settings
        } set: {
            muted.set(settings.isMuted)
            soloed.set(settings.isSoloed)
            offsetBeats.set(settings.offset)
            rateFactor.set(settings.rate)
            loopBeats.set(settings.loop)
        }
    }

    private static let changes = Atomic<Int>(0)

    // MARK: Launching

    /// Has the track begin at its beat 0, and run by itself from there: starts, loops and places of the song do not move it. Returns
    /// `false` if it is in no sequencer, or if 256 commands wait.
    @discardableResult
    public func launch(at moment: Moment = .nextBar) -> Bool { send(.launch, moment) }

    /// Stops the track alone. Returns `false` if it is in no sequencer, or if 256 commands wait.
    @discardableResult
    public func stop(at moment: Moment = .now) -> Bool { send(.halt, moment) }

    /// Has the track go with the song again. Returns `false` if it is in no sequencer, or if 256 commands wait.
    @discardableResult
    public func rejoin(at moment: Moment = .now) -> Bool { send(.rejoin, moment) }

    private func send(_ action: SequencerCommand.Action, _ moment: Moment) -> Bool {
        let (sequencer, index, stay) = control.withLock { ($0.sequencer, $0.index, $0.stay) }
        let command = SequencerCommand(action, track: index, stay: stay, grid: moment.grid)
        return sequencer?.send(command, moment) ?? false
    }

    // MARK: For the sequencer

    /// The beat of the song behind the last note of its clip.
    var end: Fraction { offset + control.withLock { $0.source }.end / rate }

    private static let stays = Atomic<Int>(0)

    /// Returns the number of a stay, which no other stay has.
    static func makeStay() -> Int { stays.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Joins a sequencer. Returns the number of its stay there; `nil` if it is in one.
    func join(_ sequencer: Sequencer, _ flags: ChangeFlags, index: Int, stay: Int) -> Int? {
        control.withLock { control in
            if control.sequencer != nil { return nil }
            (control.sequencer, control.index, control.stay) = (sequencer, index, stay)
            signal.join(flags, at: index)
            return control.stay
        }
    }

    /// The number of its stay in a sequencer; `nil` if it is not there, or if the open transaction takes it out.
    func stay(in sequencer: Sequencer) -> Int? {
        let (its, stay) = control.withLock { ($0.sequencer, $0.stay) }
        return its !== sequencer || endedStay.value == stay ? nil : stay
    }

    /// Has a stay end with the open transaction.
    func end(_ stay: Int) {
        endedStay.set(stay)
        signal.raise()
    }

    /// Leaves a sequencer, whose list does not have it any more.
    func leave(_ stay: Int) {
        control.withLock { control in
            if control.stay != stay { return }
            (control.sequencer, control.stay) = (nil, 0)
            signal.leave()
        }
    }

    /// The contents that are heard or may be.
    var sources: [TrackSource] { control.withLock { $0.older + [$0.source] } }

    /// The MIDI channel.
    var midiChannel: Int { Int(channel) }

    func entry(_ stay: Int) -> TrackEntry {
        TrackEntry(
            stay: stay, ended: ManagedPlace(of: endedStay), content: ManagedPlace(of: content), target: slot.place,
            channel: channel, hasKeys: target.hasKeys, cutsSlices: target is ParameterTarget,
            isMuted: ManagedPlace(of: muted),
            isSoloed: ManagedPlace(of: soloed), offset: ManagedPlace(of: offsetBeats),
            rate: ManagedPlace(of: rateFactor), loop: ManagedPlace(of: loopBeats))
    }

    /// Works out the notes that are played soon.
    func provide(_ song: SongPlace) {
        // What comes before what is: it may become that meanwhile.
        let (sources, coming, last) = control.withLock { control in
            let live = control.live
            return (live, control.coming.map(\.edit), live.last { $0.told[1] == 1 })
        }
        guard sources.contains(where: \.isPattern) else { return }
        // As they are, with each change alone, and with one after the other.
        var all = [settings]
        for edit in coming {
            var (alone, next) = (all[0], all[all.count - 1])
            edit(&alone)
            edit(&next)
            all += [alone, next]
        }
        var wanted: Set<Int> = []
        for settings in all {
            wanted.formUnion(windows(song.beats.map { ($0 - settings.offset) * settings.rate }, settings))
        }
        if let last {
            let origin = Double(bitPattern: last.told[0])
            // Where it is, also while settings that lead it elsewhere wait for their time.
            var heard = TrackSettings()
            (heard.rate, heard.loop) = (Double(bitPattern: last.told[2]), Double(bitPattern: last.told[3]))
            for settings in all + [heard] {
                wanted.formUnion(windows(song.clocks.map { ($0 - origin) * settings.rate }, settings))
            }
        }
        for source in sources { source.provide(wanted, question: song.question, signal) }
    }

    /// The windows that are played soon from some beats of the track on.
    private func windows(_ beats: [Double], _ settings: TrackSettings) -> Set<Int> {
        let loop = settings.loop
        var wanted: Set<Int> = []
        if loop > 0 { wanted.formUnion(windows(from: 0, min(loop, 256))) }
        // It may be launched, from 0 on.
        for beat in beats + [0] {
            let here = loop > 0 ? beat.truncatingRemainder(dividingBy: loop) : beat
            wanted.formUnion(windows(from: here, Double(TrackSource.window) * settings.rate))
        }
        return wanted
    }

    private func windows(from beat: Double, _ count: Double) -> ClosedRange<Int> {
        // The window before it too: notes that sound have begun there.
        let here = max(0, min(beat, 1e9))
        let first = max(0, Int(here) / TrackSource.window - 1)
        return first...max(first, Int(here + count.rounded(.up) + 1) / TrackSource.window)
    }
}

/// The places at which a sequencer is and may soon be.
struct SongPlace: Sendable {
    /// The number of the question after this place.
    var question = 0
    /// Beats of its clock: where it is, and where it leaps to.
    var clocks: [Double] = []
    /// Beats of the song: where it is, where it may be sent, where it goes round.
    var beats: [Double] = []
}
