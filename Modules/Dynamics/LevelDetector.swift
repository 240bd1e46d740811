/// The ways to measure the level that a ``Compressor``, an ``Expander`` or a ``Gate`` goes by.
///
/// Threads: any.
public enum LevelDetector: Sendable, Hashable {
    /// The magnitude of each sample: a sine of amplitude 1 has up to 0 dB.
    case peak
    /// The root of the mean square, in which what was heard weighs less by a factor of e every so many seconds (0…10): a
    /// sine of amplitude 1 has -3.01 dB.
    case rms(seconds: Double)
}

/// The sounds that tell a ``Compressor``, an ``Expander`` or a ``Gate`` what to do: the key, or side-chain.
///
/// Threads: any.
public enum KeySignal: Sendable, Hashable {
    /// The sound on top itself.
    case itself
    /// The sound on top through a high-pass and a low-pass filter of second order, 12 dB an octave each. The frequencies are
    /// in hertz, 10…0.49 of the sample rate, and are those at which the parameters `keyHighPass` and `keyLowPass` begin. Only
    /// the detector hears the filters.
    case filtered(highPass: Float, lowPass: Float)
    /// The buffer below the top, which stays there. The module then takes two buffers and leaves two. It changes the key in
    /// nothing but its time: with a look-ahead the key is as late as the sound, so that both still sound together.
    case below

    /// The frequencies of the filters.
    var frequencies: (highPass: Float, lowPass: Float) {
        switch self {
        case .filtered(let highPass, let lowPass): (highPass, lowPass)
        case .itself, .below: (10, 192_000)
        }
    }

    var isFiltered: Bool { @_noLocks @_noAllocation get { if case .filtered = self { true } else { false } } }

    var isBelow: Bool { @_noLocks @_noAllocation get { if case .below = self { true } else { false } } }
}
