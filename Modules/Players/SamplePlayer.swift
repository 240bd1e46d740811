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
    let sounds = ManagedArray<Int, LoadedSound>()
    let commands = CommandQueue<SampleCommand>()
    /// The number of the last voice that was asked for.
    let lastVoice = Atomic<Int>(0)
    let sounding = Atomic<Int>(0)
    private let stolen = Atomic<Int>(0)
    private let voices = ManagedArray<Int, SampleVoice>()
    private let repeats = ManagedArray<Int, RepeatedSample>()
    /// Voices there are, with those that fade out.
    private let pool: Int
    let table = SampleTable()
    /// The number of voices that have begun.
    private let ages = RenderState<Int>(0)
    /// Its value means nothing: an old one is freed when the cycles that were under way are over.
    let cycles = ManagedValue<Int>(0)

    /// The number of sounds that can be repeated at once.
    public static let repeatCapacity = 16

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
        // As many voices again, and 16 at least, are there to fade out: so many can be stolen or stopped within 5 ms.
        pool = voices + max(voices, 16)
        self.voices.update(Array(0..<pool)) { _, _ in SampleVoice() }
        repeats.update(Array(0..<Self.repeatCapacity)) { _, _ in RepeatedSample() }
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
        guard ages.belongs(to: context) else { return }
        let count = context.frameCount
        var frame = 0
        while true {
            let due = commands.next(&context, from: frame)
            var end = count
            if let due { end = due.frame }
            while true {
                let (turn, start) = nextRepeat(&context, before: end)
                let stop = turn < 0 ? end : start > frame ? start : frame
                render(&context, from: frame, to: stop)
                frame = stop
                if turn < 0 { break }
                startRepeat(turn, &context, at: frame)
            }
            guard let due else { break }
            perform(due.command, &context, at: frame)
        }
        publish(&context)
        context.gain(volume.glide(context))
    }

    /// Ends everything that sounds or is repeated, at once. Samples that wait for their time still begin.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        guard ages.belongs(to: context) else { return }
        var index = 0
        while index < pool {
            end(index, &context)
            index &+= 1
        }
        repeats.forEach(&context) { turn, context in turn.number = 0 }
        publish(&context)
    }

    /// Returns whether a sound is heard, or is about to be.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool {
        if commands.count > 0 { return true }
        return sounding.load(ordering: .relaxed) != 0
    }

    /// The number of voices that have been stolen.
    public var stolenCount: Int { stolen.load(ordering: .relaxed) }

    /// Counts the voices and the repeats.
    @_noLocks @_noAllocation
    private func publish(_ context: inout RenderContext) {
        var count = 0
        voices.forEach(&context) { voice, context in
            if voice.age != 0 { count &+= 1 }
        }
        repeats.forEach(&context) { turn, context in
            if turn.number != 0 { count &+= 1 }
        }
        sounding.store(count, ordering: .relaxed)
    }

    // MARK: Commands

    @_noLocks @_noAllocation
    private func perform(_ command: SampleCommand, _ context: inout RenderContext, at frame: Int) {
        switch command.action {
        case .start:
            start(command, &context)
            if command.interval > 0 { addRepeat(command, &context, at: frame) }
        case .stopVoice, .stopSound, .stopAll:
            let fade = Int(context.sampleRate * SampleVoice.fadeSeconds)
            voices.forEach(&context) { voice, context in
                if voice.age != 0 && command.means(voice.number, sound: voice.id) { voice.leave(fade) }
            }
            repeats.forEach(&context) { turn, context in
                if turn.number != 0 && command.means(turn.number, sound: turn.command.sound) { turn.number = 0 }
            }
        }
    }

    @_noLocks @_noAllocation
    private func start(_ command: SampleCommand, _ context: inout RenderContext) {
        let place = find(command, &context)
        if place < 0 { return }
        let age = ages.read(context) &+ 1
        ages.write(age, context)
        let index = takeVoice(&context)
        var voice = SampleVoice(command, age: age, place: place)
        if channelCount == 2 { (voice.left, voice.right) = command.sides }
        sounds.with(place, &context) { sound, context in
            sound.begin()
            voice.version = sound.version
        }
        end(index, &context)
        voices.with(index, &context) { old, context in old = voice }
    }

    /// Returns the place of a sound in the list, if it is still loaded; else -1.
    @_noLocks @_noAllocation
    private func find(_ command: SampleCommand, _ context: inout RenderContext) -> Int {
        // Most of the time it is where it was when it was asked for. If not, the newest of that number.
        var found = -1
        var place = command.place
        var next = sounds.count(&context)
        while place >= 0 && found < 0 {
            sounds.with(place, &context) { sound, context in
                if sound.isLoaded && sound.id == command.sound { found = place }
            }
            next &-= 1
            place = next
        }
        return found
    }

    /// Returns a free voice, after it has the oldest one fade out if too many sound. If there is none because so many
    /// fade out, it returns the voice that is the first to end its fade.
    @_noLocks @_noAllocation
    private func takeVoice(_ context: inout RenderContext) -> Int {
        var (free, oldest, soonest) = (-1, -1, 0)
        var (count, first, least) = (0, Int.max, Int.max)
        var index = 0
        voices.forEach(&context) { voice, context in
            if voice.age == 0 {
                if free < 0 { free = index }
            } else if voice.fadeLeft >= 0 {
                if voice.fadeLeft < least {
                    least = voice.fadeLeft
                    soonest = index
                }
            } else {
                count &+= 1
                if voice.age < first {
                    first = voice.age
                    oldest = index
                }
            }
            index &+= 1
        }
        if count >= voiceCount {
            let fade = Int(context.sampleRate * SampleVoice.fadeSeconds)
            voices.with(oldest, &context) { voice, context in voice.leave(fade) }
            stolen.wrappingAdd(1, ordering: .relaxed)
        }
        return free >= 0 ? free : soonest
    }

    /// Ends a voice at once, if it sounds.
    @_noLocks @_noAllocation
    private func end(_ index: Int, _ context: inout RenderContext) {
        let voice = voice(index, &context)
        if voice.age == 0 { return }
        let place = find(version: voice.version, at: voice.place, &context)
        sounds.with(place, &context) { sound, context in sound.end() }
        voices.with(index, &context) { voice, context in voice.age = 0 }
    }

    @_noLocks @_noAllocation
    private func voice(_ index: Int, _ context: inout RenderContext) -> SampleVoice {
        var found = SampleVoice()
        voices.with(index, &context) { voice, context in
            if voice.age != 0 { found = voice }
        }
        return found
    }

    @_noLocks @_noAllocation
    private func find(version: Int, at place: Int, _ context: inout RenderContext) -> Int {
        var found = -1
        sounds.with(place, &context) { sound, context in
            if sound.version == version { found = place }
        }
        let count = sounds.count(&context)
        var index = 0
        while index < count && found < 0 {
            sounds.with(index, &context) { sound, context in
                if sound.version == version { found = index }
            }
            index &+= 1
        }
        return found
    }

    // MARK: Repeats

    @_noLocks @_noAllocation
    private func addRepeat(_ command: SampleCommand, _ context: inout RenderContext, at frame: Int) {
        let first = context.sampleTime &+ Int64(frame)
        let interval = command.interval * context.sampleRate
        var isAdded = false
        repeats.forEach(&context) { turn, context in
            if !isAdded && turn.number == 0 {
                turn = RepeatedSample(command, first: first, interval: interval < 1 ? 1 : interval)
                isAdded = true
            }
        }
    }

    /// Returns the next repeat that is due, and its frame; -1 if there is none.
    @_noLocks @_noAllocation
    private func nextRepeat(_ context: inout RenderContext, before end: Int) -> (index: Int, frame: Int) {
        let last = context.sampleTime &+ Int64(end)
        var (found, earliest) = (-1, last)
        var index = 0
        repeats.forEach(&context) { turn, context in
            if turn.number != 0 && turn.next < earliest {
                earliest = turn.next
                found = index
            }
            index &+= 1
        }
        return (found, Int(truncatingIfNeeded: earliest &- context.sampleTime))
    }

    @_noLocks @_noAllocation
    private func startRepeat(_ index: Int, _ context: inout RenderContext, at frame: Int) {
        var command: SampleCommand?
        let now = context.sampleTime &+ Int64(frame)
        repeats.with(index, &context) { turn, context in
            // A start that the renderer has passed by, because it did not run this module, is left out.
            if turn.next == now { command = turn.command }
            turn.advance(past: now)
        }
        if let command { start(command, &context) }
    }

    // MARK: Voices

    @_noLocks @_noAllocation
    private func render(_ context: inout RenderContext, from first: Int, to end: Int) {
        if end <= first { return }
        var index = 0
        while index < pool {
            var voice = voice(index, &context)
            if voice.age != 0 {
                voice.place = find(version: voice.version, at: voice.place, &context)
                var isOver = voice.place < 0
                sounds.with(voice.place, &context) { sound, context in
                    isOver = voice.add(sound, to: &context, at: first, frames: end &- first)
                    if isOver { sound.end() }
                }
                if isOver { voice.age = 0 }
                voices.with(index, &context) { kept, context in kept = voice }
            }
            index &+= 1
        }
    }
}
