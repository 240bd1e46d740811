public import RenderCore
internal import Sharing
internal import Synchronization

/// Plays many short sounds at once, each from its exact frame. Pushes one buffer, silent while nothing plays.
///
///     let drums = SamplePlayer()
///     let kick = drums.load(try Sound(path: "kick.wav"))
///     let hat = drums.load(try Sound(path: "hat.wav"))
///     …
///     drums.play(kick)                                                     // while the loop runs
///     drums.play(hat, at: .sample(48_000), gain: 0.5, pan: 0.3, pitch: 1.06)
///     drums.play(tick, at: .now + .seconds(1), every: 0.5)                 // a metronome
///
///     let engine = drums.play(hum)                                         // a voice, that changes while it plays
///     if let engine {
///         drums.change(engine, gain: 0.5, pitch: 1.2)
///         await drums.wait(for: engine)                                    // until it is over
///     }
///
/// Sounds are loaded ahead, hundreds of them, so that starting one costs nothing. A sound that begins takes a free
/// voice; if there is none, the oldest voice is stolen: it fades out in 5 ms beside the new one, which begins on its
/// frame.
///
/// At a pitch of 1 the samples come out as they are, times the gain: bit for bit if that is 1 and the pan 0. At other
/// pitches a frame is made of 64 frames of the sound, and above 1 of as many more as the pitch demands, up to 512, so
/// that nothing folds back; or of 16, if the ``quality`` is ``Quality/fast``. The article "Sounds from memory" has the
/// figures. Sounds of another rate than the renderer's are converted when they are loaded. Mono goes to every channel,
/// many channels sum into mono, and otherwise channels meet by number.
///
/// Everything but the arithmetic is the control side's: memory is freed there, when no voice uses it.
///
/// Threads: control.
public final class SamplePlayer: Generator {
    /// An amplitude factor for all voices.
    public let volume = Parameter(1, in: 0...4)

    /// Channels of the buffer.
    public let channelCount: Int
    /// The number of sounds that can be heard at once, those that fade out because they were stolen or stopped not
    /// counted.
    public let voiceCount: Int
    /// The amount of work for each frame at another pitch than 1.
    public let quality: Quality
    /// The name of the player in faults and statistics.
    public let name: String

    /// The amount of work for each frame at another pitch than 1. A pitch of 1 costs the least, and is exact, in both.
    ///
    /// Threads: any.
    public enum Quality: Sendable, Hashable, CaseIterable {
        /// SNR 120 dB and more, within 0.006 dB to 20 of 44.1 kHz at pitches up to 1. Above 1 the band ends where that
        /// of the output does: frequencies that would fold back are 110 dB down. The work grows with the pitch, up to a
        /// pitch of 8.
        case standard
        /// SNR 70 dB and more, duller from 17 kHz on. Above 1, frequencies that the output cannot carry fold back.
        /// Every pitch costs the same: for very many voices, and for sounds that are played far above their pitch.
        case fast
    }

    let control = Lock(Control(), .module)
    let sounds = LoadedSounds()
    let commands = CommandQueue<SampleCommand>(capacity: SamplePlayer.commandCapacity)
    let states: VoiceStates.Shared
    let refused = SharedCount()
    private let sounding = SharedCount()
    private let heard = SharedCount()
    private let stolen = SharedCount()
    private let played: RenderState<PlayedSounds>
    let table = SampleTable()

    /// The number of sounds that can be repeated at once.
    public static let repeatCapacity = 16

    /// The number of starts, stops and changes that may wait for their time, or begin in one cycle.
    public static let commandCapacity = 256

    /// Creates a player without sounds.
    ///
    /// - Parameters:
    ///   - voices: The number of sounds that can be heard at once, 1…1024.
    ///   - channels: Channels of the buffer, 1…64.
    ///   - quality: The amount of work for each frame at another pitch than 1.
    ///   - name: The name in faults and statistics.
    /// - Precondition: The numbers are in range.
    public init(voices: Int = 32, channels: Int = 2, quality: Quality = .standard, name: String = "SamplePlayer") {
        demand(voices >= 1 && voices <= 1024, "SamplePlayer has 1 to 1024 voices, not \(voices)")
        demand(channels >= 1 && channels <= 64, "SamplePlayer has 1 to 64 channels, not \(channels)")
        voiceCount = voices
        channelCount = channels
        self.quality = quality
        self.name = name
        states = VoiceStates.Shared(SamplePlayer.commandCapacity + 2 * max(voices, 16) + SamplePlayer.repeatCapacity)
        let sounds = sounds
        let states = states
        played = RenderState(PlayedSounds(sounds, states, limit: voices, channels: channels))
    }

    // MARK: Render thread

    /// The parameters by name.
    public var parameters: [ParameterReference] { [volume.named("volume")] }

    /// Pushes a slice of all voices.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.push(channels: channelCount)
        guard played.belongs(to: context) else { return }
        var frame = 0
        while let due = commands.next(&context, from: frame) {
            let first = frame
            var isForLater = false
            played.with(&context) { played, context in
                played.render(&context, from: first, to: due.frame)
                isForLater = played.perform(due.command, &context, at: due.frame)
            }
            if isForLater {
                let change = due.command
                commands.editWaiting(&context) { $0.takeBeforeStart(change) }
            }
            frame = due.frame
        }
        let first = frame
        played.with(&context) { played, context in played.render(&context, from: first, to: context.frameCount) }
        publish(&context)
        context.gain(volume.glide(context))
    }

    /// Ends everything that sounds or is repeated, at once. Samples that wait for their time still begin.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        guard played.belongs(to: context) else { return }
        played.with(&context) { played, context in played.reset(&context) }
        publish(&context)
    }

    /// Returns whether a sound is heard, or is about to be.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool {
        if commands.count > 0 { return true }
        return sounding.value != 0
    }

    /// The number of voices that have been stolen.
    public var stolenCount: Int { stolen.value }

    /// The number of voices that sound, those that fade out not counted: after the last cycle.
    public var soundingCount: Int { heard.value }

    /// The number of starts, stops and changes that were not taken, because ``commandCapacity`` of them waited.
    public var refusedCount: Int { refused.value }

    /// Counts the voices and the repeats.
    @_noLocks @_noAllocation
    private func publish(_ context: inout RenderContext) {
        var counts = (0, 0, 0)
        played.with(&context) { played, _ in counts = (played.count, played.stolen, played.soundingCount) }
        sounding.set(counts.0)
        stolen.set(counts.1)
        heard.set(counts.2)
    }
}

extension SamplePlayer: EndingModule {
    /// Indicates whether nothing is heard, and nothing is about to be.
    package var isAtRest: Bool { commands.count == 0 && sounding.value == 0 }
}
