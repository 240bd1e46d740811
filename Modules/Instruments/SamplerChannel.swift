internal import InstrumentFiles
internal import RenderCore

/// The values that all notes of a MIDI channel share.
struct SamplerChannel: BitwiseCopyable, Sendable {
    private var low = SIMD64<UInt8>(repeating: 0)
    private var high = SIMD64<UInt8>(repeating: 0)
    /// -8192…8191.
    var bend: Float = 0
    /// Semitones, for a whole bend.
    var bendRange: Float = 2
    var pressure: UInt8 = 0
    var bank = 0
    var program = 0
    /// The number of the preset in the table; -1 if there is none.
    var preset = -1
    var isDrums = false
    /// Cents, by the registered parameters 1 and 2.
    var fineTuning: Float = 0
    var coarseTuning: Float = 0
    /// The registered parameter that the next data are for; 0x3FFF for none.
    var parameter = 0x3FFF
    /// Counts the notes, for sequences.
    var noteCount: Int32 = 0

    /// A channel after the start.
    @_noLocks @_noAllocation
    init(isDrums: Bool) {
        self.isDrums = isDrums
        bank = isDrums ? 128 : 0
        resetControllers()
        self[7] = 100
        self[10] = 64
        self[91] = 40
    }

    /// A controller.
    subscript(_ number: Int) -> UInt8 {
        @_noLocks @_noAllocation get { number < 64 ? low[number & 63] : high[number & 63] }
        @_noLocks @_noAllocation set {
            if number < 64 { low[number & 63] = newValue } else { high[number & 63] = newValue }
        }
    }

    /// The controllers that "reset all controllers" resets.
    @_noLocks @_noAllocation
    mutating func resetControllers() {
        self[1] = 0
        self[11] = 127
        self[64] = 0
        self[65] = 0
        self[66] = 0
        self[67] = 0
        bend = 0
        pressure = 0
        parameter = 0x3FFF
    }

    /// Notes a controller that chooses or sets a registered parameter.
    @_noLocks @_noAllocation
    mutating func setParameter(_ number: Int, _ value: UInt8) {
        let value = Int(value)
        switch number {
        case 98, 99: parameter = 0x3FFF
        case 100: parameter = parameter & 0x3F80 | value
        case 101: parameter = parameter & 0x7F | value &<< 7
        case 6 where parameter == 0: bendRange = Float(value)
        case 38 where parameter == 0: bendRange = Float(Int32(bendRange)) + Float(value) / 100
        case 6 where parameter == 1: fineTuning = Float(value &- 64) * 100 / 64
        case 6 where parameter == 2: coarseTuning = Float(value &- 64) * 100
        default: break
        }
    }

    // MARK: Links

    /// Returns what a link adds to its generator.
    @_noLocks @_noAllocation
    func value(of link: InstrumentModulator, key: UInt8, velocity: UInt8, keyPressure: UInt8) -> Float {
        var value = Float(link.amount) * part(link.source, key, velocity, keyPressure)
        if link.secondSource != 0 { value *= part(link.secondSource, key, velocity, keyPressure) }
        return link.transform == 2 && value < 0 ? -value : value
    }

    /// Returns a controller as a part, 0…1 or -1…1, by its curve.
    @_noLocks @_noAllocation
    private func part(_ source: UInt16, _ key: UInt8, _ velocity: UInt8, _ keyPressure: UInt8) -> Float {
        let index = Int(source & 0x7F)
        var x: Float
        if source & 0x80 != 0 {
            x = Float(self[index])
        } else {
            switch index {
            case 0: return 1
            case 2: x = Float(velocity)
            case 3: x = Float(key)
            case 10: x = Float(keyPressure)
            case 13: x = Float(pressure)
            case 14: x = (bend + 8192) / 128
            case 16: x = bendRange
            default: return 0
            }
        }
        if source & 0x200 == 0 {
            // The most that a controller sends is all there is.
            x = index == 14 && source & 0x80 == 0 ? x / 128 : x / 127
            return Self.curve(source & 0x100 != 0 ? 1 - x : x, source &>> 10)
        }
        // 64 of 0…127 is the middle.
        let both = (source & 0x100 != 0 ? 64 - x : x - 64) / 64
        if source &>> 10 == 3 { return both >= 0 ? 1 : -1 }
        return both >= 0 ? Self.curve(both, source &>> 10) : -Self.curve(-both, source &>> 10)
    }

    /// The curves of the format: straight, concave, convex, a switch. 960 is its range of attenuation.
    @_noLocks @_noAllocation
    private static func curve(_ x: Float, _ kind: UInt16) -> Float {
        switch kind {
        case 1:
            if x >= 1 { return 1 }
            let value = -(400 / 960) * RenderMath.log10(1 - x)
            return value < 1 ? value : 1
        case 2: return convex(x)
        case 3: return x >= 0.5 ? 1 : 0
        default: return x
        }
    }

    /// Rises fast, then slowly.
    @_noLocks @_noAllocation
    static func convex(_ x: Float) -> Float {
        if x <= 0 { return 0 }
        let value = 1 + (400 / 960) * RenderMath.log10(x)
        return value > 0 ? value : 0
    }
}
