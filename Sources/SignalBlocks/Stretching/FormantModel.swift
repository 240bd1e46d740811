/// The envelope of a voice: that of a model of poles, corrected so that it goes through the levels of all harmonics.
///
/// A high voice has few harmonics, and a formant between two of them is louder than both. Linear prediction knows such
/// formants, but from harmonics alone it finds the harmonics instead. So it predicts from an envelope without gaps: first
/// from a smooth curve through the levels, and in each further round from the model of the round before, plus a smooth curve
/// through that by which the model misses the levels.
struct FormantModel: ~Copyable, Sendable {
    /// The rounds in which the model gets better.
    static var rounds: Int { @_noLocks @_noAllocation get { 4 } }
    private static var points: Int { @_noLocks @_noAllocation get { 256 } }
    /// The poles for 6 kHz: two for a formant of each kilohertz, and four for the slope.
    private static var mostPoles: Int { @_noLocks @_noAllocation get { 16 } }
    private static var room: Int { @_noLocks @_noAllocation get { 128 } }
    private let bins: Int
    private var fft: RealFFT
    /// Logarithms of the power, from 0 to the reach: that of the model, and the envelope.
    private var shape: SampleMemory
    private var curve: SampleMemory
    private var real: SampleMemory
    private var imaginary: SampleMemory
    private var block: SampleMemory
    private var poles: SampleMemory
    /// Of each harmonic, from the number 0 on: its level, how far the model is below it, and the slope of that.
    private var levels: SampleMemory
    private var rest: SampleMemory
    private var slopes: SampleMemory
    private var highest = 1
    private var order = 2
    private var harmonicsPerPoint: Float = 1
    private var pointsPerBin: Float = 1

    /// - Parameter bins: The bins of a spectrum.
    init(bins: Int) {
        self.bins = bins
        let points = FormantModel.points
        fft = RealFFT(size: 2 * points)
        shape = SampleMemory(count: points + 1)
        curve = SampleMemory(count: points + 1)
        real = SampleMemory(count: points + 8)
        imaginary = SampleMemory(count: points + 8)
        block = SampleMemory(count: 2 * points)
        poles = SampleMemory(count: FormantModel.mostPoles + 1)
        levels = SampleMemory(count: FormantModel.room)
        rest = SampleMemory(count: FormantModel.room)
        slopes = SampleMemory(count: FormantModel.room)
    }

    /// Begins with a curve through the levels of the harmonics.
    ///
    /// - Parameters:
    ///   - power: The power of each bin.
    ///   - floor: A power that is added.
    ///   - harmonics: Those that were found.
    ///   - reach: The bins for which the envelope is wanted.
    ///   - hertz: The same in hertz.
    @_noLocks @_noAllocation
    mutating func begin(
        _ power: borrowing SampleMemory, _ floor: Float, _ harmonics: borrowing HarmonicSpacing, reach: Float,
        hertz: Float
    ) {
        let (distance, points) = (harmonics.distance, FormantModel.points)
        highest = min(Int(reach / distance + 0.5), FormantModel.room &- 1)
        for number in 1...highest {
            let first = Int((Float(number) - 0.5) * distance + 0.5), end = Int((Float(number) + 0.5) * distance + 0.5)
            var sum: Float = 0
            for bin in first..<min(end, bins) { sum += power[bin] }
            // The level of an average.
            levels[number] = RenderMath.log2(sum / distance + floor)
        }
        levels[0] = levels[1]
        order = max(2, min(Int(hertz / 6_000 * Float(FormantModel.mostPoles) + 0.5), FormantModel.mostPoles))
        pointsPerBin = Float(points) / reach
        harmonicsPerPoint = 1 / (pointsPerBin * distance)
        for point in 0...points { shape[point] = 0 }
        correct()
    }

    /// Makes a model of the envelope, and corrects it.
    @_noLocks @_noAllocation
    mutating func improve() {
        let points = FormantModel.points
        var most = curve[0]
        for point in 1...points where curve[point] > most { most = curve[point] }
        for point in 0...points { block[point] = curve[point] - most }
        block.takeExponentials(from: 0, below: points &+ 1)
        for point in 1..<points { block[2 &* points &- point] = block[point] }
        // The transform of the power is the autocorrelation.
        fft.analyse(block, count: 2 &* points)
        fft.copySpectrum(into: &real, &imaginary)
        predict()
        fft.analyse(poles, count: order &+ 1)
        fft.copySpectrum(into: &real, &imaginary)
        for point in 0...points {
            real[point] = real[point] * real[point] + imaginary[point] * imaginary[point] + 1e-12
        }
        real.takeLogarithms(below: points &+ 1)
        for point in 0...points { shape[point] = -real[point] }
        correct()
    }

    /// Returns the envelope at a bin: the logarithm of the power.
    @_noLocks @_noAllocation
    func level(at bin: Float) -> Float { FormantModel.value(of: curve, at: bin * pointsPerBin) }

    @_noLocks @_noAllocation
    private static func value(of curve: borrowing SampleMemory, at place: Float) -> Float {
        let whole = min(Int(place), points &- 1)
        let part = min(place - Float(whole), 1)
        return curve[whole] + (curve[whole &+ 1] - curve[whole]) * part
    }

    /// Computes the filter whose poles have the autocorrelation in `real` (Levinson and Durbin).
    @_noLocks @_noAllocation
    private mutating func predict() {
        // With a thousandth of white noise, no pole comes too near to the circle.
        var left = real[0] * 1.001
        poles[0] = 1
        for number in 1...order {
            var sum = real[number]
            for i in 1..<number { sum += poles[i] * real[number &- i] }
            let reflection = -sum / left
            poles[number] = reflection
            var (low, high) = (1, number &- 1)
            while low <= high {
                let (one, other) = (poles[low], poles[high])
                poles[low] = one + reflection * other
                poles[high] = other + reflection * one
                (low, high) = (low &+ 1, high &- 1)
            }
            left *= 1 - reflection * reflection
        }
    }

    /// Adds to the model a smooth curve through that by which it misses the levels: cubic pieces without overshoot (Fritsch and
    /// Butland 1984). Between two harmonics the sum is at most 6 dB above the louder one and 3 dB below the softer one.
    @_noLocks @_noAllocation
    private mutating func correct() {
        let points = FormantModel.points
        for number in 0...highest {
            rest[number] = levels[number] - FormantModel.value(of: shape, at: Float(number) / harmonicsPerPoint)
        }
        slopes[0] = 0
        for number in 1..<highest {
            let low = rest[number] - rest[number &- 1], high = rest[number &+ 1] - rest[number]
            slopes[number] = low * high > 0 ? 2 * low * high / (low + high) : 0
        }
        slopes[highest] = rest[highest] - rest[highest &- 1]
        for point in 0...points {
            let place = Float(point) * harmonicsPerPoint
            let number = min(Int(place), highest &- 1)
            let t = min(place - Float(number), 1)
            let s = 1 - t
            let low = rest[number] * (1 + 2 * t) + slopes[number] * t
            let high = rest[number &+ 1] * (1 + 2 * s) - slopes[number &+ 1] * s
            let wanted = shape[point] + low * s * s + high * t * t
            // A pole between two harmonics that both are far below it would grow without end.
            let (one, other) = (levels[number], levels[number &+ 1])
            let least = min(one, other) - 1, most = max(one, other) + 2
            curve[point] = max(least, min(wanted, most))
        }
    }
}
