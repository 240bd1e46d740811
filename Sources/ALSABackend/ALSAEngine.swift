internal import CALSA
internal import Glibc
internal import Outputs
internal import RenderCore
internal import Synchronization

/// The render thread of an output: renders a cycle whenever its device has room for one.
///
/// If there are two devices, the one that plays sets the pace, and the output follows the one that records. If one of
/// them is lost, the output gives it back and goes on with the other.
@safe final class ALSAEngine: @unchecked Sendable {
    // Unchecked because all that is not atomic or constant belongs to the render thread while that runs.
    let settings: ALSASettings
    private let renderer: Renderer
    let run: OutputRun
    let midi: SequencerMIDI?
    private let notice: @Sendable (String) -> Void
    /// The renderer's.
    let rate: Double
    /// Indicates whether both directions move frame by frame: those of one device.
    let isOneClock: Bool
    let isLinked: Bool
    /// Frames that a cycle may have.
    let capacity: Int

    /// `false` when the thread is asked to end.
    let shouldRun = Atomic<Bool>(true)
    /// The reason why the thread has ended: 0 while it runs, else one of ``End``.
    let end = Atomic<Int>(0)
    /// The reason why a device was given back, one of ``End``.
    let lostPlayback = Atomic<Int>(0)
    let lostCapture = Atomic<Int>(0)
    /// Devices that replace those.
    let newPlayback = Handover<PlaybackLine>()
    let newCapture = Handover<CaptureLine>()
    /// Interruptions of the line between two clocks.
    let lineBreaks = Atomic<Int>(0)
    let gaps = GapLog()
    /// The time at which the next cycle would have been heard.
    let nextDue = Atomic<Int64>(.min)
    /// Indicates whether the device takes frames faster than any clock would.
    let isUnclocked = Atomic<Bool>(false)

    /// The reasons why the thread ends, or a device was given back.
    enum End {
        static let stopped = 1
        static let stalled = 2
        /// Suspended, and does not wake up.
        static let asleep = 3
        /// Plus the error number.
        static let lost = 1000
    }

    // The render thread's own.
    var playback: PlaybackLine?
    var capture: CaptureLine?
    var outputCycle: OutputCycle
    private let polls: UnsafeMutablePointer<pollfd>
    private var playbackPolls = 0
    private var capturePolls = 0
    var isRecovering: Bool
    var cyclesSinceRecovery = 0
    var recoveries = 0
    var captureFailures = 0
    /// The time since which the device has been suspended, without a cycle.
    var asleepSince: Int64?
    /// The time at which the device that is followed gave something last.
    var captureSeen: Int64 = 0
    /// Nanoseconds of sound that the device has taken before their time.
    private var ahead: Int64 = 0
    private var lastCycle: Int64 = .min
    /// The frames that the devices had to give when the wait was over.
    var (free, there) = (0, 0)

    /// Creates an engine for open devices.
    ///
    /// - Parameter resumesAt: The time at which the next cycle of an earlier engine would have been heard.
    init(
        _ renderer: Renderer, run: OutputRun, settings: ALSASettings, playback: PlaybackLine?, capture: CaptureLine?,
        midi: SequencerMIDI? = nil, resumesAt: Int64?,
        notice: @escaping @Sendable (String) -> Void
    ) {
        self.renderer = renderer
        self.run = run
        self.settings = settings
        self.notice = notice
        self.playback = playback
        self.capture = capture
        self.midi = midi
        rate = renderer.sampleRate
        isOneClock = ALSAEngine.isOneClock(playback?.stream, capture?.stream)
        isLinked = isOneClock && ALSAEngine.link(playback?.stream, capture?.stream)
        capacity = ALSAEngine.neededCapacity(playback, capture, atLeast: 4096)
        outputCycle = OutputCycle(
            run, inputs: settings.inputs, midiInputs: midi == nil ? [] : settings.midiInputs,
            midiOutputs: midi == nil ? [] : settings.midiOutputs, frames: capacity)
        unsafe polls = .allocate(capacity: 2 * ALSAEngine.mostPolls)
        unsafe polls.initialize(repeating: pollfd(), count: 2 * ALSAEngine.mostPolls)
        isRecovering = resumesAt != nil
        if let resumesAt { nextDue.store(resumesAt, ordering: .relaxed) }
        arrange()
    }

