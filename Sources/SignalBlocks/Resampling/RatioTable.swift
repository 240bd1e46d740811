/// The taps of a ``RatioResampler``: a row for each place between two input frames that its output frames fall on.
///
/// The filter is a sum of cosines as ``ResamplerPrototype`` has it, but longer, because here a tap costs less: flat within
/// ±0.0036 dB to 20 of 44.1 kHz, 109 dB down from half of the sample rate on, 147 dB where images of the pass band lie
/// (`scripts/tools/design-resampler 60 70 -110 -148`).
///
/// Never written after it was made, and shared by all that need the same.
final class RatioTable: Sendable {
    /// Output frames for every `down` input frames.
    let up: Int
    let down: Int
    /// The taps reach from `halfLength - 1` frames before a position to `halfLength` behind it.
    let halfLength: Int
    /// 16 zeros, and row by row half of the taps, 16 zeros, the other half and 16 zeros.
    let coefficients: AlignedMemory<Float>

    /// The distance of rows in ``coefficients``, and the index of a tap.
    var stride: Int { 2 * halfLength + 32 }
    func index(row: Int, tap: Int) -> Int { 16 + row * stride + tap + (tap < halfLength ? 0 : 16) }

    private static let all = Lock<[SIMD2<Int>: RatioTable]>([:])

    /// Returns the table for a ratio. On the control side.
    static func table(up: Int, down: Int) -> RatioTable {
        all.withLock { all in
            if let table = all[SIMD2(up, down)] { return table }
            // Files have few rates: tables in use stay, and so do the last ones.
            if all.count == 8 { all = [:] }
            let table = RatioTable(up: up, down: down)
            all[SIMD2(up, down)] = table
            return table
        }
    }

    private static let prototypeHalf = 60
    private static let prototype: [Double] = [
        0.5, 1.00034583213, 0.99963820097, 1.00035601109, 0.99965749828, 1.0003252459, 0.99969433285, 1.0002839461,
        0.99974061487, 1.00023033404, 0.9998090591, 1.00015310955, 0.99988353075, 1.00008021855, 0.99995661197,
        1.00000488279, 1.00003651677, 0.99991684852, 1.00012322435, 0.99984087878, 1.00019250324, 0.99977569882,
        1.00025503301, 0.99971521023, 1.00031322122, 0.99966451511, 1.00034817194, 0.99964414079, 1.00035939813,
        0.99964100448, 1.00035445704, 0.99965471376, 1.00033075136, 0.99969012624, 1.00028028252, 0.99975761241,
        1.00020139125, 0.99984244232, 1.00011124979, 0.99993709405, 1.0000130864, 1.00003749053, 0.99991206485,
        1.00013720265, 0.99981585517, 1.0002276041, 0.99973343804, 1.00030037449, 0.99967242776, 1.00034055669,
        0.99965495335, 1.00034743547, 0.99966308594, 1.00027075486, 1.00015188649, 0.97829159244, 0.77478445283,
        0.37668206222, 0.08684159952, 0.00604666538, 0.00000316228, -0.00000315385, 0.00000226455, -0.00000128672,
        0.00000211503, -0.00000081402, 0.00000002197, 0.00000003359, -0.00000003881, 0.00000002733, -0.00000001393,
    ]

    private init(up: Int, down: Int) {
        (self.up, self.down) = (up, down)
        // If the output's rate is lower, the band ends at half of it.
        let design = max(1, Double(down) / Double(up))
        let half = Int((Double(RatioTable.prototypeHalf) * design / 2).rounded(.up)) * 2
        let taps = 2 * half
        halfLength = half
        coefficients = AlignedMemory(count: up * (taps + 32) + 16)
        let base = unsafe coefficients.base
        // The filter is even: the row at the same distance from the next frame has the same taps backwards.
        unsafe RatioTable.prototype.withUnsafeBufferPointer { gains in
            for row in 0...up / 2 {
                for first in Swift.stride(from: 0, to: taps, by: 4) {
                    let times = Double(row) / Double(up) + Double(half - 1 - first) - SIMD4<Double>(0, 1, 2, 3)
                    let values = unsafe ResamplerPrototype.values(
                        at: times / design, gains, halfLength: RatioTable.prototypeHalf)
                    for index in 0..<4 {
                        let value = Float(values[index] / design), tap = first + index
                        unsafe base[self.index(row: row, tap: tap)] = value
                        if row > 0 { unsafe base[self.index(row: up - row, tap: taps - 1 - tap)] = value }
                    }
                }
            }
        }
    }
}
