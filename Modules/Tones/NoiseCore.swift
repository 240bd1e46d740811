internal import RenderCore

/// The arithmetic of one channel of noise, for ``Noise`` and the voice of a synthesiser.
///
/// A frame's number is hashed to the frame's sample: so eight are made at once, and however the frames are cut into
/// slices they are the same. The hash takes three rounds of shift and multiplication (their constants from C. Wellons,
/// "Prospecting for hash functions", 2018) with the seed mixed in before and in the middle: measured over 2^22 frames,
/// neither a sequence with itself nor two of different seeds correlate at any distance more than chance would have it.
///
/// Pink noise is white noise through eight first-order low-passes side by side. Their coefficients are an own fit to a
/// slope of -3.01 dB per octave from 0.0001 to 0.5 of the sample rate, within 0.21 dB; so they are the same at every rate.
///
/// Threads: any.
public struct NoiseCore: Sendable, BitwiseCopyable {
    /// The colors of noise.
    ///
    /// Threads: any.
    public enum Color: Sendable, Hashable, CaseIterable, BitwiseCopyable {
        /// Noise with equal power in each hertz: evenly distributed between -1 and 1, RMS -4.77 dB (1 / √3).
        case white
        /// Noise with equal power in each octave: nearly normally distributed, RMS -16 dB; peaks of a day stay within ±1.
        case pink
    }

    /// The color of the noise.
    public let color: Color
    /// The number of frames made so far.
    public private(set) var frame: UInt64 = 0

    private let seed: UInt64
    private var filters = SIMD8<Float>(repeating: 0)

    /// Creates a channel of noise.
    ///
    /// - Parameters:
    ///   - color: The color of the noise.
    ///   - seed: The number of the sequence, of 2^64.
    ///   - channel: Channels of one seed are independent of each other.
    @_noLocks @_noAllocation
    public init(_ color: Color, seed: UInt64 = 0, channel: Int = 0) {
        self.color = color
        self.seed = Self.mixed(Self.mixed(seed) &+ UInt64(truncatingIfNeeded: channel))
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    public mutating func reset() {
        frame = 0
        filters = SIMD8(repeating: 0)
    }

    /// Continues as if `frames` frames had been made; pink noise has to settle then (1/4 s).
    @_noLocks @_noAllocation
    public mutating func seek(to frame: UInt64) { self.frame = frame }

    /// Writes the next frames.
    @_noLocks @_noAllocation
    public mutating func render(into samples: inout MutableSpan<Float>) {
        var i = 0
        while i < samples.count {
            // The hash is one of 32 bits: each 2^32 frames (a day) have keys of their own.
            let low = frame & 0xFFFF_FFFF
            let room = Int(truncatingIfNeeded: 0x1_0000_0000 &- low)
            let end = min(samples.count, i &+ room)
            let keys = Self.mixed(seed &+ frame &>> 32)
            let first = UInt32(truncatingIfNeeded: low) &+ UInt32(truncatingIfNeeded: keys)
            fill(&samples, i, end, first, UInt32(truncatingIfNeeded: keys &>> 32))
            frame &+= UInt64(truncatingIfNeeded: end &- i)
            i = end
        }
        switch color {
        case .white: break
        case .pink: filter(&samples)
        }
    }

    @_noLocks @_noAllocation
    private func fill(_ samples: inout MutableSpan<Float>, _ start: Int, _ end: Int, _ first: UInt32, _ key: UInt32) {
        var i = start
        var number = first
        while i &+ 8 <= end {
            let numbers = SIMD8<UInt32>(0, 1, 2, 3, 4, 5, 6, 7) &+ number
            samples.store(Self.sample(numbers, key), at: i)
            number &+= 8
            i &+= 8
        }
        while i < end {
            samples[i] = Self.sample(SIMD8(repeating: number), key)[0]
            number &+= 1
            i &+= 1
        }
    }

    @_noLocks @_noAllocation
    @inline(__always) private static func sample(_ number: SIMD8<UInt32>, _ key: UInt32) -> SIMD8<Float> {
        var x = number
        x = (x ^ (x &>> 17)) &* 0xED5A_D4BB
        x = ((x ^ (x &>> 11)) &+ key) &* 0xAC4C_1B51
        x = (x ^ (x &>> 15)) &* 0x3184_8BAB
        x ^= x &>> 14
        return SIMD8<Float>(SIMD8<Int32>(truncatingIfNeeded: x)) * 0x1p-31
    }

    @_noLocks @_noAllocation
    private mutating func filter(_ samples: inout MutableSpan<Float>) {
        let poles = SIMD8<Float>(
            0.999639085, 0.998373552, 0.99455045, 0.980692057, 0.935143137, 0.7286596, 0.0103653272, 0)
        let gains = SIMD8<Float>(
            0.00249861608, 0.00254007149, 0.00439082233, 0.00842657302, 0.0164548602, 0.0441156917, 1.71674063,
            -1.65506404)
        var filters = filters
        var i = 0
        while i < samples.count {
            filters = filters * poles + gains * samples[i]
            let four = filters.lowHalf + filters.highHalf
            let two = four.lowHalf + four.highHalf
            samples[i] = two[0] + two[1]
            i &+= 1
        }
        self.filters = filters
    }

    /// Returns a number of 64 bits made of another, each bit depending on all (the finaliser of G. Steele, D. Lea and
    /// C. Flood, "Fast splittable pseudorandom number generators", 2014).
    @_noLocks @_noAllocation
    static func mixed(_ number: UInt64) -> UInt64 {
        var x = number &+ 0x9E37_79B9_7F4A_7C15
        x = (x ^ (x &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        x = (x ^ (x &>> 27)) &* 0x94D0_49BB_1331_11EB
        return x ^ (x &>> 31)
    }
}
