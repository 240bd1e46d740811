public import InstrumentFiles
public import RenderCore
internal import Sharing
public import Supply
public import Voices

/// Plays the instruments of a SoundFont or of an SFZ file by MIDI: sixteen channels, drums on the tenth.
///
///     let font = try SoundFont(path: "/usr/share/sounds/sf2/TimGM6mb.sf2")
///     let player = SoundFontPlayer(font, keys: keys)              // keys: a MIDIInput
///     player.send(.program(channel: 0, number: 48))               // strings
///     player.send(.noteOn(channel: 0, note: 60, velocity: 100))   // while it plays
///     …
///     context.run(player)                                         // pushes a stereo buffer
///
/// Messages come from a MIDI input, from a sequencer, or from control code (``send(_:at:)``), and each acts on its frame.
/// With ``Sends/reverbAndChorus`` it pushes two more buffers, for effects of your own:
///
///     let player = SoundFontPlayer(font, sends: .reverbAndChorus)
///     …
///     context.run(player)                                         // pushes the sound, the reverb send, the chorus send
///     context.run(chorus)
///     context.swap()
///     context.run(reverb)
///     context.mix(3)
///
/// It understands notes, programs, banks (controller 0), pressure, bends and their range, the sustain and sostenuto pedals
/// (64, 66), volume, pan, expression (7, 10, 11), sends (91, 93), the tuning of registered parameters, all controllers that a
/// font links to its generators, and the messages that silence and reset a channel. If more samples would sound than there are
/// voices, one that dies away makes room, else the oldest: it fades out in 5 ms.
///
/// Latency: none. However the cycles are cut, the samples are the same, bit for bit.
///
/// Threads: control.
public final class SoundFontPlayer: StreamingModule {
    /// The buffers besides the sound that a player pushes.
    ///
    /// Threads: any.
    public enum Sends: Sendable, Hashable {
        /// None.
        case none
        /// One for a reverb and above it one for a chorus, both the same on two channels.
        case reverbAndChorus
    }

    /// The ways in which a player reads between the frames of a sample.
    ///
    /// Threads: any.
    public enum Quality: Sendable, Hashable {
        /// Between four neighbours by a polynomial.
        case standard
        /// Between sixteen neighbours by a sine cardinal: fainter images of samples that are played below their pitch, for
        /// about a third more time.
        case fine
    }

    /// The level of everything, 0…4.
    public let volume = Parameter(1, in: 0...4)
    /// The number of voices: samples that may sound at once, those that make room not counted.
    public let voiceCount: Int

    private let streams: SampleStreams?
    private let sends: Sends
    let feed: VoiceFeed
    private let tuned = TunedKeys()
    private let engine: RenderState<SamplerEngine>
    private let makeEngine: @Sendable (Double, Int) -> SamplerEngine
    private let made: Lock<Made>
    private let sounding = SharedCount()
    private let stolen = SharedCount()
    private let missing = SharedCount()

    /// The settings that the engine was made for.
    private struct Made { var (sampleRate, frames) = (48_000.0, 1) }

    /// The amplitude of a full scale, so that a chord does not clip: as FluidSynth 2.3 has it by default.
    private static let level: Float = 0.1909

    /// Creates a player of a SoundFont.
    ///
    /// - Parameters:
    ///   - font: The font.
    ///   - voices: The number of samples that may sound at once, 1…1,024. A note of a piano takes two, one for each side.
    ///   - quality: The way in which it reads between the frames of a sample.
    ///   - sends: The buffers that it pushes besides the sound.
    ///   - keys: The MIDI input that plays it.
    /// - Precondition: The number of voices is in range.
    public convenience init(
        _ font: SoundFont, voices: Int = 256, quality: Quality = .standard, sends: Sends = .none,
        keys: MIDIInput = MIDIInput()
    ) {
        self.init(
            table: font.table, voices: voices, quality: quality, sends: sends, keys: keys)
    }

    /// Creates a player of an SFZ instrument, which all channels play.
    ///
    /// - Parameters:
    ///   - instrument: The instrument.
    ///   - voices: The number of samples that may sound at once, 1…1,024.
    ///   - quality: The way in which it reads between the frames of a sample.
    ///   - sends: The buffers that it pushes besides the sound.
    ///   - keys: The MIDI input that plays it.
    /// - Precondition: The number of voices is in range.
    public convenience init(
        _ instrument: SFZInstrument, voices: Int = 256, quality: Quality = .standard, sends: Sends = .none,
        keys: MIDIInput = MIDIInput()
    ) {
        self.init(
            table: instrument.table, voices: voices, quality: quality, sends: sends, keys: keys)
    }

    private init(
        table: InstrumentTable, voices: Int, quality: Quality, sends: Sends, keys: MIDIInput
    ) {
        demand((1...1_024).contains(voices), "SoundFontPlayer: \(voices) voices; it must be 1…1,024")
        voiceCount = voices
        self.sends = sends
        feed = VoiceFeed(keys)
        let streams = SampleStreams(table, voices: (voices + 39) / 8 * 8)
        self.streams = streams
        let (isFine, outputs) = (quality == .fine, sends == .none ? 2 : 4)
        let make = { @Sendable (sampleRate: Double, frames: Int) in
            SamplerEngine(
                table, streams: streams, voices: voices, isFine: isFine, outputs: outputs,
                level: SoundFontPlayer.level, sampleRate: sampleRate, frames: frames)
        }
        makeEngine = make
        engine = RenderState(make(48_000, 1))
        made = Lock(Made(), .module)
        streams?.begin()
    }

