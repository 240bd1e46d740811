internal import CJACK
internal import CRender
internal import Glibc
internal import RenderCore
internal import Synchronization

/// What JACK calls: the cycle and the notices, with the memory that they use. Made for one connection to a server.
@safe final class JACKCycle: @unchecked Sendable {
    // Unchecked because what is not atomic or constant belongs to JACK's process thread from activation to closing.
    let client: OpaquePointer
    private let renderer: Renderer
    private let load: LoadHistogram
    private let settings: JACKSettings
    private let audio: JACKAudioMemory
    private let midi: JACKMIDIMemory
    let latencies: JACKLatencies
    private let own: UnsafeMutablePointer<Own>
    /// From JACK's microseconds to the host clock, in nanoseconds: 0 on a usual server.
    private let clockOffset: Int64

    // What the household asks for.
    let cycles = Atomic<Int>(0)
    /// 0: the server is there; else one more than JACK's status.
    let shutdown = Atomic<UInt32>(0)
    let xruns = Atomic<Int>(0)
    let bufferSize: Atomic<Int>
    let sampleRate: Atomic<Int>
    let isFreewheeling = Atomic<Bool>(false)
    /// How often that has changed: odd while it is on.
    let freewheelChanges = Atomic<Int>(0)
    let graphChanged = Atomic<Bool>(true)
    let isInside = Atomic<Bool>(false)
    /// Whether the thread has real-time priority; `unknown` before the first cycle.
    let priority = Atomic<Int>(JACKCycle.unknown)
    static let unknown = -1

    // Latencies in frames: of what is behind and before the ports.
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
        var wasFreewheeling = false
        var freewheelOrigin: Int64 = 0
        var freewheelFrames: Int64 = 0
        var lastHostTime: Int64 = 0
    }

    init(
        _ client: OpaquePointer, renderer: Renderer, load: LoadHistogram, settings: JACKSettings,
        ports: [JACKPort]
    ) {
        unsafe self.client = client
        self.renderer = renderer
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
        isInside.store(true, ordering: .relaxed)
        defer { isInside.store(false, ordering: .relaxed) }
        let begin = HostClock.now
        if unsafe !own.pointee.isSetUp { setUp() }
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
        unsafe renderer.render(
            frames: Int(frames), into: audio.channels, hostTime: start + Int64(Double(ahead) * nanoseconds),
            isOffline: isFreewheeling, supply: &own.pointee.supply,
            startsOver: startsOver && settings.startsOverInFreewheel)
        unsafe midi.send(frames)

        if !isFreewheeling { load.add(load: Double(HostClock.now - begin) * rate / (Double(max(1, frames)) * 1e9)) }
        cycles.wrappingAdd(1, ordering: .releasing)
    }

    /// What can be done on the thread itself only, in its first cycle.
    private func setUp() {
        unsafe own.pointee.isSetUp = true
        crender_permitted_begins()
        defer { crender_permitted_ends() }
        unsafe crender_name_thread("rs-jack")
        _ = crender_denormals_off()
        _ = crender_prefault_stack(128 * 1024)
        let policy = crender_thread_policy()
        priority.store(policy.is_realtime ? Int(policy.priority) : 0, ordering: .relaxed)
        // The same priority, with a guard against a closure that never ends.
        if policy.is_realtime && policy.priority > 0 { _ = crender_make_realtime(policy.priority, 500_000) }
    }

    /// When the first frame of this cycle is due: by JACK's filtered clock, which neither drifts nor jitters.
    private func cycleTime(
        _ frames: Int, _ now: Int64, _ rate: Double, _ isFreewheeling: Bool, _ isFirst: Bool
    ) -> Int64 {
        unsafe own.pointee.wasFreewheeling = isFreewheeling
        if isFreewheeling {
            // Time follows the samples, so that what is scheduled by it falls on the same frames each time.
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

    /// JACK's position in our words.
    static func transport(_ position: cjack_position) -> Transport {
        let (rolling, looping) = (Int32(JackTransportRolling.rawValue), Int32(JackTransportLooping.rawValue))
        var result = Transport(
            isRolling: position.state == rolling || position.state == looping, frame: Int64(position.frame))
        if position.has_bars != 0 {
            result.bars = MusicalPosition(
                bar: Int(position.bar), beat: Int(position.beat),
                fraction: position.ticks_per_beat > 0 ? position.tick / position.ticks_per_beat : 0,
                beatsPerBar: position.beats_per_bar, beatType: position.beat_type,
                beatsPerMinute: position.beats_per_minute)
        }
        return result
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

    func noteShutdown(_ status: UInt32) {
        _ = shutdown.compareExchange(expected: 0, desired: status + 1, ordering: .relaxed)
    }

    /// The bars at a frame of the transport, when this client leads the tempo. On JACK's process thread.
    func lead(_ position: UnsafeMutablePointer<jack_position_t>) {
        let tempo = Double(bitPattern: beatsPerMinute.load(ordering: .relaxed))
        let metre = Double(bitPattern: beatsPerBar.load(ordering: .relaxed))
        let rate = Double(sampleRate.load(ordering: .relaxed))
        guard tempo > 0, metre >= 1, rate > 0 else { return }
        let ticksPerBeat = 1920.0
        let beats = unsafe Double(cjack_position_frame(position)) * tempo / (60 * rate)
        let bar = Int(beats / metre)
        let inBar = beats - Double(bar) * metre
        let tick = (inBar - Double(Int(inBar))) * ticksPerBeat
        unsafe cjack_position_set_bars(
            position, Int32(bar + 1), Int32(Int(inBar) + 1), Int32(tick), Double(bar) * metre * ticksPerBeat,
            Float(metre), 4, ticksPerBeat, tempo)
    }
}

/// The relation of JACK's frames and the host clock, written by one thread and read by any.
final class JACKClock: Sendable {
    private let version = Atomic<UInt>(0)
    private let frame = Atomic<Int64>(0)
    private let hostTime = Atomic<Int64>(0)
    private let period = Atomic<UInt64>(0)

    /// JACK's frames are 32 bits and wrap after a day: here they go on.
    func set(frame: UInt32, hostTime: Int64, nanosecondsPerFrame: Double) {
        let last = self.frame.load(ordering: .relaxed)
        let step = Int64(Int32(bitPattern: frame &- UInt32(truncatingIfNeeded: last)))
        version.wrappingAdd(1, ordering: .acquiringAndReleasing)
        self.frame.store(last == 0 ? Int64(frame) : last + step, ordering: .relaxed)
        self.hostTime.store(hostTime, ordering: .relaxed)
        period.store(nanosecondsPerFrame.bitPattern, ordering: .relaxed)
        version.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }

    /// `nil` before the first cycle.
    var now: (frame: Int64, hostTime: Int64, nanosecondsPerFrame: Double)? {
        while true {
            let before = version.load(ordering: .acquiring)
            let value = (
                frame.load(ordering: .relaxed), hostTime.load(ordering: .relaxed),
                Double(bitPattern: period.load(ordering: .relaxed))
            )
            atomicMemoryFence(ordering: .acquiring)
            if before & 1 == 0, version.load(ordering: .relaxed) == before { return before == 0 ? nil : value }
        }
    }
}
