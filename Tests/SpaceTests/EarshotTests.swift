import RenderStack
import TestSupport
import Testing

/// Sources out of earshot, which sleep, and wake when they are heard again.
@Suite struct EarshotTests {
    /// A source of which nothing is heard beyond 100 m.
    private static func source(_ generator: any Module, _ z: Float, _ rendering: SpatialRendering = .equalPower)
        -> SpatialSource
    {
        let source = SpatialSource(generator, rendering: rendering, position: SpatialPoint(0, 0, z), range: 400)
        source.distanceModel = .linear
        source.maximumDistance.value = 100
        return source
    }

    @Test("A source that comes into earshot has Doppler's pitch at once", arguments: [50, 200] as [Double])
    func pitch(speed: Double) throws {
        let environment = Environment(.ambisonics)
        let source = Self.source(Oscillator(frequency: 1_000, level: 0.5), Float(-100 - speed))
        source.velocity = SpatialPoint(0, 0, Float(speed))
        environment.append(source, fadesIn: false)
        // After a second it is 100 m away, and what is heard then set out before.
        let sound = render(try renderer(environment), frames: 60_000)[0]
        #expect(sound[..<47_900].allSatisfy { $0 == 0 })
        let expected = 1_000 * 343 / (343 - speed)
        let first = SineFit(sound[50_400..<52_000], frequency: expected / 48_000, from: 50_400)
        let second = SineFit(sound[53_400..<55_000], frequency: expected / 48_000, from: 53_400)
        let turns = second.turns - first.turns
        let found = expected + (turns - turns.rounded()) / (3_000 / 48_000.0)
        let cents = 1_200 * RenderMath.log2(found / expected)
        #expect(abs(cents) < 3, "\(speed) m/s: \(found) Hz, \(cents) cents")
    }

    /// Sources that sleep, wake by themselves, by a new place, by another model and by a send.
    private static func scene(_ cycles: [Int]) throws -> [[Float]] {
        let environment = Environment(reverb: Gain(0.5))
        let renderings: [SpatialRendering] = [.equalPower, .sphericalHead, .equalPower, .sphericalHead, .equalPower]
        let sources = renderings.enumerated().map { index, rendering in
            let source = source(Noise(seed: UInt64(index + 1)), Float(-103 - index), rendering)
            source.velocity = SpatialPoint(0, 0, index == 0 ? 60 : 0)
            environment.append(source, fadesIn: false)
            return source
        }
        let renderer = try renderer(environment)
        try renderer.transaction(at: .sample(3_333)) { sources[1].position = SpatialPoint(3, 0, 0) }
        try renderer.transaction(at: .sample(4_100)) {
            sources[2].distanceModel = .none
            environment.listener.position = SpatialPoint(0, 0, -1)
        }
        try renderer.transaction(at: .sample(5_001)) { (sources[3].send.value, sources[3].z.value) = (0.5, -60) }
        try renderer.transaction(at: .sample(5_500)) { sources[1].position = SpatialPoint(300, 0, 0) }
        try renderer.transaction(at: .sample(9_999)) { sources[1].position = SpatialPoint(2, 0, 0) }
        return render(renderer, frames: 14_000, cycles: cycles)
    }

    private static let expected = Result { try scene([333]) }

    @Test("The lengths of the cycles make no difference to sources that sleep and wake", arguments: cycleLengths)
    func cycles(lengths: [Int]) throws { #expect(try Self.scene(lengths) == Self.expected.get()) }

    @Test(
        "A source that wakes is as loud as one that was always heard",
        arguments: [SpatialRendering.equalPower, .sphericalHead])
    func levels(rendering: SpatialRendering) throws {
        func heard(from first: SpatialPoint) throws -> [[Float]] {
            let environment = Environment()
            let source = Self.source(Oscillator(frequency: 500, level: 0.5), 0, rendering)
            source.doppler.value = 0
            source.position = first
            environment.append(source, fadesIn: false)
            let renderer = try renderer(environment)
            try renderer.transaction(at: .sample(9_000)) { source.position = SpatialPoint(3, 0, -4) }
            return render(renderer, frames: 24_000).map { Array($0[19_200...]) }
        }
        let (slept, always) = (try heard(from: SpatialPoint(0, 0, -500)), try heard(from: SpatialPoint(2, 0, -4)))
        for (one, other) in zip(slept, always) { #expect(largestDifference(one, other) < 1e-4) }
    }
}
