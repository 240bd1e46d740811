import RenderStack
import TestSupport
import Testing

@testable import RenderCore
@testable import Supply

/// Inputs, MIDI and transport of an output reach the renderers inside of its renderer, on the same frames.
@Suite struct PassedSupplyTests {
    @Test("A splitter around an input is heard, in every place", arguments: cycleLengths)
    func splitter(cycles: [Int]) throws {
        let input = AudioInput(channels: 2)
        let splitter = try Splitter(input)
        let renderer = try Renderer(channels: 4, layout: StackLayout(frames: 100)) { context in
            context.run(splitter)
            context.output(channels: 0...1)
            context.pop()
            context.run(splitter)
            context.output(channels: 2...3)
        }
        #expect(renderer.inputs.map { ObjectIdentifier($0) } == [ObjectIdentifier(input)])
        let output = SupplyDriver(input: input).drive(renderer, cycles: cycles, frames: 3_000).sound
        #expect(output[0] == counted(1...3_000) && output[1] == counted(10_001...13_000))
        #expect(output[2] == output[0] && output[3] == output[1])
        #expect(renderer.faultCount == 0 && splitter.renderer.faultCount == 0)
    }

    @Test(
        "So is one whose first place is in a renderer inside of others, and in a part of a slice",
        arguments: [true, false]
    )
    func splitterInside(innerFirst: Bool) throws {
        let input = AudioInput(channels: 1)
        let splitter = try Splitter(input)
        let again = Splitter(sharing: splitter)
        let inner = try Renderer(channels: 1, layout: StackLayout(frames: 33)) { context in
            context.run(again)
            context.output()
        }
        let outer = SubRenderer(
            try Renderer(channels: 1) { [sub = SubRenderer(inner)] context in
                context.run(sub)
                context.output()
            })
        let renderer = try Renderer(channels: 2, layout: StackLayout(frames: 100)) { context in
            if innerFirst {
                context.run(outer)
                context.output(channels: 0...0)
            }
            for part in [0..<context.frameCount / 2, context.frameCount / 2..<context.frameCount] where !part.isEmpty {
                context.subBlock(offset: part.lowerBound, length: part.count) { context in
                    context.run(splitter)
                    context.output(channels: 1...1)
                    context.pop()
                }
            }
            if !innerFirst {
                context.run(outer)
                context.output(channels: 0...0)
            }
        }
        #expect(renderer.inputs.count == 1)
        let output = SupplyDriver(input: input).drive(renderer, cycles: [256, 77], frames: 2_000).sound
        #expect(output[0] == counted(1...2_000))
        #expect(output[1] == output[0])
        #expect(renderer.faultCount == 0 && inner.faultCount == 0 && splitter.renderer.faultCount == 0)
    }

    @Test("MIDI and the transport reach a renderer inside, on their frames")
    func events() throws {
        let keys = MIDIInput()
        let port = MessagePort<SIMD2<Int64>>(capacity: 1_024)
        let inner = try Renderer(channels: 1, layout: StackLayout(frames: 40)) { context in
            context.forEachEvent(from: keys) { event, context in
                port.send([context.sampleTime + Int64(event.frame), context.transport.frame])
            }
        }
        let sub = SubRenderer(inner)
        let renderer = try Renderer(channels: 1) { context in
            context.run(sub)
            context.output()
        }
        _ = SupplyDriver(input: AudioInput(), keys: keys, notes: [128, 256 + 38])
            .drive(renderer, cycles: [256, 77], frames: 333)
        var seen: [SIMD2<Int64>] = []
        port.drain { seen.append($0) }
        #expect(seen == [[128, 128], [256 + 38, 256 + 38]])
    }

    /// A way to put a renderer into another one.
    enum Place: CaseIterable { case sub, insert, parallel, insertInParallel, parallelInSub }

    /// Makes a piece of a render loop that pushes the renderer's buffer.
    ///
    /// - Parameter filled: The input that an insert fills.
    private func piece(_ renderer: Renderer, _ place: Place, filled: AudioInput) throws -> RenderLoop {
        func inside(_ piece: @escaping RenderLoop) throws -> Renderer {
            try Renderer(channels: 1, layout: StackLayout(frames: 70)) { context in
                piece(&context)
                context.output()
            }
        }
        switch place {
        case .sub:
            let sub = SubRenderer(renderer)
            return { $0.run(sub) }
        case .insert:
            let (noise, insert) = (Noise(), Insert(renderer, input: filled))
            return { context in
                context.run(noise)
                context.run(insert)
            }
        case .parallel:
            let parallel = Parallel([renderer, Renderer(channels: 1)], workers: 1, priority: 0)
            return { context in
                context.run(parallel)
                context.pop()
            }
        case .insertInParallel:
            return try piece(inside(piece(renderer, .insert, filled: filled)), .parallel, filled: filled)
        case .parallelInSub:
            return try piece(inside(piece(renderer, .parallel, filled: filled)), .sub, filled: filled)
        }
    }

