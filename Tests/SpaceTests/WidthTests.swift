import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// The largest second difference of a sound.
private func corner(_ sound: [Float], from first: Int) -> Float {
    var most: Float = 0
    for i in first..<sound.count {
        let bend: Float = sound[i] - 2 * sound[i - 1] + sound[i - 2]
        most = max(most, abs(bend))
    }
    return most
}

/// Noise that is the same in each run, apart in each channel.
private func noise(_ channels: Int, _ frames: Int) -> [[Float]] {
    var random = SplitMix(state: 5)
    func sample() -> Float { Float(random.next() >> 40) * 0x1p-24 - 0.5 }
    return (0..<channels).map { _ in (0..<frames).map { _ in sample() } }
}

/// A sine of 200 Hz in one channel of so many.
private func sine(_ channels: Int, in channel: Int, _ frames: Int) -> [[Float]] {
    var sound = [[Float]](repeating: [Float](repeating: 0, count: frames), count: channels)
    for frame in 0..<frames {
        let angle = Float(frame % 240) * (Float.pi / 120)
        sound[channel][frame] = 0.5 * RenderMath.sin(angle)
    }
    return sound
}

/// Sources of two channels that are two points.
@Suite struct WidthTests {
    /// The second difference of that sine.
    private static let bend: Float = 0.5 * 0.000_685_4

    /// Returns a point that is seen farther to the right by an angle.
    private static func turned(_ point: SpatialPoint, by degrees: Float, around middle: SpatialPoint) -> SpatialPoint {
        let (x, z, angle) = (Double(point.x - middle.x), Double(point.z - middle.z), Double(degrees) * .pi / 180)
        let (sine, cosine) = (RenderMath.sin(angle), RenderMath.cos(angle))
        return SpatialPoint(middle.x + Float(x * cosine - z * sine), point.y, middle.z + Float(x * sine + z * cosine))
    }

    @Test(
        "A wide source is two sources of one channel, left and right of its place, at half of its level",
        arguments: [
            (SpatialLayout.stereo, SpatialRendering.equalPower), (.stereo, .sphericalHead), (.stereo, .hrtf()),
            (.quad, .equalPower), (.ambisonics, .equalPower),
        ])
    func twoSources(layout: SpatialLayout, rendering: SpatialRendering) throws {
        let input = noise(2, 9_600)
        let (place, ears) = (SpatialPoint(1.5, 0.5, -3), SpatialPoint(0.25, 0, 0.5))
        func heard(_ width: Float, _ sources: [SpatialSource]) throws -> [[Float]] {
            let environment = Environment(
                layout, hrtf: layout == .stereo ? try sparseKemar.get() : nil, reverb: Gain(0.5))
            environment.listener.position = ears
            environment.listener.yaw.value = 20
            for source in sources {
                (source.width.value, source.send.value, source.obstruction.value) = (width, 0.3, -6)
                environment.append(source, fadesIn: false)
            }
            let renderer = try renderer(environment)
            let sound = render(renderer, frames: 9_600)
            #expect(renderer.faultCount == 0)
            return sound
        }
        for width: Float in [1, 60, 180] {
            let wide = SpatialSource(Playback(input), rendering: rendering, position: place)
            wide.velocity = SpatialPoint(-1, 0, 2)
            let pair = [(0, -0.5 * width), (1, 0.5 * width)].map { channel, angle in
                let point = SpatialSource(
                    Playback([input[channel]]), rendering: rendering,
                    position: Self.turned(place, by: angle, around: ears))
                point.velocity = Self.turned(SpatialPoint(-1, 0, 2), by: angle, around: SpatialPoint())
                point.strip.volume.value = 0.5
                return point
            }
            let (one, two) = (try heard(width, [wide]), try heard(width, pair))
            for channel in one.indices {
                let difference = largestDifference(one[channel], two[channel])
                #expect(difference < 3e-5, "\(width) degrees, channel \(channel): \(difference)")
                #expect(channel > 0 || two[channel].contains { abs($0) > 0.02 })
            }
        }
    }

