internal import CJACK
internal import CRender
internal import Glibc
internal import LinuxRealtime
internal import Outputs
internal import RenderCore
internal import Synchronization

/// The cycle and the notices that JACK calls, with the memory that they use. Made for one connection to a server.
@safe final class JACKCycle: @unchecked Sendable {
    // Unchecked because all that is not atomic or constant belongs to JACK's process thread from activation to closing.
    let client: OpaquePointer
    private let renderer: Renderer
    /// The number by which the renderer knows the output.
    private let driver: UInt
    private let load: LoadHistogram
    private let settings: JACKSettings
    private let audio: JACKAudioMemory
    let midi: JACKMIDIMemory
    let latencies: JACKLatencies
    private let own: UnsafeMutablePointer<Own>
    /// The distance from JACK's microseconds to the host clock, in nanoseconds: 0 on a usual server.
    private let clockOffset: Int64

    // The numbers that the session asks for.
    let cycles = Atomic<Int>(0)
    /// 0: the server is there; else one more than JACK's status.
    let shutdown = Atomic<UInt32>(0)
    let xruns = Atomic<Int>(0)
    let bufferSize: Atomic<Int>
    let sampleRate: Atomic<Int>
    let isFreewheeling = Atomic<Bool>(false)
    /// The number of times that that has changed: odd while it is on.
    let freewheelChanges = Atomic<Int>(0)
    let graphChanged = Atomic<Bool>(true)
    /// Ports of any program that went away since the household looked last.
    let departed = Lock(Set<UInt>())
    /// Notices a render loop that does not end.
    let watch = CycleWatch()
    /// Gives back the priority that the guard has taken.
    let priorityGuard = PriorityGuard()
    /// The priority that the server gave, if that is to be kept.
    private let ownPriority = Atomic<Int>(0)
    /// The thread's real-time priority, 0 for an ordinary thread; `unknown` before the first cycle.
    let priority = Atomic<Int>(JACKCycle.unknown)
    static let unknown = -1

    // Latencies in frames, behind and before the ports.
    let playbackLatency = Atomic<Int>(0)
    let captureLatency = Atomic<Int>(0)
    /// The tempo that is led: 0 for none.
    let beatsPerMinute = Atomic<UInt64>(0)
    let beatsPerBar = Atomic<UInt64>(0)

    // The clock: frame and host time of the last cycle's first frame, and a period in nanoseconds.
    let clock = JACKClock()

    private struct Own {
        var supply = CycleSupply()
        var isSetUp = false
        var isReady = false
        var wasFreewheeling = false
        var freewheelOrigin: Int64 = 0
        var freewheelFrames: Int64 = 0
        var lastHostTime: Int64 = 0
    }

    init(
        _ client: OpaquePointer, renderer: Renderer, driver: UInt, load: LoadHistogram, settings: JACKSettings,
        ports: [JACKPort]
    ) {
        unsafe self.client = client
        self.renderer = renderer
        self.driver = driver
        self.load = load
        self.settings = settings
        audio = JACKAudioMemory(ports, inputs: settings.inputs)
        midi = JACKMIDIMemory(ports, inputs: settings.midiInputs, outputs: settings.midiOutputs)
        latencies = JACKLatencies(ports, inputs: settings.inputs, outputs: renderer.outputChannelCounts)
        bufferSize = Atomic(unsafe Int(jack_get_buffer_size(client)))
        sampleRate = Atomic(unsafe Int(jack_get_sample_rate(client)))
        let difference = HostClock.now - Int64(jack_get_time()) * 1000
        clockOffset = abs(difference) < 5_000_000 ? 0 : difference
        unsafe own = .allocate(capacity: 1)
        unsafe own.initialize(to: Own())
        unsafe own.pointee.supply.sounds = audio.sounds
        unsafe own.pointee.supply.soundCount = settings.inputs.count
        unsafe own.pointee.supply.received = midi.received
        unsafe own.pointee.supply.receivedCount = settings.midiInputs.count
        unsafe own.pointee.supply.sent = midi.sent
        unsafe own.pointee.supply.sentCount = settings.midiOutputs.count
    }

    deinit {
        unsafe own.deinitialize(count: 1)
        unsafe own.deallocate()
    }

    // MARK: The cycle

    /// Renders a cycle, into JACK's own buffers. On JACK's process thread.
    func process(_ frames: UInt32) {
        // A library that ends this thread must not do so in the middle of it.
        var cancelState: Int32 = 0
        unsafe pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &cancelState)
        defer { pthread_setcancelstate(cancelState, nil) }
        let begin = HostClock.now
        watch.begin(begin)
        defer { watch.end() }
        if unsafe !own.pointee.isReady { setUpPriority() }
        let rate = Double(sampleRate.load(ordering: .relaxed))
        let isFreewheeling = isFreewheeling.load(ordering: .relaxed)
        let startsOver = unsafe isFreewheeling && !own.pointee.wasFreewheeling
        let start = cycleTime(Int(frames), begin, rate, isFreewheeling, startsOver)

