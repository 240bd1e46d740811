internal import Synchronization

/// What a renderer carries from cycle to cycle, and the cycle itself.
@safe final class CycleState: @unchecked Sendable {
    // Unchecked because everything here is touched only by who has claimed the renderer's cycle counter.
    let counter = CycleCounter()
    let inbox: Inbox
    let log: FaultLog
    let newcomers: Newcomers
    let late = LateLog()
    /// The loop, retained; its address.
    let image: Atomic<UInt>
    /// The sample clock, for control code.
    let clock = Atomic<Int64>(0)
    /// When the last cycle was due, in host time; `.min` before the first.
    let lastHostTime = Atomic<Int64>(.min)
    let lastFrameCount = Atomic<Int>(0)
    /// The host time of frame 0 while rendering goes on offline; `.min` after a live cycle.
    let offlineOrigin = Atomic<Int64>(.min)

    /// The render thread's own. Behind a pointer, because each access to a class's variable would be checked.
    private let carried: UnsafeMutablePointer<Carried>
    @safe private struct Carried: ~Copyable {
        var sampleTime: Int64 = 0
        var slices: UInt = 0
        var lastLoop = -1
        var inspectUntil: Int64 = 0
        var bySample = Schedule()
        var byHost = Schedule()
    }

    /// How many messages run in one cycle at most: work in a cycle stays bounded (W-23).
    static var messagesPerCycle: Int { 64 }

    init(_ image: LoopImage, log: FaultLog, newcomers: Newcomers, inbox: Inbox) {
        self.log = log
        self.newcomers = newcomers
        self.inbox = inbox
        rateBits = Atomic(image.settings.sampleRate.bitPattern)
        self.image = Atomic(unsafe UInt(bitPattern: Unmanaged.passRetained(image).toOpaque()))
        unsafe carried = .allocate(capacity: 1)
        unsafe carried.initialize(to: Carried())
        Reclaimer.shared.add(counter)
    }

    deinit {
        Reclaimer.shared.remove(counter)
        unsafe carried.deinitialize(count: 1)
        unsafe carried.deallocate()
    }

    /// The loop's sample rate, for who is about to render.
    var sampleRate: Double { Double(bitPattern: rateBits.load(ordering: .relaxed)) }
    private let rateBits: Atomic<UInt64>

    /// Whether a cycle was rendered since the last call. For the collector alone.
    func isRendering() -> Bool {
        let now = counter.count.load(ordering: .relaxed)
        defer { lastSeen = now }
        return now != lastSeen
    }
    private var lastSeen: UInt = 0

    /// Sets the sample clock, as if so many frames had been rendered: for tests. Nobody may be rendering.
    func setSampleTime(_ time: Int64) {
        guard counter.begin() else { return }
        unsafe carried.pointee.sampleTime = time
        clock.store(time, ordering: .relaxed)
        counter.end()
    }

