import CALSA
import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import ALSABackend

/// A sequencer that is none: what comes in is put in by the test, what goes out is kept.
final class FakeSequencer: SequencerDevice, Sendable {
    struct Arrival {
        var hostTime: Int64
        var input: Int?
        var message: MIDIMessage?
        var bytes: [UInt8] = []
        var type: Int32 = 0
        /// Where it comes from, or, of an event about a port, the port that it is about.
        var source: (client: UInt8, port: UInt8) = (0, 0)
    }
    struct Departure: Equatable {
        var hostTime: Int64
        var output: Int
        var bytes: [UInt8]
    }
    struct State {
        var arrivals: [Arrival] = []
        var taken = 0
        var departures: [Departure] = []
        var refusals = 0
        var ports: [ALSAMIDIPort] = []
        var links: [SequencerLink] = []
    }
    let state = Mutex(State())
    let clock = QueueClock(queue: 3_000_000_000, before: 500_000_000, after: 500_000_100)

    func wait(for descriptor: Int32, milliseconds: Int32) {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&state, 1, min(2, milliseconds))
    }
    func next(_ body: (_ event: UnsafePointer<snd_seq_event_t>, _ input: Int?) -> Void) -> Bool {
        let next = state.withLock { $0.arrivals.isEmpty ? nil : $0.arrivals.removeFirst() }
        guard let arrival = next else { return false }
        var event = snd_seq_event_t()
        if let message = arrival.message { _ = SequencerTranslation.write(message, into: &event) }
        let time = clock.queueTime(arrival.hostTime)
        event.flags |= UInt8(SND_SEQ_TIME_STAMP_REAL)
        event.time.time = snd_seq_real_time_t(tv_sec: time.seconds, tv_nsec: time.nanoseconds)
        event.source = snd_seq_addr_t(client: arrival.source.client, port: arrival.source.port)
        if arrival.type != 0 {
            event.type = UInt8(arrival.type)
            event.data.addr = event.source
            if UInt32(arrival.type) == SND_SEQ_EVENT_PORT_UNSUBSCRIBED.rawValue {
                event.data.connect = snd_seq_connect_t(
                    sender: event.source, dest: snd_seq_addr_t(client: 200, port: UInt8(arrival.input ?? 0)))
            }
        }
        var bytes = arrival.bytes
        bytes.withUnsafeMutableBytes { bytes in
            if !bytes.isEmpty {
                event.type = UInt8(SND_SEQ_EVENT_SYSEX.rawValue)
                event.data.ext = snd_seq_ev_ext_t(len: UInt32(bytes.count), ptr: bytes.baseAddress)
            }
            body(&event, arrival.input)
        }
        state.withLock { $0.taken += 1 }
        return true
    }
    func measureClock() -> QueueClock? { clock }
    func send(_ event: UnsafeMutablePointer<snd_seq_event_t>, output: Int) -> Bool {
        let stamp = event.pointee.time.time
        let departure = Departure(
            hostTime: clock.hostTime(seconds: stamp.tv_sec, nanoseconds: stamp.tv_nsec), output: output,
            bytes: bytes(of: event.pointee))
        return state.withLock { state in
            state.refusals -= 1
            if state.refusals >= 0 { return false }
            state.departures.append(departure)
            return true
        }
    }
    func flush() {}
    func ports() -> [ALSAMIDIPort] { state.withLock { $0.ports } }
    func connect(_ link: SequencerLink) -> Int32 {
        state.withLock { $0.links.append(link) }
        return 0
    }

    func arrive(_ arrivals: [Arrival]) { state.withLock { $0.arrivals += arrivals } }
    var departures: [Departure] { state.withLock { $0.departures } }
}

/// An event that a closure heard, and its time by the sample clock.
struct Heard: BitwiseCopyable, Sendable, Equatable {
    var time: Int64
    var offset: Int
    var message: MIDIMessage
}

/// An output on a card whose frames move by command, with MIDI that is sent on as it comes.
struct Keyboard {
    let card: Card
    let sequencer = FakeSequencer()
    let renderer: Renderer
    let output: ALSAOutput
    let events: Events
    private let frames = Frames()
    private let port = Port()
    static let (period, periods, origin) = (64, 4, Int64(1_000_000_000))
    static let nanoseconds = 1e9 / 48_000

    private final class Frames: Sendable { let count = Atomic<Int64>(0) }
    private final class Port: Sendable { let heard = MessagePort<Heard>(capacity: 8192) }

