internal import RenderCore

extension Limiter {
    /// Settings for what is often limited. <doc:DynamicsAndColour> has their numbers.
    ///
    /// Threads: any.
    public enum Preset: String, Sendable, CaseIterable {
        /// The end of a mix: at -1 dB, with a release that is not heard.
        case master
        /// A mix that is to be louder: 6 dB more before the limiter, and a fast release.
        case loud
        /// A single voice: 4 dB more, and an even release.
        case voice
        /// A mix that goes through a lossy codec, whose peaks come out higher: 2 dB below full scale.
        case streaming
        /// A programme for broadcast with room above it: at -3 dB.
        case broadcast
        /// A converter that must not clip, behind a mix that seldom reaches it: all but full scale, and soon gone.
        case safety
    }

    /// Creates a limiter with the settings of a preset.
    ///
    /// - Parameters:
    ///   - preset: The preset.
    ///   - lookAhead: The time by which the limiter knows the sound before it is heard, in seconds: 0…0.02.
    ///   - isTruePeak: `false` to limit the samples alone.
    ///   - tracks: The number of buffers to mix, 0…1023; 0 to limit the top.
    /// - Precondition: The look-ahead and the number of tracks are in their ranges.
    public convenience init(preset: Preset, lookAhead: Double = 0.005, isTruePeak: Bool = true, tracks: Int = 0) {
        self.init(lookAhead: lookAhead, isTruePeak: isTruePeak, tracks: tracks)
        load(preset)
    }

    /// Sets ceiling, gain and release as a preset has them, and the attack to the look-ahead. Inside of a transaction they change
    /// together.
    public func load(_ preset: Preset) {
        let (ceiling, gain, release) = preset.numbers
        self.ceiling.value = ceiling
        self.gain.value = gain
        self.release.value = release
        attack.value = Float(lookAhead)
    }
}

extension Limiter.Preset {
    /// The ceiling and the gain in dB, and the release in seconds.
    var numbers: (ceiling: Float, gain: Float, release: Float) {
        switch self {
        case .master: (-1, 0, 0.1)
        case .loud: (-1, 6, 0.04)
        case .voice: (-1, 4, 0.15)
        case .streaming: (-2, 0, 0.08)
        case .broadcast: (-3, 0, 0.2)
        case .safety: (-0.1, 0, 0.02)
        }
    }
}
