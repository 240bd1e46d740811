internal import RenderCore

/// A command of control code for a ``SamplePlayer``.
struct SampleCommand: BitwiseCopyable, Sendable {
    enum Action: BitwiseCopyable, Sendable { case start, change, stopVoice, stopSound, stopAll }

    let action: Action
    /// The number of the voice.
    var number = 0
    /// The number of the sound, and where it was in the list.
    var sound = 0
    var place = 0
    /// In a change, a gain or a pan that is not a number stays as it is, and a pitch of 0.
    var gain: Float = 1
    var pan: Float = 0
    var pitch: Double = 1
    /// The filter that reads the sound at that pitch; `nil` for the interpolator, and if there is nothing to read
    /// between frames.
    var filter: PitchFilter?
    /// Seconds from one start to the next; 0 for once.
    var interval: Double = 0

    /// The gains of the two sides: the far one gets quieter.
    var sides: (Float, Float) {
        @_noLocks @_noAllocation get {
            (pan > 0 ? gain * (1 - pan) : gain, pan < 0 ? gain * (1 + pan) : gain)
        }
    }

    /// Takes the values that a change has, if this starts the voice that it means.
    @_noLocks @_noAllocation
    mutating func takeBeforeStart(_ change: SampleCommand) {
        if case .start = action, number == change.number { take(change) }
    }

    /// Takes the values that a change has.
    @_noLocks @_noAllocation
    mutating func take(_ change: SampleCommand) {
        if change.gain == change.gain { gain = change.gain }
        if change.pan == change.pan { pan = change.pan }
        if change.pitch > 0 { (pitch, filter) = (change.pitch, change.filter) }
    }

    /// Returns whether a stop or a change is for a voice.
    @_noLocks @_noAllocation
    func means(_ voice: Int, sound: Int) -> Bool {
        switch action {
        case .start: false
        case .change, .stopVoice: voice == number
        case .stopSound: sound == self.sound
        case .stopAll: true
        }
    }
}

/// A sound that is started again and again. Its times are reckoned from the first one, so that none drifts.
struct RepeatedSample: BitwiseCopyable, Sendable {
    /// The number of the voices; 0 if this is free.
    var number = 0
    var command: SampleCommand
    var first: Int64 = 0
    var count = 1.0
    var interval = 1.0

    init() { command = SampleCommand(action: .start) }

    @_noLocks @_noAllocation
    init(_ command: SampleCommand, first: Int64, interval: Double) {
        number = command.number
        self.command = command
        self.first = first
        self.interval = interval
        count = 1
    }

    /// The frame of the next start.
    var next: Int64 { @_noLocks @_noAllocation get { first &+ Int64(count * interval + 0.5) } }

    @_noLocks @_noAllocation
    mutating func advance(past frame: Int64) {
        count += 1
        if next <= frame {
            let passed = Double(frame &- first) / interval
            if passed > count { count = Double(Int64(passed)) }
            while next <= frame { count += 1 }
        }
    }
}

/// The words by which the render thread and the control side exchange the state of a sound.
enum LoadedWord {
    /// Indicates whether the sound may begin.
    static var isLoaded: Int { @_noLocks @_noAllocation get { 0 } }
    /// The number of voices that use it.
    static var users: Int { @_noLocks @_noAllocation get { 1 } }
}

/// A sound in the list, as the render thread sees it.
struct LoadedSound: ~Copyable, Sendable {
    /// The number by which control code knows the sound, and one for each sound that was ever behind that.
    let id: Int
    let version: Int
    let sound: Sound
    let table: SampleTable
    private let shared: SharedWords

    init(_ slot: SampleSlot, _ sound: Sound, _ table: SampleTable) {
        self.table = table
        id = slot.id
        version = slot.version
        self.sound = sound
        shared = SharedWords(sharing: slot.shared)
    }

    /// Indicates whether the sound may begin.
    var isLoaded: Bool { @_noLocks @_noAllocation get { shared[LoadedWord.isLoaded] != 0 } }

    /// Notes that a voice begins to use the sound.
    @_noLocks @_noAllocation
    borrowing func begin() { shared[LoadedWord.users] = shared[LoadedWord.users] &+ 1 }

    /// Notes that a voice does not use the sound any more.
    @_noLocks @_noAllocation
    borrowing func end() { shared[LoadedWord.users] = shared[LoadedWord.users] &- 1 }
}

