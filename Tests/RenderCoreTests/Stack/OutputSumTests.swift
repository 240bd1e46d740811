import Testing

@testable import RenderCore

/// What is on an output at the end of a slice: the sum of all that was put there, from +0 on, whatever its memory held.
@Suite struct OutputSumTests {
    private typealias Values = [[Float]]

    /// Renders frames into memory that is full of numbers which must not be heard, and returns the bits of each channel.
    private func bits(_ renderer: Renderer, channels: Int, frames: Int = 8, cycle: Int = 8) -> [[UInt32]] {
        var block = AudioBlock([[Float]](repeating: [Float](repeating: .nan, count: frames), count: channels))
        for first in stride(from: 0, to: frames, by: cycle) {
            renderer.render(into: &block, from: first, frames: min(cycle, frames - first), hostTime: 0, isOffline: true)
        }
        return (0..<channels).map { block.array($0).map(\.bitPattern) }
    }

    /// Renders one slice of a closure, to outputs of four channels, of one and of two.
    private func slice(_ body: @escaping @Sendable (inout RenderContext) -> Void) throws -> (Values, faults: Int) {
        let renderer = try make(body)
        return (bits(renderer, channels: 7).map { $0.map(Float.init(bitPattern:)) }, renderer.faultCount)
    }

    private func make(_ body: @escaping @Sendable (inout RenderContext) -> Void) throws -> Renderer {
        try Renderer(channels: 4, auxiliaryOutputs: [1, 2], layout: smallLayout) { context in
            if !context.isDryRun { body(&context) }
        }
    }

    private static let nothing = [UInt32](repeating: 0, count: 8)

    @Test("Outputs that nothing reaches, and channels beyond them, are +0") func untouched() throws {
        #expect(bits(try make { _ in }, channels: 9) == [[UInt32]](repeating: Self.nothing, count: 9))
        // Some of the outputs, and some of the channels.
        let some = try make { context in
            context.push([1])
            context.output(to: .auxiliary(1))
            context.output(channels: 1...1)
            context.output(0)
            context.output(2)
        }
        let ones = [UInt32](repeating: Float(1).bitPattern, count: 8)
        let nothing = Self.nothing
        #expect(bits(some, channels: 8) == [nothing, ones, nothing, nothing, ones, nothing, nothing, nothing])
        // Fewer channels in the cycle than the outputs have.
        #expect(bits(some, channels: 2) == [nothing, ones])
    }

    @Test("A buffer that is silent for want of room leaves +0") func silent() throws {
        let renderer = try Renderer(layout: StackLayout(slots: 1, channels: 2, frames: 8)) { context in
            if context.isDryRun { return }
            context.push([5, 5])
            context.push([5, 5])
            context.output()
        }
        #expect(bits(renderer, channels: 2) == [Self.nothing, Self.nothing])
    }

    @Test("-0 becomes +0, as it does in a sum", arguments: 1...4) func negativeZero(channels: Int) throws {
        let renderer = try make { context in
            context.push([Float](repeating: -0.0, count: channels))
            context.output()
            context.output(to: .auxiliary(1))
            context.output(to: .auxiliary(2))
            context.output(to: .auxiliary(2))
        }
        #expect(bits(renderer, channels: 7) == [[UInt32]](repeating: Self.nothing, count: 7))
    }

    @Test("Two calls add up, to all channels and to ranges that overlap") func twoCalls() throws {
        let (sums, faults) = try slice { context in
            context.push([1, 2, 3, 4])
            context.push([10])
            context.output(channels: 0...1)
            context.output(channels: 1...2)
            context.output(2)
            context.output(to: .auxiliary(1))
            context.output(2, to: .auxiliary(1))
            context.output(2, to: .auxiliary(2), channels: 0...1)
            context.output(to: .auxiliary(2), channels: 1...1)
        }
        #expect(sums == [8.of(21), 8.of(32), 8.of(23), 8.of(14), 8.of(30), 8.of(11), 8.of(22)])
        #expect(faults == 0)
    }

    @Test("Parts of a slice reach their frames alone, in any order", arguments: [[0, 2, 4], [4, 0, 2], [2, 2, 0]])
    func parts(offsets: [Int]) throws {
        let (sums, faults) = try slice { context in
            for offset in offsets {
                context.subBlock(offset: offset, length: 3) { context in
                    context.push([1])
                    context.output()
                    context.pop()
                }
            }
        }
        let expected = (0..<8).map { frame in Float(offsets.count { ($0..<$0 + 3).contains(frame) }) }
        #expect(sums[..<4].allSatisfy { $0 == expected } && sums[4...].allSatisfy { $0 == 8.of(0) })
        #expect(faults == 0)
    }