    @Test("Sound that is opposite in both channels is silent at a width of 0 and heard at another one")
    func opposite() throws {
        func levels(_ width: Float) throws -> [Float] {
            let environment = Environment()
            let source = SpatialSource(
                Playback([Array(repeating: 1, count: 9_600), Array(repeating: -1, count: 9_600)]))
            source.position = SpatialPoint(0, 0, -1)
            source.width.value = width
            environment.append(source, fadesIn: false)
            return render(try renderer(environment), frames: 4_800).map { $0[4_799] }
        }
        #expect(try levels(0) == [0, 0])
        // At 180 degrees each comes from its own loudspeaker alone.
        let full = try levels(180)
        #expect(abs(full[0] - 0.5) < 1e-5 && abs(full[1] + 0.5) < 1e-5, "\(full)")
        let half = try levels(60)
        let expected = 0.5 * (RenderMath.cos(Float.pi / 8) - RenderMath.sin(Float.pi / 8))
        #expect(abs(half[0] - expected) < 1e-5 && abs(half[0] + half[1]) < 1e-6, "\(half)")
    }

    @Test(
        "A width that comes and goes makes no step, and leaves the mean as it was",
        arguments: [SpatialRendering.equalPower, .sphericalHead, .hrtf()])
    func gliding(rendering: SpatialRendering) throws {
        func heard(widths: [Float], _ velocity: Float, _ input: [[Float]], cycles: [Int] = [333]) throws -> [[Float]] {
            let environment = Environment(hrtf: try sparseKemar.get(), reverb: Gain(0.5))
            let source = SpatialSource(Playback(input), rendering: rendering, position: SpatialPoint(0.5, 0, -10))
            source.velocity = SpatialPoint(0, 0, velocity)
            (source.send.value, source.rollOff.value) = (0.2, 0)
            environment.append(source, fadesIn: false)
            let renderer = try renderer(environment)
            for (step, width) in widths.enumerated() {
                try renderer.transaction(at: .sample(Int64(2_505 + 12_000 * step))) { source.width.value = width }
            }
            return render(renderer, frames: 45_000, cycles: cycles)
        }
        for channel in 0..<2 {
            for velocity: Float in [0, 6] {
                let input = sine(2, in: channel, 45_000)
                let sound = try heard(widths: [90, 180, 0], velocity, input)
                let still = try heard(widths: [], velocity, input)
                for ear in 0..<2 {
                    let found = corner(sound[ear], from: 2_000)
                    #expect(found < 2 * Self.bend, "\(channel), \(velocity) m/s: \(found)")
                    #expect(largestDifference(sound[ear], still[ear]) > 0.01)
                    let rest = largestDifference(Array(sound[ear][40_000...]), Array(still[ear][40_000...]))
                    #expect(rest < 1e-5, "\(channel), \(velocity) m/s: \(rest)")
                }
            }
        }
        let whole = try heard(widths: [90, 180, 0], 6, noise(2, 45_000))
        for cycles in [[1], [64], [4_096], [3, 500, 1, 64, 2_000, 17]] {
            #expect(try heard(widths: [90, 180, 0], 6, noise(2, 45_000), cycles: cycles) == whole, "\(cycles)")
        }
    }

    @Test("A source of one channel, or of four, is as it was at any width, bit for bit", arguments: [1, 4])
    func others(channels: Int) throws {
        func heard(_ width: Float, _ rendering: SpatialRendering) throws -> [[Float]] {
            let environment = Environment()
            let source = SpatialSource(
                Playback(noise(channels, 4_800)), rendering: rendering, position: SpatialPoint(1, 0, -2))
            source.width.value = width
            environment.append(source, fadesIn: false)
            return render(try renderer(environment), frames: 4_800, cycles: [100])
        }
        for rendering in [SpatialRendering.equalPower, .sphericalHead, .soundField, .passThrough] {
            #expect(try heard(120, rendering) == heard(0, rendering), "\(rendering)")
        }
    }

