import RenderStack
import TestSupport
import Testing

/// A source that goes on evenly is aimed at for several blocks together, as long as nothing is set. The same source is aimed at
/// block by block if something is set all the time: here its orientation, which without a cone is not heard.
@Suite struct EvenMotionTests {
    private static let kinds = [SpatialRendering.equalPower, .sphericalHead, .hrtf(taps: 32)]

    private struct Scene {
        let environment: Environment
        let source: SpatialSource
        let renderer: Renderer

        init(_ rendering: SpatialRendering) throws {
            environment = Environment(hrtf: try sparseKemar.get())
            source = SpatialSource(Noise(seed: 5), rendering: rendering, position: SpatialPoint(1, 0.5, -4))
            source.velocity = SpatialPoint(3, 0, 1)
            environment.append(source, fadesIn: false)
            renderer = try SpaceTests.renderer(environment)
        }

        /// Sets something that is heard.
        func change(_ random: inout SplitMix) {
            func point(_ size: Float) -> SpatialPoint {
                SpatialPoint(
                    .random(in: -size...size, using: &random), .random(in: -size...size, using: &random),
                    .random(in: -size...size, using: &random))
            }
            switch Int.random(in: 0..<12, using: &random) {
            case 0: source.position = point(8)
            case 1: source.velocity = point(20)
            case 2: environment.listener.position = point(3)
            case 3: environment.listener.velocity = point(5)
            case 4: environment.listener.yaw.value = .random(in: -180...180, using: &random)
            case 5: source.minimumDistance.value = .random(in: 0.1...4, using: &random)
            case 6: source.rollOff.value = .random(in: 0...3, using: &random)
            case 7: source.distanceModel = DistanceModel.allCases.randomElement(using: &random)!
            case 8: source.doppler.value = .random(in: 0...2, using: &random)
            case 9: environment.speedOfSound.value = .random(in: 200...600, using: &random)
            case 10: source.rendering = EvenMotionTests.kinds.randomElement(using: &random)!
            default: source.airAbsorption.value = Bool.random(using: &random) ? 0 : 0.5
            }
        }
    }

    @Test("Aimed at together or block by block, it sounds the same, whatever is set on the way", arguments: kinds)
    func same(rendering: SpatialRendering) throws {
        for seed in 0..<UInt64(extent(24, inDebug: 4)) {
            let (even, restless) = (try Scene(rendering), try Scene(rendering))
            var (random, again) = (SplitMix(state: seed), SplitMix(state: seed))
            var largest: Float = 0
            for turn in 0..<60 {
                if turn % 5 == 4 {
                    even.change(&random)
                    restless.change(&again)
                }
                let heard = render(even.renderer, frames: 512)
                var expected: [[Float]] = [[], []]
                for block in 0..<4 {
                    restless.source.yaw.value = Float(block)
                    let part = render(restless.renderer, frames: 128)
                    for channel in 0..<2 { expected[channel] += part[channel] }
                }
                for channel in 0..<2 {
                    largest = max(largest, largestDifference(heard[channel], expected[channel]))
                }
            }
            #expect(largest < 1e-5, "seed \(seed): \(largest)")
        }
    }
}
