/// The taps of a ``RatioResampler``: a row for each place between two input frames that its output frames fall on.
///
/// The filter is a sum of cosines as ``ResamplerPrototype`` has it, but longer, because here a tap costs less: flat within
/// ±0.0001 dB to 20 of 44.1 kHz, 109 dB down from half of the sample rate on, 140 dB where images of the pass band lie
/// (`scripts/design-resampler 72 80 -110 -140`).
///
/// Never written after it was made, and shared by all that need the same.
final class RatioTable: Sendable {
    /// Output frames for every `down` input frames.
    let up: Int
    let down: Int
    /// The taps reach from `halfLength - 1` frames before a position to `halfLength` behind it.
    let halfLength: Int
    /// 16 zeros, and row by row the taps and 16 zeros.
    let coefficients: AlignedMemory<Float>

    private static let all = Lock<[SIMD2<Int>: RatioTable]>([:])

    /// The table for a ratio. On the control side.
    static func table(up: Int, down: Int) -> RatioTable {
        all.withLock { all in
            if let table = all[SIMD2(up, down)] { return table }
            // Files have few rates: what is in use stays, and so do the last ones.
            if all.count == 8 { all = [:] }
            let table = RatioTable(up: up, down: down)
            all[SIMD2(up, down)] = table
            return table
        }
    }

    private static let prototypeHalf = 72
    private static let prototype: [Double] = [
        0.5, 0.99999044833, 1.00001000709, 0.99998994532, 1.0000100847, 0.99998987785, 1.00000976258, 0.99999048884,
        1.00000938485, 0.99999069837, 1.00000879381, 0.99999155121, 1.00000823146, 0.99999201893, 1.00000737467,
        0.99999302493, 1.00000667684, 0.99999374899, 1.00000559967, 0.99999483481, 1.00000479139, 0.9999957909,
        1.0000035513, 0.99999690236, 1.00000265677, 0.99999805072, 1.00000132181, 0.99999913559, 1.00000037063,
        1.0000004226, 0.99999901629, 1.00000142841, 0.99999804354, 1.00000278578, 0.99999675143, 1.00000366747,
        0.99999577647, 1.00000493204, 0.9999946928, 1.00000568849, 0.99999375935, 1.00000677844, 0.99999295111,
        1.00000737938, 0.99999209725, 1.00000821053, 0.99999162569, 1.00000866235, 0.99999086699, 1.00000915313,
        0.99999074546, 1.00000956267, 0.99999037651, 1.00000959383, 0.99999019467, 1.00000976664, 0.99999032086,
        1.00000984802, 0.9999905258, 1.00000944561, 0.99999131274, 1.00000748809, 0.99999489586, 1.00000001308,
        1.00000807993, 1.00000072626, 0.9964994757, 0.933256712, 0.68881015737, 0.32060489888, 0.07394918402,
        0.0053694789, 0.00000316228, -0.00000300925, 0.00000241338, -0.00000097806, 0.00000052322, -0.00000125261,
        0.00000224897, -0.0000000996, 0.00000001498,
    ]

    private init(up: Int, down: Int) {
        (self.up, self.down) = (up, down)
        // Where the output's rate is lower its half is where the band ends.
        let design = max(1, Double(down) / Double(up))
        let half = Int((Double(RatioTable.prototypeHalf) * design / 2).rounded(.up)) * 2
        let taps = 2 * half
        let stride = taps + 16
        halfLength = half
        coefficients = AlignedMemory(count: up * stride + 16)
        let base = unsafe coefficients.base
        unsafe base.initialize(repeating: 0, count: up * stride + 16)
        // The filter is even: the row at the same distance from the next frame has the same taps backwards.
        unsafe RatioTable.prototype.withUnsafeBufferPointer { gains in
            for row in 0...up / 2 {
                let place = 16 + row * stride, mirrored = 16 + (up - row) * stride
                for first in Swift.stride(from: 0, to: taps, by: 4) {
                    let times = Double(row) / Double(up) + Double(half - 1 - first) - SIMD4<Double>(0, 1, 2, 3)
                    let values = unsafe ResamplerPrototype.values(
                        at: times / design, gains, halfLength: RatioTable.prototypeHalf)
                    for index in 0..<4 {
                        let value = Float(values[index] / design), tap = first + index
                        unsafe base[place + tap] = value
                        if row > 0 { unsafe base[mirrored + taps - 1 - tap] = value }
                    }
                }
            }
        }
    }
}
