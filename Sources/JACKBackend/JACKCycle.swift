internal import CJACK
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// The cycle of a run, which all its connections to servers use one after the other.
final class JACKMemory: @unchecked Sendable {
    // Unchecked because it is the process thread's: no client is opened before the one before it has been closed.
    var cycle: OutputCycle

    init(_ run: OutputRun, _ settings: JACKSettings) {
        // It has no memory for sound: that is JACK's own.
        cycle = OutputCycle(
            run, inputs: settings.inputs, midiInputs: settings.midiInputs, midiOutputs: settings.midiOutputs, frames: 0)
    }
}

/// The cycle and the notices that JACK calls. Made for one connection to a server.
@safe final class JACKCycle: @unchecked Sendable {
    // Unchecked because all that is not atomic or constant belongs to JACK's process thread from activation to closing.
    let client: OpaquePointer
    let run: OutputRun
    private let settings: JACKSettings
    private let memory: JACKMemory
    private let currentLatencies: Lock<JACKLatencies>
    var latencies: JACKLatencies { currentLatencies.withLock { $0 } }
    // The ports, in the order of the cycle's channels and MIDI ports.
    private let outputs: [OpaquePointer]
    private var inputs: [OpaquePointer]
    private let midiOutputs: [OpaquePointer]
    private let midiInputs: [OpaquePointer]
    /// The distance from JACK's microseconds to the host clock, in nanoseconds: 0 on a usual server.
    private let clockOffset: Int64

    // The numbers that the session asks for.
    let cycles = Atomic<Int>(0)
    /// 0: the server is there; else one more than JACK's status.
    let shutdown = Atomic<UInt32>(0)
    /// Indicates whether the library says that the server has ended, without a reason. That of PipeWire 0.3.65 says so too when another
    /// program's short-lived node is gone before it has asked about it, and goes on.
    let isInDoubt = Atomic<Bool>(false)
    let bufferSize: Atomic<Int>
    let sampleRate: Atomic<Int>
    let isFreewheeling = Atomic<Bool>(false)
    /// The number of times that that has changed: odd while it is on.
    let freewheelChanges = Atomic<Int>(0)
    let graphChanged = Atomic<Bool>(true)
    /// Ports of any program that went away since the household looked last.
    let departed = Lock(Set<UInt>())

    /// The tempo that is led: 0 for none.
    let beatsPerMinute = Atomic<UInt64>(0)
    let beatsPerBar = Atomic<UInt64>(0)

    // The clock: frame and host time of the last cycle's first frame, and a period in nanoseconds.
    let clock = JACKClock()

    init(
        _ client: OpaquePointer, run: OutputRun, memory: JACKMemory, settings: JACKSettings, outputs counts: [Int],
        ports: [JACKPort]
    ) {
        unsafe self.client = client
        self.run = run
        self.memory = memory
        self.settings = settings
        func these(isInput: Bool, isMIDI: Bool) -> [OpaquePointer] {
            unsafe ports.filter { $0.plan.isInput == isInput && $0.plan.isMIDI == isMIDI }.map { unsafe $0.port }
        }
        unsafe outputs = these(isInput: false, isMIDI: false)
        unsafe inputs = these(isInput: true, isMIDI: false)
        unsafe midiOutputs = these(isInput: false, isMIDI: true)
        unsafe midiInputs = these(isInput: true, isMIDI: true)
        currentLatencies = Lock(JACKLatencies(ports, inputs: settings.inputs, outputs: counts))
        bufferSize = Atomic(unsafe Int(jack_get_buffer_size(client)))
        sampleRate = Atomic(unsafe Int(jack_get_sample_rate(client)))
        let difference = HostClock.now - Int64(jack_get_time()) * 1000
        clockOffset = abs(difference) < 5_000_000 ? 0 : difference
    }

    // MARK: More inputs