    /// Puts another loop in the place of this one. Control side, one thread at a time. Returns the old one.
    func exchange(_ new: LoopImage) -> UInt {
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(new).toOpaque())
        rateBits.store(new.settings.sampleRate.bitPattern, ordering: .relaxed)
        return image.exchange(address, ordering: .sequentiallyConsistent)
    }

    /// Channels of the first output. On a render thread: inside of any renderer's cycle the loop cannot be freed.
    var channelCount: Int {
        unsafe CycleState.image(image.load(ordering: .sequentiallyConsistent))._withUnsafeGuaranteedRef {
            unsafe $0.core.pointee.buses[0].fullCount
        }
    }

    static func image(_ address: UInt) -> Unmanaged<LoopImage> {
        unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
    }

    /// Renders one cycle of any length.
    ///
    /// - Parameters:
    ///   - channels: where the channels of the first output are, then those of the others; those that are missing get
    ///     nothing.
    ///   - hostTime: when the first frame is due.
    ///   - outer: where in the outermost renderer's slice it lies, for a renderer inside of another.
    ///   - followsClock: whether the outermost renderer's clock is taken for this one's.
    ///   - supply: what else the driver brings along.
    ///   - startsOver: whether this cycle begins at frame 0, with all modules reset.
    func render(
        frames: Int, into channels: UnsafeBufferPointer<UnsafeMutablePointer<Float>>, hostTime: Int64, isOffline: Bool,
        inside outer: RenderPass? = nil, followsClock: Bool = false,
        supply: UnsafeMutablePointer<CycleSupply>? = nil, startsOver: Bool = false
    ) {
        for index in channels.indices { unsafe channels[index].update(repeating: 0, count: frames) }
        guard frames > 0 else { return }
        guard counter.begin() else {
            log.addBusy()
            return
        }
        unsafe CycleState.image(image.load(ordering: .sequentiallyConsistent))._withUnsafeGuaranteedRef { image in
            if followsClock, let outer { unsafe carried.pointee.sampleTime = outer.sampleTime }
            unsafe image.core.pointee.supply = supply
            if startsOver { startOver(image, hostTime) }
            unsafe run(image, frames, channels, hostTime, isOffline, outer)
            unsafe image.core.pointee.supply = nil
        }
        lastHostTime.store(hostTime, ordering: .relaxed)
        lastFrameCount.store(frames, ordering: .relaxed)
        if !isOffline { offlineOrigin.store(.min, ordering: .relaxed) }
        counter.end()
    }

    private func run(
        _ image: LoopImage, _ frames: Int, _ channels: UnsafeBufferPointer<UnsafeMutablePointer<Float>>,
        _ hostTime: Int64, _ isOffline: Bool, _ outer: RenderPass?
    ) {
        let core = unsafe image.core
        unsafe core.pointee.setOutputs(channels)
        let rate = image.settings.sampleRate
        if unsafe image.id != carried.pointee.lastLoop {
            unsafe carried.pointee.lastLoop = image.id
            unsafe carried.pointee.inspectUntil = carried.pointee.sampleTime &+ Int64(rate)
        }
        takeJobs(image, frames, hostTime, isOffline)

        var offset = 0
        while offset < frames {
            let now = unsafe carried.pointee.sampleTime &+ Int64(offset)
            let due = offset == 0 ? hostTime : hostTime &+ Int64((Double(offset) * 1e9 / rate).rounded())
            doDueJobs(image, offset, now, due, rate, isOffline)
            var length = min(frames &- offset, image.settings.layout.frames)
            if let next = unsafe carried.pointee.bySample.firstTime, next &- now < Int64(length) {
                length = max(1, Int(next &- now))
            }
            if let next = unsafe carried.pointee.byHost.firstTime {
                let distance = frameDistance(next, due, rate)
                if distance < Int64(length) { length = max(1, Int(distance)) }
            }
            if let supply = unsafe core.pointee.supply {
                unsafe length = min(length, supply.pointee.nextCut(after: offset) &- offset)
            }
            var mode = isOffline ? RenderContext.Mode.offline : .plain
            if unsafe now < carried.pointee.inspectUntil { mode.add(.inspecting) }
            // Three times in the first second, then about once: two looks at the clock for each module are more than many
            // of them cost.
            let span: Int64 = now < 1 &<< 16 ? 14 : 16
            if now &>> span != (now &+ Int64(length)) &>> span { mode.add(.timing) }
            unsafe carried.pointee.slices &+= 1
            let pass = unsafe RenderPass(
                number: UInt64(core.pointee.owner) &<< 40 ^ UInt64(carried.pointee.slices), offset: 0, sampleTime: now)
            image.run(
                frames: length, offset: offset, sampleTime: now, hostTime: due, mode: mode,
                pass: outer?.moved(by: offset) ?? pass)
            unsafe checkOutputs(core, offset, length, now, rate)
            offset &+= length
        }
        unsafe carried.pointee.sampleTime &+= Int64(frames)
        unsafe clock.store(carried.pointee.sampleTime, ordering: .relaxed)
    }

    /// Sets the clock to 0 and every module to silence. What is scheduled for a frame stays scheduled for that frame.
    private func startOver(_ image: LoopImage, _ hostTime: Int64) {
        unsafe carried.pointee.sampleTime = 0
        clock.store(0, ordering: .relaxed)
        unsafe CycleMemory.begin(image.core, outputOffset: 0, sampleTime: 0)
        var context = unsafe RenderContext(image.core, mode: .plain, frames: 1, sampleTime: 0, hostTime: hostTime)
        for module in image.modules { context.reset(module) }
        context.cleanUp()
    }

    /// Shows what transactions have set, runs messages, and puts what has a time in order.
    private func takeJobs(_ image: LoopImage, _ frames: Int, _ hostTime: Int64, _ isOffline: Bool) {
        // First what transactions have set: whoever sends a message after one expects it to find the values.
        if let job = unsafe inbox.takePending() {
            unsafe perform(job, image, 0, carried.pointee.sampleTime, hostTime, isOffline, late: nil)
        }
        var count = 0
        while count < CycleState.messagesPerCycle, let job = unsafe inbox.takeNext() {
            count &+= 1
            let time = unsafe job._withUnsafeGuaranteedRef { $0.time }
            if time.isImmediate {
                unsafe perform(job, image, 0, carried.pointee.sampleTime, hostTime, isOffline, late: nil)
            } else if let sample = time.sampleKey(image.settings.sampleRate) {
                unsafe carried.pointee.bySample.insert(job, at: sample)
            } else {
                unsafe carried.pointee.byHost.insert(job, at: time.hostKey)
            }
        }
        if let job = unsafe carried.pointee.bySample.takeCancelled() { unsafe inbox.handBack(job) }
        if let job = unsafe carried.pointee.byHost.takeCancelled() { unsafe inbox.handBack(job) }
    }

    /// Does what is due at a frame or should have been done before.
    private func doDueJobs(
        _ image: LoopImage, _ offset: Int, _ now: Int64, _ due: Int64, _ rate: Double, _ isOffline: Bool
    ) {
        while let time = unsafe carried.pointee.bySample.firstTime, time <= now {
            unsafe perform(carried.pointee.bySample.takeFirst(), image, offset, now, due, isOffline, late: now &- time)
        }
        while let time = unsafe carried.pointee.byHost.firstTime, frameDistance(time, due, rate) <= 0 {
            let late = -frameDistance(time, due, rate)
            unsafe perform(carried.pointee.byHost.takeFirst(), image, offset, now, due, isOffline, late: late)
        }
    }

    private func perform(
        _ job: Unmanaged<Job>, _ image: LoopImage, _ offset: Int, _ now: Int64, _ due: Int64, _ isOffline: Bool,
        late: Int64?
    ) {
        unsafe CycleMemory.begin(image.core, outputOffset: offset, sampleTime: now)
        var context = unsafe RenderContext(
            image.core, mode: isOffline ? .offline : .plain, frames: 1, sampleTime: now, hostTime: due)
        unsafe job._withUnsafeGuaranteedRef { job in
            if job.take() {
                job.apply(&context)
                if let late, late > 0 { self.late.add(frames: late, at: now) }
            }
        }
        unsafe inbox.handBack(job)
    }

    /// How many frames from now a host time is, to the nearest.
    private func frameDistance(_ time: Int64, _ now: Int64, _ rate: Double) -> Int64 {
        let frames = Double(time &- now) * rate * 1e-9
        return Int64(max(-1e15, min(1e15, frames)).rounded())
    }

    /// What is not finite does not reach an output. Afterwards every module is watched, to find who makes it.
    private func checkOutputs(
        _ core: UnsafeMutablePointer<CycleMemory>, _ offset: Int, _ length: Int, _ now: Int64, _ rate: Double
    ) {
        var isFinite = true
        for index in unsafe 0..<core.pointee.busCount {
            let bus = unsafe core.pointee.buses[index]
            for channel in 0..<bus.channelCount {
                let samples = unsafe bus.channels[channel] + offset
                if unsafe StackKernel.isFinite(samples, length) { continue }
                unsafe samples.update(repeating: 0, count: length)
                isFinite = false
            }
        }
        // As long as modules make such samples every one is looked at, so that they do not silence the whole output.
        guard unsafe !isFinite || core.pointee.foundNotFinite else { return }
        unsafe carried.pointee.inspectUntil = now &+ Int64(rate)
        unsafe core.pointee.foundNotFinite = false
        guard !isFinite else { return }
        unsafe core.pointee.last = core.pointee.closure
        unsafe core.pointee.report(.notFinite, .output, wanted: 0, found: 0, at: now)
    }
}

/// How late scheduled things were done, on the way to the control side: a count and the worst.
final class LateLog: Sendable {
    private let count = Atomic<Int>(0)
    private let worst = Atomic<Int64>(0)
    private let sampleTime = Atomic<Int64>(0)

    func add(frames: Int64, at now: Int64) {
        if frames > worst.load(ordering: .relaxed) { worst.store(frames, ordering: .relaxed) }
        sampleTime.store(now, ordering: .relaxed)
        // Last, so that whoever sees the count sees the rest.
        count.wrappingAdd(1, ordering: .releasing)
    }

    /// What came since the last call.
    func take() -> (count: Int, frames: Int64, sampleTime: Int64)? {
        let count = count.exchange(0, ordering: .acquiring)
        return count == 0 ? nil : (count, worst.exchange(0, ordering: .relaxed), sampleTime.load(ordering: .relaxed))
    }
}
