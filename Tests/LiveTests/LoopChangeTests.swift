import RenderStackLive
import Testing

@testable import RenderCore

/// The change from one loop to another while both are heard.
@Suite struct LoopChangeTests {
    /// Renders a loop, and another one from a frame on. Returns the left channel.
    private func render(
        _ first: @escaping RenderLoop, then second: @escaping RenderLoop, at frame: Int, fade: Int, ring: Int = 0,
        frames: Int = 4_096, cycle: Int = 64
    ) throws -> [Float] {
        let renderer = Renderer()
        try renderer.replaceLoop(first)
        var samples: [Float] = []
        func add(_ count: Int) {
            let block = renderer.renderOffline(frames: count, cycle: cycle)
            for i in 0..<count { samples.append(block[0, i]) }
        }
        add(frame)
        let change = LoopChange(
            to: second, modules: try renderer.inspect(second).modules,
            leaving: [
                LoopChange.Leaving(first, modules: try renderer.inspect(first).modules, fade: fade, ring: ring)
            ], layout: renderer.layout, outputs: renderer.outputChannelCounts)
        try renderer.replaceLoop { context in change.run(&context) }
        add(frames - frame)
        #expect(change.firstFrame == Int64(frame))
        #expect(change.isOver == (frames - frame >= fade + ring))
        #expect(renderer.faultCount == 0)
        return samples
    }

