import RenderStack
import TestSupport
import Testing

@testable import RenderCore
@testable import Supply

/// Inputs, MIDI and transport of an output reach the renderers inside of its renderer, on the same frames.
@Suite struct PassedSupplyTests {
    /// Renders cycles whose sound for `input` counts its frames from 1 on, with one event in the middle of each.
    private func drive(
        _ renderer: Renderer, _ input: AudioInput, _ keys: MIDIInput = MIDIInput(), cycles: [Int], frames: Int
    ) -> [[Float]] {
        let output = AudioBlock(channels: renderer.channelCount, frames: frames)
        var (done, turn) = (0, 0)
        while done < frames {
            let count = min(cycles[turn % cycles.count], frames - done)
            var captured = AudioBlock(channels: input.channelCount, frames: count)
            for channel in 0..<input.channelCount {
                for i in 0..<count { captured[channel, i] = Float(done + i + 1 + 10_000 * channel) }
            }
            var event = MIDIEvent(frame: count / 2, .noteOn(channel: 0, note: 60, velocity: 1))
            withUnsafeMutablePointer(to: &event) { event in
                var events = CycleSupply.Events(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(keys).toOpaque()), events: event, capacity: 1)
                events.count = 1
                var sound = CycleSupply.Sound(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()),
                    channels: UnsafePointer(captured.pointers), channelCount: input.channelCount, captureTime: 0)
                withUnsafeMutablePointer(to: &sound) { sound in
                    withUnsafeMutablePointer(to: &events) { events in
                        var supply = CycleSupply()
                        (supply.sounds, supply.soundCount) = (sound, 1)
                        (supply.received, supply.receivedCount) = (events, 1)
                        supply.transport = Transport(isRolling: true, frame: Int64(done))
                        supply.frameCount = count
                        let channels = (0..<output.channelCount).map { output.pointers[$0] + done }
                        channels.withUnsafeBufferPointer { channels in
                            renderer.render(frames: count, into: channels, hostTime: 0, supply: &supply)
                        }
                    }
                }
            }
            done += count
            turn += 1
        }
        return (0..<output.channelCount).map { output.array($0) }
    }

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
        let output = drive(renderer, input, cycles: cycles, frames: 3_000)
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
        let output = drive(renderer, input, cycles: [256, 77], frames: 2_000)
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
        _ = drive(renderer, AudioInput(), keys, cycles: [256, 77], frames: 333)
        var seen: [SIMD2<Int64>] = []
        port.drain { seen.append($0) }
        #expect(seen == [[128, 128], [256 + 38, 256 + 38]])
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

    /// Runs a module of any kind.
    private final class AnyRunner: Sendable {
        private let body: @Sendable (inout RenderContext) -> Void
        init(_ module: any Module) { body = Self.runner(module) }
        private static func runner<M: Module>(_ module: M) -> @Sendable (inout RenderContext) -> Void {
            { context in context.run(module) }
        }
        func run(_ context: inout RenderContext) { body(&context) }
    }
}
