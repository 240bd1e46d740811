internal import CPipeWire
internal import Glibc
internal import Outputs
internal import RenderCore
internal import Supply
internal import Synchronization

/// The cycles of a run, which PipeWire's data thread calls over all connections, and a clock while it does not.
@safe final class PipeWireCycle: @unchecked Sendable {
    // Unchecked because the thread that has taken it has what is not atomic or constant.
    let run: OutputRun
    private let settings: PipeWireSettings
    private var cycle: OutputCycle
    private var queue: CaptureQueue
    /// The MIDI ports.
    private let inputCount: Int
    private let outputCount: Int
    private let outputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>?>
    private let inputs: UnsafeMutablePointer<UnsafeMutablePointer<Float>?>
    /// Sound for cycles by the clock.
    private let spare: AudioBlock
    /// Indicates whether a thread has taken it: PipeWire's, or the clock's.
    private let isTaken = Atomic<Bool>(false)
    private var last = cpw_times()
    private var cyclesWithoutInput = 100
    /// The least that lay there since a time, in frames so far.
    private var least = Int.max
    private var framesOfLeast = 0
    /// Indicates whether a mono main output is played on both sides, beside others.
    private let isDoubled: Bool
    /// Indicates whether the last cycle's messages have not been handed over.
    private var hasMessages = false

    // The numbers that the session asks for.
    /// The time of the last cycle of PipeWire's; 0 before the first one of a connection.
    let called = Atomic<Int64>(0)
    let graphRate = Atomic<Int>(0)
    let duration = Atomic<Int>(0)
    let isFreewheeling = Atomic<Bool>(false)
    let freewheelChanges = Atomic<Int>(0)
    /// Nanoseconds behind and before the streams.
    let playbackDelay = Atomic<Int64>(0)
    let captureDelay = Atomic<Int64>(0)
    /// The frames that PipeWire's cycles have taken, those of cycles by the clock, and the sum of the durations that the daemon gave
    /// for the first. Cycles with a converter do not count.
    let frames = Atomic<Int>(0)
    let clockFrames = Atomic<Int>(0)
    let graphFrames = Atomic<Int>(0)
    /// Frames of silence before what was captured too late.
    let lateInput = Atomic<Int>(0)
    /// Frames of input that were left out, because it had fallen behind.
    let cutInput = Atomic<Int>(0)
    /// The frames that lie between the capture and the playback.
    let waitingInput = Atomic<Int>(0)

    /// The frames of a cycle by the clock.
    static let clockLength = 1_024

    /// - Parameter channels: The channels of each output of the renderer.
    init(_ run: OutputRun, _ settings: PipeWireSettings, channels: [Int]) {
        self.run = run
        self.settings = settings
        isDoubled = PipeWireSettings.playedChannels(channels) > channels.reduce(0, +)
        (inputCount, outputCount) = (settings.midiInputs.count, settings.midiOutputs.count)
        // It has no memory for sound: that is PipeWire's own.
        cycle = OutputCycle(
            run, inputs: settings.inputs, midiInputs: settings.midiInputs, midiOutputs: settings.midiOutputs, frames: 0)
        queue = CaptureQueue(
            channels: cycle.inputChannelCount, capacity: cycle.inputChannelCount > 0 ? Self.queueLength : 0)
        unsafe outputs = .allocate(capacity: Int(CPW_CHANNELS))
        unsafe inputs = .allocate(capacity: Int(CPW_CHANNELS))
        unsafe outputs.initialize(repeating: nil, count: Int(CPW_CHANNELS))
        unsafe inputs.initialize(repeating: nil, count: Int(CPW_CHANNELS))
        spare = AudioBlock(channels: max(1, cycle.channelCount), frames: Self.clockLength)
    }

    deinit {
        unsafe outputs.deallocate()
        unsafe inputs.deallocate()
    }

    // MARK: PipeWire's data thread

    /// Takes what a capture brings.
    func capture(_ stream: OpaquePointer) {
        let count = unsafe Int(cpw_stream_take(stream, inputs))
        guard count >= 0 else { return }
        if take() {
            unsafe queue.append(inputs, frames: count)
            if count > 0 { cyclesWithoutInput = 0 }
            var times = cpw_times()
            if unsafe cpw_stream_times(stream, &times) { captureDelay.store(times.delay, ordering: .relaxed) }
            giveBack()
        }
        unsafe cpw_stream_give(stream, 0)
    }

