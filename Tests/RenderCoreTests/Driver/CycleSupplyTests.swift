import Testing

@testable import RenderCore
@testable import Supply

@Suite struct CycleSupplyTests {
    /// A list of events over memory that lasts as long as the body.
    private func withEvents(capacity: Int, _ body: (inout CycleSupply.Events) -> Void) {
        let input = MIDIInput()
        let memory = UnsafeMutablePointer<MIDIEvent>.allocate(capacity: capacity)
        memory.initialize(repeating: MIDIEvent(.clock), count: capacity)
        defer { memory.deallocate() }
        var events = CycleSupply.Events(
            identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()), events: memory, capacity: capacity)
        body(&events)
    }

    @Test("Events are kept in the order of their frames, equal ones as they came, and what finds no room is counted")
    func order() {
        withEvents(capacity: 5) { events in
            for (number, frame) in [30, 10, 20, 10, 0, 5, 7].enumerated() {
                events.add(MIDIEvent(frame: frame, .program(channel: 0, number: UInt8(number))))
            }
            #expect((0..<events.count).map { events.events[$0].frame } == [0, 10, 10, 20, 30])
            #expect(events.events[1].message == .program(channel: 0, number: 1))
            #expect(events.events[2].message == .program(channel: 0, number: 3))
            #expect(events.lost == 2)
        }
    }

    @Test("A cycle is cut at each frame that has an event, at 64 events at most")
    func cuts() {
        withUnsafeTemporaryAllocation(of: CycleSupply.Events.self, capacity: 1) { list in
            var starts: [Int64] = []
            withEvents(capacity: 100) { events in
                for number in 0..<100 { events.add(MIDIEvent(frame: number * 5, .clock)) }
                list.initializeElement(at: 0, to: events)
                var supply = CycleSupply()
                supply.received = list.baseAddress
                supply.receivedCount = 1
                supply.frameCount = 512
                var offset = 0
                while offset < 512 {
                    starts.append(Int64(offset))
                    offset = supply.nextCut(after: offset)
                }
            }
            #expect(starts == Array(stride(from: 0, to: 320, by: 5)))
        }
    }

    @Test("The transport goes on with the frames while it rolls, over beats and bars, and stays while it does not")
    func transport() {
        let bars = MusicalPosition(bar: 2, beat: 4, fraction: 0.5, beatsPerBar: 4, beatsPerMinute: 120)
        let rolling = Transport(isRolling: true, frame: 1000, bars: bars)
        let later = rolling.advanced(by: 48_000, sampleRate: 48_000)
        // A second is two beats: from beat 4.5 of bar 2 to 2.5 of bar 3.
        #expect(later.frame == 49_000)
        #expect(later.bars?.bar == 3 && later.bars?.beat == 2)
        #expect(abs((later.bars?.fraction ?? 0) - 0.5) < 1e-9)
        let stopped = Transport(isRolling: false, frame: 1000, bars: bars)
        #expect(stopped.advanced(by: 48_000, sampleRate: 48_000) == stopped)
    }

    @Test("Without a driver's supply there is no transport, no event comes, and none can be sent")
    func nothing() throws {
        let (input, output) = (MIDIInput(), MIDIOutput())
        let renderer = try Renderer(channels: 1) { context in
            context.forEachEvent(from: input) { _, context in context.push() }
            if context.send(.clock, to: output) || context.transport != Transport() { context.push() }
        }
        _ = renderer.renderOffline(frames: 1000)
        #expect(renderer.faultCount == 0)
    }
}
