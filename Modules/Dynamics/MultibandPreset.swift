internal import RenderCore

extension MultibandCompressor {
    /// Settings for what is often compressed in bands. <doc:DynamicsAndColour> has their numbers.
    ///
    /// They are written for three bands. Of another number of bands the lowest and the highest are as those of three, and all between
    /// are as the middle one. The crossovers between the first and the last lie evenly by octaves; a single one lies midway.
    ///
    /// Threads: any.
    public enum Preset: String, Sendable, CaseIterable {
        /// The end of a mix: each band a little denser.
        case master
        /// A mix that is to be louder and denser.
        case loud
        /// A voice: less boom from close to the microphone, and less hiss.
        case voice
        /// A bass that is to be the same in each note, below a mix that stays as it is.
        case tightBass
        /// Cymbals and sharp consonants, softer where they are loud. All else stays as it is.
        case softTreble
        /// Speech and music for small loudspeakers: dense everywhere.
        case radio
    }

    /// Creates a compressor of three bands with the settings of a preset.
    ///
    /// - Parameters:
    ///   - preset: The preset.
    ///   - detector: The way in which the levels are measured.
    ///   - isLinked: `true` for one gain for all channels of a band.
    ///   - lookAhead: In seconds, which the sound is late.
    /// - Precondition: `lookAhead` is 0…0.1.
    public convenience init(
        preset: Preset, detector: LevelDetector = .peak, isLinked: Bool = true, lookAhead: Double = 0
    ) {
        self.init(detector: detector, isLinked: isLinked, lookAhead: lookAhead)
        load(preset)
    }

    /// Sets all crossovers and all parameters of all bands as a preset has them. Inside of a transaction they change together.
    public func load(_ preset: Preset) {
        let character = preset.character
        let (low, high) = (character.crossovers.low, character.crossovers.high)
        for index in crossovers.indices {
            let share = crossovers.count == 1 ? 0.5 : Float(index) / Float(crossovers.count - 1)
            // Exactly the high one at the end.
            crossovers[index].value = share == 1 ? high : low * RenderMath.pow(high / low, share)
        }
        for index in bands.indices {
            let isLast = index == bands.count - 1
            bands[index].controls.load(index == 0 ? character.low : isLast ? character.high : character.middle)
        }
    }
}

extension MultibandCompressor.Preset {
    /// The crossovers in hertz, and the three bands.
    struct Character {
        var crossovers: (low: Float, high: Float)
        var low, middle, high: DynamicsCharacter
    }

    /// A band that stays as it is.
    private static var plain: DynamicsCharacter {
        DynamicsCharacter(threshold: -18, ratio: 1, knee: 6, attack: 0.01, release: 0.15)
    }

    var character: Character {
        typealias Band = DynamicsCharacter
        switch self {
        case .master:
            return Character(
                crossovers: (150, 2_500),
                low: Band(threshold: -20, ratio: 2, knee: 8, attack: 0.03, release: 0.25, hold: 0.01, makeUp: 1),
                middle: Band(threshold: -18, ratio: 1.5, knee: 10, attack: 0.015, release: 0.15, makeUp: 0.5),
                high: Band(threshold: -24, ratio: 1.5, knee: 10, attack: 0.005, release: 0.1, makeUp: 0.5))
        case .loud:
            return Character(
                crossovers: (150, 3_000),
                low: Band(threshold: -26, ratio: 4, knee: 6, attack: 0.02, release: 0.2, hold: 0.01, makeUp: 6),
                middle: Band(threshold: -26, ratio: 3, knee: 6, attack: 0.008, release: 0.1, makeUp: 6),
                high: Band(threshold: -32, ratio: 3, knee: 6, attack: 0.002, release: 0.06, makeUp: 7))
        case .voice:
            return Character(
                crossovers: (200, 5_000),
                low: Band(threshold: -28, ratio: 4, knee: 6, attack: 0.01, release: 0.15, hold: 0.01),
                middle: Band(threshold: -22, ratio: 2.5, knee: 8, attack: 0.006, release: 0.12, makeUp: 3),
                high: Band(threshold: -32, ratio: 4, knee: 4, attack: 0.001, release: 0.05))
        case .tightBass:
            return Character(
                crossovers: (120, 2_500),
                low: Band(threshold: -26, ratio: 5, knee: 6, attack: 0.02, release: 0.2, hold: 0.012, makeUp: 6),
                middle: Self.plain, high: Self.plain)
        case .softTreble:
            return Character(
                crossovers: (150, 6_000), low: Self.plain, middle: Self.plain,
                high: Band(threshold: -34, ratio: 4, knee: 6, attack: 0.001, release: 0.06))
        case .radio:
            return Character(
                crossovers: (250, 3_000),
                low: Band(threshold: -30, ratio: 4, knee: 6, attack: 0.01, release: 0.15, hold: 0.01, makeUp: 4),
                middle: Band(threshold: -32, ratio: 5, knee: 6, attack: 0.005, release: 0.1, makeUp: 10),
                high: Band(threshold: -36, ratio: 4, knee: 6, attack: 0.002, release: 0.06, makeUp: 8))
        }
    }
}
