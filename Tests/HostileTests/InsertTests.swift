import RenderStack
import TestSupport
import Testing

/// A renderer inside of another that works on what the outer one has on its stack.
@Suite struct InsertTests {
    private func outer(_ source: some Module, _ insert: Insert, channels: Int = 1) throws -> Renderer {
        try Renderer(channels: channels) { context in
            context.run(source)
            context.run(insert)
            context.output()
        }
    }

    @Test("The inner closure works on the very frames of the outer one", arguments: cycleLengths, [5, 512])
    func exact(cycles: [Int], slice: Int) throws {
        let (input, scale, offset) = (AudioInput(channels: 1), Scale(2), Constant(1000))
        let inner = try Renderer(channels: 1, layout: StackLayout(slots: 4, channels: 1, frames: slice)) { context in
            context.run(input)
            context.run(scale)
            context.run(offset)
            context.mix(2)
            context.output()
        }
        let renderer = try outer(Counter(), Insert(inner, input: input))
        #expect(
            render(renderer, frames: 5_000, cycles: cycles)[0]
                == counted(1...5_000).map { (number: Float) in 2 * number + 1000 })
        #expect(renderer.faultCount == 0 && inner.faultCount == 0 && inner.sampleTime == 5_000)
        #expect(renderer.latency == 0)
    }

    @Test("Channels follow the rule of mixing, on the way in and on the way out")
    func channels() throws {
        func sums(_ source: Int, _ input: Int, _ output: Int) throws -> [Float] {
            let input = AudioInput(channels: input)
            let inner = try Renderer(channels: output) { context in
                context.run(input)
                context.output()
            }
            let renderer = try outer(Constant(1, channels: source), Insert(inner, input: input), channels: output)
            let sound = render(renderer, frames: 4)
            #expect(renderer.faultCount == 0 && inner.faultCount == 0)
            return sound.map { $0[3] }
        }
        #expect(try sums(1, 2, 2) == [1, 1])
        #expect(try sums(2, 1, 1) == [2])
        #expect(try sums(2, 1, 2) == [2, 2])
        #expect(try sums(2, 4, 4) == [1, 1, 0, 0])
        #expect(try sums(3, 3, 2) == [1, 1])
        // The input has as many channels as the outer stack has at most: more of them are a fault and not a crash.
        let wide = AudioInput(channels: 64)
        let inner = try Renderer { context in
            context.run(wide)
            context.output()
        }
        let renderer = try outer(Constant(1, channels: 2), Insert(inner, input: wide), channels: 2)
        _ = render(renderer, frames: 64)
    }

    @Test("With several inputs it takes as many buffers, in the order in which they were pushed")
    func several() throws {
        let (music, voice) = (AudioInput(channels: 1), AudioInput(channels: 1))
        let inner = try Renderer(channels: 2) { context in
            context.run(music)
            context.output(channels: 0...0)
            context.run(voice)
            context.output(channels: 1...1)
        }
        let insert = Insert(inner, inputs: [music, voice])
        let (first, second, below) = (Constant(1), Constant(2), Constant(10))
        let renderer = try Renderer { context in
            context.run(below)
            context.run(first)
            context.run(second)
            context.run(insert)
            context.mix(2)
            context.output()
        }
        #expect(render(renderer, frames: 4) == [[11, 11, 11, 11], [12, 12, 12, 12]])
        #expect(renderer.faultCount == 0)
    }

    @Test("The latency is that from the input to the inner output")
    func latency() throws {
        let (input, late) = (AudioInput(channels: 1), Late(32))
        let inner = try Renderer(channels: 1) { context in
            context.run(input)
            context.run(late)
            context.output()
        }
        let insert = Insert(inner, input: input)
        let renderer = try outer(Click(at: 5), insert)
        #expect(insert.latency(at: 48_000) == 32 && renderer.latency == 32)
        #expect(render(renderer, frames: 64)[0].firstIndex(of: 1) == 37)
    }

    @Test("In a part of a slice it edits that part alone, and in a list and a module it is an effect like others")
    func places() throws {
        func double() throws -> Insert {
            let (input, scale) = (AudioInput(channels: 1), Scale(2))
            return Insert(
                try Renderer(channels: 1) { context in
                    context.run(input)
                    context.run(scale)
                    context.output()
                }, input: input)
        }
        let (part, list, counter) = (try double(), ModuleList(chaining: [try double(), try double()]), Counter())
        let pair = Pair(try double(), Scale(1))
        let renderer = try Renderer(channels: 1) { context in
            context.run(counter)
            context.subBlock(offset: 2, length: context.frameCount - 2) { context in context.run(part) }
            context.run(list)
            context.run(pair)
            context.output()
        }
        #expect(render(renderer, frames: 4)[0] == [8, 16, 48, 64])
        #expect(renderer.faultCount == 0)
    }

    @Test("An event says that an input is not in the inner loop; an insert inside of itself is silent")
    func mistakes() async throws {
        let (input, other) = (AudioInput(channels: 1, name: "lost"), AudioInput(channels: 1))
        let inner = try Renderer(channels: 1) { context in
            context.run(other)
            context.output()
        }
        let told = Notes<String>()
        let subscription = inner.by({ $0() }) { told.add($0.description) }
        defer { subscription.cancel() }
        let renderer = try outer(Counter(), Insert(inner, input: input))
        #expect(render(renderer, frames: 8)[0] == [Float](repeating: 0, count: 8))
        #expect(await becomesTrue(30) { told.all.contains { $0.contains("lost") } })

        let (round, source) = (Renderer(channels: 1), Counter())
        let insert = Insert(round, input: input)
        try round.replaceLoop { context in
            context.run(source)
            context.run(insert)
            context.output()
        }
        #expect(round.latency >= 0)
        #expect(render(round, frames: 8)[0] == [Float](repeating: 0, count: 8) && round.faultCount > 0)
    }

    @Test("An insert without room on the stack is silent, with a fault, and its inner clock stands")
    func full() throws {
        let input = AudioInput(channels: 1)
        let inner = try Renderer(channels: 1) { context in
            context.run(input)
            context.output()
        }
        let (insert, counter) = (Insert(inner, input: input), Counter())
        let renderer = try Renderer(channels: 1, layout: StackLayout(slots: 1, channels: 1, frames: 64)) { context in
            context.run(counter)
            context.run(insert)
            context.output()
        }
        #expect(render(renderer, frames: 8)[0] == [Float](repeating: 0, count: 8))
        #expect(renderer.faultCount > 0 && inner.sampleTime == 0)
    }

    @Test("The inner renderer can be exchanged while it plays")
    func exchange() throws {
        let input = AudioInput(channels: 1)
        func make(_ factor: Float) throws -> Renderer {
            let scale = Scale(factor)
            return try Renderer(channels: 1) { context in
                if factor == 2 { context.run(input) } else { context.push(channels: 1) }
                context.run(scale)
                context.output()
            }
        }
        let insert = Insert(try make(2), input: input)
        let renderer = try outer(Constant(1), insert)
        #expect(render(renderer, frames: 2)[0] == [2, 2])
        insert.renderer = try make(3)
        #expect(render(renderer, frames: 2)[0] == [0, 0])
        #expect(insert.renderer.sampleRate == renderer.sampleRate)
    }
}
