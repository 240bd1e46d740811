internal import CALSA
internal import Glibc
internal import RenderCore
internal import Synchronization

/// One direction of one device, from its opening to its closing.
@safe final class ALSAStream: @unchecked Sendable {
    // Unchecked because one thread at a time uses it: the one that opens it, then the render thread, then the one that
    // closes it.
    let isCapture: Bool
    let configuration: ALSAConfiguration
    let period: Int
    let bufferSize: Int
    /// Frames that the device is later than its memory says, measured after each hand-over.
    private(set) var extraDelay = 0
    /// Samples that were clipped.
    let clipped = Atomic<Int>(0)
    /// Indicates that the device moves by more frames at once than its buffer holds.
    let isTooShort = Atomic<Bool>(false)

    let pcm: OpaquePointer
    private let writer: SampleWriter
    private let channelCount: Int
    /// The memory where samples wait for the kernel to copy them, one period.
    private let staging: UnsafeMutableRawPointer
    private let stagingPlanes: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    /// The kernel's answer to how far the device is.
    private let status: OpaquePointer
    private let growsBuffer: Bool
    private let now: @Sendable () -> Int64
    private var steps: StepWatch

    /// Opens a device and agrees with it.
    ///
    /// - Parameters:
    ///   - name: ALSA's name for it.
    ///   - rate: The wanted rate, in Hz.
    ///   - channels: The wanted number of channels.
    init(
        _ name: String, isCapture: Bool, rate: Double, channels: Int, settings: ALSASettings
    ) throws(ALSAError) {
        let messages = ALSAMessages()
        defer { messages.end() }
        var opened: OpaquePointer?
        let error = unsafe snd_pcm_open(
            &opened, name, isCapture ? SND_PCM_STREAM_CAPTURE : SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK)
        guard error == 0, let pcm = unsafe opened else { throw .opening(name, -error) }
        var status: OpaquePointer?
        guard unsafe snd_pcm_status_malloc(&status) == 0, let status = unsafe status else {
            unsafe snd_pcm_close(pcm)
            throw .opening(name, ENOMEM)
        }
        unsafe self.status = status
        growsBuffer = settings.growsBuffers
        now = settings.now
        steps = StepWatch(openedAnew: settings.hasGrown ? settings.now() : nil)
        do {
            configuration = unsafe try HardwareParameters.negotiate(
                pcm, name, rate: rate, channels: channels, settings: settings)
        } catch {
            unsafe snd_pcm_status_free(status)
            unsafe snd_pcm_close(pcm)
            throw error
        }
        unsafe self.pcm = pcm
        self.isCapture = isCapture
        period = configuration.period
        bufferSize = configuration.bufferSize
        channelCount = configuration.channelCount
        writer = SampleWriter(format: configuration.format, isDithered: settings.isDithered)
        let bytes = configuration.format.byteCount * period
        unsafe staging = .allocate(byteCount: bytes * channelCount, alignment: 64)
        unsafe staging.initializeMemory(as: UInt8.self, repeating: 0, count: bytes * channelCount)
        unsafe stagingPlanes = .allocate(capacity: channelCount)
        for channel in 0..<channelCount { unsafe (stagingPlanes + channel).initialize(to: staging + channel * bytes) }
    }

    deinit {
        // After an unplug it says ENODEV, and is closed all the same.
        unsafe snd_pcm_close(pcm)
        unsafe snd_pcm_status_free(status)
        unsafe staging.deallocate()
        unsafe stagingPlanes.deallocate()
    }

    /// Returns whether a device that plays can be opened now.
    static func isThere(_ name: String) -> Bool { type(of: name) != nil }

    /// Returns whether a device that plays can be opened now, and is not the one that plays nowhere.
    static func isHeard(_ name: String) -> Bool { type(of: name).map { $0 != SND_PCM_TYPE_NULL } ?? false }

    private static func type(of name: String) -> snd_pcm_type_t? {
        let messages = ALSAMessages()
        defer { messages.end() }
        var opened: OpaquePointer?
        guard unsafe snd_pcm_open(&opened, name, SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK) == 0 else { return nil }
        defer { unsafe snd_pcm_close(opened) }
        return unsafe snd_pcm_type(opened)
    }

    // MARK: State

    /// Frames that can be transferred now, or an error below 0.
    func available() -> Int {
        let frames = unsafe snd_pcm_avail_update(pcm)
        // A device that is suspended or gone need not say so here.
        switch unsafe snd_pcm_state(pcm) {
        case SND_PCM_STATE_SUSPENDED: return Int(-ESTRPIPE)
        case SND_PCM_STATE_DISCONNECTED: return Int(-ENODEV)
        case SND_PCM_STATE_XRUN: return Int(-EPIPE)
        default:
            if frames >= 0, growsBuffer { steps.note(margin: bufferSize - Int(frames), at: now()) }
            return Int(frames)
        }
    }

