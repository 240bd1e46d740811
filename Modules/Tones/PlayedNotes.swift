internal import RenderCore
internal import Voices

/// The parameter that a controller sets, and how.
struct VoiceMapping: BitwiseCopyable, Sendable {
    var number: UInt8
    var parameter: Int
    var low: Float
    var high: Float
    var isExponential: Bool

    @_noLocks @_noAllocation
    func value(_ turned: UInt8) -> Float {
        let part = Float(turned) / 127
        return isExponential ? low * RenderMath.pow(high / low, part) : low + (high - low) * part
    }
}

/// The notes of a ``Polyphony``: which voice plays which, and which makes room for another.
struct PlayedNotes: ~Copyable, Sendable {
    private var ensemble: LaneEnsemble
    private let limit: Int
    private let bendRange: Float
    private let maps: RenderMemory<VoiceMapping>
    private let ranges: RenderMemory<ParameterRange>
    private var slots: RenderMemory<Slot>
    private var channels = RenderMemory(repeating: Channel(), count: 16)
    private var lastOrder = 0
    /// The largest number of voices that sounded at once, those that were stolen, and those that sound.
    private(set) var most = 0
    private(set) var stolen = 0
    private(set) var sounding = 0
    /// Voices that were ended because of a sample that was no number.
    var broken: Int { @_noLocks @_noAllocation get { ensemble.brokenCount } }
    var channelCount: Int { @_noLocks @_noAllocation get { ensemble.channelCount } }

    private struct ParameterRange: BitwiseCopyable, Sendable {
        var low: Float
        var high: Float
    }

    /// The note of a voice.
    private struct Slot: BitwiseCopyable, Sendable {
        /// The number of the note, which tells its age.
        var order = 0
        /// The number that control code knows it by; 0 if a message began it.
        var voice = 0
        var channel: UInt8 = 0
        var note: UInt8 = 255
        /// Indicates that the key is down, or that the pedal holds the note.
        var isDown = false
        var isHeld = false
        /// Indicates that the messages of the channel act on it.
        var isOfChannel = false

        init() {}
    }

    /// The values that all notes of a channel share.
    private struct Channel: BitwiseCopyable, Sendable {
        var isPedalDown = false
        var bend: Float = 0
        var pressure: Float = 0
        var own = InlineArray<16, Float>(repeating: .nan)

        @_noLocks @_noAllocation
        init() {}
    }

    /// Seconds in which a voice that is stolen fades out.
    private static var fadeTime: Double { @_noLocks @_noAllocation get { 0.005 } }

    init(
        _ ensemble: consuming LaneEnsemble, limit: Int, maps: [VoiceMapping], ranges: [ClosedRange<Float>],
        bendRange: Float
    ) {
        slots = RenderMemory(repeating: Slot(), count: ensemble.slotCount)
        self.ensemble = ensemble
        self.limit = limit
        self.bendRange = bendRange
        self.maps = RenderMemory(maps)
        self.ranges = RenderMemory(ranges.map { ParameterRange(low: $0.lowerBound, high: $0.upperBound) })
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        ensemble.reset()
        for index in slots.indices { slots[index] = Slot() }
        for index in channels.indices { channels[index] = Channel() }
        (lastOrder, sounding) = (0, 0)
    }

    @_noLocks @_noAllocation
    mutating func render(
        _ top: inout AudioBuffer, from first: Int, to end: Int, _ glides: borrowing InlineArray<16, Glide>
    ) {
        ensemble.render(&top, from: first, to: end, glides)
        count()
    }

    @_noLocks @_noAllocation
    private mutating func count() {
        sounding = ensemble.soundingCount
        most = max(most, sounding)
    }

    // MARK: Commands

