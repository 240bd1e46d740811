extension Gate {
    /// Settings for what is often gated. <doc:DynamicsAndColour> has their numbers.
    ///
    /// How loud the noise is differs from room to room: ``Gate/calibrate(for:margin:)`` sets the threshold by that.
    ///
    /// Threads: any.
    public enum Preset: String, Sendable, CaseIterable {
        /// A voice: it opens at the first sound of a word, stays through short pauses, and leaves a little of the room.
        case voice
        /// A drum with the others around it: it opens at once, and closes soon.
        case drums
        /// A guitar through an amplifier: the hum between the notes goes, and a note may die away.
        case guitar
        /// A bass. The hold is longer than half a wave of 33 Hz, so that the gate rests on each note.
        case bass
        /// Several microphones that are open at once, as at a table: those of the silent ones are softer, but not gone.
        case table
        /// The noise between the pieces of a recording: it takes its time, and closes altogether.
        case pauses
    }

    /// Creates a gate with the settings of a preset.
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

extension Gate.Preset {
    var character: DynamicsCharacter {
        switch self {
        case .voice:
            DynamicsCharacter(threshold: -42, knee: 6, range: 24, attack: 0.002, release: 0.2, hold: 0.15)
        case .drums:
            DynamicsCharacter(threshold: -24, knee: 4, range: 60, attack: 0.000_2, release: 0.08, hold: 0.04)
        case .guitar:
            DynamicsCharacter(threshold: -50, knee: 6, range: 80, attack: 0.001, release: 0.4, hold: 0.08)
        case .bass:
            DynamicsCharacter(threshold: -45, knee: 6, range: 60, attack: 0.003, release: 0.25, hold: 0.03)
        case .table:
            DynamicsCharacter(threshold: -38, knee: 8, range: 12, attack: 0.005, release: 0.35, hold: 0.4)
        case .pauses:
            DynamicsCharacter(threshold: -60, knee: 8, range: 120, attack: 0.005, release: 1, hold: 0.8)
        }
    }
}
