internal import RenderCore
internal import Sharing
internal import Voices

/// The sounds that a ``SamplePlayer`` has loaded.
final class LoadedSounds: Sendable {
    let list = ManagedArray<Int, LoadedSound>()
}

/// The voices of a ``SamplePlayer``, and what it repeats. It belongs to the render thread.
struct PlayedSounds: ~Copyable, Sendable {
    private let sounds: LoadedSounds
    private let states: VoiceStates.Shared
    private var voices: RenderMemory<PlayedSound>
    private var repeats = RenderMemory(repeating: RepeatedSample(), count: SamplePlayer.repeatCapacity)
    private let limit: Int
    private let isStereo: Bool
    /// The number of voices that have begun.
    private var lastAge = 0
    /// The number of voices that have been stolen.
    private(set) var stolen = 0

    /// - Parameters:
    ///   - sounds: The sounds.
    ///   - states: The states of voices, for other threads.
    ///   - limit: The number of voices that may sound, those that fade out not counted.
    ///   - channels: Channels of the buffer.
    init(_ sounds: LoadedSounds, _ states: VoiceStates.Shared, limit: Int, channels: Int) {
        self.sounds = sounds
        self.states = states
        self.limit = limit
        isStereo = channels == 2
        // As many voices again, and 16 at least, are there to fade out: so many can be stolen or stopped within 5 ms.
        voices = RenderMemory(repeating: PlayedSound(), count: limit + max(limit, 16))
    }

    /// The number of voices and of repeats.
    var count: Int {
        @_noLocks @_noAllocation get {
            var count = 0
            for index in voices.indices where voices[index].age != 0 { count &+= 1 }
            for index in repeats.indices where repeats[index].number != 0 { count &+= 1 }
            return count
        }
    }

    /// The number of voices that sound, those that fade out not counted.
    var soundingCount: Int {
        @_noLocks @_noAllocation get {
            var count = 0
            for index in voices.indices where voices[index].age != 0 && voices[index].fadeLeft < 0 { count &+= 1 }
            return count
        }
    }

    /// Ends everything, at once.
    @_noLocks @_noAllocation
    mutating func reset(_ context: inout RenderContext) {
        for index in voices.indices { end(index, &context) }
        for index in repeats.indices { endRepeat(index) }
    }

    // MARK: Sound

    /// Adds frames of the voices to the top. What is repeated begins on its frames.
    @_noLocks @_noAllocation
    mutating func render(_ context: inout RenderContext, from first: Int, to end: Int) {
        var frame = first
        while true {
            var (turn, earliest) = (-1, context.sampleTime &+ Int64(end))
            for index in repeats.indices where repeats[index].number != 0 && repeats[index].next < earliest {
                (turn, earliest) = (index, repeats[index].next)
            }
            let due = Int(truncatingIfNeeded: earliest &- context.sampleTime)
            let stop = turn < 0 ? end : max(due, frame)
            add(&context, from: frame, to: stop)
            frame = stop
            if turn < 0 { return }
            let now = context.sampleTime &+ Int64(frame)
            // A start that the renderer has passed by, because it did not run this module, is left out.
            let isNow = repeats[turn].next == now
            repeats[turn].advance(past: now)
            // A sound that was unloaded never comes back.
            if isNow && !start(repeats[turn].command, &context) { endRepeat(turn) }
        }
    }

    @_noLocks @_noAllocation
    private mutating func add(_ context: inout RenderContext, from first: Int, to end: Int) {
        if end <= first { return }
        for index in voices.indices where voices[index].age != 0 {
            var voice = voices[index]
            let version = voice.version
            var (isOver, isFound) = (false, false)
            // The list may become another one between two looks.
            while !isFound && !isOver {
                voice.place = find(version: version, at: voice.place, &context)
                isOver = voice.place < 0
                sounds.list.with(voice.place, &context) { sound, context in
                    isFound = sound.version == version
                    if !isFound { return }
                    isOver = voice.add(sound, to: &context, at: first, frames: end &- first)
                    if isOver { sound.end() }
                }
            }
            if isOver { voice.age = 0 }
            voices[index] = voice
            if isOver { noteEnd(of: voice.number, isRepeated: voice.isRepeated) }
        }
    }

    // MARK: Commands

    /// - Returns: `true` for a change of a voice that has not begun yet.
    @_noLocks @_noAllocation
    mutating func perform(_ command: SampleCommand, _ context: inout RenderContext, at frame: Int) -> Bool {
        switch command.action {
        case .start:
            // One that was stopped before its time does not begin.
            if states.voices.state(of: command.number) == VoiceStates.State.over { return false }
            if start(command, &context) && command.interval > 0 { addRepeat(command, context, at: frame) }
            noteEnd(of: command.number, isRepeated: true)
        case .change:
            let glide = Int(context.sampleRate * PlayedSound.glideSeconds)
            for index in voices.indices where voices[index].age != 0 && voices[index].number == command.number {
                voices[index].take(command, glide: glide, isStereo: isStereo)
            }
            for index in repeats.indices where repeats[index].number == command.number {
                repeats[index].command.take(command)
            }
            return states.voices.state(of: command.number) == VoiceStates.State.waiting
        case .stopVoice, .stopSound, .stopAll:
            let fade = Int(context.sampleRate * PlayedSound.fadeSeconds)
            for index in voices.indices where voices[index].age != 0 {
                if command.means(voices[index].number, sound: voices[index].id) { voices[index].leave(fade) }
            }
            for index in repeats.indices {
                if command.means(repeats[index].number, sound: repeats[index].command.sound) { endRepeat(index) }
            }
            // One that has not begun is called off.
            if command.number != 0 { noteEnd(of: command.number, isRepeated: true) }
        }
        return false
    }

