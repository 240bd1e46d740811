internal import CJACK
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// The MIDI ports of a connection and the events of this cycle: bytes on JACK's side, plain values on ours.
@safe final class JACKMIDIMemory {
    /// Events that a port can take in a cycle; those beyond are counted as lost.
    static let capacity = 1024

    /// Messages that found no room since the beginning, of those that came in and of those that were sent.
    let lostInputs = Atomic<Int>(0)
    let lostOutputs = Atomic<Int>(0)
    /// System exclusive messages that were longer than ``longest``: none of their parts was sent.
    let tooLong = Atomic<Int>(0)
    /// Bytes of the longest system exclusive message that can be sent.
    static let longest = 8192

    private let inputPorts: UnsafeMutablePointer<OpaquePointer>
    private let outputPorts: UnsafeMutablePointer<OpaquePointer>
    let received: UnsafeMutablePointer<CycleSupply.Events>
    let sent: UnsafeMutablePointer<CycleSupply.Events>
    private let inputCount: Int
    private let outputCount: Int
    private let events: UnsafeMutablePointer<MIDIEvent>
    /// What is held down at each input. JACK mixes what comes in, so it is not known by whom.
    private let held: UnsafeMutablePointer<HeldNotes>
    /// A bit for each input that has lost a connection; the last is that of all further ones too.
    private let partings = Atomic<UInt64>(0)
    /// Those of which this thread knows, and the cycles until their notes end: a last event of the source may come meanwhile.
    private var ending: UInt64 = 0
    private var endsIn = 0
    /// The memory where a system exclusive message is put together, for each output, and its length so far.
    private let messages: UnsafeMutablePointer<UInt8>
    private let messageLengths: UnsafeMutablePointer<Int>

