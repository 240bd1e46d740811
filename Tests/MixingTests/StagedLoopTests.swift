import RenderStack
import TestSupport
import Testing
import Tones

/// Loops that are exchanged in a transaction: with the other changes, at their frame.
@Suite struct StagedLoopTests {
    /// Pushes a number, times a parameter that does not glide.
    private final class Number: Generator {
        let number: Float
        let level = Parameter(1, in: 0...4, glide: .none)
        init(_ number: Float) { self.number = number }
        func process(_ context: inout RenderContext) {
            var samples = context.pushMono()
            for index in samples.indices { samples[index] = number }
            context.gain(level)
        }
    }

    private func loop(_ number: Float) -> RenderLoop { loop(Number(number)) }

    private func loop(_ number: Number) -> RenderLoop {
        { context in
            context.run(number)
            context.output()
        }
    }

    private func samples(_ renderer: Renderer, _ frames: Int, cycle: Int = 64) -> [Float] {
        Array(renderer.renderOffline(frames: frames, cycle: cycle).array(0))
    }

    @Test(
        "At a time: the first frame of the new loop is that frame, with the other changes", arguments: [1, 7, 64, 512])
    func atTime(cycle: Int) async throws {
        let new = Number(2)
        let renderer = try Renderer(channels: 1, loop(1))
        try renderer.transaction(at: .sample(100)) {
            try renderer.replaceLoop(loop(new))
            new.level.value = 3
        }
        let heard = samples(renderer, 200, cycle: cycle)
        #expect(heard == [Float](repeating: 1, count: 100) + [Float](repeating: 6, count: 100))
        #expect(await becomesTrue { samples(renderer, 8, cycle: cycle) == [Float](repeating: 6, count: 8) })
    }

    @Test("In a plain transaction: in one cycle with the other changes, and not before it is over")
    func plain() throws {
        let new = Number(2)
        let renderer = try Renderer(channels: 1, loop(1))
        try renderer.transaction {
            try renderer.replaceLoop(loop(new))
            #expect(samples(renderer, 4) == [1, 1, 1, 1])
            new.level.value = 3
        }
        #expect(samples(renderer, 4) == [6, 6, 6, 6])
    }

    @Test("A transaction that throws, and one that is called off, leave the old loop")
    func withdrawn() async throws {
        struct Thrown: Error {}
        let renderer = try Renderer(channels: 1, loop(1))
        #expect(throws: Thrown.self) {
            try renderer.transaction {
                try renderer.replaceLoop(loop(2))
                throw Thrown()
            }
        }
        #expect(samples(renderer, 4) == [1, 1, 1, 1])
        let oscillator = Oscillator()
        let event = try renderer.transaction(at: .sample(100)) {
            try renderer.replaceLoop { context in
                context.run(oscillator)
                context.output()
            }
        }
        #expect(renderer.modules.contains { $0 === oscillator })
        event.cancel()
        #expect(samples(renderer, 200) == [Float](repeating: 1, count: 200))
        #expect(await becomesTrue { !renderer.modules.contains { $0 === oscillator } })
    }

    @Test("A loop that is set in between holds until the time; loops for several times follow each other")
    func several() async throws {
        let renderer = try Renderer(channels: 1, loop(1))
        try renderer.transaction(at: .sample(300)) { try renderer.replaceLoop(loop(4)) }
        try renderer.transaction(at: .sample(200)) { try renderer.replaceLoop(loop(3)) }
        try renderer.replaceLoop(loop(2))
        let heard = samples(renderer, 400, cycle: 100)
        let expected = [2, 2, 3, 4].flatMap { [Float](repeating: $0, count: 100) }
        #expect(heard == expected)
        // The newest, whether or not the renderer has forgotten those before.
        try renderer.replaceLoop(loop(5))
        #expect(samples(renderer, 4) == [5, 5, 5, 5])
        renderer.configure(sampleRate: 44_100)
        try await Task.sleep(for: .milliseconds(50))
        #expect(samples(renderer, 4) == [5, 5, 5, 5])
    }

    @Test("A rate that changes while a loop waits changes nothing about its frame; its modules are prepared for it")
    func configured() throws {
        let renderer = try Renderer(channels: 1, loop(1))
        let oscillator = Oscillator(frequency: 441, level: 1)
        try renderer.transaction(at: .sample(100)) {
            try renderer.replaceLoop { context in
                context.run(oscillator)
                context.output()
            }
        }
        renderer.configure(sampleRate: 44_100)
        let heard = samples(renderer, 300)
        #expect(heard[..<100].allSatisfy { $0 == 1 })
        // A hundred frames of 441 Hz at 44,100 Hz are one turn.
        #expect(Set(heard[100..<200]).count > 40)
        #expect(zip(heard[100..<200], heard[200..<300]).allSatisfy { abs($0 - $1) < 1e-5 })
        #expect(heard[100..<200].max()! > 0.99)
        #expect(renderer.faultCount == 0)
    }

    @Test("A loop for another renderer than the transaction's is heard at the same time")
    func otherRenderer() throws {
        let first = try Renderer(channels: 1, loop(1)), second = try Renderer(channels: 1, loop(1))
        try first.transaction(at: .sample(10)) { try second.replaceLoop(loop(2)) }
        #expect(samples(second, 20) == [Float](repeating: 1, count: 10) + [Float](repeating: 2, count: 10))
    }

    @Test(
        "A staged loop and the one before it are freed when it has been heard, and when its renderer is gone")
    func freed() async throws {
        final class Token: Sendable {}
        weak var before: Token?
        weak var after: Token?
        weak var never: Token?
        do {
            var tokens = [Token(), Token(), Token()]
            (before, after, never) = (tokens[0], tokens[1], tokens[2])
            var renderer: Renderer? = try Renderer(channels: 1) { [held = tokens[0]] _ in withExtendedLifetime(held) {}
            }
            try renderer!.transaction(at: .sample(10)) {
                try renderer!.replaceLoop { [held = tokens[1]] _ in withExtendedLifetime(held) {} }
            }
            try renderer!.transaction(at: .sample(100_000)) {
                try renderer!.replaceLoop { [held = tokens[2]] _ in withExtendedLifetime(held) {} }
            }
            tokens = []
            _ = samples(renderer!, 20)
            let staying = renderer!
            #expect(
                await becomesTrue {
                    _ = staying.renderOffline(frames: 1)
                    return before == nil
                })
            #expect(after != nil && never != nil)
            renderer = nil
        }
        #expect(await becomesTrue { after == nil && never == nil })
    }
}
