import Foundation
import RenderStack
import TestSupport
import Testing

/// The filters against digital filters that scipy evaluates in double precision.
@Suite struct FilterResponseTests {
    /// One measurement: a filter as the cookbook writes it, and the answer of ours to an impulse.
    private struct Case {
        var shape: String
        var frequency: Double
        /// `q`, or the bandwidth in octaves.
        var width: Double
        var isQ = false
        var gain = 0.0
        var rate: Double
        var response: [Float]

        var json: String {
            "{\"shape\":\"\(shape)\",\"f\":\(frequency),\"width\":\(width),\"isQ\":\(isQ),\"gain\":\(gain),\"rate\":\(rate)}"
        }
    }

    /// The Audio EQ Cookbook in its own words (direct form, b and a), and the largest deviation in decibels of what was
    /// measured wherever the response is above -80 dB.
    private static let program = """
        def cookbook(s):
            w0 = 2 * np.pi * s["f"] / s["rate"]
            A = 10 ** (s["gain"] / 40)
            if s["shape"] in ("bandPass", "notch") and not s["isQ"]:
                # The edges at -3 dB: so many octaves apart, and symmetrical about the centre after the bilinear transform.
                r, g = 2 ** s["width"], np.tan(w0 / 2)
                t = optimize.brentq(lambda t: np.log(np.tan(t) * np.tan(r * t)) - 2 * np.log(g), 1e-12, np.pi / 2 / r * (1 - 1e-15),
                                    xtol=1e-18, rtol=1e-14)
                alpha = np.sin(w0) * (np.tan(r * t) - np.tan(t)) / g / 2
            else:
                alpha = np.sin(w0) / (2 * s["width"])
            c, r = np.cos(w0), 2 * np.sqrt(A) * alpha
            return {
                "lowPass": ([(1 - c) / 2, 1 - c, (1 - c) / 2], [1 + alpha, -2 * c, 1 - alpha]),
                "highPass": ([(1 + c) / 2, -1 - c, (1 + c) / 2], [1 + alpha, -2 * c, 1 - alpha]),
                "bandPass": ([alpha, 0, -alpha], [1 + alpha, -2 * c, 1 - alpha]),
                "notch": ([1, -2 * c, 1], [1 + alpha, -2 * c, 1 - alpha]),
                "allPass": ([1 - alpha, -2 * c, 1 + alpha], [1 + alpha, -2 * c, 1 - alpha]),
                "bell": ([1 + alpha * A, -2 * c, 1 - alpha * A], [1 + alpha / A, -2 * c, 1 - alpha / A]),
                "lowShelf": ([A * (A + 1 - (A - 1) * c + r), 2 * A * (A - 1 - (A + 1) * c), A * (A + 1 - (A - 1) * c - r)],
                             [A + 1 + (A - 1) * c + r, -2 * (A - 1 + (A + 1) * c), A + 1 + (A - 1) * c - r]),
                "highShelf": ([A * (A + 1 + (A - 1) * c + r), -2 * A * (A - 1 + (A + 1) * c), A * (A + 1 + (A - 1) * c - r)],
                              [A + 1 - (A - 1) * c + r, 2 * (A - 1 - (A + 1) * c), A + 1 - (A - 1) * c - r]),
            }[s["shape"]]
        for s, samples in zip(settings, data):
            b, a = cookbook(s)
            ours = np.fft.rfft(samples.astype(float))
            frequencies = np.fft.rfftfreq(len(samples), 1 / s["rate"])
            inside = (frequencies >= 10) & (frequencies <= 0.4999 * s["rate"])
            _, theirs = signal.freqz(b, a, worN=2 * np.pi * frequencies[inside] / s["rate"])
            size = np.abs(theirs)
            heard = size > 1e-4
            deviation = np.abs(20 * np.log10(np.abs(ours[inside]) / size))[heard]
            reference = signal.lfilter(b, a, np.eye(1, min(len(samples), 65536))[0])
            print(np.max(deviation), np.max(np.abs(np.angle(ours[inside] / theirs))[heard]),
                  np.max(np.abs(samples[:65536] - reference)) / np.max(np.abs(reference)), heard.sum())
        """

