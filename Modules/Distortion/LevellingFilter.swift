import RenderCore

/// Gives back the highs that the mean over three samples takes: 13 taps at the lower rate.
struct LevellingFilter: ~Copyable, Sendable {
    private let taps: RenderMemory<Float>
    private let isOff: Bool
    private var lines: RenderMemory<Float>
    private static var reach: Int { @_noLocks @_noAllocation get { 6 } }
    private static var length: Int { @_noLocks @_noAllocation get { HalfBandResampler.room &+ 12 } }

    init(channels: Int, times: Int) {
        // From the middle on: the least squares of 3 / (1 + 2 cos(w / times)) up to 20.5 kHz of 48, weighed 1,000 times as
        // much as what is above and three times up to 0.3; their sum is 1.
        let half: [Double] =
            switch times {
            case 2:
                [
                    1.419_398_02, -0.284_558_986, 0.106_897_281, -0.047_326_876_6, 0.021_491_977_4,
                    -0.009_405_021_08, 0.003_202_617_22,
                ]
            case 4:
                [
                    1.073_408_47, -0.045_220_229_7, 0.011_547_378_4, -0.004_336_125_87, 0.001_808_538_25,
                    -0.000_751_428_882, 0.000_247_631_943,
                ]
            case 8:
                [
                    1.017_110_63, -0.010_324_492, 0.002_380_294_58, -0.000_870_942_167, 0.000_359_645_553,
                    -0.000_148_680_191, 0.000_048_860_22,
                ]
            case 16:
                [
                    1.004_206_973, -0.002_525_802, 0.000_567_291, -0.000_206_471, 0.000_085_098,
                    -0.000_035_148, 0.000_011_545,
                ]
            default: [1, 0, 0, 0, 0, 0, 0]
            }
        var taps = RenderMemory<Float>(repeating: 0, count: 13)
        for i in 0...12 { taps[i] = Float(half[abs(i - LevellingFilter.reach)]) }
        self.taps = taps
        isOff = times == 1
        lines = RenderMemory(repeating: 0, count: channels * LevellingFilter.length)
    }

    static func latency(times: Int) -> Int { times == 1 ? 0 : reach }

    @_noLocks @_noAllocation
    mutating func reset() { for i in 0..<lines.count { lines[i] = 0 } }

    /// Filters the first frames, or delays them by as much.
    @_noLocks @_noAllocation
    mutating func process(_ samples: inout RenderMemory<Float>, _ channel: Int, _ count: Int, isOn: Bool) {
        if isOff { return }
        let start = channel &* LevellingFilter.length
        for i in 0..<count { lines[start &+ 12 &+ i] = samples[i] }
        if isOn {
            for i in 0..<count {
                var sum: Float = 0
                for tap in 0..<13 { sum += taps.value(at: tap) * lines[start &+ i &+ tap] }
                samples[i] = sum
            }
        } else {
            for i in 0..<count { samples[i] = lines[start &+ i &+ LevellingFilter.reach] }
        }
        for i in 0..<12 { lines[start &+ i] = lines[start &+ count &+ i] }
    }
}
