import RenderCore

extension Distortion {
    /// Characters under the names of AVAudioUnitDistortion's presets. Apple's settings are not published: these are
    /// RenderStack's own, by name and character, and sound otherwise.
    ///
    /// Threads: any.
    public enum Preset: String, Sendable, CaseIterable {
        /// Few bits, and a brush of hiss around them.
        case drumsBitBrush
        /// A short loop behind each stroke, as of a buffer that is played again.
        case drumsBufferBeats
        /// A dusty sampler of the eighties.
        case drumsLoFi
        /// A speaker whose cone is torn.
        case multiBrokenSpeaker
        /// A concert through a telephone.
        case multiCellphoneConcert
        /// A slightly lower rate.
        case multiDecimated1
        /// A lower rate.
        case multiDecimated2
        /// A much lower rate, with fewer bits.
        case multiDecimated3
        /// Hardly any rate left.
        case multiDecimated4
        /// A fold that quacks.
        case multiDistortedFunk
        /// Odd harmonics, warm and dense.
        case multiDistortedCubed
        /// Even harmonics, as of one side of a wave.
        case multiDistortedSquared
        /// An echo, driven softly.
        case multiEcho1
        /// A longer echo, driven harder.
        case multiEcho2
        /// A tight echo that doubles.
        case multiEchoTight1
        /// A tight echo that rings.
        case multiEchoTight2
        /// All at once.
        case multiEverythingIsBroken
        /// A voice between two stars: a ring modulation in steps.
        case speechAlienChatter
        /// A voice in a storm of particles.
        case speechCosmicInterference
        /// A golden robot.
        case speechGoldenPi
        /// A transmitter at night.
        case speechRadioTower
        /// A voice in slow waves.
        case speechWaves
    }

    /// The settings of a preset: those of a new distortion, but for some.
    struct Character {
        var shape = Shape.softClip
        /// In decibels.
        var drive: Float = 0
        var bias: Float = 0
        /// In hertz.
        var tone: Float = 20_000
        /// In decibels.
        var level: Float = 0
        var mix: Float = 1
        /// The frequency in hertz, and the amount.
        var ring: (frequency: Float, amount: Float) = (100, 0)
        /// The rate of the samples that are held, in hertz.
        var hold: Float = 1_000_000
        var bits: Float = 24
        /// The time in seconds, the feedback, the level.
        var echo: (time: Float, feedback: Float, level: Float) = (0.1, 0, 0)
    }

    /// Sets all parameters as a preset has them. Inside of a transaction they change together.
    public func load(_ preset: Preset) {
        let character = preset.character
        // No preset has a second sine, a polynomial or a part that keeps its rate and bits.
        secondRingFrequency.value = 100
        ringBalance.value = 0
        linearTerm.value = 1
        squaredTerm.value = 0
        cubicTerm.value = 0
        polynomialMix.value = 0
        decimationMix.value = 1
        shape = character.shape
        drive.value = character.drive
        bias.value = character.bias
        tone.value = character.tone
        level.value = character.level
        mix.value = character.mix
        ringFrequency.value = character.ring.frequency
        ringAmount.value = character.ring.amount
        holdRate.value = character.hold
        bits.value = character.bits
        echoTime.value = character.echo.time
        echoFeedback.value = character.echo.feedback
        echoLevel.value = character.echo.level
    }
}

extension Distortion.Preset {
    var character: Distortion.Character {
        typealias Character = Distortion.Character
        switch self {
        case .drumsBitBrush:
            return Character(drive: 6, tone: 12_000, level: -3, mix: 0.8, hold: 16_000, bits: 5)
        case .drumsBufferBeats:
            return Character(drive: 4, tone: 9_000, level: -4, mix: 0.6, bits: 10, echo: (0.0625, 0.7, 0.8))
        case .drumsLoFi:
            return Character(shape: .tanh, drive: 9, tone: 6_500, level: -5, mix: 0.9, hold: 12_000, bits: 8)
        case .multiBrokenSpeaker:
            return Character(shape: .hardClip, drive: 24, bias: 0.4, tone: 3_200, level: -12, mix: 0.85)
        case .multiCellphoneConcert:
            return Character(shape: .hardClip, drive: 15, tone: 3_400, level: -9, hold: 8_000, bits: 8)
        case .multiDecimated1: return Character(shape: .none, level: -1, mix: 0.8, hold: 14_000)
        case .multiDecimated2: return Character(shape: .none, level: -1, mix: 0.9, hold: 7_000, bits: 10)
        case .multiDecimated3: return Character(shape: .none, level: -2, hold: 3_500, bits: 6)
        case .multiDecimated4: return Character(shape: .none, level: -3, hold: 1_200, bits: 4)
        case .multiDistortedFunk: return Character(shape: .fold, drive: 12, tone: 5_000, level: -7, mix: 0.7)
        case .multiDistortedCubed: return Character(shape: .tanh, drive: 24, tone: 7_000, level: -10)
        case .multiDistortedSquared:
            return Character(shape: .hardClip, drive: 12, bias: 1, tone: 8_000, level: -6, mix: 0.85)
        case .multiEcho1: return Character(drive: 6, tone: 9_000, level: -5, mix: 0.6, echo: (0.25, 0.35, 0.6))
        case .multiEcho2:
            return Character(shape: .tanh, drive: 14, tone: 6_000, level: -9, mix: 0.6, echo: (0.4, 0.5, 0.8))
        case .multiEchoTight1: return Character(drive: 6, tone: 11_000, level: -5, mix: 0.6, echo: (0.045, 0.3, 0.8))
        case .multiEchoTight2:
            return Character(shape: .tanh, drive: 12, tone: 7_500, level: -9, mix: 0.6, echo: (0.02, 0.75, 0.8))
        case .multiEverythingIsBroken:
            return Character(
                shape: .fold, drive: 18, bias: 0.2, tone: 4_500, level: -9, ring: (440, 0.5), hold: 5_000, bits: 5,
                echo: (0.07, 0.5, 0.6))
        case .speechAlienChatter:
            return Character(drive: 6, tone: 8_000, level: -3, mix: 0.8, ring: (320, 0.9), hold: 9_000, bits: 8)
        case .speechCosmicInterference:
            return Character(
                shape: .fold, drive: 9, tone: 7_000, level: -7, mix: 0.7, ring: (1_800, 0.6), hold: 6_000,
                echo: (0.12, 0.4, 0.5))
        case .speechGoldenPi:
            // 100 π hertz, and a time of the golden ratio's hundredth part.
            return Character(
                shape: .tanh, drive: 9, tone: 9_000, level: -5, mix: 0.8, ring: (314.159_27, 0.7),
                echo: (0.016_180_34, 0.618_034, 0.5))
        case .speechRadioTower:
            return Character(shape: .hardClip, drive: 20, tone: 2_800, level: -10, mix: 0.95, hold: 11_000, bits: 7)
        case .speechWaves:
            return Character(drive: 4, tone: 6_000, level: -2, mix: 0.7, ring: (6, 0.8), echo: (0.18, 0.45, 0.5))
        }
    }
}
