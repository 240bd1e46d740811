import RenderStack
import TestSupport
import Testing

/// A sine of 1 kHz that moves, and the energy of its sound above 10 kHz.
@Suite struct PassingTests {
    private static let renderings: [SpatialRendering] = [.equalPower, .sphericalHead, .hrtf()]

    /// The energy above 10 kHz of half a second, by a filter of 127 taps.
    private static func high(_ sound: [[Float]]) -> Double {
        let taps: [Double] = (0..<127).map { index in
            let t = Double(index - 63)
            let window = 0.42 + 0.5 * RenderMath.cos(.pi * t / 64) + 0.08 * RenderMath.cos(2 * .pi * t / 64)
            let low = t == 0 ? 2 * 10_000 / 48_000.0 : RenderMath.sin(2 * .pi * t * 10_000 / 48_000) / (.pi * t)
            return ((t == 0 ? 1 : 0) - low) * window
        }
        var energy = 0.0
        for channel in sound {
            // Every fourth frame is enough for the energy.
            for frame in stride(from: 126, to: channel.count, by: 4) {
                var sum = 0.0
                for tap in 0..<127 { sum += taps[tap] * Double(channel[frame - tap]) }
                energy += sum * sum
            }
        }
        return energy
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
        // The worst of fixed places, with the beginning of the sound.
        let places: [SpatialPoint] = [
            SpatialPoint(0, 0, -1), SpatialPoint(1, 0, 0), SpatialPoint(-0.5, 0, 0.2), SpatialPoint(0, 1, 0),
        ]
        let worst = try places.map { Self.high(try Self.heard(rendering, $0)) }.max() ?? 0
        let limit = worst * 3.981
        let passes = try Self.heard(rendering, SpatialPoint(-3, 0, -0.3)) { source, _ in
            source.velocity = SpatialPoint(15, 0, 0)
        }
        #expect(Self.high(passes) < limit, "passes: \(Self.high(passes) / worst)")
        let through = try Self.heard(rendering, SpatialPoint(-2, 0, 0)) { source, _ in
            source.velocity = SpatialPoint(10, 0, 0)
        }
        #expect(Self.high(through) < limit, "through the head: \(Self.high(through) / worst)")
        let jumps = try Self.heard(rendering, SpatialPoint(-3, 0, -1)) { source, renderer in
            for index in 1..<6 {
                let place = SpatialPoint(index % 2 == 0 ? -3 : 3, 0, Float(index - 3))
                try renderer.transaction(at: .sample(Int64(3_777 * index))) { source.position = place }
            }
        }
        #expect(Self.high(jumps) < limit, "jumps: \(Self.high(jumps) / worst)")
        let inside = try Self.heard(rendering, SpatialPoint())
        #expect(Self.high(inside) < limit, "inside: \(Self.high(inside) / worst)")
        // Without the beginning of the sound, which is the loudest of all, next to nothing is left.
        for (name, sound) in [("passes", passes), ("through the head", through), ("jumps", jumps), ("inside", inside)] {
            let rest = sound.map { Array($0[3_000...]) }
            // Every fourth frame, as above.
            let all = rest.reduce(0.0) { $0 + $1.reduce(0.0) { $0 + Double($1 * $1) } } / 4
            let share = 10 * RenderMath.log2(Self.high(rest) / all) * 0.301_03
            #expect(share < -85, "\(name): \(share) dB")
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
        #expect(abs(quad.reduce(0, +) - 1) < 1e-5)
    }
}
