import RenderStack
import TestSupport
import Testing

/// A sine of 1 kHz that moves, and the energy of its sound above 10 kHz: at most 6 dB over that of the worst fixed place.
@Suite struct PassingTests {
    private static let renderings: [SpatialRendering] = [.equalPower, .sphericalHead, .hrtf()]

    /// The energy above 10 kHz of half a second, without the beginning of the sound: a sine that begins is a click, which would hide
    /// all that comes after.
    private static func high(_ sound: [[Float]]) -> Double {
        var energy = 0.0
        for channel in sound {
            // Every fourth frame is enough for the energy.
            for frame in stride(from: 3_000, to: channel.count, by: 4) {
                var sum = 0.0
                for tap in taps.indices { sum += taps[tap] * Double(channel[frame - tap]) }
                energy += sum * sum
            }
        }
        return energy
    }

    /// A filter that leaves what is above 10 kHz, and of 1 kHz less than -155 dB: a sine under the window of Blackman, Harris and
    /// Nuttall, 255 taps.
    private static let taps: [Double] = (0..<255).map { index in
        let t = Double(index - 127)
        func wave(_ k: Double) -> Double { RenderMath.cos(2 * .pi * k * Double(index + 1) / 256) }
        let window = 0.355_768 - 0.487_396 * wave(1) + 0.144_232 * wave(2) - 0.012_604 * wave(3)
        let low = t == 0 ? 2 * 10_000 / 48_000.0 : RenderMath.sin(2 * .pi * t * 10_000 / 48_000) / (.pi * t)
        return ((t == 0 ? 1 : 0) - low) * window
    }

    private static func heard(
        _ rendering: SpatialRendering, _ place: SpatialPoint,
        _ edit: (SpatialSource, Renderer) throws -> Void = { _, _ in }
    ) throws -> [[Float]] {
        let environment = Environment(hrtf: try sparseKemar.get())
        let source = SpatialSource(Oscillator(frequency: 1_000, level: 0.5), rendering: rendering, position: place)
        source.minimumDistance.value = 0.5
        environment.append(source, fadesIn: false)
        let renderer = try renderer(environment)
        try edit(source, renderer)
        let sound = render(renderer, frames: 24_000)
        #expect(sound.allSatisfy { $0.allSatisfy { abs($0) < 4 } })
        #expect(renderer.faultCount == 0)
        return sound
    }

    @Test("A source that passes the head, jumps or stands inside of it has no crackle", arguments: renderings)
    func crackle(rendering: SpatialRendering) throws {
        let places: [SpatialPoint] = [
            SpatialPoint(0, 0, -1), SpatialPoint(1, 0, 0), SpatialPoint(-0.5, 0, 0.2), SpatialPoint(0, 1, 0),
        ]
        let worst = try places.map { Self.high(try Self.heard(rendering, $0)) }.max() ?? 0
        #expect(worst > 0)
        func judge(_ name: String, _ sound: [[Float]]) {
            let more = 10 * RenderMath.log2(Self.high(sound) / worst) * 0.301_03
            #expect(more < 6, "\(name): \(more) dB over the worst fixed place")
        }
        judge(
            "passes",
            try Self.heard(rendering, SpatialPoint(-3, 0, -0.3)) { source, _ in
                source.velocity = SpatialPoint(15, 0, 0)
            })
        judge(
            "through the head",
            try Self.heard(rendering, SpatialPoint(-2, 0, 0)) { source, _ in
                source.velocity = SpatialPoint(10, 0, 0)
            })
        judge(
            "jumps",
            try Self.heard(rendering, SpatialPoint(-3, 0, -1)) { source, renderer in
                for index in 1..<6 {
                    let place = SpatialPoint(index % 2 == 0 ? -3 : 3, 0, Float(index - 3))
                    try renderer.transaction(at: .sample(Int64(3_777 * index))) { source.position = place }
                }
            })
        judge("inside", try Self.heard(rendering, SpatialPoint()))
    }