    /// Acts.
    ///
    /// - Parameter note: The note that the command begins, in semitones; no number if it begins none, or a key that is silent.
    @_noLocks @_noAllocation
    mutating func act(
        _ command: VoiceCommand, note: Float, _ glides: borrowing InlineArray<16, Glide>, at frame: Int
    ) {
        switch command.action {
        case .play:
            // A key that is silent in the tuning.
            if note.isNaN { return }
            let slot = room()
            slots[slot].voice = command.voice
            guard command.channel >= 0 && command.channel < 16 else {
                ensemble.begin(
                    slot, note: note, bend: 0, velocity: command.velocity, pressure: 0, own: command.own, glides,
                    at: frame)
                return
            }
            let channel = UInt8(truncatingIfNeeded: command.channel)
            begin(slot, on: channel, note, velocity: command.velocity, glides, at: frame)
        case .message: act(command.message, note: note, glides, at: frame)
        case .letGoAll:
            for index in slots.indices where slots[index].isDown || slots[index].isHeld { letGo(index) }
        case .letGo, .bend, .press, .set:
            for index in slots.indices where slots[index].voice == command.voice && isSounding(index) {
                switch command.action {
                case .letGo:
                    let slot = slots[index]
                    if slot.isDown { hold(index, slot.isOfChannel && channels[Int(slot.channel)].isPedalDown) }
                case .bend: ensemble.move(index, bend: command.value)
                case .press: ensemble.move(index, pressure: command.value)
                default: ensemble.give(index, command.parameter, command.value)
                }
            }
        }
    }

    /// Returns whether a slot plays its note: one that fades out may be beside the next of the same number.
    @_noLocks @_noAllocation
    private func isSounding(_ index: Int) -> Bool {
        slots[index].order != 0 && !ensemble.isFree(index) && ensemble.fadeLeft(index) < 0
    }

    /// Returns a slot for a note, after the voice that must make room for it has begun to fade out.
    @_noLocks @_noAllocation
    private mutating func room() -> Int {
        var choice = VoiceChoice()
        for index in slots.indices {
            let (slot, left) = (slots[index], Float(Int32(truncatingIfNeeded: ensemble.fadeLeft(index))))
            choice.show(
                index, order: ensemble.isFree(index) ? 0 : slot.order, fadeLeft: left,
                diesAway: !slot.isDown && !slot.isHeld)
        }
        let oldest = choice.stolen(limit: limit)
        if oldest >= 0 {
            leave(oldest)
            stolen &+= 1
        } else {
            sounding = choice.soundingCount
            most = max(most, sounding)
        }
        let index = choice.taken
        lastOrder &+= 1
        slots[index] = Slot()
        slots[index].order = lastOrder
        slots[index].isDown = true
        return index
    }

    @_noLocks @_noAllocation
    private mutating func leave(_ index: Int) {
        slots[index].isDown = false
        slots[index].isHeld = false
        ensemble.leave(index, in: Int(Self.fadeTime * ensemble.sampleRate))
    }

    @_noLocks @_noAllocation
    private mutating func letGo(_ index: Int) {
        slots[index].isDown = false
        slots[index].isHeld = false
        ensemble.letGo(index)
    }

    // MARK: Messages

    @_noLocks @_noAllocation
    private mutating func act(
        _ message: MIDIMessage, note pitch: Float, _ glides: borrowing InlineArray<16, Glide>, at frame: Int
    ) {
        switch message {
        case .noteOn(let channel, let note, let velocity):
            begin(channel, note, pitch, velocity, glides, at: frame)
        case .noteOff(let channel, let note, _): letGo(channel, note)
        case .bend(let channel, let value):
            let bend = bendRange * Float(value) / (value > 0 ? 8191 : 8192)
            channels[Int(channel)].bend = bend
            for index in slots.indices where isPlayed(index, channel) { ensemble.move(index, bend: bend) }
        case .pressure(let channel, let pressure):
            let pressed = Float(pressure) / 127
            channels[Int(channel)].pressure = pressed
            for index in slots.indices where isPlayed(index, channel) { ensemble.move(index, pressure: pressed) }
        case .keyPressure(let channel, let note, let pressure):
            for index in slots.indices where isPlayed(index, channel) && slots[index].note == note {
                ensemble.move(index, pressure: Float(pressure) / 127)
            }
        case .controller(let channel, let number, let value): turn(number, value, channel)
        case .reset: for channel in 0..<16 { silence(UInt8(truncatingIfNeeded: channel)) }
        default: break
        }
    }

