internal import CALSA
internal import CRender
internal import Glibc
internal import LinuxRealtime
internal import Outputs
internal import RenderCore
internal import Synchronization

/// The MIDI of an output. The kernel stamps input events, which are put into the cycle that they belong to. The kernel
/// gets the events that a cycle sends, with the time at which they are due.
///
/// It lives from the output's start to its stop, also while the card is gone: connections stay.
@safe final class SequencerMIDI: @unchecked Sendable {
    // Unchecked because all that is not atomic, constant or locked belongs either to the render thread or to the MIDI
    // thread, as is said below. Messages go from one to the other through rings.
    private let device: any SequencerDevice
    private let inputCount: Int
    private let outputCount: Int
    private let priority: Int
    private let shouldRun = Atomic<Bool>(true)
    private let notices = Lock([String]())
    /// Rings when there is something to send.
    private let alarm: Alarm

    /// The rings from the MIDI thread to the render thread, and back.
    private let incoming = PlainRing(capacity: 4096, filledWith: TimedMessage(hostTime: 0, port: 0, message: .clock))
    private let outgoing = PlainRing(capacity: 4096, filledWith: TimedMessage(hostTime: 0, port: 0, message: .clock))

    // The render thread's.
    private var clock = CycleClock()
    private var timing = SequencerTiming(heard: 0, latency: 0, nanosecondsPerFrame: 1, frames: 0)
    private var hasSent = false

    // The MIDI thread's.
    private var queue: QueueClock?
    private var nextMeasurement = Int64.min
    private var connections: SequencerConnections
    private var sources = SequencerSources()
    /// The time of the latest message: those that end notes come after all others.
    private var latest = Int64.min
    private var areConnectionsDue = true
    private var exclusive: [SequencerSystemExclusive]
    /// A whole system exclusive message that the kernel had no room for.
    private var unsent: (bytes: [UInt8], output: Int, hostTime: Int64)?
    private var lastDue = Int64.min
    private var toldMissing: [String] = []
    private var toldLost = 0

    /// Creates the MIDI ports of a device that is open.
    ///
    /// - Parameters:
    ///   - device: The client, with a port for each input and output.
    ///   - inputs: The number of inputs.
    ///   - outputs: The number of outputs.
    ///   - connect: The ports to which those are connected.
    ///   - priority: The real-time priority of its thread; 0 for an ordinary one.
    init(
        _ device: any SequencerDevice, inputs: Int, outputs: Int, connect: ALSAMIDIConnect, priority: Int
    ) {
        self.device = device
        (inputCount, outputCount) = (inputs, outputs)
        self.priority = priority
        alarm = Alarm()
        connections = SequencerConnections(connect, inputs: inputCount, outputs: outputCount)
        exclusive = Array(repeating: SequencerSystemExclusive(), count: outputCount)
    }

    // MARK: The render thread

    /// Takes the events that belong to the cycle that begins.
    ///
    /// - Parameters:
    ///   - cycle: The cycle.
    ///   - now: The time at which it begins.
    ///   - queued: Frames in the device's memory before its first, 0 if none plays.
    ///   - memory: Frames that this memory holds; where none plays, those of a cycle.
    ///   - extra: Frames that the device is later than that.
    func begin(_ cycle: inout OutputCycle, now: Int64, queued: Int, memory: Int, extra: Int, rate: Double) {
        let nanoseconds = 1e9 / rate
        let heard = clock.update(
            now + Int64(Double(queued) * nanoseconds), frames: cycle.frameCount, rate: rate)
        timing = SequencerTiming(
            heard: heard, latency: Int64(Double(memory) * nanoseconds), extra: Int64(Double(extra) * nanoseconds),
            nanosecondsPerFrame: nanoseconds, frames: cycle.frameCount)
        while let first = incoming.first, let frame = timing.frame(of: first.hostTime) {
            // Full: the rest comes in the next cycle.
            guard cycle.hasRoom(on: first.port) else { break }
            cycle.receive(first.message, at: frame, on: first.port)
            incoming.drop()
        }
    }

    /// Takes the events that the cycle has sent. No system call.
    func end(_ cycle: borrowing OutputCycle) {
        for port in 0..<outputCount {
            cycle.forEachEvent(on: port) { event in
                outgoing.add(
                    TimedMessage(hostTime: timing.hostTime(of: event.frame), port: port, message: event.message))
                hasSent = true
            }
        }
    }

    /// Wakes the MIDI thread if there is something to send. A system call: after the hand-over.
    func wake() {
        guard hasSent else { return }
        hasSent = false
        alarm.ring()
    }

    // MARK: The MIDI thread

    /// Runs on the thread until ``stop()``.
    func run() {
        unsafe crender_name_thread("rs-alsa-midi")
        // The thread is as urgent as the sound. Without that priority it goes on, and the render thread has reported
        // it.
        if priority > 0 { _ = RealtimeThread.raiseHelper(to: priority) }
        while shouldRun.load(ordering: .acquiring) {
            device.wait(for: alarm.descriptor, milliseconds: unsent == nil && outgoing.first == nil ? 100 : 1)
            step()
        }
        // Events that were sent at the end go out before the client does, which would take them along.
        step()
        let rest = min(300_000_000, lastDue == .min ? 0 : lastDue - HostClock.now)
        if rest > 0 { usleep(UInt32(rest / 1000) + 1000) }
    }

    /// Asks the thread to end.
    func stop() {
        shouldRun.store(false, ordering: .releasing)
        alarm.ring()
    }