    /// Notes that a cycle was handed over.
    func noteCycle() {
        // With few periods slowness would have another reason.
        guard growsBuffer, bufferSize > 4 * period else { return }
        let nanoseconds = Double(period) * 1e9 / configuration.sampleRate
        if steps.noteCycle(at: now(), nanoseconds: nanoseconds) { isTooShort.store(true, ordering: .relaxed) }
    }

    /// Notes that the device has failed with EPIPE, or one that goes with it.
    func noteFailure() {
        guard growsBuffer, unsafe snd_pcm_state(pcm) == SND_PCM_STATE_XRUN else { return }
        if steps.noteFailure(at: now(), rate: configuration.sampleRate) { isTooShort.store(true, ordering: .relaxed) }
    }

    /// Indicates whether the device is ready to be started, and has not been.
    var isPrepared: Bool { unsafe snd_pcm_state(pcm) == SND_PCM_STATE_PREPARED }

    var isSuspended: Bool { unsafe snd_pcm_state(pcm) == SND_PCM_STATE_SUSPENDED }

    /// Stops, and makes the device ready to start again; queued frames are lost. Returns 0, or an error below 0.
    func prepare() -> Int32 {
        unsafe snd_pcm_drop(pcm)
        return unsafe snd_pcm_prepare(pcm)
    }

    /// Has both start and stop as one. `false`: the device cannot.
    func link(with other: ALSAStream) -> Bool { unsafe snd_pcm_link(other.pcm, pcm) == 0 }

    func start() -> Int32 { unsafe snd_pcm_start(pcm) }
    func resume() -> Int32 { unsafe snd_pcm_resume(pcm) }
    func drop() { unsafe snd_pcm_drop(pcm) }

    /// Fills the whole of its memory with silence.
    func fillWithSilence() -> Int32 {
        while true {
            let free = available()
            if free < 0 { return Int32(free) }
            if free == 0 { return 0 }
            let error = unsafe write(nil, 0, frames: min(free, period), number: 0)
            if error < 0 { return error }
        }
    }

    /// Asks for the latency of the device. System calls: after the hand-over.
    ///
    /// A kernel driver answers both questions at once. Any other device may move between the two, by a whole period: an
    /// answer counts if it has not. If it moves each time, the last known answer stays.
    func measureDelay() {
        if unsafe snd_pcm_type(pcm) == SND_PCM_TYPE_HW {
            guard unsafe snd_pcm_status(pcm, status) == 0 else { return }
            let (delay, free) = unsafe (Int(snd_pcm_status_get_delay(status)), Int(snd_pcm_status_get_avail(status)))
            extraDelay = max(0, delay - (isCapture ? free : bufferSize - free))
            return
        }
        for _ in 0..<4 {
            var delay: snd_pcm_sframes_t = 0
            let before = unsafe snd_pcm_avail_update(pcm)
            guard before >= 0, unsafe snd_pcm_delay(pcm, &delay) == 0 else { return }
            guard unsafe snd_pcm_avail_update(pcm) == before else { continue }
            extraDelay = max(0, Int(delay) - (isCapture ? Int(before) : bufferSize - Int(before)))
            return
        }
    }

    // MARK: Polling

    var pollCount: Int { unsafe Int(max(0, snd_pcm_poll_descriptors_count(pcm))) }

    @unsafe func fillPolls(_ descriptors: UnsafeMutablePointer<pollfd>, _ count: Int) {
        unsafe snd_pcm_poll_descriptors(pcm, descriptors, UInt32(count))
    }

    /// Returns whether its poll has told something: half of the wake-ups tell nothing.
    @unsafe func wasWoken(_ descriptors: UnsafeMutablePointer<pollfd>, _ count: Int) -> Bool {
        var events: UInt16 = 0
        guard unsafe snd_pcm_poll_descriptors_revents(pcm, descriptors, UInt32(count), &events) == 0 else {
            return true
        }
        return events != 0
    }

    // MARK: Samples