    @Test(arguments: [0, 1, 100, 1_440]) func aGeneratorThatStaysGoesOn(fade: Int) throws {
        let tone = Oscillator(.sine, frequency: 440, level: 0.5)
        let loop: RenderLoop = { context in
            context.run(tone)
            context.output()
        }
        let other: RenderLoop = { context in
            context.run(tone)
            context.output()
        }
        let heard = try render(loop, then: other, at: 1_000, fade: fade)
        let alone = Oscillator(.sine, frequency: 440, level: 0.5)
        let renderer = try Renderer { context in
            context.run(alone)
            context.output()
        }
        let expected = renderer.renderOffline(frames: heard.count)
        for i in heard.indices { #expect(abs(heard[i] - expected[0, i]) < 1e-6, "frame \(i)") }
    }

    @Test func loopsWithoutAModuleInCommonAreCrossFaded() throws {
        let heard = try render(constant(1), then: constant(-1), at: 512, fade: 99, frames: 1_024)
        #expect(heard[..<512].allSatisfy { $0 == 1 })
        for i in 0..<99 {
            let x = Float(i + 1) / 100
            #expect(abs(heard[512 + i] - (1 - 2 * x * x * (3 - 2 * x))) < 1e-5)
        }
        #expect(heard[612...].allSatisfy { $0 == -1 })
        let jump = try render(constant(1), then: constant(-1), at: 512, fade: 0, frames: 1_024)
        #expect(jump[511] == 1 && jump[512] == -1)
    }

    @Test func cyclesOfAnyLengthGiveTheSameSamples() throws {
        func heard(_ cycle: Int) throws -> [Float] {
            let (tone, delay, filter) = (Oscillator(.saw, frequency: 333), Delay(time: 0.004), LowPass(cutoff: 900))
            return try render(
                { context in
                    context.run(tone)
                    context.run(delay)
                    context.run(filter)
                    context.output()
                },
                then: { context in
                    context.run(tone)
                    context.run(filter)
                    context.output()
                }, at: 1_000, fade: 700, ring: 900, cycle: cycle)
        }
        let expected = try heard(64)
        for cycle in [1, 100, 512, 4_096] {
            let other = try heard(cycle)
            for i in other.indices where abs(other[i] - expected[i]) > 1e-6 {
                Issue.record("cycles of \(cycle): frame \(i): \(other[i]), not \(expected[i])")
                break
            }
        }
    }

    /// An effect that stays gets the sound of the new loop, and both loops hear what it makes of it.
    @Test func anEffectThatStaysFollowsTheNewLoop() throws {
        let gain = Gain(0.5)
        func loop(_ value: Float) -> RenderLoop {
            let source = constantModule(value)
            return { context in
                context.run(source)
                context.run(gain)
                context.output()
            }
        }
        let heard = try render(loop(1), then: loop(0.25), at: 512, fade: 128, frames: 1_024)
        #expect(heard[511] == 0.5)
        #expect(heard[512...].allSatisfy { abs($0 - 0.125) < 1e-6 })
    }

    @Test func aDelayThatHasGoneRingsOut() throws {
        let delay = Delay(time: 0.02, feedback: 0, mix: 0.5)
        let source = constantModule(1)
        let first: RenderLoop = { context in
            context.run(source)
            context.run(delay)
            context.output()
        }
        let rings = try render(first, then: constant(0), at: 2_000, fade: 100, ring: 2_000, frames: 4_800)
        // 960 frames after the source has gone its echo is there, and later nothing.
        let dry = rings[500]
        #expect(abs(rings[2_000 + 900] - (rings[1_999] - dry)) < 0.01 && rings[1_999] - dry > 0.1)
        #expect(abs(rings[2_000 + 1_200]) < 1e-6)
        let cut = try render(
            { context in
                context.run(source)
                context.output()
            }, then: constant(0), at: 2_000, fade: 100, frames: 4_800)
        #expect(abs(cut[2_000 + 900]) < 1e-6)
    }

    @Test func aSecondChangeLeavesTheFirstRinging() throws {
        let renderer = Renderer()
        let (a, b, c) = (constant(1), constant(2), constant(4))
        let first = LoopChange.Leaving(a, modules: try renderer.inspect(a).modules, fade: 10, ring: 1_000)
        let second = LoopChange.Leaving(b, modules: try renderer.inspect(b).modules, fade: 10, ring: 0)
        let change = LoopChange(
            to: c, modules: try renderer.inspect(c).modules, leaving: [second, first], layout: renderer.layout,
            outputs: renderer.outputChannelCounts)
        try renderer.replaceLoop { context in change.run(&context) }
        let block = renderer.renderOffline(frames: 2_048)
        #expect(block[0, 1_999] == 4)
        #expect(change.isOver)
    }

    /// Of five loops that ring out the oldest ends soon, and in a fade: a step of it would be a click.
    @Test(arguments: [64, 100, 512]) func theFifthLoopThatRingsOutEndsInAFade(cycle: Int) throws {
        let renderer = Renderer()
        // An effect that rings forever.
        let effect = ClosureModule(.edits, name: "ringing") { context in
            var top = context.top
            var samples = top[0]
            for i in samples.indices { samples[i] = 0.1 }
        }
        let source = constantModule(0.1)
        let ringing: RenderLoop = { context in
            context.run(source)
            context.run(effect)
            context.output()
        }
        try renderer.replaceLoop(ringing)
        _ = renderer.renderOffline(frames: 4_800, cycle: cycle)
        let oldest = LoopChange.Leaving(
            ringing, modules: try renderer.inspect(ringing).modules, fade: 0, ring: 480_000)
        var leaving = [oldest]
        var heard: [Float] = []
        for _ in 0..<5 {
            let silence = constant(0)
            let change = LoopChange(
                to: silence, modules: try renderer.inspect(silence).modules, leaving: leaving, layout: renderer.layout,
                outputs: renderer.outputChannelCounts)
            try renderer.replaceLoop { context in change.run(&context) }
            let block = renderer.renderOffline(frames: 6_400, cycle: cycle)
            for i in 0..<6_400 { heard.append(block[0, i]) }
            leaving.insert(
                LoopChange.Leaving(
                    silence, modules: try renderer.inspect(silence).modules, fade: 0, ring: 480_000), at: 0)
        }
        #expect(oldest.isOver)
        // It is heard before the fifth change, and not at the end; between two frames there is never a step.
        #expect(abs(heard[4 * 6_400 - 1]) > 0.05)
        #expect(heard.last == 0)
        for i in 4 * 6_400 - 100..<heard.count - 1 where abs(heard[i + 1] - heard[i]) > 0.01 {
            Issue.record("a step of \(heard[i + 1] - heard[i]) at frame \(i)")
            break
        }
    }

    private func constantModule(_ value: Float) -> ClosureModule {
        ClosureModule(.generates, name: "constant") { context in
            context.push(channels: 1)
            var top = context.top
            var samples = top[0]
            for i in samples.indices { samples[i] = value }
        }
    }

    private func constant(_ value: Float) -> RenderLoop {
        let module = constantModule(value)
        return { context in
            context.run(module)
            context.output()
        }
    }
}