    deinit { unsafe polls.deallocate() }

    private static var mostPolls: Int { 32 }

    /// Returns whether two streams are of one device, in step.
    static func isOneClock(_ playback: ALSAStream?, _ capture: ALSAStream?) -> Bool {
        guard let playback, let capture else { return false }
        return playback.configuration.device == capture.configuration.device
            && playback.configuration.sampleRate == capture.configuration.sampleRate
            && playback.period == capture.period
    }

    /// Frames that a cycle with these devices may have.
    static func neededCapacity(_ playback: PlaybackLine?, _ capture: CaptureLine?, atLeast least: Int) -> Int {
        max(
            max(least, playback?.mostFrames ?? 0),
            max(capture?.mostFrames ?? 0, max(capture?.stream.period ?? 0, playback?.stream.period ?? 0)))
    }

    private static func link(_ playback: ALSAStream?, _ capture: ALSAStream?) -> Bool {
        guard let playback, let capture else { return false }
        return capture.link(with: playback)
    }

    /// Lists the descriptors to poll, and whether there is a device that records.
    func arrange() {
        playbackPolls = min(ALSAEngine.mostPolls, playback?.stream.pollCount ?? 0)
        capturePolls = min(ALSAEngine.mostPolls, capture?.stream.pollCount ?? 0)
        unsafe playback?.stream.fillPolls(polls, playbackPolls)
        unsafe capture?.stream.fillPolls(polls + playbackPolls, capturePolls)
        outputCycle.hasInput = capture != nil
    }

    // MARK: The loop

    func live() {
        run.prepareThread("rs-alsa", notice)
        let messages = ALSAMessages()
        defer { messages.end() }
        end.store(loop(), ordering: .sequentiallyConsistent)
    }

    private func loop() -> Int {
        var fault = begin()
        while true {
            if fault < 0 {
                let error = -fault
                guard recover(from: error, &fault) else {
                    return shouldRun.load(ordering: .acquiring) ? reason(error) : stopDevices()
                }
                continue
            }
            switch wait() {
            case .ready: fault = cycle()
            case .fault(let error): fault = error
            case .stopped: return stopDevices()
            case .stalled:
                if !giveUp(End.stalled) { return End.stalled }
            }
        }
    }

    private func stopDevices() -> Int {
        playback?.stream.drop()
        capture?.stream.drop()
        return End.stopped
    }

    private enum Wake { case ready, stopped, stalled, fault(Int32) }

    /// Waits until a cycle can be rendered.
    private func wait() -> Wake {
        var last = HostClock.now
        var seen = (-1, -1)
        var fruitless = 0
        while true {
            guard shouldRun.load(ordering: .acquiring) else { return .stopped }
            let error = adopt()
            if error < 0 { return .fault(error) }
            let paced = playback == nil || isOneClock ? capture : nil
            let (room, needed) = (playback?.stream.period ?? 0, paced?.stream.period ?? 0)
            let free = playback?.stream.available() ?? Int.max
            if free < 0 { return .fault(Int32(free)) }
            let there = paced?.stream.available() ?? Int.max
            if there < 0 { return .fault(Int32(there)) }
            if free >= room && there >= needed {
                (self.free, self.there) = (playback == nil ? 0 : free, paced == nil ? 0 : there)
                return .ready
            }
            if (free, there) != seen {
                seen = (free, there)
                last = HostClock.now
                fruitless = 0
            } else if HostClock.now - last > settings.patience {
                return .stalled
            }
            // A poll that returns at once though there is nothing to do must not keep the processor.
            if fruitless > 4 { pause(min(0.02, 0.25 * cycleSeconds)) }
            // Only the device that is waited for: the other one is ready, and would not let the thread sleep.
            let first = free >= room ? playbackPolls : 0
            let count = there >= needed ? playbackPolls - first : playbackPolls + capturePolls - first
            // It looks again after a period without a word: what a device does at once shows only to who looks often.
            let limit = Int32(min(50, 2 + 1000 * cycleSeconds))
            if unsafe poll(polls + first, UInt(count), limit) > 0 {
                fruitless += 1
                if free < room { unsafe _ = playback?.stream.wasWoken(polls, playbackPolls) }
                if there < needed { unsafe _ = paced?.stream.wasWoken(polls + playbackPolls, capturePolls) }
            }
        }
    }