    // MARK: Control

    /// Has a message act on its frame.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - time: The time at which it acts.
    /// - Returns: `false` if 64 wait for their time; then this one was not taken.
    @discardableResult
    public func send(_ message: MIDIMessage, at time: RenderTime = .immediately) -> Bool {
        feed.send(VoiceCommand(message), at: time)
    }

    /// The pitch of each key: equal temperament at first.
    ///
    ///     piano.tuning = try Tuning(scl: "just.scl", kbm: "from-d.kbm")
    ///
    /// Notes that sound keep the pitch with which they began; another tuning counts for those that begin after it. In a transaction it
    /// comes with the others. The channel of drums has no tuning, and neither has a sample whose pitch does not follow the keys.
    public var tuning: Tuning {
        get { tuned.tuning }
        set { tuned.tuning = newValue }
    }

    /// The number of voices that sound.
    public var soundingVoiceCount: Int { sounding.value }
    /// The number of voices that made room for others.
    public var stolenCount: Int { stolen.value }
    /// The number of frames that the disk did not bring in time, and that were silent in a voice.
    public var missingFrameCount: Int { missing.value }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [volume.named("volume")] }

    /// Pops nothing, and pushes one buffer, or three with the sends.
    public var stackEffect: StackEffect { StackEffect(pops: 0, pushes: sends == .none ? 1 : 3) }

    /// Makes the voices for a sample rate, or for longer slices.
    public func prepare(_ preparation: Preparation) {
        let (rate, frames) = (preparation.sampleRate, preparation.maximumFrameCount)
        let isNew = made.withLock { made in
            if made.sampleRate == rate && made.frames >= frames { return false }
            made = Made(sampleRate: rate, frames: frames)
            return true
        }
        guard isNew else { return }
        engine.replace(with: makeEngine(rate, frames))
    }

    /// Waits until the disk has brought what the voices need next.
    ///
    /// Threads: render.
    public func awaitDisk(_ context: inout RenderContext) { streams?.fill() }

    /// Returns `true` if everything is in memory.
    public func isDiskReady(frames: Int) -> Bool { streams == nil }

    // MARK: Rendering

    /// Pushes the sound of a slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        takeTuning(&context)
        var (place, frame) = (feed.begin(), 0)
        while let due = feed.next(&context, &place) {
            render(&context, from: frame, to: due.frame)
            frame = due.frame
            engine.with(&context) { engine, _ in engine.act(due.command.message) }
        }
        render(&context, from: frame, to: context.frameCount)
        publish(&context)
        push(&context, 0, 1)
        if sends == .none { return context.gain(volume.glide(context)) }
        let volume = volume.glide(context)
        context.gain(volume)
        push(&context, 2, 2)
        context.gain(volume)
        push(&context, 3, 3)
        context.gain(volume)
    }

    /// Has the voices take the tuning, if it is another.
    @_noLocks @_noAllocation
    private func takeTuning(_ context: inout RenderContext) {
        var (newest, known) = (0, 0)
        tuned.table.with(&context) { table, _ in newest = table.version }
        engine.with(&context) { engine, _ in known = engine.tuning.version }
        if newest == known { return }
        var tuning = TuningTable()
        tuned.table.with(&context) { table, _ in tuning = table }
        engine.with(&context) { engine, _ in engine.tuning = tuning }
    }

    /// Silence, at once, and channels as at the start.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        engine.with(&context) { engine, _ in engine.reset() }
        publish(&context)
    }

    /// Pushes a stereo buffer of two of the engine's outputs.
    @_noLocks @_noAllocation
    private func push(_ context: inout RenderContext, _ left: Int, _ right: Int) {
        context.push(channels: 2)
        let count = context.frameCount
        engine.withTop(&context) { engine, top in
            if engine.capacity >= count {
                var samples = top[0]
                engine.copy(left, frames: count, into: &samples)
            }
            if engine.capacity >= count {
                var samples = top[1]
                engine.copy(right, frames: count, into: &samples)
            }
        }
    }

    @_noLocks @_noAllocation
    private func publish(_ context: inout RenderContext) {
        var counts = (0, 0, 0)
        engine.with(&context) { engine, _ in
            counts = (engine.soundingCount, engine.stolenCount, Int(engine.missingCount))
        }
        sounding.set(counts.0)
        stolen.set(counts.1)
        missing.set(counts.2)
    }

    @_noLocks @_noAllocation
    private func render(_ context: inout RenderContext, from first: Int, to end: Int) {
        let clock = context.sampleTime
        engine.with(&context) { engine, _ in
            if end <= engine.capacity { engine.render(from: first, to: end, clock: clock) }
        }
    }
}