    init(_ name: String, connect: ALSAMIDIConnect = .none, failure: SequencerFailure? = nil) throws {
        card = try Card(name)
        let (keys, pads, out) = (MIDIInput(name: "keys"), MIDIInput(name: "pads"), MIDIOutput(name: "synth"))
        let (port, frames, sequencer) = (port, frames, sequencer)
        renderer = try Renderer(channels: 2) { context in
            for input in [keys, pads] {
                context.forEachEvent(from: input) { event, context in
                    port.heard.send(
                        Heard(
                            time: context.sampleTime + Int64(event.frame), offset: event.frame, message: event.message))
                    context.send(event.message, at: event.frame, to: out)
                }
            }
        }
        var settings = ALSASettings(
            device: name, inputDevice: nil, inputs: [], period: Self.period, periods: Self.periods, isDithered: false,
            priority: 0, lossPolicy: .wait, compensatesLatency: true)
        settings.patience = 60_000_000_000
        settings.now = { Self.hostTime(Double(frames.count.load(ordering: .acquiring))) }
        settings.midiInputs = [keys, pads]
        settings.midiOutputs = [out]
        settings.midiConnect = connect
        settings.makeSequencer = { _ throws(SequencerFailure) in
            if let failure { throw failure }
            return sequencer
        }
        output = ALSAOutput(renderer, settings)
        events = Events(output)
    }

    /// The host time at which the card has played so many frames.
    static func hostTime(_ frames: Double) -> Int64 { origin + Int64(frames * nanoseconds) }

    /// The host time at which a frame of the renderer is heard, behind the silence that fills the card at the start.
    static func heard(_ frame: Int64) -> Int64 { hostTime(Double(frame) + Double(period * periods)) }

    func play(_ count: Int) -> Bool {
        for _ in 0..<count {
            guard card.wait(Self.period * Self.periods) else { return false }
            frames.count.wrappingAdd(Int64(Self.period), ordering: .releasing)
            guard card.move(Self.period) == Self.period else { return false }
        }
        return card.wait(Self.period * Self.periods)
    }

    func take() -> [Heard] {
        var all: [Heard] = []
        port.heard.drain { all.append($0) }
        return all
    }
}

extension ALSATests {
    @Suite struct SequencerTests {
        @Test("MIDI: a time is a frame of one cycle and of no other; what is late is in the first")
        func timing() {
            let frame = 1e9 / 48_000
            let cycles = (0..<20).map { number in
                SequencerTiming(
                    heard: 7_000_000_000 + Int64(Double(number * 256) * frame), latency: 16_000_000,
                    nanosecondsPerFrame: frame, frames: 256)
            }
            for position in stride(from: 0.5, to: 19 * 256, by: 3) {
                let time = 7_000_000_000 - 16_000_000 + Int64(position * frame)
                for (number, cycle) in cycles.enumerated() {
                    let inCycle = Int(position) - number * 256
                    #expect(cycle.frame(of: time) == (inCycle < 0 ? 0 : inCycle < 256 ? inCycle : nil))
                }
            }
            #expect(abs(cycles[1].hostTime(of: 100) - 7_000_000_000 - Int64((356 * frame).rounded())) <= 1)
            #expect(cycles[0].frame(of: .min / 2) == 0)
            #expect(cycles[0].frame(of: .max / 2) == nil)
            let queue = QueueClock(queue: 100, before: 1_000_000_000, after: 1_000_000_020)
            #expect(queue.origin == 999_999_910)
            #expect(queue.hostTime(seconds: 2, nanoseconds: 90) == 3_000_000_000)
            #expect(queue.queueTime(3_000_000_000) == (2, 90))
            #expect(queue.queueTime(0) == (0, 0))
        }

        @Test("MIDI: wake-ups that come early and late do not move the events", arguments: [-300.0, 0, 300])
        func jitter(_ ppm: Double) {
            // A card that is off by some ppm, asked by wake-ups that are up to a millisecond late.
            var clock = CycleClock()
            var state: UInt64 = 1
            var worst = 0.0
            for number in 0..<20_000 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let late = Double(state >> 40) / Double(1 << 24) * 1e6
                let exact = 5e9 + Double(number * 256) / 48_000 * 1e9 * (1 + ppm * 1e-6)
                let time = clock.update(Int64(exact + late), frames: 256, rate: 48_000)
                if number > 2000 { worst = max(worst, abs(Double(time) - exact - 0.5e6)) }
            }
            // A jitter of ±500 µs becomes one of less than 100.
            #expect(worst < 100_000, "\(worst) ns")
            // Over a gap it begins anew.
            #expect(clock.update(900_000_000_000, frames: 256, rate: 48_000) == 900_000_000_000)
            #expect(clock.update(900_010_000_000, frames: 64, rate: 48_000) == 900_010_000_000)
        }

        private static func port(
            _ client: Int, _ port: Int, _ clientName: String, _ name: String, sends: Bool = true, receives: Bool = true,
            isHardware: Bool = true
        ) -> ALSAMIDIPort {
            ALSAMIDIPort(
                client: client, port: port, clientName: clientName, name: name, canSend: sends, canReceive: receives,
                isHardware: isHardware)
        }

