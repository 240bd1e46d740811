import RenderStack
import TestSupport
import Testing

/// The stack misused in every way that compiles. No dry run judges it, because a real closure may do it behind a condition.
@Suite struct StackAttackTests {
    struct Attack: Sendable, CustomTestStringConvertible {
        let name: String
        let body: RenderLoop
        var testDescription: String { name }
        init(_ name: String, _ body: @escaping RenderLoop) { (self.name, self.body) = (name, body) }
    }

    static let edges: [Int] = [.min, .min + 1, -1_000, -1, 0, 1, 2, 63, 64, 65, 1_000, .max - 1, .max]
    static let numbers: [Float] = [.nan, .infinity, -.infinity, .greatestFiniteMagnitude, -0.0, .leastNonzeroMagnitude]

    static let attacks: [Attack] = [
        Attack("push") { context in for count in edges { context.push(count) } },
        Attack("push with channels") { context in for count in edges { context.push(1, channels: count) } },
        Attack("pushUninitialized") { context in
            for count in edges { context.pushUninitialized(count, channels: count) }
        },
        Attack("pop") { context in for count in edges { context.pop(count) } },
        Attack("remove") { context in
            context.push(3)
            for index in edges { context.remove(at: index) }
        },
        Attack("mix") { context in
            context.push(10)
            for count in edges { context.mix(count) }
        },
        Attack("mix with gains") { context in
            context.push(3)
            context.mix(gains: [.nan, .infinity, 1] as InlineArray<3, Float>)
            context.mix(gains: [] as InlineArray<0, Float>)
            context.mix(gains: InlineArray<70, Float>(repeating: 1))
        },
        Attack("output") { context in
            context.push()
            for count in edges { context.output(count) }
        },
        Attack("output to") { context in
            context.push()
            for number in edges {
                context.output(1, to: .auxiliary(number))
                _ = context.outputChannelCount(.auxiliary(number))
            }
        },
        Attack("output to channels") { context in
            context.push()
            for first in edges { for last in edges where first <= last { context.output(1, channels: first...last) } }
        },
        Attack("outputAll") { context in
            context.push(20)
            for number in edges { context.outputAll(to: .auxiliary(number)) }
        },
        Attack("subBlock") { context in
            context.push()
            for offset in edges {
                for length in edges { context.subBlock(offset: offset, length: length) { $0.push(1) } }
            }
        },
        Attack("subBlock, everything popped") { context in
            context.push(3)
            context.subBlock(offset: 0, length: 1) { context in
                context.popAll()
                context.pop(.max)
                context.push(70)
                context.output()
            }
        },
        Attack("subBlock in subBlock, very deep") { context in
            context.push()
            Self.nest(&context, 500)
        },
        Attack("withExternal from anywhere") { context in
            var block = AudioBlock(channels: 3, frames: 100)
            for first in edges {
                context.withExternal(block, from: first) { context in
                    context.gain(0.5)
                    context.output()
                }
                context.withExternal(editing: &block, from: first) { $0.silence() }
            }
        },
        Attack("withExternal, popped and others pushed") { context in
            let block = AudioBlock(channels: 64, frames: 3)
            context.withExternal(block) { context in
                context.pop()
                context.push(100)
            }
            context.withExternal(block) { context in
                context.duplicate()
                context.swap()
                context.remove(at: 1)
                context.mixAll()
            }
            context.withExternal(AudioBlock(channels: 1, frames: 0)) { $0.gain(2) }
        },
        Attack("withExternal in withExternal, the outer one removed") { context in
            let block = AudioBlock(channels: 2, frames: 50)
            context.withExternal(block) { context in
                context.withExternal(block) { context in
                    context.remove(at: 1)
                    context.subBlock(offset: 1, length: 10) { context in
                        context.popAll()
                        context.push()
                        context.duplicate()
                    }
                }
            }
        },
        Attack("withExternal of more blocks than slots") { context in Self.external(&context, 80) },
        Attack("samples that are not there") { context in
            context.push()
            for index in edges {
                for channel in edges {
                    let samples = context.samples(channel, at: index)
                    var sum: Float = 0
                    for position in samples.indices { sum += samples[position] }
                    _ = context.channelCount(at: index)
                }
            }
        },
        Attack("buffers that are not there") { context in
            context.push()
            for index in edges {
                var buffer = context.buffer(at: index)
                for channel in edges {
                    var samples = buffer[channel]
                    for position in samples.indices { samples[position] = 1 }
                    _ = buffer.samples(channel).count
                }
            }
        },
        Attack("withBuffers at odd places") { context in
            context.push(3)
            for index in edges {
                for other in edges {
                    context.withBuffers(at: index, other) { $0.channelCount == $1.channelCount ? () : () }
                }
            }
        },
        Attack("withTop2 and withTop3 of nothing") { context in
            context.popAll()
            context.withTop2 { top, below in
                var samples = top[0]
                for position in samples.indices { samples[position] = 3 }
                _ = below.samples(5).count
            }
            context.withTop3 { _, _, third in
                var samples = third[63]
                for position in samples.indices { samples[position] = 3 }
            }
        },
        Attack("no buffer at all") { context in
            context.popAll()
            context.duplicate()
            context.swap()
            context.silence()
            context.mixAll()
            context.gain(0.5)
            context.output()
            context.outputAll()
            _ = context.top.channelCount
        },
        Attack("numbers that are none") { context in
            context.push()
            for number in numbers {
                context.gain(number)
                context.gain(Glide(number))
                context.pan(Glide(number))
                context.fade(volume: Glide(number), balance: Glide(number))
            }
            context.output()
        },
        Attack("glides far away") { _ in
            for number in numbers {
                let glide = Glide(number)
                for frame in edges { _ = glide[frame] }
                _ = (glide.start, glide.end, glide.isFlat)
            }
        },
        Attack("infinite samples") { context in
            for number in numbers {
                var samples = context.pushMono()
                for position in samples.indices { samples[position] = number }
                context.output()
            }
        },
        Attack("times at the ends") { context in
            for time in [
                RenderTime.sample(.max), .sample(.min), .host(.max), .host(.min), .immediately,
                RenderTime(sampleTime: .max, hostTime: .min), RenderTime(sampleTime: .min, hostTime: .max),
            ] {
                _ = context.frames(until: time)
                _ = context.frames(from: time, until: .sample(.min))
                _ = context.frames(from: .sample(.max), until: time)
                context.push()
                var top = context.top
                top.time = time
                context.mixAll()
            }
        },
        Attack("more than fits, then all of it") { context in
            for _ in 0..<200 { context.push(1, channels: 64) }
            for _ in 0..<200 { context.duplicate() }
            context.mixAll()
            context.output()
            context.pop(300)
        },
        Attack("empty arrays, and elements that pop") { context in
            context.run([Oscillator]())
            context.add([Oscillator]())
            context.forEach([Int]()) { context, _ in context.push() }
            context.push()
            context.forEach([1, 2, 3]) { context, _ in
                context.popAll()
                context.pop(5)
            }
        },
    ]