    /// Renders a cycle and hands it over. 0, or an error below 0.
    private func cycle() -> Int32 {
        let now = smoothedNow()
        var (frames, heard, captured) = (0, now, now)
        if let playback {
            frames = playback.framesToRender
            let queued = Double(playback.stream.bufferSize - free + playback.stream.extraDelay) / playback.rate
            heard += Int64(((queued + playback.lead) * 1e9).rounded())
            if let capture, capture.isFollowing, !isOneClock {
                captured -= follow(capture, frames, lateness: Double(free - playback.stream.period) / playback.rate)
            } else if let capture {
                let error = fetch(capture, frames, &captured)
                if error < 0 { return error }
            }
        } else if let capture {
            let error = fetch(capture, nil, &captured)
            if error < 0 { return error }
            frames = min(capacity, capture.drain(into: &outputCycle.incoming.block))
        }
        let isCompensated = run.latency.isCompensated
        let due = isCompensated ? heard : now
        noteTime(heard, due, frames)
        let number = renderer.sampleTime
        if frames > 0 {
            outputCycle.begin(frames: frames, hostTime: due)
            outputCycle.captureTime = isCompensated ? captured : now
            beginMIDI(now, frames)
            run.render(&outputCycle)
            midi?.end(outputCycle)
        }
        if let playback {
            let error = playback.write(outputCycle.outputBlock, frames: frames, number: number)
            if error < 0 { return error }
        }
        // Handed over: from here on there is time.
        midi?.wake()
        cyclesSinceRecovery += 1
        playback?.stream.noteCycle()
        playback?.stream.measureDelay()
        capture?.stream.measureDelay()
        noteLatency()
        if settings.isPaced { pace(frames, HostClock.now) }
        return 0
    }

    /// Fetches a period, and takes `frames` frames of it at our rate; by default all that there are.
    private func fetch(_ capture: CaptureLine, _ frames: Int?, _ captured: inout Int64) -> Int32 {
        let there = capture.stream.available()
        if there < 0 { return Int32(there) }
        captured -= capture.age(there)
        let error = capture.fetch(into: &outputCycle.incoming.block)
        if error < 0 { return error }
        if let frames { capture.pull(frames, into: &outputCycle.incoming.block) }
        return 0
    }

    /// Fetches all that the other card has, and takes frames of it at our clock. Returns how old they are.
    private func follow(_ capture: CaptureLine, _ frames: Int, lateness: Double) -> Int64 {
        let count = capture.fetchAll()
        if count > 0 {
            captureSeen = HostClock.now
            captureFailures = 0
        } else if count < 0 {
            recoverCapture(from: Int32(-count))
        } else if HostClock.now - captureSeen > settings.patience {
            giveUpCapture(End.stalled)
        }
        guard self.capture != nil else {
            outputCycle.incoming.block.silence()
            return 0
        }
        let age = capture.age(0)
        capture.follow(frames, lateness: lateness * rate, into: &outputCycle.incoming.block)
        lineBreaks.store(capture.breakCount, ordering: .relaxed)
        return age
    }

    /// Has a device wait that takes frames at once, such as ALSA's "null": it would keep the processor for itself.
    /// Cards are within 1/1000 of the clock, so what a device takes too fast counts only beyond a twentieth.
    private func pace(_ frames: Int, _ now: Int64) {
        let passed = lastCycle == .min ? 0 : now - lastCycle
        lastCycle = now
        ahead = max(0, ahead + Int64(Double(frames) * 1e9 / rate) - passed - passed / 20)
        guard ahead > 500_000_000 else { return }
        isUnclocked.store(true, ordering: .relaxed)
        pause(cycleSeconds)
    }

    // MARK: For the recovery

    /// The length of a cycle in seconds.
    var cycleSeconds: Double {
        if let playback { return Double(playback.stream.period) / playback.rate }
        if let capture { return Double(capture.stream.period) / capture.rate }
        return 0.005
    }

    func pause(_ seconds: Double) {
        let end = HostClock.now + Int64(min(0.5, seconds) * 1e9)
        var request = timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
        while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &request, nil) == EINTR {}
    }
}
