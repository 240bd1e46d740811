import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct DelayTests {
    @Test(
        "An impulse comes back on the frame, with the filter of the loop once less than round",
        arguments: [1, 2, 3, 7, 8, 63, 64, 65, 300, 12_000])
    func impulses(delay: Int) throws {
        let frames = max(10 * delay, 3_000)
        for feedback: Float in [0, 0.4, -0.9, 1] {
            let effect = Delay(time: Float(delay) / 48_000, feedback: feedback, cutoff: 24_000, mix: 1)
            let output = try play([impulse(frames)], through: effect)[0]
            // With the filter open the answer is exact: powers of the feedback, zero elsewhere.
            var expected = [Float](repeating: 0, count: frames)
            var (level, place) = (Float(1), delay)
            while place < expected.count {
                expected[place] = abs(level) > 1e-30 ? level : 0
                level *= feedback
                place += delay
            }
            #expect(output == expected, "\(delay) frames, feedback \(feedback)")
        }
    }

    @Test("Echoes that are read where they lie are those that are copied before", arguments: [1, 100, 1_000])
    func places(delay: Int) throws {
        let time = Float(delay) / 48_000
        let input = [noise(9_000), noise(9_000, seed: 2)]
        // At the longest time a cycle may write where it reads: then the samples are copied.
        let copied = Delay(time: time, feedback: 0.7, cutoff: 24_000, maximumTime: Double(time))
        let output = try play(input, through: copied)
        #expect(try play(input, through: Delay(time: time, feedback: 0.7, cutoff: 24_000)) == output)
    }

    @Test(
        "With its filter the delay is scipy's comb with a low-pass in the loop",
        arguments: [15_000, 1_000, 10.0])
    func filtered(cutoff: Double) throws {
        let input = noise(20_000)
        let output = try play(
            [input], through: Delay(time: 0.01, feedback: 0.8, cutoff: Float(cutoff), mix: 1), frames: 40_000)[0]
        let lines = try python(
            """
            w = 2 * np.pi * settings / 48000
            a = optimize.brentq(lambda a: a * a / abs(1 - (1 - a) * np.exp(-1j * w)) ** 2 - 0.5, 1e-9, 1)
            x = np.concatenate([data[0].astype(float), np.zeros(20000)])
            # y = z^-480 x / (1 - 0.8 z^-480 a / (1 - (1 - a) z^-1))
            den = np.zeros(482); den[0] = 1; den[1] = -(1 - a); den[480] -= np.float32(0.8) * a
            num = np.zeros(482); num[480] = 1; num[481] = -(1 - a)
            y = signal.lfilter(num, den, x)
            print(np.max(np.abs(y - data[1])), np.max(np.abs(y)))
            """, data: [input, output], settings: "\(cutoff)")
        let numbers = try #require(lines.first).split(separator: " ").compactMap { Double($0) }
        #expect(numbers[0] < 2e-6 && numbers[1] > 0.4, "\(numbers)")
    }

    @Test("Between two frames: flat, and late by what was asked for", arguments: [8.5, 20.25, 480.125, 999.9])
    func fractional(delay: Double) throws {
        let effect = Delay(time: Float(delay / 48_000), feedback: 0, mix: 1)
        let exact = Double(effect.time.value) * 48_000
        let output = try play([impulse(4_096)], through: effect)[0]
        let lines = try python(
            """
            H = np.fft.rfft(data[0].astype(float))
            f = np.arange(len(H)) / 4096
            ideal = np.exp(-2j * np.pi * f * settings)
            low = f <= 0.35
            print(np.max(np.abs(20 * np.log10(np.abs(H[low])))), np.max(np.abs(H[low] / ideal[low] - 1)),
                  20 * np.log10(np.abs(H[f <= 0.4])).min(), np.abs(H).max())
            """, data: [output], settings: "\(exact)")
        let numbers = try #require(lines.first).split(separator: " ").compactMap { Double($0) }
        #expect(numbers[0] < 0.01, "\(numbers)")
        #expect(numbers[1] < 0.002, "\(numbers)")
        #expect(numbers[2] > -0.4 && numbers[3] < 1.000_01, "\(numbers)")
    }

    @Test("Short delays between two frames", arguments: [1.5, 2.5, 3.25, 5.5, 7.75])
    func short(delay: Double) throws {
        let effect = Delay(time: Float(delay / 48_000), feedback: 0, mix: 1)
        let tone = sine(4_800, frequency: 1_000, level: 1)
        let output = try play([tone], through: effect)[0]
        let exact = Double(effect.time.value) * 48_000
        for i in 100..<4_800 {
            #expect(
                abs(Double(output[i]) - sin(2 * .pi * 1_000 * (Double(i) - exact) / 48_000)) < (delay < 2 ? 3e-3 : 2e-5)
            )
        }
    }

    @Test("The call of the design: a quarter of a second, 40 %, half of each") func known() throws {
        let output = try play([impulse(40_000)], through: Delay(time: 0.25, feedback: 0.4))[0]
        #expect(output[0] == 0.5 && output[12_000] == 0.5)
        #expect(output.enumerated().allSatisfy { $0.offset % 12_000 < 200 || abs($0.element) < 1e-6 })
        let second = output[24_000..<24_200].reduce(0, +)
        #expect(abs(second - 0.2) < 1e-6)
    }

    /// Moving times, feedback, filter, mix.
    private func performance(_ change: Delay.Change, isPingPong: Bool, cycles: [Int]) throws -> [[Float]] {
        let delay = Delay(time: 0.02, feedback: 0.6, cutoff: 8_000, isPingPong: isPingPong, change: change)
        let renderer = try renderer([noise(20_000), noise(20_000, seed: 4)], through: delay)
        let moves: [(Int64, @Sendable () -> Void)] = [
            (2_001, { delay.time.value = 0.1 }), (2_333, { delay.time.value = 0.00031 }),
            (6_000, { delay.feedback.value = -1 }), (7_777, { delay.time.value = 0 }),
            (9_000, { delay.cutoff.value = 300 }), (11_000, { delay.time.value = 0.0304 }),
            (12_000, { delay.mix.value = 0 }), (14_001, { delay.mix.value = 1 }),
            (16_000, { delay.cutoff.value = 24_000 }), (18_003, { delay.cutoff.value = 5_000 }),
        ]
        for (time, move) in moves { try renderer.transaction(at: .sample(time)) { move() } }
        return render(renderer, frames: 20_000, cycles: cycles)
    }

    @Test("The length of the cycles changes nothing, bit for bit", arguments: [false, true])
    func cycles(isPingPong: Bool) throws {
        for change in [Delay.Change.glide(.milliseconds(70)), .crossfade(.milliseconds(30))] {
            let reference = try performance(change, isPingPong: isPingPong, cycles: [512])
            #expect(reference.allSatisfy { $0.allSatisfy { abs($0) < 9 } })
            for cycles in cycleLengths {
                #expect(try performance(change, isPingPong: isPingPong, cycles: cycles) == reference, "\(cycles)")
            }
        }
    }

    @Test(
        "A change of the time does not click",
        arguments: [Delay.Change.glide(.milliseconds(100)), .crossfade(.milliseconds(50))])
    func clicks(change: Delay.Change) throws {
        let delay = Delay(time: 0.1, feedback: 0, mix: 1, change: change)
        let renderer = try renderer([sine(48_000, frequency: 200, level: 1)], through: delay)
        try renderer.transaction(at: .sample(20_000)) { delay.time.value = 0.0737 }
        try renderer.transaction(at: .sample(30_000)) { delay.time.value = 0.11 }
        let output = render(renderer, frames: 48_000)[0]
        // The steepest step of a sine of 200 Hz, and of it a bit more than half a tone higher or with a fade on it.
        let steepest = 2 * Float.pi * 200 / 48_000
        let steps = zip(output[10_000...], output[10_001...]).map { abs($1 - $0) }
        #expect(try #require(steps.max()) < 1.5 * steepest)
        let bends = zip(steps, steps.dropFirst()).map { abs($1 - $0) }
        #expect(try #require(bends.max()) < steepest)
        #expect(abs(level(Array(output[40_000...]), frequency: 200)) < 0.01)
    }

    @Test("A glide is a tape: 100 ms from 50 to 40 ms play a tenth faster") func tape() throws {
        let delay = Delay(time: 0.05, feedback: 0, mix: 1, change: .glide(.milliseconds(1_000)))
        let renderer = try renderer([sine(72_000, frequency: 1_000)], through: delay)
        try renderer.transaction(at: .sample(12_000)) { delay.time.value = 0.04 }
        let output = render(renderer, frames: 72_000)[0]
        let during = Array(output[14_000..<58_000])
        #expect(abs(level(during, frequency: 1_010) + 6.0206) < 0.01)
        // Nothing beside it: neither steps nor a rough time.
        for other in [500.0, 900, 1_200, 3_000, 10_000] { #expect(level(during, frequency: other) < -86) }
    }

    @Test("A cross-fade keeps the pitch, and waits for the one before") func crossfade() throws {
        let delay = Delay(time: 0.05, feedback: 0, mix: 1, change: .crossfade(.milliseconds(100)))
        let renderer = try renderer([impulse(30_000)], through: delay)
        try renderer.transaction(at: .sample(0)) { delay.time.value = 0.05 }
        try renderer.transaction(at: .sample(1_000)) { delay.time.value = 0.1 }
        try renderer.transaction(at: .sample(1_100)) { delay.time.value = 0.2 }
        let output = render(renderer, frames: 30_000)[0]
        func part(_ t: Double) -> Float { Float(t * t * (3 - 2 * t)) }
        #expect(abs(output[2_400] - (1 - part(1_400 / 4_800))) < 1e-6)
        #expect(abs(output[4_800] - part(3_800 / 4_800)) < 1e-6)
        // The second fade, from 0.1 to 0.2 s, begins at 5,800.
        #expect(abs(output[9_600] - part(3_800 / 4_800)) < 1e-6)
        #expect(output.indices.allSatisfy { [2_400, 4_800, 9_600].contains($0) || output[$0] == 0 })
    }

    @Test("Ping-pong: from left to right and back, mono becomes stereo") func pingPong() throws {
        let delay = Delay(time: 0.01, feedback: 0.5, cutoff: 24_000, mix: 1, isPingPong: true)
        let output = try play([impulse(4_000)], through: delay, channels: 2)
        for i in 0..<4_000 {
            let echo = i / 480
            let level = i > 0 && i % 480 == 0 ? Float(pow(0.5, Double(echo - 1))) : 0
            #expect(output[0][i] == (echo % 2 == 1 ? level : 0))
            #expect(output[1][i] == (echo % 2 == 0 ? level : 0))
        }
        let stereo = Delay(time: 0.01, feedback: 0.5, cutoff: 24_000, mix: 1, isPingPong: true)
        let right = try play([[Float](repeating: 0, count: 2_000), impulse(2_000)], through: stereo)
        #expect(right[0][480] == 0.5 && right[1][960] == 0.25)
    }

    @Test("Full feedback stays bounded, whatever comes in", arguments: [1, -1, 0.99] as [Float])
    func bounded(feedback: Float) throws {
        for time: Float in [0, 0.000_1, 0.003_3, 0.01] {
            let delay = Delay(time: time, feedback: feedback, cutoff: 24_000, mix: 1)
            let output = try play([noise(30_000, level: 4)], through: delay, frames: 40_000)[0]
            // 4 of the input and 8 of the loop; between two frames a peak can lie higher.
            let isWhole = time == 0 || time == 0.01
            #expect(output.allSatisfy { abs($0) <= (isWhole ? 12 : 30) })
        }
        // A short sound goes round forever, as loud as it was.
        if feedback == 1 {
            let delay = Delay(time: 0.01, feedback: 1, cutoff: 24_000, mix: 1)
            let output = try play([noise(480)], through: delay, frames: 48_000)[0]
            #expect(output[480..<960] == output[47_520..<48_000])
        }
    }

    @Test("A mix of 0 is transparent, and forgets the echoes") func bypass() throws {
        let input = [noise(6_000), noise(6_000, seed: 9)]
        let delay = Delay(time: 0.01, feedback: 0.9)
        delay.mix.value = 0
        #expect(try play(input, through: delay) == input)
        let other = Delay(time: 0.05, feedback: 0.9, mix: 1)
        let renderer = try renderer([noise(2_000)], through: other)
        try renderer.transaction(at: .sample(2_000)) { other.mix.value = 0 }
        try renderer.transaction(at: .sample(2_500)) { other.mix.value = 1 }
        let output = render(renderer, frames: 12_000)[0]
        #expect(output[2_480...].allSatisfy { $0 == 0 })
    }

    @Test("Silence stays silent, echoes end at zero, a reset repeats") func silence() throws {
        let nothing = [[Float](repeating: 0, count: 3_000)]
        #expect(try play(nothing, through: Delay(time: 0.01)) == nothing)
        let tail = try play([noise(480)], through: Delay(time: 0.01, feedback: 0.3, mix: 1), frames: 48_000)[0]
        #expect(tail[480..<960].contains { $0 != 0 })
        #expect(tail[40_000...].allSatisfy { $0 == 0 })

        let input = noise(4_000)
        let effect = Delay(time: 0.031, feedback: -0.8)
        let source = Playback([input + input])
        let renderer = try Renderer(channels: 1) { context in
            if context.sampleTime == 4_000 { context.reset(effect) }
            context.run(source)
            context.run(effect)
            context.output()
        }
        let output = render(renderer, frames: 8_000, cycles: [500])[0]
        #expect(output[..<4_000] == output[4_000...])
    }

    @Test("Another sample rate: the time stays, and the memory is long enough") func rates() throws {
        for rate in [8_000.0, 44_100, 192_000] {
            let delay = Delay(time: 1.5, feedback: 0, mix: 1, maximumTime: 1.5)
            let frames = Int(2 * rate)
            let output = try play([impulse(frames)], through: delay, sampleRate: rate, cycles: [4_096])[0]
            #expect(output.firstIndex { $0 != 0 } == Int(1.5 * rate))
        }
    }

    @Test("A sample that is no number does not come back as an echo") func recovery() throws {
        var input = noise(20_000)
        input[700] = .nan
        let output = try play([input], through: Delay(time: 0.05, feedback: 0.9))[0]
        #expect(output.allSatisfy { $0.isFinite })
        #expect(output[4_000...].contains { abs($0) > 0.05 })
    }

    @Test("The range is kept") func range() {
        let delay = Delay(time: 7, feedback: 3, cutoff: 1, mix: -1, maximumTime: 4)
        #expect(delay.time.value == 4 && delay.feedback.value == 1 && delay.cutoff.value == 10 && delay.mix.value == 0)
    }
}
