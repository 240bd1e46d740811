internal import RenderCore

/// The opcodes of a control header.
struct SFZControl {
    private(set) var path = ""
    private(set) var shift = 0

    /// Takes an opcode; `false` if it is not known.
    mutating func take(_ opcode: SFZOpcode) -> Bool {
        switch opcode.name {
        case "default_path": path = opcode.value.replacing("\\", with: "/")
        case "note_offset": shift = max(-127, min(127, Int(opcode.value) ?? 0))
        case "octave_offset": shift = 12 * max(-10, min(10, Int(opcode.value) ?? 0))
        default: return false
        }
        return true
    }
}

/// The opcodes of a region, with those of the headers above it.
struct SFZRegion {
    private(set) var sample: String?
    /// Indicates whether it is begun by a key at all: other triggers are not known.
    private(set) var isWanted = true

    private var home = InstrumentRegion()
    private var values = (0..<SoundFontGenerator.count).map { Int(SoundFontGenerator.initial($0)) }
    private var velocityTrack = 100.0
    private var bendUp = 200.0
    private var center = 60.0
    private var tune = 0.0
    private var cutoffVelocity = 0.0
    private var cutoffKey = 0.0
    private var cutoffCenter = 60.0
    private var cutoff: Double?
    /// Decibels, by the opcodes `volume` and `amplitude`, which count both.
    private var (sounds, amplitude) = (0.0, 0.0)
    private var pan = 0.0
    private var loop = ""
    private var offset = 0
    private var end = -1
    private var loopStart = 0
    private var loopEnd = -1

    init() {
        home.isSoundFont = false
        (values[36], values[38]) = (-12_000, -12_000)
        values[26] = -12_000
    }

    // MARK: Opcodes

    /// Takes an opcode; `false` if it or its value is not known.
    mutating func take(_ opcode: SFZOpcode, _ control: SFZControl) -> Bool {
        switch opcode.name {
        case "sample":
            sample = opcode.value.hasPrefix("*") ? opcode.value : control.path + opcode.value.replacing("\\", with: "/")
        case "key":
            guard let key = Self.key(opcode.value, control) else { return false }
            home.keys = (key, key)
            center = Double(key)
        case "lokey":
            // "-1" is how a region says that no key begins it.
            if opcode.value == "-1" { isWanted = false }
            return Self.set(&home.keys.low, Self.key(opcode.value == "-1" ? "0" : opcode.value, control))
        case "hikey":
            if opcode.value == "-1" {
                isWanted = false
                return true
            }
            return Self.set(&home.keys.high, Self.key(opcode.value, control))
        case "lovel": return Self.set(&home.velocities.low, UInt8(opcode.value).map { min($0, 127) })
        case "hivel": return Self.set(&home.velocities.high, UInt8(opcode.value).map { min($0, 127) })
        case "pitch_keycenter":
            guard let key = Self.key(opcode.value, control) else { return false }
            center = Double(key)
        case "trigger":
            switch opcode.value {
            case "attack": home.beginsOnRelease = false
            case "release", "release_key": home.beginsOnRelease = true
            default: return false
            }
        case "loop_mode", "loopmode":
            guard ["no_loop", "one_shot", "loop_continuous", "loop_sustain"].contains(opcode.value) else {
                return false
            }
            loop = opcode.value
        case "fil_type": return opcode.value == "lpf_2p"
        default:
            guard let number = Double(opcode.value), number.isFinite else { return false }
            return take(opcode.name, max(-1e9, min(number, 1e9)))
        }
        return true
    }

    private mutating func take(_ name: String, _ number: Double) -> Bool {
        switch name {
        case "volume": sounds = max(-144, min(number, 48))
        case "amplitude": amplitude = number > 0 ? 20 * RenderMath.log2(min(number, 10_000) / 100) * 0.301_03 : -144
        case "pan": pan = max(-100, min(number, 100))
        case "tune", "pitch": tune = max(-9_600, min(number, 9_600))
        case "transpose": values[51] = Int(max(-127, min(number, 127)))
        case "pitch_keytrack": home.scaleTuning = Float(max(-1_200, min(number, 1_200)))
        case "amp_veltrack": velocityTrack = max(-100, min(number, 100))
        case "bend_up", "bendup": bendUp = max(-9_600, min(number, 9_600))
        case "offset": offset = Int(max(0, number))
        case "end": end = Int(number)
        case "loop_start", "loopstart": loopStart = Int(max(0, number))
        case "loop_end", "loopend": loopEnd = Int(number)
        case "group": home.exclusiveClass = Int32(number)
        case "off_by", "offby": home.endingClass = Int32(number)
        case "seq_length": home.turns = Int32(max(1, min(number, 100)))
        case "seq_position": home.turn = Int32(max(1, min(number, 100)))
        case "lorand": home.random.low = Float(number)
        case "hirand": home.random.high = Float(number)
        case "effect1": values[16] = Int(10 * max(0, min(number, 100)))
        case "effect2": values[15] = Int(10 * max(0, min(number, 100)))
        default: return takeShape(name, number) || takeTime(name, number)
        }
        return true
    }