    /// Moves the events in both directions.
    func step() {
        alarm.clear()
        let now = HostClock.now
        if now >= nextMeasurement {
            queue = device.measureClock() ?? queue
            nextMeasurement = now + 500_000_000
        }
        receive(now)
        if areConnectionsDue {
            areConnectionsDue = false
            connect()
        }
        if let queue { send(queue) }
        let lost = incoming.lostCount + outgoing.lostCount
        if lost != toldLost {
            toldLost = lost
            tell("MIDI messages were lost: there were more than the program takes.")
        }
    }

    /// Returns the notices since the last call.
    func takeNotices() -> [String] {
        notices.withLock { list in
            defer { list = [] }
            return list
        }
    }

    private func tell(_ sentence: String) { notices.withLock { $0.append(sentence) } }

    private func receive(_ now: Int64) {
        var isMore = true
        while isMore {
            isMore = unsafe device.next { event, input in
                let type = unsafe Int(event.pointee.type)
                if Self.portNews.contains(type) { areConnectionsDue = true }
                var time = now
                if let queue, unsafe event.pointee.flags & UInt8(SND_SEQ_TIME_STAMP_MASK) == SND_SEQ_TIME_STAMP_REAL {
                    let stamp = unsafe event.pointee.time.time
                    time = queue.hostTime(seconds: stamp.tv_sec, nanoseconds: stamp.tv_nsec)
                }
                if let (source, at) = unsafe SequencerSources.departure(in: event, input) {
                    for (input, message) in sources.end(source, at: at) {
                        incoming.add(TimedMessage(hostTime: max(time, latest), port: input, message: message))
                    }
                    return
                }
                guard let input else { return }
                latest = max(latest, time)
                let source = unsafe SequencerSources.Address(
                    client: event.pointee.source.client, port: event.pointee.source.port)
                unsafe SequencerTranslation.read(event) { message in
                    sources.note(message, from: source, to: input)
                    incoming.add(TimedMessage(hostTime: time, port: input, message: message))
                }
            }
        }
    }

    /// Ports come, go, and change their names.
    private static var portNews: ClosedRange<Int> {
        Int(SND_SEQ_EVENT_CLIENT_START.rawValue)...Int(SND_SEQ_EVENT_PORT_CHANGE.rawValue)
    }

    private func connect() {
        let ports = device.ports()
        for link in connections.update(ports) {
            let error = device.connect(link)
            guard error < 0, error != -EBUSY else { continue }
            let name = ports.first { $0.client == link.client && $0.port == link.port }?.description ?? ""
            tell("The MIDI port \(name) cannot be connected: \(ALSAError.text(-error)).")
        }
        for name in connections.missing where !toldMissing.contains(name) {
            let there = ports.map(\.description).joined(separator: "; ")
            tell(
                "There is no MIDI port \"\(name)\" yet: it is connected when it comes. There "
                    + (there.isEmpty ? "is none." : "are: \(there)."))
        }
        toldMissing = connections.missing
    }

    private func send(_ queue: QueueClock) {
        var isTaken = true
        if let message = unsent {
            isTaken = send(message.bytes, message.output, message.hostTime, queue)
            if isTaken { unsent = nil }
        }
        while isTaken, let first = outgoing.first {
            lastDue = max(lastDue, first.hostTime)
            if case .systemExclusive(let chunk) = first.message {
                if let bytes = exclusive[first.port].add(chunk) {
                    isTaken = send(bytes, first.port, first.hostTime, queue)
                    if !isTaken { unsent = (bytes, first.port, first.hostTime) }
                }
                outgoing.drop()
            } else {
                var event = unsafe snd_seq_event_t()
                if unsafe SequencerTranslation.write(first.message, into: &event) {
                    isTaken = unsafe send(&event, first.port, first.hostTime, queue)
                }
                if isTaken { outgoing.drop() }
            }
        }
        device.flush()
    }

    private func send(_ bytes: [UInt8], _ output: Int, _ hostTime: Int64, _ queue: QueueClock) -> Bool {
        var bytes = bytes
        return unsafe bytes.withUnsafeMutableBytes { bytes in
            var event = unsafe snd_seq_event_t()
            unsafe event.type = UInt8(SND_SEQ_EVENT_SYSEX.rawValue)
            unsafe event.flags = UInt8(SND_SEQ_EVENT_LENGTH_VARIABLE)
            unsafe event.data.ext = snd_seq_ev_ext_t(len: UInt32(bytes.count), ptr: bytes.baseAddress)
            return unsafe send(&event, output, hostTime, queue)
        }
    }

    private func send(
        _ event: UnsafeMutablePointer<snd_seq_event_t>, _ output: Int, _ hostTime: Int64, _ queue: QueueClock
    ) -> Bool {
        let time = queue.queueTime(hostTime)
        unsafe event.pointee.time.time = snd_seq_real_time_t(tv_sec: time.seconds, tv_nsec: time.nanoseconds)
        return unsafe device.send(event, output: output)
    }
}

/// Wakes a thread that waits for a descriptor. Any thread may ring; it never waits.
struct Alarm: ~Copyable {
    /// Readable after a ring.
    let descriptor: Int32
    private let end: Int32

    init() {
        var ends: (Int32, Int32) = (-1, -1)
        _ = unsafe withUnsafeMutableBytes(of: &ends) { unsafe pipe($0.bindMemory(to: Int32.self).baseAddress) }
        for end in [ends.0, ends.1] where end >= 0 {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (descriptor, end) = ends
    }

    deinit {
        for end in [descriptor, end] where end >= 0 { close(end) }
    }

    func ring() {
        var byte: UInt8 = 0
        _ = unsafe write(end, &byte, 1)
    }

    func clear() {
        var bytes: UInt64 = 0
        while unsafe read(descriptor, &bytes, 8) == 8 {}
    }
}
