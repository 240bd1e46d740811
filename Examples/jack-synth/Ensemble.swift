import RenderStack

/// The voices of a synthesiser, and what they have in common.
struct Ensemble: ~Copyable, Sendable {
    private let limit: Int
    private var voices: RenderMemory<Voice>
    private var channels = RenderMemory(repeating: Channel(), count: 16)
    private var cells: Cells
    private var patch: Patch
    private var controls: Controls
    private var lastOrder = 0
    /// The largest number of voices that sounded at once.
    private(set) var mostVoices = 0
    /// The number of voices that were stolen.
    private(set) var stolenCount = 0

    /// The values that all notes of a channel share.
    private struct Channel: BitwiseCopyable, Sendable {
        var isPedalDown = false
        /// Semitones: where the bend is, and where the wheel is.
        var bend = 0.0
        var wheel = 0.0
    }

    /// Semitones of the wheel, either way.
    private static var bendRange: Double { @_noLocks @_noAllocation get { 2 } }
    /// Seconds in which a stolen voice fades out.
    private static var fadeTime: Double { @_noLocks @_noAllocation get { 0.005 } }
    /// Seconds in which a controller has gone most of its way.
    private static var controlTime: Double { @_noLocks @_noAllocation get { 0.01 } }

    /// - Parameters:
    ///   - limit: The number of voices that may sound, those that fade out not counted.
    ///   - patch: The settings of their sound.
    init(voices limit: Int, _ patch: Patch) {
        self.limit = limit
        // As many voices again, and 16 at least, are there to fade out.
        voices = RenderMemory(repeating: Voice(), count: limit + max(limit, 16))
        cells = Cells(patch.wave)
        self.patch = patch
        controls = Controls(patch)
    }

    @_noLocks @_noAllocation
    mutating func reset(_ patch: Patch) {
        for index in voices.indices { voices[index] = Voice() }
        for index in channels.indices { channels[index] = Channel() }
        self.patch = patch
        controls = Controls(patch)
        lastOrder = 0
    }

    // MARK: Sound

    /// Adds frames to the top, cell by cell.
    @_noLocks @_noAllocation
    mutating func render(_ context: inout RenderContext, from first: Int, to end: Int) {
        let rate = context.sampleRate
        let settings = EnvelopeCore.Settings(
            attack: patch.attack, decay: patch.decay, sustain: patch.sustain, release: patch.release, sampleRate: rate)
        var frame = first
        while frame < end {
            let position = Int((context.sampleTime &+ Int64(frame)) % Int64(Cells.frames))
            let count = min(Cells.frames &- position, end &- frame)
            if position == 0 {
                advance(sampleRate: rate)
                Self.tune(&voices, channels, controls, patch, sampleRate: rate)
            }
            let sounding = Self.add(&voices, &cells, settings, &context, at: frame, count: count)
            if sounding > mostVoices { mostVoices = sounding }
            frame &+= count
        }
    }

    /// Controllers and wheels go on towards where they were set.
    @_noLocks @_noAllocation
    private mutating func advance(sampleRate: Double) {
        let part = 1 - RenderMath.exp(-Double(Cells.frames) / (Self.controlTime * sampleRate))
        controls.advance(by: part)
        for index in channels.indices { channels[index].bend += (channels[index].wheel - channels[index].bend) * part }
    }

    /// Frequencies for a cell.
    @_noLocks @_noAllocation
    private static func tune(
        _ voices: inout RenderMemory<Voice>, _ channels: borrowing RenderMemory<Channel>, _ controls: Controls,
        _ patch: Patch, sampleRate: Double
    ) {
        var voices = voices.span
        for index in voices.indices where !voices[index].isFree {
            let bend = channels[Int(voices[index].channel)].bend
            voices[index].tune(controls, bend: bend, patch, sampleRate: sampleRate)
        }
    }

    /// The sum of the voices; returns how many sound.
    @_noLocks @_noAllocation
    private static func add(
        _ voices: inout RenderMemory<Voice>, _ cells: inout Cells, _ settings: EnvelopeCore.Settings,
        _ context: inout RenderContext, at frame: Int, count: Int
    ) -> Int {
        var top = context.top
        var sum = top[0]
        var voices = voices.span
        var sounding = 0
        for index in voices.indices where !voices[index].isFree {
            if voices[index].fadeLeft < 0 { sounding &+= 1 }
            voices[index].add(to: &sum, at: frame, count: count, &cells, settings)
        }
        return sounding
    }