    /// Inputs and their ports that the next cycle takes, and then those that it has given.
    @safe final class Growth: @unchecked Sendable {
        // Unchecked because the process thread alone touches it until it has done so.
        fileprivate var inputs: CycleInputs
        fileprivate var ports: [OpaquePointer]
        fileprivate init(_ inputs: consuming CycleInputs, _ ports: [OpaquePointer]) {
            self.inputs = inputs
            unsafe self.ports = ports
        }
    }
    /// The address of one that waits; 0: none.
    private let growth = Atomic<UInt>(0)
    /// All that there have been. The process thread gives none back.
    private let grown = Lock([Growth]())

    /// Indicates whether a cycle has taken the inputs that joined last.
    var isGrown: Bool { growth.load(ordering: .acquiring) == 0 }

    /// Takes more inputs, with all ports that there are then. `false`: no cycle has come since the last time.
    func grow(_ ports: [JACKPort], inputs all: [AudioInput], outputs counts: [Int]) -> Bool {
        guard isGrown else { return false }
        let new = unsafe ports.filter { $0.plan.isInput && !$0.plan.isMIDI }.map { unsafe $0.port }
        let next = unsafe Growth(CycleInputs(all, frames: 0), new)
        grown.withLock { $0.append(next) }
        currentLatencies.withLock { $0 = JACKLatencies(ports, inputs: all, outputs: counts) }
        growth.store(unsafe UInt(bitPattern: Unmanaged.passUnretained(next).toOpaque()), ordering: .releasing)
        return true
    }

    private func takeGrowth() {
        guard let place = unsafe UnsafeRawPointer(bitPattern: growth.load(ordering: .acquiring)) else { return }
        unsafe Unmanaged<Growth>.fromOpaque(place)._withUnsafeGuaranteedRef { next in
            memory.cycle.exchange(&next.inputs)
            unsafe swap(&inputs, &next.ports)
        }
        growth.store(0, ordering: .releasing)
    }

    // MARK: The cycle

    /// Renders a cycle, into JACK's own buffers. On JACK's process thread.
    func process(_ frames: UInt32) {
        guard frames > 0 else { return }
        if growth.load(ordering: .relaxed) != 0 { takeGrowth() }
        guard findBuffers(frames) else { return }
        let isFreewheeling = isFreewheeling.load(ordering: .relaxed)
        memory.cycle.begin(
            frames: Int(frames), hostTime: isFreewheeling ? nil : cycleTime(Int(frames)), isFreewheeling: isFreewheeling
        )
        if run.latency.isCompensated && !isFreewheeling {
            let nanoseconds = 1e9 / Double(sampleRate.load(ordering: .relaxed))
            memory.cycle.hostTime += Int64(Double(run.latency.playback) * nanoseconds)
            memory.cycle.captureTime -= Int64(Double(run.latency.capture) * nanoseconds)
        }
        if !settings.startsOverInFreewheel { memory.cycle.startsOver = false }
        receive(frames)
        memory.cycle.transport = JACKCycle.transport(unsafe cjack_transport_query(client))
        // The server plays what is in its buffers even if this cycle comes too late, or never.
        memory.cycle.silence()
        run.render(&memory.cycle)
        send(frames)
        cycles.wrappingAdd(1, ordering: .releasing)
    }

    /// Asks where the buffers are: they move when the cycle's length changes. `false`: JACK does not give one.
    private func findBuffers(_ frames: UInt32) -> Bool {
        for channel in unsafe 0..<outputs.count {
            guard let buffer = unsafe jack_port_get_buffer(outputs[channel], frames) else { return false }
            unsafe memory.cycle.setOutput(channel, buffer.assumingMemoryBound(to: Float.self))
        }
        for channel in unsafe 0..<inputs.count {
            guard let buffer = unsafe jack_port_get_buffer(inputs[channel], frames) else { return false }
            unsafe memory.cycle.setInput(channel, buffer.assumingMemoryBound(to: Float.self))
        }
        return true
    }

