import RenderStack
import SOFAFiles
import TestSupport
import Testing

@testable import Space

/// Environments whose heads change while they play.
@Suite struct HeadChangeTests {
    /// KEMAR with its ears exchanged.
    private static let mirrored = Result { () throws -> HRTF in
        let head = try sparseKemar.get()
        let measurements = head.measurements.map { one in
            var one = one
            (one.left, one.right, one.delay) = (one.right, one.left, -one.delay)
            return one
        }
        return HRTF(measurements, sampleRate: head.sampleRate, length: head.length)
    }

    private static func source(_ rendering: SpatialRendering = .hrtf()) -> SpatialSource {
        let source = SpatialSource(Noise(seed: 3), rendering: rendering, position: SpatialPoint(-1, 0, -0.3))
        source.doppler.value = 0
        return source
    }

    /// Returns the sound through a head after `edit`, when nothing fades any more.
    private static func heard(
        _ head: HRTF?, _ rendering: SpatialRendering = .hrtf(),
        _ edit: (Environment, SpatialSource) async -> Void = { _, _ in }
    ) async throws -> [[Float]] {
        let environment = Environment(hrtf: head)
        let source = source(rendering)
        environment.append(source, fadesIn: false)
        let renderer = try renderer(environment)
        _ = render(renderer, frames: 640)
        await edit(environment, source)
        _ = render(renderer, frames: 4_800)
        #expect(renderer.faultCount == 0)
        return render(renderer, frames: 960)
    }

    @Test("Other responses are heard while it plays, and without any a spherical head") func changes() async throws {
        let (one, other) = (try sparseKemar.get(), try Self.mirrored.get())
        let expected = try await Self.heard(other)
        #expect(try await Self.heard(one) != expected)
        #expect(try await Self.heard(one) { environment, _ in environment.hrtf = other } == expected)
        let sphere = try await Self.heard(nil, .sphericalHead)
        let without = try await Self.heard(one) { environment, _ in environment.hrtf = nil }
        #expect(largestDifference(without[0], sphere[0]) < 1e-5 && largestDifference(without[1], sphere[1]) < 1e-5)
    }

    @Test("Of responses that several threads set, those that are set in the end are heard") func races() async throws {
        let heads = [try sparseKemar.get(), try Self.mirrored.get(), nil]
        for _ in 0..<8 {
            var last: HRTF?
            let found = try await Self.heard(heads[0]) { environment, _ in
                await withTaskGroup(of: Void.self) { group in
                    for task in 0..<6 {
                        group.addTask { for step in 0..<5 { environment.hrtf = heads[(task + step) % 3] } }
                    }
                }
                last = environment.hrtf
            }
            let expected = try await Self.heard(last, last == nil ? .sphericalHead : .hrtf())
            #expect(zip(found, expected).allSatisfy { largestDifference($0, $1) < 1e-5 })
        }
    }

    @Test("A source that comes from an environment with another head is heard with this one's") func moves()
        async throws
    {
        let (one, two) = (Environment(hrtf: try sparseKemar.get()), Environment(hrtf: try Self.mirrored.get()))
        let source = Self.source()
        one.append(source, fadesIn: false)
        let renderer = try Renderer(sampleRate: 48_000, channels: 2) { context in
            context.run(one)
            context.run(two)
            context.mix(2)
            context.output()
        }
        _ = render(renderer, frames: 640)
        two.append(source)
        _ = render(renderer, frames: 4_800)
        let expected = try await Self.heard(try Self.mirrored.get())
        let found = render(renderer, frames: 960)
        #expect(zip(found, expected).allSatisfy { largestDifference($0, $1) < 1e-5 })
    }

    @Test("All environments share the table of a rate, and a copy of the responses has it too") func sharing() throws {
        let head = try sparseKemar.get()
        let copy = head
        let table = try #require(head.table(sampleRate: 32_000))
        #expect(head.table(sampleRate: 32_000) === table && copy.table(sampleRate: 32_000) === table)
        #expect(head.table(sampleRate: 44_100) !== table)
    }
}