    @Test("A wide source changes between any two renderings without a step", arguments: [0, 1])
    func renderings(channel: Int) throws {
        let all: [SpatialRendering] = [.equalPower, .sphericalHead, .hrtf(), .passThrough, .soundField]
        for first in all {
            for second in all where first != second {
                let environment = Environment(hrtf: try sparseKemar.get())
                let source = SpatialSource(
                    Playback(sine(2, in: channel, 12_000)), rendering: first, position: SpatialPoint(1, 0, -1))
                (source.rollOff.value, source.width.value) = (0, 100)
                environment.append(source, fadesIn: false)
                let renderer = try renderer(environment)
                try renderer.transaction(at: .sample(2_500)) { source.rendering = second }
                try renderer.transaction(at: .sample(9_000)) { source.rendering = first }
                let sound = render(renderer, frames: 12_000, cycles: [333])
                for ear in sound {
                    let found = corner(ear, from: 2_000)
                    #expect(found < 5 * Self.bend, "\(first) to \(second): \(found)")
                }
            }
        }
    }

    @Test("A wide source keeps the contract of a module")
    func contract() {
        let contract = ModuleContract(channels: 2) { () -> Environment in
            let environment = Environment(reverb: Gain(0.5))
            let source = SpatialSource(Noise(channels: 2), rendering: .sphericalHead, position: SpatialPoint(1, 0, -2))
            (source.width.value, source.send.value) = (90, 0.3)
            environment.append(source, fadesIn: false)
            return environment
        }
        .leavingOut(.parameters, because: "one is heard only if others let it: each has a test of its own")
        #expect(contract.violations() == [])
    }

    @Test("An input that is played live has a place, and a width", arguments: [1, 2])
    func live(channels: Int) throws {
        let voice = AudioInput(channels: channels, name: "voice")
        let environment = Environment()
        let source = environment.append(voice, position: SpatialPoint(0, 0, -1))
        source.width.value = 180
        let renderer = try renderer(environment)
        let core = OutputCore(renderer, called: "a test")
        let run = try #require(try core.start(sampleRate: 48_000))
        var cycle = OutputCycle(run, frames: 4_096)
        #expect(cycle.inputs.map(\.name) == ["voice"])
        var last: [Float] = [0, 0]
        for (number, frames) in [4_096, 64, 1, 4_096, 333, 4_096].enumerated() {
            cycle.begin(frames: frames, hostTime: Int64(number) * 10_000_000)
            for channel in 0..<channels {
                var input = cycle.input(channel)
                for i in input.indices { input[i] = channel == 0 ? 1 : -1 }
            }
            run.render(&cycle)
            last = (0..<2).map { cycle.output($0)[frames - 1] }
        }
        let expected: [Float] = channels == 1 ? [0.707_106_8, 0.707_106_8] : [0.5, -0.5]
        #expect(largestDifference(last, expected) < 1e-4, "\(last)")
        #expect(voice.isConnected && renderer.faultCount == 0)
        core.stop()
    }

    @Test("No width makes a loud sample, whoever sets it and whatever else is set")
    func hostile() throws {
        let numbers: [Float] = [0, -0.0, 1e-30, -1e-3, 1, 90, 180, 181, -30, 1e6, 1e30, .infinity, -.infinity, .nan]
        for rendering in [SpatialRendering.equalPower, .sphericalHead, .hrtf(taps: 32)] {
            let environment = Environment(hrtf: try sparseKemar.get(), reverb: Gain(1))
            let source = SpatialSource(Noise(level: 0.5, channels: 2), rendering: rendering)
            environment.append(source)
            let renderer = try renderer(environment)
            var random = SplitMix(state: 7)
            func pick() -> Float { numbers[Int(random.next() % UInt64(numbers.count))] }
            for turn in 0..<300 {
                source.width.value = pick()
                source.position = SpatialPoint(pick(), pick(), pick())
                source.isRelative = turn % 3 == 0
                if turn % 16 == 15 { source.rendering = [.passThrough, .soundField, rendering][turn / 16 % 3] }
                let sound = render(renderer, frames: 200, cycles: [[1, 64, 200][turn % 3]])
                let isGood = sound.allSatisfy { $0.allSatisfy { abs($0) < 8 } }
                #expect(isGood && (0...180).contains(source.width.value), "\(turn)")
            }
            #expect(renderer.faultCount == 0)
        }
    }
}