        private static let ports = [
            port(14, 0, "Midi Through", "Midi Through Port-0", isHardware: false),
            port(24, 0, "Keystation 49", "Keystation 49 MIDI 1", receives: false),
            port(28, 0, "UM-ONE", "UM-ONE MIDI 1"), port(28, 1, "UM-ONE", "UM-ONE MIDI 2"),
            port(128, 0, "FLUID Synth", "Synth input port", sends: false, isHardware: false),
        ]

        @Test(
            "MIDI: ports are found by address, name, and the beginning of a name",
            arguments: [
                ("24:0", "24:0"), ("28", "28:0"), ("28:1", "28:1"), ("Keystation 49", "24:0"), ("keys", "24:0"),
                ("UM-ONE:1", "28:1"), ("um-one:um-one midi 2", "28:1"), ("UM-ONE MIDI 2", "28:1"), ("fluid", "128:0"),
                ("2", nil), ("", nil), ("99:9", nil), ("piano", nil),
            ])
        func finding(_ text: String, _ address: String?) {
            #expect(ALSAMIDIPort.find(text, in: Self.ports)?.address == address)
            #expect("\(Self.ports[1])" == "24:0 Keystation 49, Keystation 49 MIDI 1 (sends)")
        }

        @Test("MIDI: what is wanted is connected when it comes, once, and again when it has been away")
        func connecting() {
            func link(_ isInput: Bool, _ index: Int, _ client: Int, _ port: Int) -> SequencerLink {
                SequencerLink(isInput: isInput, index: index, client: client, port: port)
            }
            var named = SequencerConnections(
                .ports(inputs: ["", "keystation"], outputs: ["fluid", "beyond"]), inputs: 2, outputs: 1)
            #expect(named.update([Self.ports[0]]) == [])
            #expect(named.missing == ["keystation", "fluid"])
            #expect(named.update(Self.ports) == [link(true, 1, 24, 0), link(false, 0, 128, 0)])
            #expect(named.missing == [])
            // It stays as a person has left it, until the port has been away.
            #expect(named.update(Self.ports) == [])
            #expect(named.update(Self.ports.filter { $0.client != 24 }) == [])
            #expect(named.update(Self.ports) == [link(true, 1, 24, 0)])
            var hardware = SequencerConnections(.hardware, inputs: 1, outputs: 1)
            #expect(
                hardware.update(Self.ports) == [
                    link(true, 0, 24, 0), link(true, 0, 28, 0), link(false, 0, 28, 0), link(true, 0, 28, 1),
                    link(false, 0, 28, 1),
                ])
            var none = SequencerConnections(.none, inputs: 1, outputs: 1)
            #expect(none.update(Self.ports) == [])
            var deaf = SequencerConnections(.hardware, inputs: 0, outputs: 0)
            #expect(deaf.update(Self.ports) == [])
            // A keyboard is no place to send to.
            var wrong = SequencerConnections(.ports(outputs: ["keystation"]), inputs: 0, outputs: 1)
            #expect(wrong.update(Self.ports) == [])
            #expect(wrong.missing == ["keystation"])
        }

        @Test("MIDI: an event is in the frame of its time stamp, and what is sent goes out when its frame is heard")
        func throughCycles() async throws {
            let keyboard = try Keyboard("card17")
            // Every 37 frames of the card's clock, in the middle of a frame; by turns on both inputs.
            let arrivals = (0..<200).map { number in
                FakeSequencer.Arrival(
                    hostTime: Keyboard.hostTime(Double(number * 37) + 0.5), input: number % 2,
                    message: .noteOn(channel: UInt8(number % 16), note: UInt8(number % 128), velocity: 100))
            }
            keyboard.sequencer.arrive(arrivals)
            try keyboard.output.start()
            #expect(await becomesTrue { keyboard.sequencer.state.withLock { $0.taken } == 200 })
            #expect(keyboard.play(130))
            let heard = keyboard.take()
            try #require(heard.count == 200)
            for (number, event) in heard.enumerated() {
                #expect(event.time == Int64(number * 37))
                // The cycle is cut there, so that what a closure sets begins on that frame.
                #expect(event.offset == 0)
                #expect(event.message == arrivals[number].message)
            }
            #expect(await becomesTrue { keyboard.sequencer.departures.count == 200 })
            for (number, departure) in keyboard.sequencer.departures.enumerated() {
                #expect(abs(departure.hostTime - Keyboard.heard(Int64(number * 37))) <= 2)
                #expect(departure.output == 0)
                #expect(departure.bytes == arrivals[number].message.map(ours))
            }
            keyboard.output.stop()
            #expect(keyboard.renderer.faultCount == 0)
        }

        @Test("MIDI: what the device adds to its latency is in the time at which a message goes out")
        func latency() async throws {
            let keyboard = try Keyboard("card17")
            keyboard.card.setDelay(480)
            defer { keyboard.card.setDelay(0) }
            try keyboard.output.start()
            #expect(keyboard.play(4))
            keyboard.sequencer.arrive([.init(hostTime: Keyboard.hostTime(600.5), input: 0, message: .start)])
            #expect(await becomesTrue { keyboard.sequencer.state.withLock { $0.taken } == 1 })
            #expect(keyboard.play(10))
            #expect(keyboard.take().map(\.time) == [600])
            #expect(await becomesTrue { keyboard.sequencer.departures.count == 1 })
            let departure = try #require(keyboard.sequencer.departures.first)
            #expect(abs(departure.hostTime - Keyboard.heard(600 + 480)) <= 2)
            keyboard.output.stop()
        }

        @Test("MIDI: a message that is late is heard at once; many at once lose nothing; long ones leave whole")
        func crowds() async throws {
            let keyboard = try Keyboard("card17")
            try keyboard.output.start()
            #expect(keyboard.play(10))
            let long = [0xF0] + (0..<600).map { UInt8($0 % 128) } + [UInt8(0xF7)]
            let crowd = (0..<1500).map { number in
                FakeSequencer.Arrival(
                    hostTime: Keyboard.hostTime(3), input: 0, message: .songPosition(UInt16(number)))
            }
            // The exclusive one in three events, as the kernel cuts them.
            let parts = [long[0..<256], long[256..<512], long[512...]].map { part in
                FakeSequencer.Arrival(hostTime: Keyboard.hostTime(4), input: 0, bytes: Array(part))
            }
            keyboard.sequencer.state.withLock { $0.refusals = 5 }
            keyboard.sequencer.arrive(crowd + parts)
            #expect(await becomesTrue { keyboard.sequencer.state.withLock { $0.taken } == 1503 })
            #expect(keyboard.play(3))
            let heard = keyboard.take()
            #expect(heard.prefix(1024).allSatisfy { $0.time == 640 })
            #expect(heard.prefix(1500).map(\.message) == (0..<1500).map { .songPosition($0) })
            #expect(await becomesTrue { keyboard.sequencer.departures.count == 1501 })
            #expect(keyboard.sequencer.departures.last?.bytes == long)
            keyboard.output.stop()
        }

        @Test("MIDI: the client outlives the card, and connects as the program asked")
        func loss() async throws {
            let keyboard = try Keyboard("card17", connect: .ports(inputs: ["keystation", "pad"]))
            keyboard.sequencer.state.withLock { $0.ports = Self.ports }
            try keyboard.output.start()
            #expect(keyboard.play(3))
            #expect(await becomesTrue { keyboard.sequencer.state.withLock { $0.links.map(\.client) } == [24] })
            #expect(
                await becomesTrue {
                    keyboard.events.all.contains { "\($0)".hasPrefix("There is no MIDI port \"pad\" yet") }
                })
            keyboard.card.set(.gone)
            #expect(await becomesTrue { keyboard.output.state == .waiting })
            keyboard.sequencer.state.withLock { $0.ports.append(Self.port(32, 0, "Pad", "Pad MIDI 1")) }
            keyboard.sequencer.arrive([
                .init(hostTime: 0, input: nil, type: Int32(SND_SEQ_EVENT_PORT_START.rawValue)),
                .init(hostTime: 0, input: 1, message: .stop),
            ])
            #expect(await becomesTrue { keyboard.sequencer.state.withLock { $0.links.map(\.client) } == [24, 32] })
            keyboard.card.set(.none)
            #expect(await becomesTrue { keyboard.output.state == .running })
            #expect(keyboard.play(3))
            #expect(keyboard.take().map(\.message) == [.stop])
            keyboard.output.stop()
        }

        @Test("MIDI: without a sequencer there is a sentence, and the sound goes on")
        func noSequencer() async throws {
            let keyboard = try Keyboard("card17", failure: SequencerFailure(opening: ENOENT, hasDevice: false))
            try keyboard.output.start()
            #expect(keyboard.play(5))
            keyboard.output.stop()
            #expect(await becomesTrue { keyboard.events.all.contains { "\($0)".contains("modprobe snd-seq") } })
            #expect(SequencerFailure(opening: EACCES, hasDevice: true).sentence.contains("adduser $USER audio"))
            #expect(SequencerFailure(opening: ENOENT, hasDevice: true).sentence.contains("ALSA_CONFIG_PATH"))
            #expect(SequencerFailure(opening: EIO, hasDevice: true).sentence.contains("Input/output error"))
            // The kernel's own, where the tests' configuration names none.
            #expect(throws: SequencerFailure.self) { try KernelSequencer(name: "x", inputs: ["a"], outputs: []) }
            #expect(ALSAMIDIPort.all == [])
        }
    }
}