    @Test("A source that passes is heard where it is at that moment: its phase is that of its way, eight frames later")
    func onTime() throws {
        let speed = 40.0
        let environment = Environment()
        let source = SpatialSource(
            Oscillator(frequency: 500, level: 0.5), position: SpatialPoint(-20, 0, -10), range: 100)
        source.velocity = SpatialPoint(Float(speed), 0, 0)
        source.airAbsorption.value = 0
        environment.append(source, fadesIn: false)
        let sound = render(try renderer(environment), frames: 48_000)
        // The time that the sound needs which arrives at a frame, by the formula.
        func way(_ frame: Double) -> Double {
            var frames = 0.0
            for _ in 0..<100 {
                let x = -20 + speed * (frame - frames) / 48_000
                frames = (x * x + 100).squareRoot() / 343 * 48_000
            }
            return frames
        }
        for middle in [12_000, 24_000, 40_000] {
            let delay = way(Double(middle)) + 8
            let pitch = 500 * (1 - (way(Double(middle) + 40) - way(Double(middle) - 40)) / 80)
            let both = (middle - 240..<middle + 240).map { sound[0][$0] + sound[1][$0] }
            let turns = SineFit(both[...], frequency: pitch / 48_000, from: -240).turns
            // Of the sine at the frame at which the sound set out.
            let expected = 500 / 48_000 * (Double(middle) - delay)
            let off = (turns - expected) - (turns - expected).rounded()
            // 4 ms late it would be off by up to a quarter of a turn.
            #expect(abs(off) < 0.01, "at \(middle): \(off) turns")
        }
    }

    @Test("A listener who moves hears Doppler's pitch, within half a cent", arguments: [-40.0, -5, 10, 60])
    func listener(speed: Double) throws {
        let environment = Environment(.ambisonics)
        let place = SpatialPoint(0, 0, speed > 0 ? -100 : -3)
        let source = SpatialSource(Oscillator(frequency: 1_000, level: 0.5), position: place, range: 200)
        source.distanceModel = .none
        environment.listener.velocity = SpatialPoint(0, 0, Float(-speed))
        environment.append(source, fadesIn: false)
        let sound = render(try renderer(environment), frames: 60_000)[0]
        let expected = 1_000 * (343 + speed) / 343
        let first = SineFit(sound[30_000..<34_000], frequency: expected / 48_000, from: 30_000)
        let second = SineFit(sound[40_000..<44_000], frequency: expected / 48_000, from: 40_000)
        let turns = second.turns - first.turns
        let found = expected + (turns - turns.rounded()) / (10_000 / 48_000.0)
        let cents = 1_200 * RenderMath.log2(found / expected)
        #expect(abs(cents) < 0.5, "\(speed) m/s: \(found) Hz, \(cents) cents")
    }

    @Test("A sound field turns against the head, and a source's own turn with it")
    func field() throws {
        // A sound from ahead: W 1, Y 0, Z 0, X 1.
        func heard(_ layout: SpatialLayout, _ edit: (Environment, SpatialSource) -> Void) throws -> [Float] {
            let environment = Environment(layout)
            let field = Playback([1, 0, 0, 1].map { [Float](repeating: $0, count: 9_600) })
            let source = SpatialSource(field, rendering: .soundField, position: SpatialPoint(40, 2, 1))
            edit(environment, source)
            environment.append(source, fadesIn: false)
            return render(try renderer(environment), frames: 9_600).map { $0[9_599] }
        }
        let same = try heard(.ambisonics) { _, _ in }
        #expect(largestDifference(same, [1, 0, 0, 1]) < 1e-5)
        // Who looks to the right has it on the left.
        let right = try heard(.ambisonics) { environment, _ in environment.listener.yaw.value = 90 }
        #expect(largestDifference(right, [1, 1, 0, 0]) < 1e-5)
        let turned = try heard(.ambisonics) { _, source in source.yaw.value = 90 }
        #expect(largestDifference(turned, [1, -1, 0, 0]) < 1e-5)
        let up = try heard(.ambisonics) { environment, _ in environment.listener.pitch.value = 90 }
        #expect(largestDifference(up, [1, 0, -1, 0]) < 1e-5)
        let stereo = try heard(.stereo) { environment, _ in environment.listener.yaw.value = 90 }
        #expect(largestDifference(stereo, [1, 0]) < 1e-5)
        let quad = try heard(.quad) { _, _ in }
        #expect(abs(quad[0] - quad[1]) < 1e-5 && quad[0] > 0.4 && abs(quad[2]) < 0.1)
        let sum: Float = quad.reduce(0, +)
        #expect(abs(sum - 1) < 1e-5)
    }
}
