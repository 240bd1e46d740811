import Testing

@testable import RenderCore
@testable import Supply

/// MIDI that an annotated `process` reads and sends, through handles that are its fields.
@Suite struct MIDIModuleTests {
    /// Holds the value of the last controller message from its frame on, and sends each on in the same frame.
    private final class Holder: Generator {
        private let keys: MIDIReader
        private let synth: MIDISender
        private let value = RenderState<Float>(0)
        private let isLate: Bool

        init(_ input: MIDIInput, _ output: MIDIOutput, isLate: Bool = false) {
            keys = MIDIReader(input)
            synth = MIDISender(output)
            self.isLate = isLate
        }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            context.push(channels: 1)
            var events = keys.events
            var frame = 0
            // In two goes, to see that nothing is lost between them.
            let middle = context.frameCount / 2
            while let event = events.next(context, upTo: middle) { take(event, &frame, &context) }
            while let event = events.next(context) { take(event, &frame, &context) }
            hold(from: frame, to: context.frameCount, &context)
        }

        @_noLocks @_noAllocation
        private func take(_ event: MIDIEvent, _ frame: inout Int, _ context: inout RenderContext) {
            hold(from: frame, to: event.frame, &context)
            frame = event.frame
            if case .controller(_, _, let number) = event.message { value.write(Float(number), context) }
            synth.send(event.message, at: isLate ? 1_000_000 : event.frame, context)
        }

        @_noLocks @_noAllocation
        private func hold(from first: Int, to end: Int, _ context: inout RenderContext) {
            let value = value.read(context)
            var top = context.top
            var samples = top[0]
            for i in first..<end { samples[i] = value }
        }
    }

    /// Renders one cycle with events, and returns what is heard and what is sent.
    private func render(
        _ renderer: Renderer, frames: Int, _ input: MIDIInput, _ output: MIDIOutput, _ events: [MIDIEvent],
        room: Int = 1_000
    ) -> (sound: [Float], sent: [MIDIEvent], lost: Int) {
        let block = AudioBlock(channels: 1, frames: frames)
        var sent: [MIDIEvent] = []
        var lost = 0
        unsafe withUnsafeTemporaryAllocation(of: MIDIEvent.self, capacity: events.count + room) { memory in
            unsafe memory.initialize(repeating: MIDIEvent(.clock))
            var inputs = unsafe CycleSupply.Events(
                identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()), events: memory.baseAddress!,
                capacity: events.count)
            for event in events { inputs.add(event) }
            var outputs = unsafe CycleSupply.Events(
                identity: UnsafeRawPointer(Unmanaged.passUnretained(output).toOpaque()),
                events: memory.baseAddress! + events.count, capacity: room)
            unsafe withUnsafeMutablePointer(to: &inputs) { inputs in
                unsafe withUnsafeMutablePointer(to: &outputs) { outputs in
                    var supply = CycleSupply()
                    unsafe (supply.received, supply.receivedCount) = (inputs, 1)
                    unsafe (supply.sent, supply.sentCount) = (outputs, 1)
                    supply.frameCount = frames
                    unsafe renderer.render(
                        frames: frames, into: UnsafeBufferPointer(start: block.pointers, count: 1), hostTime: 0,
                        isOffline: true, supply: &supply)
                    sent = unsafe (0..<outputs.pointee.count).map { unsafe outputs.pointee.events[$0] }
                    lost = unsafe outputs.pointee.lost
                }
            }
        }
        return (block.array(0), sent, lost)
    }

    private func renderer(_ module: some Module, slice: Int = 512) throws -> Renderer {
        try Renderer(channels: 1, layout: StackLayout(slots: 4, channels: 1, frames: slice)) { context in
            context.run(module)
            context.output()
        }
    }

    @Test(
        "A module hears each event on its frame, also beyond the 64 by which a cycle is cut, and sends in the same frame",
        arguments: [512, 100, 7])
    func frames(slice: Int) throws {
        let (input, output) = (MIDIInput(), MIDIOutput())
        let renderer = try renderer(Holder(input, output), slice: slice)
        let events = (0..<100).map { number in
            MIDIEvent(frame: 3 + number * 5, .controller(channel: 0, number: 1, value: UInt8(number + 1)))
        }
        let (sound, sent, lost) = render(renderer, frames: 512, input, output, events)
        let heard: [Float] = (0..<512).map { frame in
            let number = min((frame - 3) / 5, 99) + 1
            return frame < 3 ? 0 : Float(number)
        }
        #expect(sound == heard)
        #expect(sent == events)
        #expect(lost == 0 && renderer.faultCount == 0)
        // The next cycle goes on where this one ended, and finds none of its events.
        let next = render(renderer, frames: 64, input, output, [])
        #expect(next.sound == [Float](repeating: 100, count: 64) && next.sent.isEmpty)
    }

    @Test("Several events in one frame come in their order; the last one is heard")
    func sameFrame() throws {
        let (input, output) = (MIDIInput(), MIDIOutput())
        let renderer = try renderer(Holder(input, output))
        let events = [1, 2, 3].map { MIDIEvent(frame: 63, .controller(channel: 0, number: 1, value: $0)) }
        let (sound, sent, _) = render(renderer, frames: 64, input, output, events)
        #expect(sound == [Float](repeating: 0, count: 63) + [3] && sent == events)
    }

    @Test("A part of a slice shows its own events, and a frame outside of it is held to it")
    func part() throws {
        let (input, output) = (MIDIInput(), MIDIOutput())
        let (first, second) = (Holder(input, output, isLate: true), Holder(input, output))
        let renderer = try Renderer(channels: 1) { context in
            context.subBlock(offset: 0, length: context.frameCount / 2) { context in
                context.run(first)
                context.pop()
            }
            context.run(second)
            context.output()
        }
        // One event only: the cycle is not cut before it.
        let event = MIDIEvent(frame: 0, .controller(channel: 0, number: 1, value: 9))
        let (sound, sent, _) = render(renderer, frames: 64, input, output, [event])
        #expect(sound == [Float](repeating: 9, count: 64))
        #expect(sent.map(\.frame) == [0, 31])
    }

    @Test("Ports that are not connected stay quiet: another input, another output, too many events, no driver")
    func unconnected() throws {
        let (input, output, other) = (MIDIInput(), MIDIOutput(), MIDIInput())
        let renderer = try renderer(Holder(other, output))
        let events = [1, 2, 3].map { MIDIEvent(frame: 5, .controller(channel: 0, number: 1, value: $0)) }
        let (sound, sent, _) = render(renderer, frames: 64, input, output, events)
        #expect(sound == [Float](repeating: 0, count: 64) && sent.isEmpty)
        let full = try self.renderer(Holder(input, output))
        #expect(render(full, frames: 64, input, output, events, room: 2).lost == 1)
        #expect(render(full, frames: 64, input, MIDIOutput(), events).sent.isEmpty)
        _ = full.renderOffline(frames: 64)
        #expect(full.faultCount == 0)
    }

    @Test("A reader and a sender keep their ports alive")
    func lifetime() {
        weak var input: MIDIInput?
        weak var output: MIDIOutput?
        func make() -> Holder {
            let (made, port) = (MIDIInput(), MIDIOutput())
            (input, output) = (made, port)
            return Holder(made, port)
        }
        do {
            let module = make()
            withExtendedLifetime(module) { #expect(input != nil && output != nil) }
        }
        #expect(input == nil && output == nil)
    }
}
