import CRender
import Foundation
import TestSupport
import Testing

@testable import Composition
@testable import Outputs
@testable import RenderCore
@testable import RenderStack

/// Branches on several threads sound as they do on one.
@Suite struct ParallelTests {
    /// Generators with a memory each, as different as their numbers.
    private func branch(_ number: Int, channels: Int = 2) throws -> Renderer {
        let tone = Oscillator(.saw, frequency: 50 * Float(number + 1), level: 0.2)
        let filter = Bandpass(center: 300 * Float(number + 1), octaves: 1)
        let delay = Delay(time: 0.01 * Float(number + 1), feedback: 0.6)
        return try Renderer(
            channels: channels, layout: StackLayout(slots: 4, channels: 2, frames: number % 2 == 0 ? 512 : 48)
        ) { context in
            context.run(tone)
            context.run(filter)
            context.run(delay)
            context.output()
        }
    }

    private func serial(_ count: Int) throws -> Renderer {
        let list = try (0..<count).map { SubRenderer(try branch($0)) }
        return try weighing(count) { context in for sub in list { context.run(sub) } }
    }

    private func outer(_ parallel: Parallel) throws -> Renderer {
        try weighing(parallel.count) { context in context.run(parallel) }
    }

    /// Adds buffers, weighted by their place: an exchange of two would be heard.
    private func weighing(_ count: Int, _ push: @escaping RenderLoop) throws -> Renderer {
        let gains = (1...count).map { Gain(Float($0) * 0.1) }
        return try Renderer(layout: StackLayout(slots: 16, channels: 2, frames: 512)) { context in
            push(&context)
            for gain in gains {
                context.run(gain)
                context.output()
                context.pop()
            }
        }
    }

    private func parallel(_ count: Int, workers: Int, worthwhile: Int64 = 0) throws -> Parallel {
        Parallel(try (0..<count).map { try branch($0) }, workers: workers, priority: 0, worthwhile: worthwhile)
    }

    private func render(_ renderer: Renderer, frames: Int, cycles: [Int], isOffline: Bool) -> [[Float]] {
        var block = AudioBlock(channels: 2, frames: frames)
        var (done, turn) = (0, 0)
        while done < frames {
            let count = min(cycles[turn % cycles.count], frames - done)
            renderer.render(into: &block, from: done, frames: count, hostTime: 0, isOffline: isOffline)
            done += count
            turn += 1
        }
        return (0..<2).map { block.array($0) }
    }

    @Test(
        "Branches in parallel give the samples of branches in a row, bit for bit, in all cycles, live and offline",
        arguments: [[7], [64], [100], [512], [4096], [10_000], [3, 500, 1, 64, 2000, 17]], [false, true])
    func same(cycles: [Int], isOffline: Bool) throws {
        let frames = extent(2_500, inDebug: 400)
        let expected = render(try serial(4), frames: frames, cycles: cycles, isOffline: isOffline)
        #expect(expected[0].contains { abs($0) > 0.01 })
        for workers in [0, 2] {
            let renderer = try outer(try parallel(4, workers: workers))
            #expect(render(renderer, frames: frames, cycles: cycles, isOffline: isOffline) == expected)
            #expect(renderer.faultCount == 0)
        }
    }