    init(
        _ ports: [JACKPort], inputs: [MIDIInput], outputs: [MIDIOutput]
    ) {
        let ins = ports.filter { $0.plan.isInput && $0.plan.isMIDI }
        let outs = ports.filter { !$0.plan.isInput && $0.plan.isMIDI }
        inputCount = inputs.count
        outputCount = outputs.count
        unsafe inputPorts = .allocate(capacity: max(1, inputCount))
        unsafe outputPorts = .allocate(capacity: max(1, outputCount))
        unsafe received = .allocate(capacity: max(1, inputCount))
        unsafe sent = .allocate(capacity: max(1, outputCount))
        let count = (inputCount + outputCount) * Self.capacity
        unsafe events = .allocate(capacity: max(1, count))
        unsafe events.initialize(repeating: MIDIEvent(.clock), count: count)
        unsafe messages = .allocate(capacity: max(1, outputCount * Self.longest))
        unsafe messages.initialize(repeating: 0, count: outputCount * Self.longest)
        unsafe messageLengths = .allocate(capacity: max(1, outputCount))
        unsafe messageLengths.initialize(repeating: 0, count: outputCount)
        unsafe held = .allocate(capacity: max(1, inputCount))
        unsafe held.initialize(repeating: HeldNotes(), count: max(1, inputCount))
        for (index, input) in inputs.enumerated() {
            unsafe (inputPorts + index).initialize(to: ins[index].port)
            unsafe (received + index).initialize(
                to: CycleSupply.Events(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()),
                    events: events + index * Self.capacity, capacity: Self.capacity))
        }
        for (index, output) in outputs.enumerated() {
            unsafe (outputPorts + index).initialize(to: outs[index].port)
            unsafe (sent + index).initialize(
                to: CycleSupply.Events(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(output).toOpaque()),
                    events: events + (inputCount + index) * Self.capacity, capacity: Self.capacity))
        }
    }

    deinit {
        unsafe inputPorts.deallocate()
        unsafe outputPorts.deallocate()
        unsafe received.deallocate()
        unsafe sent.deallocate()
        unsafe events.deallocate()
        unsafe messages.deallocate()
        unsafe messageLengths.deallocate()
        unsafe held.deallocate()
    }

    // MARK: Sources that vanish

    /// Ends the notes of an input from which something was disconnected: in one of the next cycles. On any thread.
    func noteParting(of port: OpaquePointer) {
        for index in 0..<inputCount where unsafe inputPorts[index] == port {
            partings.bitwiseOr(1 << UInt64(min(index, 63)), ordering: .relaxed)
        }
    }

    /// What is held down at each input. When there are no more cycles.
    var heldNotes: [HeldNotes] { (0..<inputCount).map { unsafe held[$0] } }

    /// Ends what was held down at the inputs of an earlier connection. Before the first cycle.
    func end(_ notes: [HeldNotes]) {
        for index in 0..<min(inputCount, notes.count) { unsafe held[index] = notes[index] }
        if !notes.isEmpty { partings.store(.max, ordering: .relaxed) }
    }

    /// Returns the inputs whose notes end in this cycle.
    private func endingNow() -> UInt64 {
        if endsIn == 0 {
            ending = partings.exchange(0, ordering: .relaxed)
            endsIn = ending == 0 ? 0 : 3
        }
        guard endsIn > 0 else { return 0 }
        endsIn -= 1
        guard endsIn == 0 else { return 0 }
        defer { ending = 0 }
        return ending
    }

    /// Lets go of all that is held down at an input. What finds no room comes in the next cycle.
    private func letGo(_ index: Int) {
        guard unsafe !held[index].letGo(into: &received[index]) else { return }
        ending |= 1 << UInt64(min(index, 63))
        endsIn = 1
    }

    /// Takes the input events, before the cycle is rendered.
    @unsafe func receive(_ frames: UInt32) {
        let ended = endingNow()
        for index in 0..<outputCount { unsafe sent[index].count = 0 }
        for index in 0..<inputCount {
            unsafe received[index].count = 0
            if ended & 1 << UInt64(min(index, 63)) != 0 { letGo(index) }
            guard let buffer = unsafe jack_port_get_buffer(inputPorts[index], frames) else { continue }
            // Whole numbers of the usual kind: a range of any other is walked through with allocations in debug builds.
            for number in unsafe 0..<Int(jack_midi_get_event_count(buffer)) {
                var event = unsafe jack_midi_event_t()
                guard unsafe jack_midi_event_get(&event, buffer, UInt32(number)) == 0 else { continue }
                guard let bytes = unsafe event.buffer else { continue }
                let frame = unsafe Int(min(event.time, frames &- 1))
                unsafe MIDIMessage.read(UnsafeRawBufferPointer(start: bytes, count: event.size)) { message in
                    if unsafe received[index].add(MIDIEvent(frame: frame, message)) { unsafe held[index].note(message) }
                }
            }
            unsafe count(&received[index].lost, in: lostInputs)
        }
    }

    private func count(_ lost: inout Int, in sum: borrowing Atomic<Int>) {
        if lost > 0 { sum.wrappingAdd(lost, ordering: .relaxed) }
        lost = 0
    }

    /// Hands over the events that the cycle has sent.
    @unsafe func send(_ frames: UInt32) {
        for index in 0..<outputCount {
            guard let buffer = unsafe jack_port_get_buffer(outputPorts[index], frames) else { continue }
            unsafe jack_midi_clear_buffer(buffer)
            unsafe count(&sent[index].lost, in: lostOutputs)
            for number in unsafe 0..<sent[index].count {
                let event = unsafe sent[index].events[number]
                let time = UInt32(truncatingIfNeeded: event.frame)
                if case .systemExclusive(let chunk) = event.message {
                    unsafe append(chunk, at: time, to: index, buffer)
                    continue
                }
                unsafe event.message.withBytes { bytes, count, _ in unsafe send(bytes, count, at: time, buffer) }
            }
        }
    }

    /// Appends a part of a message: JACK wants messages in one piece.
    private func append(_ chunk: MIDIChunk, at time: UInt32, to index: Int, _ buffer: UnsafeMutableRawPointer) {
        let message = unsafe messages + index * Self.longest
        if chunk.isFirst { unsafe messageLengths[index] = 0 }
        for i in 0..<max(0, min(16, chunk.count)) {
            if unsafe messageLengths[index] < Self.longest { unsafe message[messageLengths[index]] = chunk.bytes[i] }
            unsafe messageLengths[index] += 1
        }
        guard chunk.isLast else { return }
        let length = unsafe messageLengths[index]
        unsafe messageLengths[index] = 0
        guard length > 0 else { return }
        if length > Self.longest {
            tooLong.wrappingAdd(1, ordering: .relaxed)
            return
        }
        unsafe send(message, length, at: time, buffer)
    }

    private func send(_ bytes: UnsafePointer<UInt8>, _ count: Int, at time: UInt32, _ buffer: UnsafeMutableRawPointer) {
        if unsafe jack_midi_event_write(buffer, time, bytes, count) != 0 {
            lostOutputs.wrappingAdd(1, ordering: .relaxed)
        }
    }
}
