extension Expander {
    /// Settings for what is often expanded. <doc:DynamicsAndColour> has their numbers.
    ///
    /// How loud the noise is differs from room to room: ``Expander/calibrate(for:margin:)`` sets the threshold by that.
    ///
    /// Threads: any.
    public enum Preset: String, Sendable, CaseIterable {
        /// The breath and the room between the words of a voice, a few decibels softer.
        case voice
        /// Hiss and hum between the notes of a guitar or a keyboard.
        case hiss
        /// Drums: the sound that rings between the strokes gets softer.
        case drums
        /// The noise of a recording, softly: nobody hears that it comes and goes.
        case denoise
        /// A mix that was pressed flat: more of a difference between soft and loud.
        case liven
    }

    /// Creates an expander with the settings of a preset.
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

extension Expander.Preset {
    var character: DynamicsCharacter {
        switch self {
        case .voice:
            DynamicsCharacter(threshold: -42, ratio: 1.7, knee: 8, range: 12, attack: 0.003, release: 0.25, hold: 0.1)
        case .hiss:
            DynamicsCharacter(threshold: -50, ratio: 2, knee: 6, range: 24, attack: 0.002, release: 0.3, hold: 0.08)
        case .drums:
            DynamicsCharacter(threshold: -28, ratio: 3, knee: 4, range: 30, attack: 0.000_5, release: 0.1, hold: 0.03)
        case .denoise:
            DynamicsCharacter(threshold: -55, ratio: 1.5, knee: 10, range: 10, attack: 0.01, release: 0.5, hold: 0.15)
        case .liven:
            DynamicsCharacter(threshold: -12, ratio: 1.25, knee: 20, range: 9, attack: 0.01, release: 0.2, hold: 0.02)
        }
    }
}