    @Test("Workers really help, and it makes no difference")
    func help() throws {
        let parallel = try parallel(6, workers: 2)
        let renderer = try outer(parallel)
        let expected = try serial(6)
        let end = ContinuousClock.now + .seconds(20)
        while parallel.helpCount < 30 && ContinuousClock.now < end {
            let frames = 1_024
            #expect(
                render(renderer, frames: frames, cycles: [64], isOffline: true)
                    == render(expected, frames: frames, cycles: [64], isOffline: true))
        }
        #expect(parallel.helpCount >= 30)
        #expect(parallel.workerCount == 2)
    }

    @Test("It pays or it does not: the same samples, and no thread is woken for little")
    func worthwhile() throws {
        let parallel = try parallel(4, workers: 2, worthwhile: .max)
        let expected = render(try serial(4), frames: 5000, cycles: [64], isOffline: true)
        #expect(render(try outer(parallel), frames: 5000, cycles: [64], isOffline: true) == expected)
        #expect(parallel.helpCount == 0)
    }

    @Test("Workers that end in the middle are not missed")
    func workersEnd() throws {
        let parallel = try parallel(5, workers: 3)
        let renderer = try outer(parallel)
        let expected = try serial(5)
        for turn in 0..<6 {
            if turn == 3 { parallel.stopWorkers() }
            #expect(
                render(renderer, frames: 3000, cycles: [64], isOffline: false)
                    == render(expected, frames: 3000, cycles: [64], isOffline: false))
        }
        #expect(parallel.workerCount == 0)
    }

    @Test("A branch can be exchanged while it runs, and the old one is released")
    func exchange() async throws {
        @Sendable func constant(_ value: Float) throws -> Renderer {
            let constant = Constant(value)
            return try Renderer(channels: 1, layout: smallLayout) { context in
                context.run(constant)
                context.output()
            }
        }
        weak var old: Renderer?
        let parallel: Parallel
        do {
            let first = try constant(1)
            old = first
            parallel = Parallel([first, try constant(10)], workers: 1, priority: 0, worthwhile: 0)
        }
        let renderer = try Renderer(channels: 1, layout: smallLayout) { context in
            context.run(parallel)
            context.mix(2)
            context.output()
        }
        #expect(renderer.next(8)[0] == 8.of(11))
        let (ends, wrong) = (Counter(), Counter())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while ends.value == 0 {
                    let value = renderer.next(8)[0][0]
                    if value < 11 || value > 40 { wrong.add() }
                }
            }
            group.addTask {
                for turn in 0..<200 {
                    if let next = try? constant(Float(1 + turn % 30)) { parallel[0] = next }
                }
                ends.add()
            }
        }
        #expect(wrong.value == 0)
        parallel[0] = try constant(5)
        #expect(renderer.next(8)[0] == 8.of(15))
        #expect(try await eventually { old == nil })
    }

    @Test("Branches get the outer renderer's rate, also later, and keep their channels")
    func rate() throws {
        let mono = try branch(0, channels: 1)
        let stereo = try branch(1)
        let parallel = Parallel([mono, stereo], workers: 1, priority: 0)
        let counts = Shared<[Int]>([])
        let renderer = try Renderer(sampleRate: 32_000, layout: smallLayout) { context in
            context.run(parallel)
            if !context.isDryRun { counts.value = [context.channelCount(at: 1), context.channelCount(at: 0)] }
            context.mix(2)
            context.output()
        }
        #expect(mono.sampleRate == 32_000 && stereo.sampleRate == 32_000)
        renderer.configure(sampleRate: 96_000)
        #expect(mono.sampleRate == 96_000 && stereo.sampleRate == 96_000)
        _ = renderer.next(8)
        #expect(counts.value == [1, 2])
        let third = try branch(2)
        parallel[1] = third
        #expect(third.sampleRate == 96_000 && parallel[1] === third)
    }

    @Test("More branches than the stack has room for: a fault and silence, and it goes on when there is room again")
    func full() throws {
        let list = try (0..<6).map { _ in
            let constant = Constant(1)
            return try Renderer(channels: 1, layout: smallLayout) { context in
                context.run(constant)
                context.output()
            }
        }
        let parallel = Parallel(list, workers: 2, priority: 0, worthwhile: 0)
        let isFull = Shared(false)
        let renderer = try Renderer(channels: 1, layout: smallLayout) { context in
            if isFull.value { context.pushUninitialized(5, channels: 1) }
            context.run(parallel)
            context.mix(6)
            context.output()
        }
        #expect(renderer.next(8)[0] == 8.of(6))
        isFull.value = true
        #expect(renderer.next(8)[0] == 8.of(0))
        #expect(renderer.faultCount > 0)
        isFull.value = false
        #expect(renderer.next(8)[0] == 8.of(6))
    }

    @Test("A renderer that is a branch of itself by mistake: silence and a fault, and it comes to an end")
    func itself() async throws {
        let renderer = Renderer(layout: smallLayout)
        let other = Renderer(layout: smallLayout)
        let parallel = Parallel([renderer, other], workers: 1, priority: 0, worthwhile: 0)
        let steps = Counter()
        Thread.detachNewThread {
            try? renderer.replaceLoop { context in
                context.run(parallel)
                context.mix(2)
                context.output()
            }
            steps.add()
            _ = renderer.next(8)
            steps.add()
        }
        try #require(try await eventually { steps.value == 2 })
        #expect(renderer.faultCount > 0)
        renderer.removeLoop()
    }

    @Test(
        "Every thread that renders flushes denormal numbers to zero, as the render thread does",
        arguments: [false, true])
    func denormals(areOff: Bool) throws {
        let list = try (0..<4).map { _ in
            // 1e-20 squared is a denormal number.
            let (tiny, gain) = (Constant(1e-20), Scaling(1e-20))
            return try Renderer(channels: 1, layout: smallLayout) { context in
                context.run(tiny)
                context.run(gain)
                context.output()
            }
        }
        let parallel = Parallel(list, workers: 2, priority: 0, worthwhile: 0)
        let sums = Shared<[Float]>([])
        let renderer = try Renderer(channels: 1, layout: smallLayout) { context in
            context.run(parallel)
            if !context.isDryRun { sums.value = (0..<4).map { context.contents(at: $0)[0][0] } }
            context.pop(4)
        }
        let end = ContinuousClock.now + .seconds(20)
        var wrong = 0
        while parallel.helpCount < 20 && ContinuousClock.now < end {
            let word = areOff ? crender_denormals_off() : crender_denormals_word()
            _ = renderer.next(8)
            let heard = sums.value
            crender_denormals_restore(word)
            if !heard.allSatisfy({ areOff ? $0 == 0 : $0 > 0 }) { wrong += 1 }
        }
        #expect(wrong == 0 && parallel.helpCount >= 20)
    }

    @Test("Live: by the clock, with real-time priority where that is allowed")
    func live() async throws {
        let parallel = Parallel(try (0..<3).map { try branch($0) }, workers: 2, priority: 60, worthwhile: 0)
        let renderer = try outer(parallel)
        let output = ClockOutput(renderer, period: 128)
        try output.start()
        #expect(try await eventually { renderer.sampleTime > 24_000 })
        output.stop()
        #expect(renderer.faultCount == 0)
        #expect(parallel.realtimeWorkerCount <= parallel.workerCount)
        _ = renderer.renderOffline(frames: 1000)
    }

    @Test(
        "A thread knows whether it renders: in the loop and on workers, not where modules are prepared or cycles are taken"
    )
    func isOnRenderThread() throws {
        let (rendered, prepared) = (Record<Bool>(), Record<Bool>())
        let branches = try (0..<8).map { _ in
            let module = ClosureModule(.generates, prepare: { _ in prepared.add(Renderer.isOnRenderThread) }) {
                context in
                if !context.isDryRun {
                    rendered.add(Renderer.isOnRenderThread)
                    usleep(200)
                }
                context.push(channels: 1)
            }
            return try Renderer(channels: 1) { context in
                context.run(module)
                context.output()
                context.pop()
            }
        }
        let parallel = Parallel(branches, workers: 2, priority: 0, worthwhile: 0)
        let renderer = try Renderer(channels: 1) { context in
            context.run(parallel)
            context.pop(8)
        }
        _ = renderer.renderOffline(frames: 640, cycle: 64)
        #expect(rendered.all == Array(repeating: true, count: 80))
        #expect(Set(prepared.all) == [false])
        #expect(!Renderer.isOnRenderThread)
    }
}

/// Multiplies, without a limit to its factor.
private final class Scaling: Effect {
    let factor: Float
    init(_ factor: Float) { self.factor = factor }
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] *= factor }
    }
}
