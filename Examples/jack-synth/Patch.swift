import RenderStack

/// The settings of the synthesiser's sound.
struct Patch: BitwiseCopyable, Sendable {
    var wave: Waveform
    /// Cents between the oscillators.
    var detune: Double
    /// In hertz.
    var cutoff: Double
    /// Decibels at the cutoff.
    var resonance: Double
    /// Octaves by which a note of the highest velocity opens the filter.
    var sweep: Double
    /// Seconds, as are decay and release.
    var attack: Float
    var decay: Float
    /// An amplitude factor.
    var sustain: Float
    var release: Float
    /// The amplitude of a note of the highest velocity.
    var level: Float

    static let waves: [String: Waveform] = ["saw": .saw, "square": .square, "triangle": .triangle, "sine": .sine]
}

/// The values that all voices share in a cell of frames: the controllers, on their way to where they were set.
struct Controls: BitwiseCopyable, Sendable {
    /// Cutoff as octaves above 1 Hz, and decibels at it: the present values, and the targets.
    private(set) var octaves: Double
    private(set) var resonance: Double
    var octavesAimed: Double
    var resonanceAimed: Double
    /// The quality that the resonance stands for.
    private(set) var q: Double

    @_noLocks @_noAllocation
    init(_ patch: Patch) {
        octaves = RenderMath.log2(patch.cutoff)
        resonance = patch.resonance
        (octavesAimed, resonanceAimed) = (octaves, resonance)
        q = FilterCoefficients.q(resonance: resonance)
    }

    /// A step of the way, in every cell.
    ///
    /// - Parameter part: The part of the remaining way.
    @_noLocks @_noAllocation
    mutating func advance(by part: Double) {
        octaves += (octavesAimed - octaves) * part
        resonance += (resonanceAimed - resonance) * part
        q = FilterCoefficients.q(resonance: resonance)
    }
}