    /// Hands frames over. 0, or an error below 0.
    ///
    /// - Parameters:
    ///   - channels: Ours; `nil` for silence. Channels of the device that we lack are silent.
    ///   - count: The number of our channels.
    ///   - frames: At most a period, and no more than are free.
    ///   - number: The dither's number of the first frame.
    @unsafe func write(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>?, _ count: Int, frames: Int, number: Int64
    ) -> Int32 {
        if !configuration.access.isMapped {
            let planes = unsafe stagedAreas(frames: frames)
            for channel in 0..<channelCount {
                let plane = unsafe planes.base + channel * planes.channelStep
                unsafe convert(
                    channel, channels, count, from: 0, frames: frames, to: plane, step: planes.sampleStep, number)
            }
        }
        var done = 0
        while done < frames {
            let moved: Int
            if configuration.access.isMapped {
                var areas: UnsafePointer<snd_pcm_channel_area_t>?
                var offset: snd_pcm_uframes_t = 0
                var size = snd_pcm_uframes_t(frames - done)
                let error = unsafe snd_pcm_mmap_begin(pcm, &areas, &offset, &size)
                guard error == 0, let areas = unsafe areas else { return error == 0 ? -EIO : error }
                for channel in 0..<channelCount {
                    let area = unsafe areas[channel]
                    guard let base = unsafe area.addr else { return -EIO }
                    unsafe convert(
                        channel, channels, count, from: done, frames: Int(size),
                        to: base + (Int(area.first) + Int(offset) * Int(area.step)) / 8, step: Int(area.step) / 8,
                        number)
                }
                moved = unsafe Int(snd_pcm_mmap_commit(pcm, offset, size))
            } else if configuration.access.isInterleaved {
                let bytes = configuration.format.byteCount * channelCount
                moved = unsafe Int(snd_pcm_writei(pcm, staging + done * bytes, snd_pcm_uframes_t(frames - done)))
            } else {
                unsafe placePlanes(done)
                moved = unsafe Int(snd_pcm_writen(pcm, stagingPlanes, snd_pcm_uframes_t(frames - done)))
            }
            if moved <= 0 { return moved == 0 || moved == Int(-EAGAIN) ? -EPIPE : Int32(moved) }
            done += moved
        }
        return 0
    }

    /// Fetches frames into ours. 0, or an error below 0.
    ///
    /// - Parameters:
    ///   - channels: Ours. A device with one channel is heard in all; channels that it lacks are silent.
    ///   - count: The number of our channels.
    ///   - frames: At most a period, and no more than there are.
    @unsafe func read(
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, _ count: Int, frames: Int
    ) -> Int32 {
        var done = 0
        while done < frames {
            let moved: Int
            if configuration.access.isMapped {
                var areas: UnsafePointer<snd_pcm_channel_area_t>?
                var offset: snd_pcm_uframes_t = 0
                var size = snd_pcm_uframes_t(frames - done)
                let error = unsafe snd_pcm_mmap_begin(pcm, &areas, &offset, &size)
                guard error == 0, let areas = unsafe areas else { return error == 0 ? -EIO : error }
                for channel in 0..<count {
                    guard let own = deviceChannel(channel) else { continue }
                    let area = unsafe areas[own]
                    guard let base = unsafe area.addr else { return -EIO }
                    unsafe writer.read(
                        base + (Int(area.first) + Int(offset) * Int(area.step)) / 8, step: Int(area.step) / 8,
                        count: Int(size), into: channels[channel] + done)
                }
                moved = unsafe Int(snd_pcm_mmap_commit(pcm, offset, size))
            } else {
                let wanted = snd_pcm_uframes_t(frames - done)
                if configuration.access.isInterleaved {
                    moved = unsafe Int(snd_pcm_readi(pcm, staging, wanted))
                } else {
                    unsafe placePlanes(0)
                    moved = unsafe Int(snd_pcm_readn(pcm, stagingPlanes, wanted))
                }
                if moved > 0 {
                    let planes = unsafe stagedAreas(frames: period)
                    for channel in 0..<count {
                        guard let own = deviceChannel(channel) else { continue }
                        unsafe writer.read(
                            planes.base + own * planes.channelStep, step: planes.sampleStep, count: moved,
                            into: channels[channel] + done)
                    }
                }
            }
            if moved <= 0 { return moved == 0 || moved == Int(-EAGAIN) ? -EPIPE : Int32(moved) }
            done += moved
        }
        return 0
    }

    private func deviceChannel(_ channel: Int) -> Int? {
        channelCount == 1 ? 0 : channel < channelCount ? channel : nil
    }

    @unsafe private func stagedAreas(
        frames: Int
    ) -> (base: UnsafeMutableRawPointer, channelStep: Int, sampleStep: Int) {
        let bytes = configuration.format.byteCount
        return configuration.access.isInterleaved
            ? unsafe (staging, bytes, bytes * channelCount) : unsafe (staging, bytes * period, bytes)
    }

    @unsafe private func placePlanes(_ done: Int) {
        let bytes = configuration.format.byteCount
        for channel in 0..<channelCount {
            unsafe stagingPlanes[channel] = staging + (channel * period + done) * bytes
        }
    }

    @unsafe private func convert(
        _ channel: Int, _ channels: UnsafePointer<UnsafeMutablePointer<Float>>?, _ count: Int, from first: Int,
        frames: Int, to memory: UnsafeMutableRawPointer, step: Int, _ number: Int64
    ) {
        guard let channels = unsafe channels, channel < count else {
            let bytes = configuration.format.byteCount
            for frame in 0..<frames { unsafe memset(memory + frame * step, 0, bytes) }
            return
        }
        let clips = unsafe writer.write(
            channels[channel] + first, count: frames, to: memory, step: step,
            number: (number &+ Int64(first)) &* Int64(channelCount) &+ Int64(channel), numberStep: Int64(channelCount))
        if clips > 0 { clipped.wrappingAdd(clips, ordering: .relaxed) }
    }
}