    // MARK: Messages

    /// Lets a message act, now.
    @_noLocks @_noAllocation
    mutating func act(_ message: MIDIMessage, sampleRate: Double) {
        switch message {
        case .noteOn(let channel, let note, let velocity): begin(channel & 15, note, velocity, sampleRate)
        case .noteOff(let channel, let note, _): letGo(channel & 15, note)
        case .bend(let channel, let value):
            channels[Int(channel & 15)].wheel = Self.bendRange * Double(value) / (value > 0 ? 8191 : 8192)
        case .controller(let channel, let number, let value): turn(number, value, channel & 15, sampleRate)
        case .reset: for channel in 0..<16 { silence(UInt8(channel), sampleRate) }
        default: break
        }
    }

    @_noLocks @_noAllocation
    private mutating func begin(_ channel: UInt8, _ note: UInt8, _ velocity: UInt8, _ sampleRate: Double) {
        var (sounding, oldest, first) = (0, -1, Int.max)
        var (free, soonest, least) = (-1, 0, Int.max)
        for index in voices.indices {
            var voice = voices[index]
            if voice.isFree {
                free = index
            } else if voice.fadeLeft >= 0 {
                if voice.fadeLeft < least { (soonest, least) = (index, voice.fadeLeft) }
            } else {
                // If the same key goes down again, its former sound dies away.
                if voice.isDown && voice.note == note && voice.channel == channel {
                    voice.letGo(isHeld: false)
                    voices[index] = voice
                }
                sounding &+= 1
                // Those that die away come before all that are held.
                let rank = voice.isReleased ? voice.order &- (1 << 62) : voice.order
                if rank < first { (oldest, first) = (index, rank) }
            }
        }
        if sounding >= limit && oldest >= 0 {
            voices[oldest].leave(in: Int(Self.fadeTime * sampleRate))
            stolenCount &+= 1
        }
        lastOrder &+= 1
        var voice = Voice(order: lastOrder, channel: channel, note: note, velocity: velocity, level: patch.level)
        voice.tune(controls, bend: channels[Int(channel)].bend, patch, sampleRate: sampleRate)
        voices[free >= 0 ? free : soonest] = voice
    }

    @_noLocks @_noAllocation
    private mutating func letGo(_ channel: UInt8, _ note: UInt8) {
        let isHeld = channels[Int(channel)].isPedalDown
        for index in voices.indices where voices[index].isDown {
            if voices[index].note == note && voices[index].channel == channel { voices[index].letGo(isHeld: isHeld) }
        }
    }

    @_noLocks @_noAllocation
    private mutating func turn(_ number: UInt8, _ value: UInt8, _ channel: UInt8, _ sampleRate: Double) {
        let turned = Double(value) / 127
        switch number {
        case 64:
            channels[Int(channel)].isPedalDown = value >= 64
            if value < 64 { lift(channel) }
        case 71: controls.resonanceAimed = -3 + 27 * turned
        case 72: patch.release = Self.seconds(turned)
        case 73: patch.attack = Self.seconds(turned)
        case 74: controls.octavesAimed = RenderMath.log2(50.0) + turned * RenderMath.log2(400.0)
        case 75: patch.decay = Self.seconds(turned)
        case 120: silence(channel, sampleRate)
        case 121:
            channels[Int(channel)] = Channel()
            lift(channel)
        case 123...127:
            let isHeld = channels[Int(channel)].isPedalDown
            for index in voices.indices where voices[index].isDown && voices[index].channel == channel {
                voices[index].letGo(isHeld: isHeld)
            }
        default: break
        }
    }

    /// A controller as a time: 5 ms at one end, 5 s at the other.
    @_noLocks @_noAllocation
    private static func seconds(_ turned: Double) -> Float {
        Float(0.005 * RenderMath.exp2(turned * RenderMath.log2(1_000.0)))
    }

    /// The pedal goes up.
    @_noLocks @_noAllocation
    private mutating func lift(_ channel: UInt8) {
        for index in voices.indices where voices[index].isHeld && voices[index].channel == channel {
            voices[index].letGo(isHeld: false)
        }
    }

    /// Everything of a channel fades out.
    @_noLocks @_noAllocation
    private mutating func silence(_ channel: UInt8, _ sampleRate: Double) {
        for index in voices.indices where !voices[index].isFree && voices[index].channel == channel {
            voices[index].leave(in: Int(Self.fadeTime * sampleRate))
        }
    }
}