        guard frames > 0, unsafe audio.findBuffers(frames) else { return }
        let nanoseconds = 1e9 / rate
        let (ahead, behind) =
            settings.compensatesLatency && !isFreewheeling
            ? (playbackLatency.load(ordering: .relaxed), captureLatency.load(ordering: .relaxed)) : (0, 0)
        unsafe audio.stamp(start - Int64(Double(behind) * nanoseconds))
        unsafe midi.receive(frames)
        unsafe own.pointee.supply.frameCount = Int(frames)
        unsafe own.pointee.supply.transport = JACKCycle.transport(cjack_transport_query(client))
        // The server plays what is in its buffers even if this cycle comes too late, or never.
        for index in unsafe audio.channels.indices {
            unsafe audio.channels[index].update(repeating: 0, count: Int(frames))
        }
        unsafe renderer.render(
            frames: Int(frames), into: audio.channels, hostTime: start + Int64(Double(ahead) * nanoseconds),
            isOffline: isFreewheeling, supply: &own.pointee.supply,
            startsOver: startsOver && settings.startsOverInFreewheel, driver: driver)
        unsafe midi.send(frames)

        if !isFreewheeling {
            let part = load.add(nanoseconds: HostClock.now - begin, frames: Int(frames), rate: rate)
            priorityGuard.note(load: part, priority: ownPriority.load(ordering: .relaxed))
        }
        cycles.wrappingAdd(1, ordering: .releasing)
    }

    /// Sets up the thread, with files and memory, on the thread itself: JACK calls it before the first cycle.
    func setUpThread() {
        guard unsafe !own.pointee.isSetUp else { return }
        unsafe own.pointee.isSetUp = true
        crender_permitted_begins()
        defer { crender_permitted_ends() }
        unsafe crender_name_thread("rs-jack")
        _ = crender_denormals_off()
        _ = crender_prefault_stack(128 * 1024)
        // The first piece of memory of a thread makes an arena for it, which opens files.
        unsafe free(malloc(64))
    }

    /// Notes the thread's priority in the first cycle, because only then the server has given it.
    private func setUpPriority() {
        setUpThread()
        unsafe own.pointee.isReady = true
        crender_permitted_begins()
        defer { crender_permitted_ends() }
        let policy = crender_thread_policy()
        // The thread keeps its priority, and gets a guard against a render loop that never ends.
        if policy.is_realtime && policy.priority > 0 {
            _ = RealtimeThread.raiseHelper(to: Int(policy.priority))
            ownPriority.store(Int(policy.priority), ordering: .relaxed)
        }
        priority.store(policy.is_realtime ? Int(policy.priority) : 0, ordering: .relaxed)
    }

    /// Returns the time at which the first frame of this cycle is due: by JACK's filtered clock, which neither drifts
    /// nor jitters.
    private func cycleTime(
        _ frames: Int, _ now: Int64, _ rate: Double, _ isFreewheeling: Bool, _ isFirst: Bool
    ) -> Int64 {
        unsafe own.pointee.wasFreewheeling = isFreewheeling
        if isFreewheeling {
            // Time follows the samples, so that jobs that are scheduled by it fall on the same frames each time.
            if isFirst {
                unsafe own.pointee.freewheelOrigin = own.pointee.lastHostTime == 0 ? now : own.pointee.lastHostTime
                unsafe own.pointee.freewheelFrames = 0
            }
            let elapsed = unsafe Int64(Double(own.pointee.freewheelFrames) * 1e9 / rate)
            unsafe own.pointee.freewheelFrames += Int64(frames)
            return unsafe own.pointee.freewheelOrigin + elapsed
        }
        var (frame, current, next, period) = (jack_nframes_t(0), jack_time_t(0), jack_time_t(0), Float(0))
        var time = now
        if unsafe jack_get_cycle_times(client, &frame, &current, &next, &period) == 0, current > 0 {
            time = Int64(current) * 1000 + clockOffset
            clock.set(frame: frame, hostTime: time, nanosecondsPerFrame: Double(period) * 1000 / Double(max(1, frames)))
        }
        unsafe own.pointee.lastHostTime = time
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

    func noteXrun() {
        xruns.wrappingAdd(1, ordering: .relaxed)
        load.addMissed(at: HostClock.now)
    }

    func noteFreewheel(_ isOn: Bool) {
        guard isFreewheeling.exchange(isOn, ordering: .relaxed) != isOn else { return }
        freewheelChanges.wrappingAdd(1, ordering: .relaxed)
    }

    /// Notes that two ports are connected or not any more. On JACK's thread for notices.
    func noteLink(_ one: UInt32, _ other: UInt32, isThere: Bool) {
        for number in [one, other] where !isThere {
            if let port = unsafe jack_port_by_id(client, number) { unsafe midi.noteParting(of: port) }
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