    @Test("Random calls have the bits of sums that begin at +0") func random() throws {
        for seed in 0..<(300 as UInt64) {
            let renderer = Renderer(channels: 4, auxiliaryOutputs: [1, 2], layout: smallLayout)
            let model = Shared(Values(repeating: 20.of(0), count: 7))
            let (random, done) = (Shared(SplitMix64(seed)), Shared(0))
            try renderer.replaceLoop { context in
                if context.isDryRun { return }
                for _ in 0..<random.value.in(0...5) { Self.call(&context, &random.value, &model.value) }
                done.value += context.frameCount
            }
            // Slices of 16 frames and of 4.
            let heard = bits(renderer, channels: 7, frames: 20, cycle: 20)
            #expect(done.value == 20)
            #expect(heard == model.value.map { $0.map(\.bitPattern) }, "seed \(seed)")
        }
    }

    /// Outputs a buffer, in a part of the slice too, and does the same to the model's sums.
    private static func call(_ context: inout RenderContext, _ random: inout SplitMix64, _ sums: inout Values) {
        let kinds: [Float] = [-0.0, 0, 0.1, -0.3, .leastNonzeroMagnitude, 3]
        let values = (0..<random.in(1...4)).map { _ in kinds[random.in(0...5)] }
        let number = random.in(0...2)
        let (first, count) = [(0, 4), (4, 1), (5, 2)][number]
        let low = random.oneIn(2) ? 0 : random.in(0...(count - 1))
        let range = low...(low == 0 && random.oneIn(2) ? count - 1 : random.in(low...(count - 1)))
        let begin = random.oneIn(2) ? 0 : random.in(0...(context.frameCount - 1))
        let length = begin == 0 && random.oneIn(2) ? context.frameCount : random.in(0...(context.frameCount - begin))
        let start = Int(context.sampleTime) + begin
        context.subBlock(offset: begin, length: length) { context in
            context.push(values)
            context.output(to: number == 0 ? .main : .auxiliary(number), channels: range)
            context.pop()
        }
        let pairs = values.count == 1 ? range.count : range.count == 1 ? values.count : min(values.count, range.count)
        for pair in 0..<pairs {
            let channel = first + range.lowerBound + (range.count == 1 ? 0 : pair)
            for frame in start..<start + length { sums[channel][frame] += values[values.count == 1 ? 0 : pair] }
        }
    }

    @Test(
        "A sample that is not finite silences its channel for the slice, whichever call brings it: one fault",
        arguments: 0...2, [Float.nan, .infinity])
    func notFinite(bad: Int, value: Float) async throws {
        let renderer = try make { context in
            for call in 0...2 {
                context.push([1, 1, 1, 1])
                if call == bad && context.sampleTime == 8 {
                    var top = context.top
                    var samples = top[2]
                    samples[5] = value
                }
                context.output()
                context.output(to: .auxiliary(2))
            }
        }
        var heard: [[UInt32]] = []
        let faults = try await faults(of: renderer, count: 1) {
            heard = bits(renderer, channels: 7, frames: 24)
        }
        let (all, broken) = (24.of(3), 8.of(3) + 8.of(0) + 8.of(3))
        #expect(heard == [all, all, broken, all, 24.of(0), all, all].map { $0.map(\.bitPattern) })
        #expect(faults.map(\.kind) == [.notFinite] && faults.first?.sampleTime == 8 && renderer.faultCount == 1)
    }

    @Test("A sum that overflows is silent too") func overflow() throws {
        let (sums, faults) = try slice { context in
            context.push([3e38, 1])
            context.output(channels: 0...3)
            context.output()
            context.output(to: .auxiliary(1))
        }
        #expect(sums == [8.of(0), 8.of(2)] + [8.of(0), 8.of(0)] + [8.of(3e38), 8.of(0), 8.of(0)])
        #expect(faults == 1)
    }