    private mutating func takeShape(_ name: String, _ number: Double) -> Bool {
        switch name {
        case "cutoff": cutoff = max(5, min(number, 100_000))
        case "resonance": values[9] = Int(10 * max(0, min(number, 40)))
        case "fil_veltrack": cutoffVelocity = max(-9_600, min(number, 9_600))
        case "fil_keytrack": cutoffKey = max(0, min(number, 250))
        case "fil_keycenter": cutoffCenter = max(0, min(number, 127))
        case "fileg_depth": values[11] = Int(max(-12_000, min(number, 12_000)))
        case "pitchlfo_depth": values[6] = Int(max(-1_200, min(number, 1_200)))
        case "amplfo_depth": values[13] = Int(10 * max(-10, min(number, 10)))
        case "fillfo_depth": values[10] = Int(max(-1_200, min(number, 1_200)))
        case "pitchlfo_freq": values[24] = Self.cents(number)
        case "amplfo_freq", "fillfo_freq": values[22] = Self.cents(number)
        case "ampeg_sustain": values[37] = Self.sustain(number)
        case "fileg_sustain": values[29] = Int(1_000 - 10 * max(0, min(number, 100)))
        default: return false
        }
        return true
    }

    /// The generators of times, by their opcodes.
    private static let times = [
        "ampeg_delay": 33, "ampeg_attack": 34, "ampeg_hold": 35, "ampeg_decay": 36, "ampeg_release": 38,
        "fileg_delay": 25, "fileg_attack": 26, "fileg_hold": 27, "fileg_decay": 28, "fileg_release": 30,
        "pitchlfo_delay": 23, "amplfo_delay": 21, "fillfo_delay": 21,
    ]

    private mutating func takeTime(_ name: String, _ number: Double) -> Bool {
        guard let generator = Self.times[name] else { return false }
        values[generator] = Self.timecents(number)
        return true
    }

    private static func set(_ target: inout UInt8, _ value: UInt8?) -> Bool {
        guard let value else { return false }
        target = value
        return true
    }

    /// Returns a key: a number, or a name as "c4", which is 60, or "f#3".
    static func key(_ text: String, _ control: SFZControl) -> UInt8? {
        func held(_ key: Int) -> UInt8? { (0...127).contains(key + control.shift) ? UInt8(key + control.shift) : nil }
        if let number = Int(text) { return number.magnitude < 1_000 ? held(number) : nil }
        let text = text.lowercased()
        guard let first = text.first, let place = "c d ef g a b".firstIndex(of: first), first != " " else { return nil }
        var key = "c d ef g a b".distance(from: "c d ef g a b".startIndex, to: place)
        var rest = text.dropFirst()
        if rest.first == "#" { key += 1 } else if rest.first == "b" { key -= 1 }
        if rest.first == "#" || rest.first == "b" { rest = rest.dropFirst() }
        guard let octave = Int(rest), octave.magnitude < 20 else { return nil }
        return held(key + 12 * (octave + 1))
    }

    private static func timecents(_ seconds: Double) -> Int {
        seconds <= 0 ? -32_768 : Int((1_200 * RenderMath.log2(max(1e-4, min(seconds, 100)))).rounded())
    }

    private static func cents(_ hertz: Double) -> Int {
        Int((1_200 * RenderMath.log2(max(0.001, min(hertz, 100_000)) / 8.175_799)).rounded())
    }

    /// Returns the parts in a thousand of the envelope's 96 dB by which a sustain in percent lies below the top.
    private static func sustain(_ percent: Double) -> Int {
        percent <= 0 ? 1_000 : Int((-20 * RenderMath.log2(min(percent, 100) / 100) * 0.301_03 / 96 * 1_000).rounded())
    }

    // MARK: Region

    /// The region, of a sample with that many frames.
    func region(count: Int) -> InstrumentRegion {
        var region = home
        region.rootPitch = Float(100 * center)
        region.boost = Float(sounds + amplitude)
        region.start = Int32(min(offset, count))
        region.end = Int32(end >= 0 ? min(end + 1, count) : count)
        region.isOneShot = loop == "one_shot"
        region.loopStart = max(region.start, Int32(min(loopStart, count)))
        region.loopEnd = Int32(loopEnd >= 0 ? min(loopEnd + 1, Int(region.end)) : Int(region.end))
        region.loops = loop.hasPrefix("loop") && region.loopEnd - region.loopStart >= 2
        region.loopsUntilRelease = loop == "loop_sustain"
        return region
    }

    /// The generators.
    func generators(side: Int) -> [Int16] {
        var values = values
        values[17] = Int(max(-500, min(5 * pan + Double(side), 500)))
        values[8] = cutoff.map { Self.cents($0) - Int(cutoffKey * cutoffCenter) } ?? 14_000
        values[52] = Int(tune.rounded())
        return values.map { Int16(clamping: $0) }
    }

    /// The links: velocity, volume, pan, expression, sends, bend.
    var links: [InstrumentModulator] {
        var links = [
            InstrumentModulator(0x0502, 48, Int16(9.6 * velocityTrack)), InstrumentModulator(0x0587, 48, 960),
            InstrumentModulator(0x058B, 48, 960), InstrumentModulator(0x028A, 17, 500),
            InstrumentModulator(0x00DB, 16, 200), InstrumentModulator(0x00DD, 15, 200),
            InstrumentModulator(0x020E, 52, Int16(bendUp)),
        ]
        if cutoffVelocity != 0 { links.append(InstrumentModulator(0x0002, 8, Int16(cutoffVelocity))) }
        if cutoffKey != 0 { links.append(InstrumentModulator(0x0003, 8, Int16(clamping: Int(127 * cutoffKey)))) }
        return links
    }
}
