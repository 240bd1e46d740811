internal import RenderMathematics

/// The tempo of some beats: constant, or a ramp from one tempo to another. Beats and minutes count from its first beat.
///
/// A line has the tempo b + k x after x beats: so x beats take ln(1 + k x / b) / k minutes, and t minutes are b (eᵏᵗ - 1) / k beats.
/// An exponential ramp has the tempo b eᵏˣ: x beats take (1 - e⁻ᵏˣ) / (b k) minutes, and t minutes are -ln(1 - b k t) / k beats.
package struct TempoPiece: BitwiseCopyable, Sendable, Equatable {
    /// The length in beats, and in minutes; infinite for a tempo that stays.
    package internal(set) var beats = Double.infinity
    package internal(set) var minutes = Double.infinity
    /// The tempo of the first beat.
    package private(set) var first: Double
    /// The tempo before the first beat, and behind the last one, for the frames nearest to both.
    package var before: Double
    package var after: Double
    /// The k of its formula; 0 for a constant tempo.
    var slope = 0.0
    var isExponential = false

    /// A tempo that stays.
    @_noLocks @_noAllocation
    package init(_ beatsPerMinute: Double) {
        (first, before, after) = (beatsPerMinute, beatsPerMinute, beatsPerMinute)
    }

    /// A tempo of some beats.
    ///
    /// - Parameters:
    ///   - first: The tempo at the beginning.
    ///   - last: The tempo at the end.
    ///   - beats: The length, above 0.
    ///   - isExponential: `true` for a ramp in which each beat changes the tempo by the same factor; `false` for a line.
    @_noLocks @_noAllocation
    package init(_ first: Double, to last: Double, beats: Double, isExponential: Bool = false) {
        self.first = first
        (before, after) = (first, last)
        self.beats = beats
        self.isExponential = isExponential
        if first != last {
            slope =
                isExponential
                ? RenderMath.log(onePlus: (last - first) / first) / beats : (last - first) / beats
        }
        minutes = inner(minutes: beats)
    }

    /// Returns the beats that a ramp takes in some minutes.
    @_noLocks @_noAllocation
    package static func beats(
        from first: Double, to last: Double, minutes: Double, isExponential: Bool
    ) -> Double {
        // Both formulas are those of one beat, stretched.
        minutes / TempoPiece(first, to: last, beats: 1, isExponential: isExponential).minutes
    }

    /// Indicates whether the tempo stays for ever.
    package var isEndless: Bool { @_noLocks @_noAllocation get { beats == .infinity } }

    /// Indicates whether the tempo changes in it.
    package var isRamp: Bool { @_noLocks @_noAllocation get { slope != 0 } }

    /// Returns the tempo after some beats.
    @_noLocks @_noAllocation
    package func tempo(after beats: Double) -> Double {
        if beats < 0 { return before }
        if beats >= self.beats { return after }
        if slope == 0 { return first }
        return isExponential ? first * RenderMath.exp(slope * beats) : first + slope * beats
    }

    /// Returns the minutes that some beats take.
    @_noLocks @_noAllocation
    package func minutes(of beats: Double) -> Double {
        if beats < 0 { return beats / before }
        if beats > self.beats { return minutes + (beats - self.beats) / after }
        return inner(minutes: beats)
    }

    /// Returns the beats in some minutes.
    @_noLocks @_noAllocation
    package func beats(in minutes: Double) -> Double {
        if minutes < 0 { return minutes * before }
        if minutes > self.minutes { return beats + (minutes - self.minutes) * after }
        let even = first * minutes
        if slope == 0 { return even }
        let z = isExponential ? -even * slope : slope * minutes
        if z == 0 { return even }
        return even * (isExponential ? RenderMath.log(onePlus: z) : RenderMath.expMinusOne(z)) / z
    }

    @_noLocks @_noAllocation
    func inner(minutes beats: Double) -> Double {
        let even = beats / first
        if slope == 0 { return even }
        let z = isExponential ? -slope * beats : slope * even
        if z == 0 { return even }
        return even * (isExponential ? RenderMath.expMinusOne(z) : RenderMath.log(onePlus: z)) / z
    }

    /// Returns what is left of it behind some of its beats.
    @_noLocks @_noAllocation
    package func rest(after beats: Double) -> TempoPiece {
        if beats <= 0 { return self }
        guard self.beats < .infinity, beats < self.beats else { return TempoPiece(after) }
        var rest = TempoPiece(tempo(after: beats), to: last, beats: self.beats - beats, isExponential: isExponential)
        rest.after = after
        return rest
    }

    /// The tempo that it comes to.
    package var last: Double {
        @_noLocks @_noAllocation get {
            if slope == 0 { return first }
            return isExponential ? first * RenderMath.exp(slope * beats) : first + slope * beats
        }
    }
}