    /// Returns `false` if the sound is not loaded.
    @_noLocks @_noAllocation
    private mutating func start(_ command: SampleCommand, _ context: inout RenderContext) -> Bool {
        var (place, version) = (0, 0)
        // The list may become another one between two looks.
        while version == 0 {
            place = find(command, &context)
            if place < 0 { return false }
            sounds.list.with(place, &context) { sound, context in
                if !sound.isLoaded || sound.id != command.sound { return }
                sound.begin()
                version = sound.version
            }
        }
        lastAge &+= 1
        let index = takeVoice(fade: Int(context.sampleRate * PlayedSound.fadeSeconds))
        var voice = PlayedSound(command, age: lastAge, place: place)
        voice.version = version
        if isStereo { (voice.left, voice.right) = command.sides }
        end(index, &context)
        voices[index] = voice
        states.voices.set(VoiceStates.State.sounding, of: voice.number)
        return true
    }

    @_noLocks @_noAllocation
    private mutating func addRepeat(_ command: SampleCommand, _ context: borrowing RenderContext, at frame: Int) {
        let interval = command.interval * context.sampleRate
        for index in repeats.indices where repeats[index].number == 0 {
            repeats[index] = RepeatedSample(
                command, first: context.sampleTime &+ Int64(frame), interval: interval < 1 ? 1 : interval)
            return
        }
    }

    // MARK: Voices

    /// Returns a voice for a sound, after the one that must make room for it has begun to fade out.
    @_noLocks @_noAllocation
    private mutating func takeVoice(fade: Int) -> Int {
        var choice = VoiceChoice()
        for index in voices.indices {
            let left = Float(Int32(truncatingIfNeeded: voices[index].fadeLeft))
            choice.show(index, order: voices[index].age, fadeLeft: left, diesAway: false)
        }
        let oldest = choice.stolen(limit: limit)
        if oldest >= 0 {
            voices[oldest].leave(fade)
            stolen &+= 1
        }
        return choice.taken
    }

    /// Ends a voice at once, if it sounds.
    @_noLocks @_noAllocation
    private mutating func end(_ index: Int, _ context: inout RenderContext) {
        if voices[index].age == 0 { return }
        let version = voices[index].version
        var (place, isFound) = (voices[index].place, false)
        while !isFound && place >= 0 {
            place = find(version: version, at: place, &context)
            sounds.list.with(place, &context) { sound, context in
                isFound = sound.version == version
                if isFound { sound.end() }
            }
        }
        voices[index].age = 0
        noteEnd(of: voices[index].number, isRepeated: voices[index].isRepeated)
    }

    @_noLocks @_noAllocation
    private mutating func endRepeat(_ index: Int) {
        let number = repeats[index].number
        if number == 0 { return }
        repeats[index].number = 0
        noteEnd(of: number, isRepeated: true)
    }

    /// Notes that a voice is over, unless it sounds or is repeated still.
    @_noLocks @_noAllocation
    private borrowing func noteEnd(of number: Int, isRepeated: Bool) {
        if isRepeated {
            for index in voices.indices where voices[index].age != 0 && voices[index].number == number { return }
            for index in repeats.indices where repeats[index].number == number { return }
        }
        states.voices.set(VoiceStates.State.over, of: number)
    }

    /// Returns the place of a sound in the list, if it is still loaded; else -1.
    @_noLocks @_noAllocation
    private borrowing func find(_ command: SampleCommand, _ context: inout RenderContext) -> Int {
        // Most of the time it is where it was when it was asked for. If not, the newest of that number.
        var found = -1
        sounds.list.with(command.place, &context) { sound, context in
            if sound.isLoaded && sound.id == command.sound { found = command.place }
        }
        if found >= 0 { return found }
        var index = 0
        sounds.list.forEach(&context) { sound, context in
            if sound.isLoaded && sound.id == command.sound { found = index }
            index &+= 1
        }
        return found
    }

    /// Returns the place of the sound that a voice has begun to play, which was at a place; -1 if it is gone.
    @_noLocks @_noAllocation
    private borrowing func find(version: Int, at place: Int, _ context: inout RenderContext) -> Int {
        var found = -1
        sounds.list.with(place, &context) { sound, context in
            if sound.version == version { found = place }
        }
        if found >= 0 { return found }
        var index = 0
        sounds.list.search(&context) { sound, context in
            if sound.version == version { found = index }
            index &+= 1
            return found >= 0
        }
        return found
    }
}