    static func nest(_ context: inout RenderContext, _ depth: Int) {
        if depth > 0 { context.subBlock(offset: 0, length: context.frameCount) { nest(&$0, depth - 1) } }
    }

    static func external(_ context: inout RenderContext, _ depth: Int) {
        let block = AudioBlock(channels: 2, frames: 10)
        context.withExternal(block) { context in if depth > 0 { external(&context, depth - 1) } }
    }

    @Test("The stack misused: silence, faults, and finite samples", arguments: attacks)
    func misuse(_ attack: Attack) throws {
        for layout in [
            StackLayout(), StackLayout(slots: 1, channels: 1, frames: 1),
            StackLayout(slots: 3, channels: 64, frames: 64),
        ] {
            let renderer = try Renderer(layout: layout) { context in
                if !context.isDryRun { attack.body(&context) }
            }
            for frames in [1, 5, 64, 200] {
                let block = renderer.renderOffline(frames: frames)
                let finite = isFinite(block)
                #expect(finite)
            }
            // Afterwards the stack is as it was.
            try renderer.replaceLoop { context in
                var samples = context.pushMono()
                for position in samples.indices { samples[position] = 0.25 }
                context.output()
            }
            let after = renderer.renderOffline(frames: 40).array(0)
            #expect(after == [Float](repeating: 0.25, count: 40))
            // The dry run survives it, too.
            try? renderer.replaceLoop(attack.body)
            _ = renderer.renderOffline(frames: 3)
        }
    }

    @Test("Blocks at their edges")
    func blocks() {
        let renderer = Renderer()
        for first in 0...10 {
            for edge in Self.edges {
                var block = AudioBlock(channels: 2, frames: 10)
                renderer.render(into: &block, from: first, frames: 10 - first, hostTime: Int64(edge))
            }
        }
        _ = (renderer.nextRenderTime, renderer.lastRenderTime)
        _ = renderer.renderOffline(frames: 5)
        var empty = AudioBlock(channels: 64, frames: 0)
        renderer.render(into: &empty)
        let peak = empty.peak, isSilent = empty.isSilent
        #expect(peak == 0 && isSilent)
        _ = renderer.renderOffline(frames: 0)
    }
}
