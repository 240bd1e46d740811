public import RenderCore
internal import Synchronization

/// Plays many short sounds at once, each from its exact frame. Pushes one buffer, silent while nothing plays.
///
///     let drums = SamplePlayer()
///     let kick = drums.load(try Sound(path: "kick.wav"))
///     let hat = drums.load(try Sound(path: "hat.wav"))
///     …
///     drums.play(kick)                                                     // from any thread
///     drums.play(hat, at: .sample(48_000), gain: 0.5, pan: 0.3, pitch: 1.06)
///     drums.play(tick, at: .now + .seconds(1), every: 0.5)                 // a metronome
///
/// Sounds are loaded ahead, hundreds of them, so that starting one costs nothing. A sound that is to begin takes a free
/// voice; where there is none, the oldest voice is stolen: it fades out in 5 ms beside the new one, which begins on
/// its frame.
///
/// At a pitch of 1 the samples come out as they are, times the gain: bit for bit if that is 1 and the pan 0. At others they
/// are interpolated with 16 frames: see the article "Sounds from memory" for what that means to the sound. Sounds of
/// another rate than the renderer's are converted when they are loaded. Mono goes to every channel, many channels sum
/// into mono, and otherwise channels meet by number.
///
/// Everything but the arithmetic is the control side's: memory is freed there, when no voice uses it.
public final class SamplePlayer: Generator {
    /// An amplitude factor for everything.
    public let volume = Parameter(1, in: 0...4)

    /// Channels of the buffer.
    public let channelCount: Int
    /// How many sounds can be heard at once, those that fade out because they were stolen or stopped not counted.
    public let voiceCount: Int
    /// What faults and statistics call it.
    public let name: String

    let control = Lock(Control())
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
    /// How many voices have begun.
    private let ages = RenderState<Int>(0)
    /// Its value means nothing: an old one is freed when the cycles that were under way are over.
    let cycles = ManagedValue<Int>(0)

    /// How many sounds can be repeated at once.
    public static let repeatCapacity = 16

    /// A player without sounds.
    ///
    /// - Parameters:
    ///   - voices: how many sounds can be heard at once, 1…1024.
    ///   - channels: channels of the buffer, 1…64.
    ///   - name: what faults and statistics call it.
    /// - Precondition: the numbers are in range.
    public init(voices: Int = 32, channels: Int = 2, name: String = "SamplePlayer") {
        precondition(voices >= 1 && voices <= 1024, "SamplePlayer has 1 to 1024 voices, not \(voices)")
        precondition(channels >= 1 && channels <= 64, "SamplePlayer has 1 to 64 channels, not \(channels)")
        voiceCount = voices
        channelCount = channels
        self.name = name
        // As many again, and 16 at least, to fade out in: so many can be stolen or stopped within 5 ms.
        pool = voices + max(voices, 16)
        self.voices.update(Array(0..<pool)) { _, _ in SampleVoice() }
        repeats.update(Array(0..<Self.repeatCapacity)) { _, _ in RepeatedSample() }
    }

    // MARK: Render thread

    /// Pushes a slice of what plays.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.push(channels: channelCount)
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

    /// Ends everything that sounds or is repeated, at once. What waits for its time still begins.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var index = 0
        while index < pool {
            end(index, &context)
            index &+= 1
        }
        repeats.forEach(&context) { turn, context in turn.number = 0 }
        publish(&context)
    }

    /// Whether something sounds, or is to.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool {
        if commands.count > 0 { return true }
        return sounding.load(ordering: .relaxed) != 0
    }

    /// How many voices have been stolen.
    public var stolenCount: Int { stolen.load(ordering: .relaxed) }

    /// Counts what sounds and what is repeated.
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

    /// Where a sound is in the list, if it is still loaded; else -1.
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

    /// A free voice, after the oldest has been told to leave where too many sound. Where there is none because so many
    /// fade out, the one that is through with that soonest.
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

    /// The next one that is due, and in which frame; -1 where none is.
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
            // One that the renderer has passed by, because nobody ran this module, is left out.
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
