/// The low-pass filters of ``PitchFilter``, as functions of time.
///
/// Up to a pitch of 8 they are a sum of cosines, as in ``ResamplerPrototype``, but shorter, because voices are many:
/// flat within ±0.006 dB to 20 of 44.1 kHz, 112 dB down from 0.54 of the sample rate on, 121 dB where images of the
/// pass band lie (`scripts/tools/design-resampler 32 40 -112 -122 0.54`). Between half of the rate and 0.54 some
/// frequencies pass: at 44.1 kHz they fold to 20.3 to 22 kHz.
enum PitchPrototype {
    private static let halfLength = 32
    /// The beginning of the stop band, in parts of the output's rate.
    private static let stop = 0.54
    private static let longest = 8.0

    private static let gains: [Double] = [
        0.5, 0.99945929838, 1.0005555775, 0.99948919366, 1.000451173, 0.99962212865, 1.00029302519, 0.99980079404,
        1.00009930797, 1.00000354379, 0.99989391486, 1.00020500809, 0.99970293994, 1.00037914573, 0.99955156985,
        1.00050244196, 0.99946082353, 1.00055719953, 0.99944424375, 1.00053489312, 0.9995043876, 1.00044009618,
        0.99962792288, 1.00029751501, 0.99977409207, 1.00017284145, 0.99983616811, 1.00021485992, 0.99956317794,
        0.99970572152, 0.91322414451, 0.58002418927, 0.19598522298, 0.02618640434, 0.00062749838, 0.00000055426,
        0.00000059306, -0.00000065374, 0.00000010573, 0.00000028045, -0.00000043324,
    ]

    /// Returns the table for a pitch of 1 to 64.
    static func table(for pitch: Double) -> ResamplerTable {
        if pitch > longest * 1.001 { return wideTable(for: pitch) }
        let half = Int((Double(halfLength) * pitch / 4).rounded(.up)) * 4
        // With 16 parts of a frame the cubic pieces err by less than -132 dB at 20 of 44.1 kHz. A longer filter changes more
        // slowly.
        let bits = pitch < 2 ? 4 : pitch < 4 ? 3 : 2
        return unsafe gains.withUnsafeBufferPointer { gains in
            ResamplerTable(design: pitch, halfLength: half, partBits: bits) { times in
                unsafe ResamplerPrototype.values(at: times / pitch, gains, halfLength: halfLength) / pitch
            }
        }
    }

    /// Returns a table for pitches beyond the longest filter: as long as that, a sine cardinal under a Kaiser window.
    /// Its transition is as wide as its length demands, and ends where the stop band of the others does, so that the
    /// pass band gives way.
    private static func wideTable(for pitch: Double) -> ResamplerTable {
        let half = Double(halfLength) * longest
        // Kaiser's formulas give the shape of the window, and the width of the transition. At a pitch of 64 only the
        // window is left, and its side lobes are higher than the formulas say; so the demand is higher than for the
        // other filters.
        let decibels = 133.0
        let beta = 0.1102 * (decibels - 8.7)
        let width = (decibels - 7.95) / (2.285 * 2 * .pi * 2 * half)
        let edge = 2 * max(stop / pitch - width / 2, 0)
        func value(_ time: Double) -> Double {
            let x = .pi * edge * time
            let place = 1 - time / half * (time / half)
            if place <= 0 { return 0 }
            return (x == 0 ? 1 : RenderMath.sin(x) / x) * RenderMath.bessel(beta * place.squareRoot())
        }
        var sum = value(0)
        for frame in 1..<Int(half) { sum += 2 * value(Double(frame)) }
        return ResamplerTable(design: pitch, halfLength: Int(half), partBits: 1) { times in
            SIMD4(value(times[0]), value(times[1]), value(times[2]), value(times[3])) / sum
        }
    }
}