    /// Takes the input events, before the cycle is rendered.
    private func receive(_ frames: UInt32) {
        for port in unsafe 0..<midiInputs.count {
            guard let buffer = unsafe jack_port_get_buffer(midiInputs[port], frames) else { continue }
            // Whole numbers of the usual kind: a range of any other is walked through with allocations in debug builds.
            for number in unsafe 0..<Int(jack_midi_get_event_count(buffer)) {
                var event = unsafe jack_midi_event_t()
                guard unsafe jack_midi_event_get(&event, buffer, UInt32(number)) == 0 else { continue }
                let bytes = unsafe UnsafeRawBufferPointer(
                    start: event.buffer, count: event.buffer == nil ? 0 : event.size)
                unsafe memory.cycle.receive(bytes.bytes, at: Int(event.time), on: port)
            }
        }
    }

    /// Hands over the events that the cycle has sent.
    private func send(_ frames: UInt32) {
        for port in unsafe 0..<midiOutputs.count {
            guard let buffer = unsafe jack_port_get_buffer(midiOutputs[port], frames) else { continue }
            unsafe jack_midi_clear_buffer(buffer)
            memory.cycle.forEachMessage(on: port) { frame, bytes in
                unsafe bytes.withUnsafeBytes { bytes in
                    guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                        return false
                    }
                    return unsafe jack_midi_event_write(buffer, UInt32(frame), start, bytes.count) == 0
                }
            }
        }
    }

    /// Returns the time at which the first frame of this cycle is due: by JACK's filtered clock, which neither drifts
    /// nor jitters; `nil` if it does not say.
    private func cycleTime(_ frames: Int) -> Int64? {
        var (frame, current, next, period) = (jack_nframes_t(0), jack_time_t(0), jack_time_t(0), Float(0))
        guard unsafe jack_get_cycle_times(client, &frame, &current, &next, &period) == 0, current > 0 else {
            return nil
        }
        let time = Int64(current) * 1000 + clockOffset
        clock.set(frame: frame, hostTime: time, nanosecondsPerFrame: Double(period) * 1000 / Double(frames))
        return time
    }

    /// Returns the transport of JACK's position.
    static func transport(_ position: cjack_position) -> Transport {
        let (rolling, looping) = (Int32(JackTransportRolling.rawValue), Int32(JackTransportLooping.rawValue))
        var result = Transport(
            isRolling: position.state == rolling || position.state == looping, frame: Int64(position.frame))
        if position.has_bars != 0 { result.bars = bars(position) }
        return result
    }

    /// Returns the bars that another program sets, if they are numbers that a program can count with.
    private static func bars(_ position: cjack_position) -> MusicalPosition? {
        guard position.beats_per_minute.isFinite, position.beats_per_minute > 0, position.beats_per_bar.isFinite,
            position.beats_per_bar > 0, position.beat_type.isFinite, position.beat_type > 0
        else { return nil }
        let part = position.tick / position.ticks_per_beat
        return MusicalPosition(
            bar: Int(position.bar), beat: Int(position.beat), fraction: part >= 0 && part < 1 ? part : 0,
            beatsPerBar: position.beats_per_bar, beatType: position.beat_type,
            beatsPerMinute: position.beats_per_minute)
    }

    // MARK: Notices

    func noteFreewheel(_ isOn: Bool) {
        guard isFreewheeling.exchange(isOn, ordering: .relaxed) != isOn else { return }
        freewheelChanges.wrappingAdd(1, ordering: .relaxed)
    }

    /// Notes that two ports are connected or not any more. On JACK's thread for notices.
    func noteLink(_ one: UInt32, _ other: UInt32, isThere: Bool) {
        for number in [one, other] where !isThere {
            guard let port = unsafe jack_port_by_id(client, number) else { continue }
            if let input = unsafe midiInputs.firstIndex(of: port) { run.endNotes(on: input) }
        }
        graphChanged.store(true, ordering: .releasing)
    }

    /// Notes that a port has come or gone. On JACK's thread for notices.
    func notePort(_ number: UInt32, isThere: Bool) {
        if !isThere, let port = unsafe jack_port_by_id(client, number) {
            departed.withLock { _ = $0.insert(UInt(bitPattern: port)) }
        }
        graphChanged.store(true, ordering: .releasing)
    }

    func noteShutdown(_ status: UInt32) {
        _ = shutdown.compareExchange(expected: 0, desired: status + 1, ordering: .relaxed)
    }

    /// Writes the bars at a frame of the transport, when this client leads the tempo. On JACK's process thread.
    func lead(_ position: UnsafeMutablePointer<jack_position_t>) {
        let tempo = Double(bitPattern: beatsPerMinute.load(ordering: .relaxed))
        let metre = Double(bitPattern: beatsPerBar.load(ordering: .relaxed))
        let rate = Double(sampleRate.load(ordering: .relaxed))
        guard tempo > 0, metre >= 1, rate > 0 else { return }
        let ticksPerBeat = 1920.0
        let beats = unsafe Double(cjack_position_frame(position)) * tempo / (60 * rate)
        // JACK counts bars in 32 bits.
        guard beats / metre < 2e9, metre < 2e9 else { return }
        let bar = Int(beats / metre)
        let inBar = max(0, beats - Double(bar) * metre)
        let tick = (inBar - Double(Int(inBar))) * ticksPerBeat
        unsafe cjack_position_set_bars(
            position, Int32(bar + 1), Int32(Int(inBar) + 1), Int32(tick), Double(bar) * metre * ticksPerBeat,
            Float(metre), 4, ticksPerBeat, tempo)
    }
}