    @Test("What a message puts on the output is part of the sum, at its frame") func messages() throws {
        let renderer = try make { context in
            context.push([1])
            context.output()
        }
        let message: RenderLoop = { context in
            context.push([10])
            context.output(channels: 0...1)
            context.output(to: .auxiliary(1))
            context.pop()
        }
        try renderer.messages.send(message)
        try renderer.transaction(at: .sample(5)) { try renderer.messages.send(message) }
        let (with, other): ([Float], [Float]) = ([11, 1, 1, 1, 1, 11, 1, 1], [10, 0, 0, 0, 0, 10, 0, 0])
        let expected = [with, with, 8.of(1), 8.of(1), other, 8.of(0), 8.of(0)]
        #expect(bits(renderer, channels: 7) == expected.map { $0.map(\.bitPattern) })
        #expect(renderer.faultCount == 0)
    }

    /// An effect that outputs when it is reset.
    private final class Loud: Effect {
        @_noLocks @_noAllocation func process(_ context: inout RenderContext) {}
        func reset(_ context: inout RenderContext) {
            context.push(channels: 1)
            var top = context.top
            var samples = top[0]
            for i in samples.indices { samples[i] = 7 }
            context.output()
            context.pop()
        }
    }

    @Test("A module that is reset before a cycle has its channels reaches none, nor those of the last cycle")
    func resetOutside() throws {
        let loud = Loud()
        let renderer = try Renderer(layout: smallLayout) { context in
            context.push([1])
            context.run(loud)
            context.output()
        }
        let first = AudioBlock(channels: 2, frames: 8)
        let second = AudioBlock(channels: 2, frames: 8)
        func render(into block: borrowing AudioBlock, resets: Bool) {
            renderer.state.render(
                frames: 8, into: UnsafeBufferPointer(start: UnsafePointer(block.pointers), count: 2), hostTime: 0,
                isOffline: true, resets: resets)
        }
        render(into: first, resets: false)
        render(into: second, resets: true)
        let heard = (0...1).map { first.array($0) + second.array($0) }
        #expect(heard == [16.of(1), 16.of(1)])
        #expect(renderer.faultCount == 0)
    }

    @Test("A driver that may not render gets +0") func busy() throws {
        let renderer = try make { context in
            context.push([1])
            context.output()
        }
        let driver = try renderer.beginDriving(as: "another")
        #expect(bits(renderer, channels: 7) == [[UInt32]](repeating: Self.nothing, count: 7))
        #expect(renderer.faultCount == 1)
        renderer.endDriving(driver)
    }

    @Test("Loops that put nothing on an output are cross-faded as silence", arguments: [(0, 1), (1, 0), (0, 0)])
    func change(from old: Int, to new: Int) throws {
        func loop(_ count: Int) -> RenderLoop {
            { context in
                context.push([1])
                for _ in 0..<count { context.output(channels: 1...2) }
                context.pop()
            }
        }
        let renderer = Renderer(channels: 4, auxiliaryOutputs: [1, 2], layout: smallLayout)
        let leaving = LoopChange.Leaving(loop(old), modules: [], fade: 7, ring: 0)
        let change = LoopChange(
            to: loop(new), modules: [], leaving: [leaving], layout: smallLayout, outputs: [4, 1, 2])
        try renderer.replaceLoop { context in change.run(&context) }
        let gains = (0..<24).map { leaving.remains(at: $0) }
        let expected = gains.map { Float(new) * (1 - $0) + Float(old) * $0 }
        let heard = bits(renderer, channels: 7, frames: 24, cycle: 8).map { $0.map(Float.init(bitPattern:)) }
        #expect(heard == [24.of(0), expected, expected, 24.of(0), 24.of(0), 24.of(0), 24.of(0)])
        #expect(renderer.faultCount == 0)
    }

    @Test("The output is taken as silence if nothing is there yet, and is empty then") func taken() throws {
        let seen = Shared<Values>([])
        let (sums, faults) = try slice { context in
            context.takeOutput()
            seen.value += context.contents()
            context.push([2])
            context.output()
            context.takeOutput()
            seen.value += context.contents()
            context.push([3])
            context.output(channels: 0...0)
        }
        #expect(seen.value == [8.of(0), 8.of(0), 8.of(0), 8.of(0), 8.of(2), 8.of(2), 8.of(2), 8.of(2)])
        #expect(sums == [8.of(3), 8.of(0), 8.of(0), 8.of(0), 8.of(0), 8.of(0), 8.of(0)])
        #expect(faults == 0)
    }
}