    /// Renders a cycle, into PipeWire's own memory.
    func play(_ stream: OpaquePointer) {
        let count = unsafe Int(cpw_stream_take(stream, outputs))
        guard count >= 0 else { return }
        guard count > 0, take() else {
            // The clock is in a cycle still: this one is silent.
            for channel in 0..<cycle.channelCount + (isDoubled ? 1 : 0) {
                unsafe outputs[channel]?.update(repeating: 0, count: count)
            }
            unsafe cpw_stream_give(stream, Int32(count))
            return
        }
        unsafe render(count, of: stream, &cycle, &queue)
        giveBack()
    }

    /// - Parameters:
    ///   - cycle: This one's, lent once: Swift checks each access to a property of a class that might overlap another.
    ///   - queue: This one's likewise.
    private func render(
        _ count: Int, of stream: OpaquePointer, _ cycle: inout OutputCycle, _ queue: inout CaptureQueue
    ) {
        for channel in 0..<cycle.channelCount {
            guard let place = unsafe outputs[isDoubled && channel > 0 ? channel + 1 : channel] else { continue }
            unsafe cycle.setOutput(channel, place)
        }
        var times = cpw_times()
        let hasTimes = unsafe cpw_stream_times(stream, &times)
        if hasTimes { note(times, frames: count) }
        if cycle.inputChannelCount > 0 { takeInput(count, &cycle, &queue) }
        cycle.begin(frames: count, hostTime: hasTimes ? times.now : nil, isFreewheeling: times.is_freewheeling)
        setTimes(times, &cycle, waiting: queue.count)
        run.render(&cycle)
        if isDoubled, let left = unsafe outputs[0] { unsafe outputs[1]?.update(from: left, count: count) }
        if cycle.inputChannelCount > 0 { leaveInput(count, cycle: Int(times.duration), &queue) }
        waitingInput.store(queue.count, ordering: .relaxed)
        hasMessages = true
        unsafe cpw_stream_give(stream, Int32(count))
        called.store(HostClock.now, ordering: .releasing)
    }

