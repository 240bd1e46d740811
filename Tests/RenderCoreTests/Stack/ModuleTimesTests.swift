import RenderStack
import TestSupport
import Testing

/// `Renderer.moduleTimes`: each module is measured, and no slice measures so many that it would be late.
@Suite struct ModuleTimesTests {
    @Test("A slice measures at most 128 modules, and 65,536 frames measure all", arguments: [1, 128, 129, 1_000])
    func parts(count: Int) throws {
        let voices = (0..<count).map { _ in Constant(1) }
        let renderer = try Renderer(channels: 1) { context in
            context.push(channels: 1)
            context.add(voices)
            context.output()
        }
        var measured = 0
        for slice in 0..<1_024 {
            let heard = renderer.next(64)[0]
            if slice % 64 == 0 { #expect(heard == 64.of(Float(count))) }
            let now = renderer.moduleTimes.filter { $0.nanoseconds > 0 }.count
            #expect(now - measured <= 128)
            measured = now
        }
        #expect(measured == count)
        #expect(renderer.faultCount == 0)
    }

    @Test("Modules behind one that does not run are measured too")
    func left() throws {
        let voices = (0..<300).map { _ in Constant(1) }
        let renderer = try Renderer(channels: 1) { context in
            context.push(channels: 1)
            for index in 0..<300 where context.isDryRun || !(125..<130).contains(index) {
                context.run(voices[index])
                context.mix(2)
            }
            context.output()
        }
        for _ in 0..<2_048 { #expect(renderer.next(64)[0][63] == 295) }
        let times = renderer.moduleTimes.map(\.nanoseconds)
        #expect(times.count == 300)
        #expect(times.indices.filter { times[$0] == 0 } == Array(125..<130))
        #expect(renderer.faultCount == 0)
    }

    @Test("The slowest module has the longest time")
    func slowest() throws {
        let (before, slow, behind) = (Constant(1), Pause(milliseconds: 3), Constant(1))
        let renderer = try Renderer(channels: 1) { context in
            context.run(before)
            context.run(slow)
            context.run(behind)
            context.mix(2)
            context.output()
        }
        for _ in 0..<257 { _ = renderer.next(64) }
        let times = renderer.moduleTimes
        #expect(times.count == 3)
        #expect((times.first { $0.name == "Pause" }?.nanoseconds ?? 0) >= 3_000_000)
    }
}

/// Leaves its input as it is, and takes its time for it.
private final class Pause: Effect {
    private let milliseconds: Int64
    init(milliseconds: Int64) { self.milliseconds = milliseconds }

    func process(_ context: inout RenderContext) {
        // Long enough to be seen once; not in every slice.
        guard context.sampleTime % 16_384 >= 16_320 else { return }
        let end = HostClock.now + milliseconds * 1_000_000
        while HostClock.now < end {}
    }
}
