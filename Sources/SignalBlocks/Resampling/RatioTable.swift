/// The taps of a ``RatioResampler``: a row for each place between two input frames that its output frames fall on.
///
/// The filter is a sum of cosines as ``ResamplerPrototype`` has it, but longer, because here a tap costs less: flat within
/// ±0.0001 dB to 20 of 44.1 kHz, 109 dB down from half of the sample rate on, 147 dB where images of the pass band lie
/// (`scripts/tools/design-resampler 72 82 -110 -148`).
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
    /// The same taps as the kernel for two channels meets them: see `kernel_ratio`.
    let pairs: AlignedMemory<Float>
    let pairCount: Int
    /// The number of input frames by which a row may begin later than the one before.
    let extra: Int

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

    private static let prototypeHalf = 72
    private static let prototype: [Double] = [
        0.5, 1.00001172479, 0.99998943647, 1.00000792826, 0.99999512383, 1.00000190841, 1.00000092363, 0.99999646366,
        1.00000574089, 0.99999252742, 1.0000088757, 0.99998998071, 1.0000107549, 0.99998879298, 1.00001145758,
        0.99998841867, 1.00001163663, 0.99998834675, 1.00001161279, 0.99998878666, 1.00001071709, 0.999989723,
        1.00000988556, 0.99999052854, 1.00000872404, 0.99999203236, 1.00000734447, 0.99999322914, 1.00000608102,
        0.99999492008, 1.00000431863, 0.99999634148, 1.0000029551, 0.99999806704, 1.00000108889, 0.99999959374,
        0.99999970571, 1.00000123237, 0.99999789887, 1.0000027394, 0.99999661721, 1.00000422131, 0.99999496688,
        1.00000556065, 0.99999389997, 1.00000682484, 0.9999925192, 1.00000784226, 0.99999174705, 1.00000887287,
        0.99999076373, 1.00000941348, 0.99999026096, 1.00001017353, 0.99998986766, 1.0000102467, 0.99998952191,
        1.00001019144, 0.99998975595, 1.00000960925, 0.99999078636, 1.0000075267, 0.99999541678, 0.99999901262,
        1.00000974604, 1.00000144336, 0.99621440173, 0.93015042827, 0.68125100471, 0.31392543707, 0.07178923597,
        0.00519973905, 0.00000316228, -0.00000298027, 0.00000257286, -0.00000153652, 0.00000148, -0.00000267732,
        0.0000006538, -0.00000003949, -0.00000000388, 0.00000002855, -0.00000003516,
    ]

    private init(up: Int, down: Int) {
        (self.up, self.down) = (up, down)
        // If the output's rate is lower, the band ends at half of it.
        let design = max(1, Double(down) / Double(up))
        let half = Int((Double(RatioTable.prototypeHalf) * design / 8).rounded(.up)) * 8
        let taps = 2 * half
        halfLength = half
        coefficients = AlignedMemory(count: up * (taps + 32) + 16)
        extra = (down + up - 1) / up
        pairCount = up % 2 == 0 ? up / 2 : up
        pairs = AlignedMemory(count: pairCount * 4 * (half + extra))
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
        pairUp()
    }

    /// Lays the rows side by side, two by two as output frames follow each other.
    private func pairUp() {
        var place = unsafe pairs.base
        for first in Swift.stride(from: 0, to: 2 * pairCount, by: 2) {
            let shift = (first + 1) * down / up - first * down / up
            let rows = (index(row: first * down % up, tap: 0), index(row: (first + 1) * down % up, tap: 0) - shift)
            func put(_ offset: Int) {
                unsafe place[0] = coefficients.base[rows.0 + offset]
                unsafe place[1] = coefficients.base[rows.1 + offset]
                unsafe place += 2
            }
            for tap in 0..<halfLength + extra { put(tap) }
            for tap in (halfLength..<2 * halfLength + extra).reversed() { put(tap + 16) }
        }
    }
}