    /// Returns whether a slot plays a note that a message of this channel began, or a sequencer on it.
    @_noLocks @_noAllocation
    private func isPlayed(_ index: Int, _ channel: UInt8) -> Bool {
        let slot = slots[index]
        return slot.isOfChannel && slot.channel == channel && isSounding(index)
    }

    @_noLocks @_noAllocation
    private mutating func begin(
        _ channel: UInt8, _ note: UInt8, _ pitch: Float, _ velocity: UInt8,
        _ glides: borrowing InlineArray<16, Glide>, at frame: Int
    ) {
        // If the same key goes down again, its former sound dies away.
        for index in slots.indices where slots[index].isDown && slots[index].note == note && isPlayed(index, channel) {
            letGo(index)
        }
        // A key that is silent in the tuning.
        if pitch.isNaN { return }
        let index = room()
        slots[index].note = note
        begin(index, on: channel, pitch, velocity: Float(velocity) / 127, glides, at: frame)
    }

    /// Begins a note on which the messages of a channel act.
    @_noLocks @_noAllocation
    private mutating func begin(
        _ index: Int, on channel: UInt8, _ pitch: Float, velocity: Float,
        _ glides: borrowing InlineArray<16, Glide>, at frame: Int
    ) {
        slots[index].channel = channel
        slots[index].isOfChannel = true
        let shared = channels[Int(channel)]
        ensemble.begin(
            index, note: pitch, bend: shared.bend, velocity: velocity, pressure: shared.pressure, own: shared.own,
            glides, at: frame)
    }

    @_noLocks @_noAllocation
    private mutating func letGo(_ channel: UInt8, _ note: UInt8) {
        let isHeld = channels[Int(channel)].isPedalDown
        for index in slots.indices where slots[index].isDown && slots[index].note == note && isPlayed(index, channel) {
            hold(index, isHeld)
        }
    }

    @_noLocks @_noAllocation
    private mutating func hold(_ index: Int, _ isHeld: Bool) {
        if isHeld {
            slots[index].isDown = false
            slots[index].isHeld = true
        } else {
            letGo(index)
        }
    }

    @_noLocks @_noAllocation
    private mutating func turn(_ number: UInt8, _ value: UInt8, _ channel: UInt8) {
        for k in maps.indices where maps[k].number == number {
            let (parameter, turned) = (maps[k].parameter, maps[k].value(value))
            let held = max(ranges[parameter].low, min(turned, ranges[parameter].high))
            channels[Int(channel)].own[parameter] = held
            for index in slots.indices where isPlayed(index, channel) { ensemble.give(index, parameter, held) }
        }
        switch number {
        case 64:
            channels[Int(channel)].isPedalDown = value >= 64
            if value < 64 { lift(channel) }
        case 120: silence(channel)
        case 121:
            channels[Int(channel)] = Channel()
            lift(channel)
            for index in slots.indices where isPlayed(index, channel) {
                ensemble.move(index, bend: 0, pressure: 0)
                for k in ranges.indices { ensemble.give(index, k, .nan) }
            }
        case 123...127:
            let isHeld = channels[Int(channel)].isPedalDown
            for index in slots.indices where slots[index].isDown && isPlayed(index, channel) { hold(index, isHeld) }
        default: break
        }
    }

    /// The pedal goes up.
    @_noLocks @_noAllocation
    private mutating func lift(_ channel: UInt8) {
        for index in slots.indices where slots[index].isHeld && isPlayed(index, channel) { letGo(index) }
    }

    /// Everything of a channel fades out.
    @_noLocks @_noAllocation
    private mutating func silence(_ channel: UInt8) {
        for index in slots.indices where isPlayed(index, channel) { leave(index) }
    }
}