    /// Receives the messages of a cycle, and hands over those that the last one has sent.
    func exchangeMessages(_ ports: OpaquePointer) {
        guard take() else { return }
        defer { giveBack() }
        let this = unsafe Unmanaged.passUnretained(self).toOpaque()
        for port in 0..<inputCount {
            unsafe cpw_ports_read(ports, Int32(port), this) { this, port, frame, bytes, count in
                let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                unsafe Unmanaged<PipeWireCycle>.fromOpaque(this)._withUnsafeGuaranteedRef {
                    unsafe $0.cycle.receive(bytes.bytes, at: Int(frame), on: Int(port))
                }
            }
        }
        for port in 0..<outputCount where unsafe cpw_ports_begin(ports, Int32(port)) {
            if hasMessages {
                cycle.forEachMessage(on: port) { frame, bytes in
                    unsafe bytes.withUnsafeBytes { bytes in
                        guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                            return false
                        }
                        return unsafe cpw_ports_write(ports, Int32(port), UInt32(frame), start, bytes.count)
                    }
                }
            }
            unsafe cpw_ports_end(ports, Int32(port))
        }
        hasMessages = false
    }

    private func takeInput(_ count: Int, _ cycle: inout OutputCycle, _ queue: inout CaptureQueue) {
        cyclesWithoutInput &+= 1
        // A capture that comes a cycle late is still one; without any the inputs are silent, and so they say.
        cycle.hasInput = cyclesWithoutInput < 4
        let missing = queue.fill(to: count)
        if cycle.hasInput, missing > 0 { lateInput.wrappingAdd(missing, ordering: .relaxed) }
        for channel in 0..<cycle.inputChannelCount { unsafe cycle.setInput(channel, queue.channel(channel)) }
    }

    /// Takes what was rendered from the queue. Cycles that grew, and those in which the playback was not called, leave more there than is
    /// needed: what lay there through half a second, a whole cycle or more, is left out at once.
    private func leaveInput(_ count: Int, cycle length: Int, _ queue: inout CaptureQueue) {
        queue.drop(count)
        least = min(least, queue.count)
        framesOfLeast += count
        guard framesOfLeast >= Int(run.sampleRate / 2) else { return }
        if least >= max(64, length) {
            queue.drop(least)
            cutInput.wrappingAdd(least, ordering: .relaxed)
        }
        (least, framesOfLeast) = (.max, 0)
    }

    /// Notes where the graph's clock is: frames that it leaves out are an interruption.
    private func note(_ times: cpw_times, frames count: Int) {
        if Double(Int(times.rate)) == run.sampleRate {
            frames.wrappingAdd(count, ordering: .relaxed)
            graphFrames.wrappingAdd(Int(times.duration), ordering: .relaxed)
        }
        if times.frame != last.frame || times.clock != last.clock {
            // Some drivers count with the length of the cycle that ends, others with that of the one that begins; and one whose cycles
            // are no whole number of frames is off by one now and then.
            let expected = last.frame &+ UInt64(max(last.duration, times.duration))
            if times.clock == last.clock, times.rate == last.rate, last.duration > 0, times.frame > expected,
                times.frame - expected >= UInt64(max(2, last.duration / 2)), !times.is_freewheeling,
                !last.is_freewheeling
            {
                run.noteXrun()
            }
        }
        last = times
        graphRate.store(Int(times.rate), ordering: .relaxed)
        duration.store(Int(times.duration), ordering: .relaxed)
        playbackDelay.store(times.delay, ordering: .relaxed)
        note(isFreewheeling: times.is_freewheeling)
    }

    private func note(isFreewheeling isOn: Bool) {
        if isFreewheeling.exchange(isOn, ordering: .relaxed) != isOn {
            freewheelChanges.wrappingAdd(1, ordering: .relaxed)
        }
    }

    private func setTimes(_ times: cpw_times, _ cycle: inout OutputCycle, waiting: Int) {
        if run.latency.isCompensated && !times.is_freewheeling {
            let waiting = Double(max(0, waiting - cycle.frameCount)) * 1e9 / run.sampleRate
            cycle.hostTime += times.delay
            cycle.captureTime -= captureDelay.load(ordering: .relaxed) + Int64(waiting)
        }
        // PipeWire counts frames of the graph.
        let ratio = times.rate > 0 ? run.sampleRate / Double(Int(times.rate)) : 1
        var transport = Transport(
            isRolling: times.is_rolling,
            frame: ratio == 1 ? times.transport_frame : Int64(Double(times.transport_frame) * ratio))
        if times.has_bars, times.beats_per_bar >= 1, times.beat_type > 0, times.beats_per_minute > 0, times.beat >= 0,
            times.beat < 1e15, times.beats_per_bar < 1e6
        {
            let bar = (times.beat / times.beats_per_bar).rounded(.down)
            let inBar = times.beat - bar * times.beats_per_bar
            transport.bars = MusicalPosition(
                bar: Int(bar) + 1, beat: Int(inBar) + 1, fraction: inBar - inBar.rounded(.down),
                beatsPerBar: times.beats_per_bar, beatType: times.beat_type, beatsPerMinute: times.beats_per_minute)
        }
        cycle.transport = transport
    }

    // MARK: The clock

    /// Renders a cycle while PipeWire does not call. `false`: it has begun to.
    func playByClock(at time: Int64) -> Bool {
        guard take() else { return false }
        defer { giveBack() }
        for channel in 0..<cycle.channelCount {
            unsafe cycle.setOutput(channel, spare.pointers[min(channel, spare.channelCount - 1)])
        }
        cycle.hasInput = false
        note(isFreewheeling: false)
        cycle.begin(frames: Self.clockLength, hostTime: time)
        run.render(&cycle)
        hasMessages = false
        clockFrames.wrappingAdd(Self.clockLength, ordering: .relaxed)
        return true
    }

    // MARK: More inputs

    /// Indicates whether there is memory for these inputs, as many channels as they have now. On the thread that gives them.
    func isMade(for inputs: [AudioInput]) -> Bool { cycle.isMade(for: inputs) }

    /// Takes other inputs. `false`: a cycle does not end.
    func take(_ all: [AudioInput]) -> Bool {
        var inputs = CycleInputs(all, frames: 0)
        var sound = CaptureQueue(channels: inputs.channelCount, capacity: Self.queueLength)
        for _ in 0..<200 {
            if take() {
                cycle.exchange(&inputs)
                swap(&queue, &sound)
                giveBack()
                return true
            }
            usleep(500)
        }
        return false
    }

    /// The frames that may wait between the capture and the playback.
    private static let queueLength = 131_072

    // MARK: Taking turns

    private func take() -> Bool { !isTaken.exchange(true, ordering: .acquiring) }

    private func giveBack() { isTaken.store(false, ordering: .releasing) }

    /// Returns whether PipeWire has called since a time.
    func isCalled(since time: Int64) -> Bool { called.load(ordering: .acquiring) > time }

    /// Has the next connection begin anew.
    func forgetConnection() {
        called.store(0, ordering: .releasing)
        playbackDelay.store(0, ordering: .relaxed)
        captureDelay.store(0, ordering: .relaxed)
    }
}