    private func check(_ cases: [Case]) throws {
        let lines = try python(
            Self.program, data: cases.map(\.response), settings: "[" + cases.map(\.json).joined(separator: ",") + "]")
        try #require(lines.count == cases.count)
        for (line, item) in zip(lines, cases) {
            let numbers = line.split(separator: " ").compactMap { Double($0) }
            try #require(numbers.count == 4)
            // A tenth of what is promised: the rest is the rounding of the output to Float.
            #expect(numbers[0] < 0.01, "\(item.json) deviates by \(numbers[0]) dB")
            #expect(numbers[1] < 0.005, "\(item.json) deviates by \(numbers[1]) rad")
            #expect(numbers[2] < 3e-7, "\(item.json): the impulse response by \(numbers[2])")
            #expect(numbers[3] > 100, "\(item.json): compared at \(numbers[3]) frequencies")
        }
    }

    /// Returns the length of an impulse response that counts: 12 time constants, as a power of two.
    private func length(_ frequency: Double, _ q: Double, _ rate: Double) -> Int {
        let frames = 12 * rate * max(q, 0.5 / q) / (.pi * frequency)
        var length = 16_384
        while Double(length) < frames { length *= 2 }
        return min(length, Double(q) > 1_000 ? 1 << 17 : 1 << 20)
    }

    private func answer(_ effect: some Effect, _ frequency: Float, q: Double, _ rate: Double) throws -> [Float] {
        try play([impulse(length(Double(frequency), q, rate))], through: effect, sampleRate: rate)[0]
    }

    /// Sample rates, each with frequencies from the bottom to the top of the range.
    static let places: [(rate: Double, frequency: Float)] = [
        (48_000, 20), (48_000, 1_000), (44_100, 9_000), (44_100, 21_609), (192_000, 20), (192_000, 94_080),
    ]

    @Test("LowPass and HighPass are scipy's, from 10 Hz to 0.49 of the rate", arguments: places)
    func passes(rate: Double, frequency: Float) throws {
        let frequency = frequency == 20 ? 10 : frequency
        var cases: [Case] = []
        for resonance: Float in [-20, -3.0103, 0, 24] {
            let q = pow(10, Double(resonance) / 20)
            let low = LowPass(cutoff: frequency, resonance: resonance)
            let high = HighPass(cutoff: frequency, resonance: resonance)
            for (shape, response) in [
                ("lowPass", try answer(low, frequency, q: q, rate)),
                ("highPass", try answer(high, frequency, q: q, rate)),
            ] {
                cases.append(
                    Case(shape: shape, frequency: Double(frequency), width: q, rate: rate, response: response))
            }
        }
        try check(cases)
    }

    @Test("Bandpass and Notch are scipy's, from 100 to 12,000 cents", arguments: places)
    func bands(rate: Double, frequency: Float) throws {
        var cases: [Case] = []
        // At the top a band of ten octaves would end a fiftieth of a hertz below half of the rate, and ring for minutes.
        let isHigh = Double(frequency) > 0.45 * rate
        for octaves: Float in isHigh ? [1 / 12, 1, 3] : [1 / 12, 1, 10] {
            let q = isHigh ? 1e4 : 0.5 / sinh(0.34657 * Double(octaves))
            let (band, notch) = (
                Bandpass(center: frequency, octaves: octaves), Notch(center: frequency, octaves: octaves)
            )
            for (shape, response) in [
                ("bandPass", try answer(band, frequency, q: q, rate)),
                ("notch", try answer(notch, frequency, q: q, rate)),
            ] {
                cases.append(
                    Case(
                        shape: shape, frequency: Double(frequency), width: Double(octaves), rate: rate,
                        response: response))
            }
        }
        try check(cases)
    }

    @Test("LowShelf and HighShelf are scipy's, up to 40 dB both ways", arguments: places)
    func shelves(rate: Double, frequency: Float) throws {
        var cases: [Case] = []
        for gain: Float in [-40, -6, 12, 40] {
            let (low, high) = (LowShelf(cutoff: frequency, gain: gain), HighShelf(cutoff: frequency, gain: gain))
            let q = pow(10, -abs(Double(gain)) / 80)
            for (shape, response) in [
                ("lowShelf", try answer(low, frequency, q: q, rate)),
                ("highShelf", try answer(high, frequency, q: q, rate)),
            ] {
                cases.append(
                    Case(
                        shape: shape, frequency: Double(frequency), width: 0.5.squareRoot(), gain: Double(gain),
                        rate: rate, response: response))
            }
        }
        try check(cases)
    }

