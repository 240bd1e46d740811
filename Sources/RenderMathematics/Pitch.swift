// Notes, frequencies and intervals, in equal temperament.
extension RenderMath {
    /// Returns the frequency in hertz of a MIDI note, fractions included: note 69 is the A of 440 Hz.
    ///
    /// Error below 0.502 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func frequency(midiNote: Float) -> Float {
        Float(440 * Approximation.exp2((Double(Approximation.clamp(midiNote, -3000, 3000)) - 69) * (1.0 / 12)))
    }

    /// Returns the MIDI note of a frequency in hertz, with its fraction; 0 Hz gives -infinity, less not-a-number.
    ///
    /// Error below 0.502 ulp; near note 0, where the frequency passes 8.18 Hz, below 1e-10 of a semitone more.
    @inlinable @_noLocks @_noAllocation
    public static func midiNote(frequency: Float) -> Float {
        if frequency == 0 { return -.infinity }
        if frequency < 0 { return .nan }
        guard frequency < .infinity else { return frequency }
        let semitones = Approximation.logarithm(
            Double(frequency) * (1.0 / 440), of2: 12, ofE: 12 * Approximation.log2OfE)
        return Float(semitones + 69)
    }

    /// Returns the ratio of frequencies that an interval in cents (hundredths of a semitone) stands for.
    ///
    /// Error below 0.502 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func ratio(cents: Float) -> Float {
        Float(Approximation.exp2(Double(Approximation.clamp(cents, -200_000, 200_000)) * (1.0 / 1200)))
    }

    /// Returns the interval in cents between two frequencies of a ratio; 0 gives -infinity, less not-a-number.
    ///
    /// Error below 0.501 ulp.
    @inlinable @_noLocks @_noAllocation
    public static func cents(ratio: Float) -> Float {
        Approximation.logarithm(ratio, of2: 1200, ofE: 1200 * Approximation.log2OfE)
    }
}