    @Test(
        "Sound, notes and transport reach a renderer in each module of the same clock, and its messages come out",
        arguments: Place.allCases)
    func everywhere(_ kind: Place) throws {
        let (input, keys, port) = (AudioInput(channels: 1), MIDIInput(), MIDIOutput())
        let filled = AudioInput(channels: 1)
        let heard = MessagePort<SIMD2<Int64>>(capacity: 1_024)
        let inner = try Renderer(channels: 1, layout: StackLayout(frames: 40)) { context in
            context.forEachEvent(from: keys) { event, context in
                heard.send([context.sampleTime + Int64(event.frame), context.transport.frame])
                context.send(event.message, at: event.frame, to: port)
            }
            context.run(filled)
            context.pop()
            context.run(input)
            context.output()
        }
        let piece = try piece(inner, kind, filled: filled)
        let renderer = try Renderer(channels: 1, layout: StackLayout(frames: 100)) { context in
            piece(&context)
            context.output()
        }
        let known = renderer.inputs.map { ObjectIdentifier($0) }
        let isInsert = kind == .insert || kind == .insertInParallel
        #expect(known == (isInsert ? [input] : [filled, input]).map { ObjectIdentifier($0) })
        #expect(renderer.latencies(from: input) == 0...0)
        let driver = SupplyDriver(input: input, keys: keys, port: port, notes: [0, 128, 256 + 38, 900])
        let (sound, sent) = driver.drive(renderer, cycles: [256, 77], frames: 1_000)
        #expect(sound[0] == counted(1...1_000))
        var seen: [SIMD2<Int64>] = []
        heard.drain { seen.append($0) }
        #expect(seen == driver.notes.map { [Int64($0), Int64($0)] })
        #expect(sent.map(\.frame) == driver.notes)
        #expect(renderer.faultCount == 0 && inner.faultCount == 0 && input.isConnected)
    }

    @Test("Messages of branches come out in the order of the branches, whichever thread renders them")
    func messagesOfBranches() throws {
        let port = MIDIOutput()
        let branches = try (0..<4).map { branch in
            try Renderer(channels: 1) { context in
                for frame in [9, 3] {
                    context.send(.noteOn(channel: 0, note: UInt8(branch), velocity: 1), at: frame, to: port)
                }
            }
        }
        let parallel = Parallel(branches, workers: 3, priority: 0)
        let renderer = try Renderer(channels: 1) { context in
            context.run(parallel)
            context.pop(4)
        }
        let driver = SupplyDriver(input: AudioInput(), port: port)
        let sent = driver.drive(renderer, cycles: [64], frames: 64 * 50).sent
        let expected = (0..<50).flatMap { cycle in
            [3, 9].flatMap { frame in
                (0..<4).map {
                    MIDIEvent(frame: 64 * cycle + frame, .noteOn(channel: 0, note: UInt8($0), velocity: 1))
                }
            }
        }
        #expect(sent == expected)
    }

    @Test("A send in a renderer inside brings an input to a bus outside")
    func bus() throws {
        let (input, bus) = (AudioInput(channels: 1), Bus(channels: 1))
        let send = bus.send(0.5)
        let sub = SubRenderer(
            try Renderer(channels: 1) { context in
                context.run(input)
                context.run(send)
            })
        let renderer = try Renderer(channels: 1) { context in
            context.run(sub)
            context.pop()
            context.run(bus)
            context.output()
        }
        let sound = SupplyDriver(input: input).drive(renderer, cycles: [256, 77], frames: 1_000).sound
        #expect(sound[0] == counted(1...1_000).map { $0 / 2 })
    }

    @Test("The way from an input in a splitter to an output has the latency of what is behind it")
    func latency() throws {
        let input = AudioInput()
        let (splitter, limiter) = (try Splitter(input), Limiter(ceiling: -1))
        let renderer = try Renderer { context in
            context.run(splitter)
            context.run(limiter)
            context.output()
        }
        let late = limiter.latency(at: renderer.sampleRate)
        #expect(late > 0 && renderer.latencies(from: input) == late...late)
        #expect(renderer.latencies(from: AudioInput()) == nil)
    }

    @Test("A renderer inside of itself has inputs once, and an end")
    func circle() throws {
        let (a, b) = (Renderer(), Renderer())
        let input = AudioInput()
        let (toA, toB) = (SubRenderer(a), SubRenderer(b))
        try a.replaceLoop { context in
            context.run(toB)
            context.run(input)
            context.mix(2)
            context.output()
        }
        try b.replaceLoop { context in
            context.run(toA)
            context.output()
        }
        #expect(a.inputs.count == 1 && b.inputs.count == 1)
    }

    /// The sentences of the first events; there is at least one, because the renderer is configured.
    private func notices(_ loop: @escaping RenderLoop) async throws -> [String] {
        let renderer = Renderer(channels: 2)
        let events = renderer.events
        try renderer.replaceLoop(loop)
        renderer.configure(sampleRate: 44_100)
        var notices: [String] = []
        for await event in events {
            if case .notice(let sentence) = event { notices.append(sentence) }
            if case .configured = event { break }
        }
        return notices
    }

    @Test("What is made for several places may run in several, without a notice")
    func repeatable() async throws {
        let folder = try TemporaryFolder()
        let bus = Bus()
        let send = bus.send()
        let modules: [any Module] = [
            try Splitter(Noise()), bus, send, LevelMeter(mixing: true), AudioInput(),
            try FileRecorder(path: "\(folder.path)/take.wav", isMultiSource: true),
        ]
        for module in modules {
            let list = AnyRunner(module)
            let told = try await notices { context in
                context.push()
                list.run(&context)
                list.run(&context)
                context.mixAll()
                context.output()
            }
            #expect(told == [], "\(module.name)")
        }
        for module: any Module in [LevelMeter(), Noise(), Delay()] {
            let list = AnyRunner(module)
            let told = try await notices { context in
                context.push()
                list.run(&context)
                list.run(&context)
                context.mixAll()
                context.output()
            }
            #expect(told.count == 1 && told[0].contains("runs more than once"), "\(module.name)")
        }
    }
}