    @Test("A band of the ParametricEQ, and AllPass, are scipy's", arguments: places)
    func bells(rate: Double, frequency: Float) throws {
        var cases: [Case] = []
        for (q, gain): (Float, Float) in [(0.1, 20), (1, -6), (1, 6), (20, -20), (20, 6)] {
            let bell = ParametricEQ([.bell(frequency, q: q, decibels: gain)])
            let slow = Double(q) * pow(10, Double(gain) / 40)
            cases.append(
                Case(
                    shape: "bell", frequency: Double(frequency), width: Double(q), gain: Double(gain), rate: rate,
                    response: try answer(bell, frequency, q: slow, rate)))
        }
        for q: Float in [0.5, 5] {
            cases.append(
                Case(
                    shape: "allPass", frequency: Double(frequency), width: Double(q), rate: rate,
                    response: try answer(AllPass(frequency: frequency, q: q), frequency, q: Double(q), rate)))
        }
        try check(cases)
    }

    @Test("A band of the ParametricEQ of any shape is scipy's, by its Q", arguments: places)
    func shapes(rate: Double, frequency: Float) throws {
        var cases: [Case] = []
        for q: Float in [0.5, 5] {
            let settings: [(String, ParametricEQ.Setting)] = [
                ("lowPass", .lowPass(frequency, q: q)), ("highPass", .highPass(frequency, q: q)),
                ("bandPass", .bandpass(frequency, q: q)), ("notch", .notch(frequency, q: q)),
                ("allPass", .allPass(frequency, q: q)), ("bell", .bell(frequency, q: q, decibels: 9)),
                ("lowShelf", .lowShelf(frequency, q: q, decibels: 9)),
                ("highShelf", .highShelf(frequency, q: q, decibels: 9)),
            ]
            for (shape, setting) in settings {
                let response = try answer(ParametricEQ([setting]), frequency, q: 2 * Double(q), rate)
                cases.append(
                    Case(
                        shape: shape, frequency: Double(frequency), width: Double(q), isQ: true, gain: 9, rate: rate,
                        response: response))
            }
        }
        try check(cases)
    }

    @Test("A resonance of -3.01 dB is scipy's Butterworth filter, several bands in a row are scipy's sections in a row")
    func knownDesigns() throws {
        let low = try answer(LowPass(cutoff: 1_000, resonance: -3.0103), 1_000, q: 1, 48_000)
        let eq = ParametricEQ([
            .lowShelf(100, decibels: 6), .bell(1_000, q: 2, decibels: -9), .highShelf(5_000, decibels: 3),
        ])
        let row = try answer(eq, 100, q: 2, 48_000)
        let program = """
            def worst(samples, response):
                size = np.abs(response)
                ours = np.abs(np.fft.rfft(samples.astype(float)))
                return np.max(np.abs(20 * np.log10(ours / size))[1:-1][size[1:-1] > 1e-4])
            w = 2 * np.pi * np.fft.rfftfreq(len(data[0]))
            b, a = signal.butter(2, 1000, fs=48000)
            print(worst(data[0], signal.freqz(b, a, worN=w)[1]))
            # The analogue prototypes, through scipy's bilinear transform.
            total = np.ones(len(w), complex)
            for f, kind, q, gain in ((100, "low", 0.5 ** 0.5, 6), (1000, "bell", 2, -9), (5000, "high", 0.5 ** 0.5, 3)):
                A, k = 10 ** (gain / 40), np.tan(np.pi * f / 48000)
                r = A ** 0.5 / q
                b, a = {"low": (A * np.array([1, r, A]), [A, r, 1]), "bell": ([1, A / q, 1], [1, 1 / (A * q), 1]),
                        "high": (A * np.array([A, r, 1]), [1, r, A])}[kind]
                scale = np.array([k ** -2, k ** -1, 1])
                total *= signal.freqz(*signal.bilinear(b * scale, a * scale, fs=0.5), worN=w)[1]
            print(worst(data[1], total))
            """
        let lines = try python(program, data: [low, row])
        try #require(lines.count == 2)
        for line in lines { #expect(try #require(Double(line)) < 0.01) }
    }

    @Test(
        "The response that coefficients tell is the one that they have",
        arguments: [FilterShape.bell, .highShelf, .notch])
    func told(shape: FilterShape) {
        let coefficients = FilterCoefficients(shape, frequency: 3_000, q: 2, decibels: 7, sampleRate: 48_000).mixed(0.6)
        for frequency in [100.0, 2_500, 3_000, 17_000] {
            var memory = FilterMemory()
            let input = sine(9_600, frequency: frequency)
            let output = input.map { memory.next($0, coefficients) }
            let measured =
                level(Array(output[4_800...]), frequency: frequency)
                - level(Array(input[4_800...]), frequency: frequency)
            #expect(abs(measured - 20 * log10(coefficients.magnitude(at: frequency, sampleRate: 48_000))) < 0.001)
        }
    }
}