/// A sound that is heard.
struct PlayedSound: BitwiseCopyable, Sendable {
    /// Greater than those of all that began before; 0 if the voice is free.
    var age = 0
    /// The number of the ``SamplePlayer/Voice``.
    var number = 0
    /// The number of the sound, its version, and where it was in the list.
    var id = 0
    var version = 0
    var place = 0
    /// Frames of the sound, in units of 2^-32: nothing is rounded on the way.
    var position: Int64 = 0
    var step: Int64 = 1 << 32
    /// `nil` for the interpolator, and where its frames are those of the sound.
    var filter: PitchFilter?
    /// The gains of the sides of a stereo player, and the one for every other player; and the pan.
    var left: Float = 1
    var right: Float = 1
    var gain: Float = 1
    var pan: Float = 0
    /// The gains from which it glides, and the frames that are left of that.
    var before: (left: Float, right: Float, gain: Float) = (1, 1, 1)
    var glideLeft = 0
    var glideLength = 1
    /// Frames that are left of its fade-out; -1 if it does not fade out.
    var fadeLeft = -1
    var fadeLength = 1
    /// Indicates whether other starts have the same number.
    var isRepeated = false

    /// The time that a voice takes to fade out, in seconds, and to glide to another gain.
    static var fadeSeconds: Double { @_noLocks @_noAllocation get { 0.005 } }
    static var glideSeconds: Double { @_noLocks @_noAllocation get { 0.01 } }

    @_noLocks @_noAllocation
    init() {}

    @_noLocks @_noAllocation
    init(_ command: SampleCommand, age: Int, place: Int) {
        self.age = age
        number = command.number
        id = command.sound
        self.place = place
        step = Int64(command.pitch * 0x1p32)
        if step != 1 &<< 32 { filter = command.filter }
        left = command.gain
        right = command.gain
        gain = command.gain
        pan = command.pan
        isRepeated = command.interval > 0
    }

    /// Begins to glide to other gains, and goes on at another pitch.
    @_noLocks @_noAllocation
    mutating func take(_ change: SampleCommand, glide frames: Int, isStereo: Bool) {
        var new = SampleCommand(action: .start, gain: gain, pan: pan)
        new.take(change)
        if new.gain != gain || new.pan != pan {
            let rest =
                glideLeft > 0
                ? Float(Int32(truncatingIfNeeded: glideLeft)) / Float(Int32(truncatingIfNeeded: glideLength)) : 0
            before.left = left + (before.left - left) * rest
            before.right = right + (before.right - right) * rest
            before.gain = gain + (before.gain - gain) * rest
            (gain, pan) = (new.gain, new.pan)
            (left, right) = isStereo ? new.sides : (gain, gain)
            glideLength = frames > 0 ? frames : 1
            // One that has not given a frame yet begins with the new values.
            glideLeft = position == 0 ? 0 : glideLength
        }
        if change.pitch > 0 {
            step = Int64(change.pitch * 0x1p32)
            filter = change.filter
        }
    }

    /// Begins to fade out, unless the voice does already.
    @_noLocks @_noAllocation
    mutating func leave(_ frames: Int) {
        if fadeLeft >= 0 { return }
        fadeLength = frames > 0 ? frames : 1
        fadeLeft = fadeLength
    }

    /// Adds the next frames to the top.
    ///
    /// - Returns: `true` if the voice is over.
    @_noLocks @_noAllocation
    mutating func add(
        _ sound: borrowing LoadedSound, to context: inout RenderContext, at offset: Int, frames: Int
    ) -> Bool {
        let rest = Int64(sound.sound.frameCount) &<< 32 &- position
        var count = frames
        let left = rest > 0 ? (rest &- 1) / step &+ 1 : 0
        if left < Int64(count) { count = Int(left) }
        if fadeLeft >= 0 && fadeLeft < count { count = fadeLeft }
        if count > 0 {
            sound.table.interpolator.add(self, sound.sound.block, to: &context, at: offset, frames: count)
            position &+= step &* Int64(count)
            if fadeLeft >= 0 { fadeLeft &-= count }
            if glideLeft > 0 { glideLeft = glideLeft > count ? glideLeft &- count : 0 }
        }
        return fadeLeft == 0 || position >= Int64(sound.sound.frameCount) &<< 32
    }
}
