extension Compressor {
    /// Settings for what is often compressed. <doc:DynamicsAndColour> has their numbers.
    ///
    /// They are meant for sound whose peaks are at about -10 dB. For softer or louder sound move the threshold by as much.
    ///
    /// Threads: any.
    public enum Preset: String, Sendable, CaseIterable {
        /// A voice, sung or spoken: even, and still alive.
        case voice
        /// A bass: each note as loud as the next. The hold is longer than half a wave of 42 Hz.
        case bass
        /// A plucked or struck instrument, such as a guitar or a piano: the attack passes, and the string sounds longer.
        case strings
        /// Drums: the stroke passes, and what rings behind it is held down.
        case drums
        /// A group of sources: hardly heard, but they sound as one.
        case bus
        /// The end of a mix: a little denser.
        case master
        /// The sound as it is, and below it one that is pressed flat: soft passages come up, loud ones keep their attacks.
        case parallel
        /// Speech that must be understood everywhere: soft and loud speakers are alike.
        case leveller
    }

    /// Creates a compressor with the settings of a preset.
    ///
    /// - Parameters:
    ///   - preset: The preset.
    ///   - detector: The way in which the level is measured.
    ///   - key: The sound that the detector hears.
    ///   - isLinked: `true` for one gain for all channels.
    ///   - lookAhead: In seconds, which the sound is late.
    /// - Precondition: `lookAhead` is 0…0.1.
    public convenience init(
        preset: Preset, detector: LevelDetector = .peak, key: KeySignal = .itself, isLinked: Bool = true,
        lookAhead: Double = 0
    ) {
        self.init(detector: detector, key: key, isLinked: isLinked, lookAhead: lookAhead)
        load(preset)
    }

    /// Sets all parameters as a preset has them, but for those of the key's filters. Inside of a transaction they change together.
    public func load(_ preset: Preset) { controls.load(preset.character) }
}

extension Compressor.Preset {
    var character: DynamicsCharacter {
        switch self {
        case .voice:
            DynamicsCharacter(threshold: -22, ratio: 3, knee: 8, attack: 0.005, release: 0.12, makeUp: 5)
        case .bass:
            DynamicsCharacter(threshold: -20, ratio: 4, knee: 6, attack: 0.02, release: 0.2, hold: 0.012, makeUp: 5)
        case .strings:
            DynamicsCharacter(threshold: -20, ratio: 2.5, knee: 8, attack: 0.02, release: 0.25, makeUp: 3)
        case .drums:
            DynamicsCharacter(threshold: -18, ratio: 5, knee: 4, attack: 0.03, release: 0.1, makeUp: 4)
        case .bus:
            DynamicsCharacter(threshold: -16, ratio: 2, knee: 10, attack: 0.03, release: 0.2, hold: 0.01, makeUp: 2)
        case .master:
            DynamicsCharacter(
                threshold: -14, ratio: 1.5, knee: 12, attack: 0.03, release: 0.4, hold: 0.01, makeUp: 1)
        case .parallel:
            DynamicsCharacter(
                threshold: -40, ratio: 8, knee: 6, attack: 0.002, release: 0.15, makeUp: 12, mix: 0.5)
        case .leveller:
            DynamicsCharacter(threshold: -32, ratio: 6, knee: 8, attack: 0.01, release: 0.5, hold: 0.02, makeUp: 14)
        }
    }
}