/// The relation of JACK's frames and the host clock, written by one thread and read by any.
final class JACKClock: Sendable {
    // Not the generic `Published`: its metadata would be made in the first cycle.
    private let moment = PublishedWords(Moment())
    private let hasMoment = Atomic<Bool>(false)

    /// Sets the frame. JACK's frames are 32 bits and wrap after a day: here they go on.
    @_noLocks @_noAllocation
    func set(frame: UInt32, hostTime: Int64, nanosecondsPerFrame: Double) {
        var next = Moment()
        unsafe moment.load(to: &next, tries: .max)
        let step = Int64(Int32(bitPattern: frame &- UInt32(truncatingIfNeeded: next.frame)))
        next.frame = next.frame == 0 ? Int64(frame) : next.frame + step
        next.hostTime = hostTime
        next.nanosecondsPerFrame = nanosecondsPerFrame
        unsafe moment.store(&next)
        hasMoment.store(true, ordering: .releasing)
    }

    /// A moment of both clocks.
    struct Moment: BitwiseCopyable, Equatable {
        var frame: Int64 = 0
        var hostTime: Int64 = 0
        var nanosecondsPerFrame = 0.0

        /// Returns the nearest frame; one that is further away than a number can hold becomes the last.
        func frame(atHostTime time: Int64) -> Int64 {
            guard nanosecondsPerFrame > 0 else { return frame }
            return Moment.sum(frame, Moment.difference(time, hostTime) / nanosecondsPerFrame)
        }

        /// Returns the host time of a frame.
        func hostTime(atFrame frame: Int64) -> Int64 {
            Moment.sum(hostTime, Moment.difference(frame, self.frame) * nanosecondsPerFrame)
        }

        private static func difference(_ a: Int64, _ b: Int64) -> Double {
            let (result, isTooLarge) = a.subtractingReportingOverflow(b)
            return isTooLarge ? Double(a) - Double(b) : Double(result)
        }

        private static func sum(_ number: Int64, _ more: Double) -> Int64 {
            guard abs(more) < 9.2e18 else { return more < 0 ? .min : .max }
            let (result, isTooLarge) = number.addingReportingOverflow(Int64(more.rounded()))
            return isTooLarge ? (more < 0 ? .min : .max) : result
        }
    }

    /// `nil` before the first cycle.
    var now: Moment? {
        guard hasMoment.load(ordering: .acquiring) else { return nil }
        var now = Moment()
        unsafe moment.load(to: &now, tries: .max)
        return now
    }
}
