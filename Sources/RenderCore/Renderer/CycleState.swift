internal import Synchronization

/// The state that a renderer carries from cycle to cycle, and the cycle itself.
@safe package final class CycleState: @unchecked Sendable {
    // Unchecked because only the thread that has claimed the renderer's cycle counter touches anything here.
    let counter = CycleCounter()
    let inbox: Inbox
    /// The changes that come into effect with a loop.
    let entrances = EntranceQueue()
    let log: FaultLog
    let newcomers: Newcomers
    let late = LateLog()
    let drivers = Drivers()
    let beats: BeatKeeper
    /// The loop, retained; its address.
    let image: Atomic<UInt>
    /// The sample clock, for control code.
    let clock = Atomic<Int64>(0)
    /// The host time at which the last cycle was due; `.min` before the first.
    let lastHostTime = Atomic<Int64>(.min)
    let lastFrameCount = Atomic<Int>(0)
    /// The host time of frame 0 while rendering goes on offline; `.min` after a live cycle.
    let offlineOrigin = Atomic<Int64>(.min)

    /// The render thread's own. Behind a pointer, because each access to a class's variable would be checked.
    private let carried: UnsafeMutablePointer<Carried>
    @safe private struct Carried: ~Copyable {
        var sampleTime: Int64 = 0
        var slices: UInt = 0
        var lastImage = -1
        var inspectUntil: Int64 = 0
        var bySample = Schedule()
        var byHost = Schedule()
    }

    /// The number of messages that run in one cycle at most: work in a cycle stays bounded.
    static var messagesPerCycle: Int { 64 }

    init(_ image: LoopImage, log: FaultLog, newcomers: Newcomers, inbox: Inbox) {
        self.log = log
        self.newcomers = newcomers
        self.inbox = inbox
        beats = BeatKeeper(sampleRate: image.settings.sampleRate)
        rateBits = Atomic(image.settings.sampleRate.bitPattern)
        self.image = Atomic(unsafe UInt(bitPattern: Unmanaged.passRetained(image).toOpaque()))
        unsafe carried = .allocate(capacity: 1)
        unsafe carried.initialize(to: Carried())
        Reclaimer.shared.add(counter)
    }

    /// The loop's memory in the cycle that is under way, for diagnosis; its address.
    private let coreInUse = Atomic<UInt>(0)
    /// The frames of that cycle if it is an offline one, and 0 for one that somebody listens to.
    private let offlineFrames = Atomic<Int>(0)

    /// The nanoseconds that the cycle under way may take before it counts as one that does not end. An offline one may take
    /// as long as it sounds, and two seconds more.
    var patience: Int64 {
        let frames = offlineFrames.load(ordering: .relaxed)
        return frames == 0 ? 1_000_000_000 : 2_000_000_000 + Int64(saturating: Double(frames) / sampleRate * 1e9)
    }

    /// Held while that memory is looked at from outside, and while it is freed.
    static let diagnosis = Lock(0)

    /// Returns the number of the name of the module that is at work in a cycle that does not end; `nil` in the render
    /// loop itself.
    ///
    /// - Parameter count: The cycle's.
    func moduleAtWork(in count: UInt) -> Int32? {
        CycleState.diagnosis.withLock { _ in
            // In the same cycle the memory is still there.
            guard count & 1 == 1, counter.count.load(ordering: .acquiring) == count,
                let core = unsafe UnsafeMutablePointer<CycleMemory>(bitPattern: coreInUse.load(ordering: .relaxed))
            else { return nil }
            return unsafe CycleMemory.nameNumberAtWork(core)
        }
    }

    /// Brings into effect the changes of the loop that is in place, if no cycle does. On the control side.
    func settleEntrances() {
        guard entrances.count > 0, counter.begin() else { return }
        unsafe CycleState.image(image.load(ordering: .sequentiallyConsistent))._withUnsafeGuaranteedRef { image in
            enter(image, HostClock.now, isOffline: true)
        }
        counter.end()
    }

    /// Brings into effect the changes that modules have made for a loop. Inside a counted cycle.
    private func enter(_ image: LoopImage, _ hostTime: Int64, isOffline: Bool) {
        while let job = unsafe entrances.take(upTo: image.id) {
            unsafe perform(job, image, 0, carried.pointee.sampleTime, hostTime, isOffline, late: nil)
        }
    }

    /// Closes the state of a renderer that is gone: nothing renders any more.
    func close() {
        inbox.close()
        var jobs: [Job] = []
        while let job = unsafe entrances.take(upTo: .max) { unsafe jobs.append(job.takeRetainedValue()) }
        Inbox.settle(jobs)
    }

    deinit {
        Reclaimer.shared.remove(counter)
        unsafe carried.deinitialize(count: 1)
        unsafe carried.deallocate()
    }

    /// The loop's sample rate, for a driver that is about to render.
    package var sampleRate: Double { Double(bitPattern: rateBits.load(ordering: .relaxed)) }
    private let rateBits: Atomic<UInt64>

    /// Returns whether a cycle was rendered since the last call. For the collector alone.
    func isRendering() -> Bool {
        let now = counter.count.load(ordering: .relaxed)
        defer { lastSeen = now }
        return now != lastSeen
    }
    private var lastSeen: UInt = 0

    /// Sets the sample clock, as if so many frames had been rendered: for tests. No other thread may be rendering.
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
    package var channelCount: Int {
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
    ///   - channels: The addresses of the channels of the first output, then those of the others; missing channels get
    ///     nothing.
    ///   - hostTime: The time at which the first frame is due.
    ///   - outer: The place in the outermost renderer's slice, for a renderer inside of another.
    ///   - followsClock: `true` to take the outermost renderer's clock for this one's.
    ///   - source: The source of its beats.
    ///   - passed: The supply of the driver.
    ///   - startsOver: `true` if this cycle begins at frame 0, with all modules reset.
    ///   - driver: The output that calls; 0 for none.
    ///   - sampleTime: The first frame, if the clock of another renderer says it.
    ///   - resets: `true` if all modules are reset before, and the clock goes on.
    package func render(
        frames: Int, into channels: UnsafeBufferPointer<UnsafeMutablePointer<Float>>, hostTime: Int64, isOffline: Bool,
        inside outer: OuterSlice? = nil, followsClock: Bool = false, beats source: BeatSource = .own,
        supply passed: PassedSupply = .none, startsOver: Bool = false, driver: UInt = 0,
        at sampleTime: Int64? = nil, resets: Bool = false
    ) {
        guard frames > 0 else { return }
        guard drivers.current.load(ordering: .relaxed) == driver && counter.begin() else {
            for index in channels.indices { unsafe Kernel.fill(channels[index], 0, frames) }
            log.addBusy()
            return
        }
        unsafe CycleState.image(image.load(ordering: .sequentiallyConsistent))._withUnsafeGuaranteedRef { image in
            if followsClock, let outer { unsafe carried.pointee.sampleTime = outer.sampleTime }
            if let sampleTime { unsafe carried.pointee.sampleTime = sampleTime }
            unsafe image.core.pointee.supply = passed.supply
            unsafe image.core.pointee.supplyStart = passed.start
            let (clock, shift) = unsafe beats.begin(source, at: carried.pointee.sampleTime)
            unsafe image.core.pointee.beats = clock
            unsafe image.core.pointee.beatShift = shift
            coreInUse.store(unsafe UInt(bitPattern: image.core), ordering: .relaxed)
            offlineFrames.store(isOffline ? frames : 0, ordering: .relaxed)
            if startsOver { startOver(image, hostTime) }
            if resets { unsafe reset(image, at: carried.pointee.sampleTime, hostTime) }
            unsafe run(image, frames, channels, hostTime, isOffline, outer)
            unsafe image.core.pointee.supply = nil
            // What a module puts on an output when it is reset, or enters a loop, before the next cycle has its channels
            // reaches no memory that is gone.
            unsafe image.core.pointee.setOutputs(UnsafeBufferPointer(start: nil, count: 0))
        }
        lastHostTime.store(hostTime, ordering: .relaxed)
        lastFrameCount.store(frames, ordering: .relaxed)
        if !isOffline { offlineOrigin.store(.min, ordering: .relaxed) }
        coreInUse.store(0, ordering: .relaxed)
        counter.end()
    }

    private func run(
        _ image: LoopImage, _ frames: Int, _ channels: UnsafeBufferPointer<UnsafeMutablePointer<Float>>,
        _ hostTime: Int64, _ isOffline: Bool, _ outer: OuterSlice?
    ) {
        let core = unsafe image.core
        let dealt = unsafe core.pointee.setOutputs(channels)
        for index in dealt..<channels.count { unsafe Kernel.fill(channels[index], 0, frames) }
        let rate = image.settings.sampleRate
        if unsafe image.id != carried.pointee.lastImage {
            unsafe carried.pointee.lastImage = image.id
            unsafe carried.pointee.inspectUntil = carried.pointee.sampleTime &+ Int64(rate)
            enter(image, hostTime, isOffline: isOffline)
        }
        takeJobs(image, frames, hostTime, isOffline)
        unsafe beats.settle(
            core.pointee.beats, at: carried.pointee.sampleTime, sampleRate: rate, core.pointee.supply)

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
            if unsafe core.pointee.cut < now &+ Int64(length) {
                if unsafe core.pointee.cut > now { length = unsafe Int(core.pointee.cut &- now) }
            }
            unsafe core.pointee.cut = .max
            let turn = unsafe beats.advance(core.pointee.beats, to: now &+ core.pointee.beatShift)
            length = unsafe Int(min(Int64(length), turn &- now &- core.pointee.beatShift))
            if let supply = unsafe core.pointee.supply {
                let place = unsafe core.pointee.supplyStart &+ offset
                let cut = unsafe supply.pointee.nextCut(after: place)
                if cut > place { length = min(length, cut &- place) }
            }
            var mode = isOffline ? RenderContext.Mode.offline : .plain
            if unsafe now < carried.pointee.inspectUntil { mode.add(.inspecting) }
            // Each module is timed three times in the first second, and then about once.
            let span = unsafe Int64((now < 1 &<< 16 ? 14 : 16) &- core.pointee.timingParts)
            if now &>> span != (now &+ Int64(length)) &>> span, unsafe CycleMemory.beginTiming(core) {
                mode.add(.timing)
            }
            unsafe carried.pointee.slices &+= 1
            let outerSlice = unsafe OuterSlice(
                number: UInt64(core.pointee.owner) &<< 40 ^ UInt64(carried.pointee.slices), offset: 0, sampleTime: now)
            image.run(
                frames: length, offset: offset, sampleTime: now, hostTime: due, mode: mode,
                outerSlice: outer?.moved(by: offset) ?? outerSlice)
            unsafe CycleMemory.endTiming(core)
            unsafe checkOutputs(core, offset, length, now, rate)
            offset &+= length
        }
        unsafe carried.pointee.sampleTime &+= Int64(frames)
        unsafe clock.store(carried.pointee.sampleTime, ordering: .relaxed)
    }

    /// Sets the clock to 0 and every module to silence. Jobs that are scheduled for a frame stay scheduled for that
    /// frame.
    private func startOver(_ image: LoopImage, _ hostTime: Int64) {
        unsafe carried.pointee.sampleTime = 0
        clock.store(0, ordering: .relaxed)
        beats.startOver()
        reset(image, at: 0, hostTime)
    }

    /// Sets every module to silence.
    private func reset(_ image: LoopImage, at time: Int64, _ hostTime: Int64) {
        unsafe CycleMemory.begin(image.core, outputOffset: 0, sampleTime: time)
        var context = unsafe RenderContext(image.core, mode: .plain, frames: 1, sampleTime: time, hostTime: hostTime)
        for module in image.modules { context.resetAlone(module) }
        context.cleanUp()
    }

    /// Shows the values that transactions have set, runs messages, and puts jobs with a time in order.
    private func takeJobs(_ image: LoopImage, _ frames: Int, _ hostTime: Int64, _ isOffline: Bool) {
        // Values that transactions have set come first: a program that sends a message after a transaction expects the
        // message to find them.
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
                unsafe carried.pointee.bySample.insert(job, at: sample, inbox)
            } else {
                unsafe carried.pointee.byHost.insert(job, at: time.hostKey, inbox)
            }
        }
        if let job = unsafe carried.pointee.bySample.takeCancelled() { unsafe inbox.handBack(job) }
        if let job = unsafe carried.pointee.byHost.takeCancelled() { unsafe inbox.handBack(job) }
    }

    /// Does the jobs that are due at a frame or should have been done before.
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

    /// Returns the number of frames from now to a host time, to the nearest.
    private func frameDistance(_ time: Int64, _ now: Int64, _ rate: Double) -> Int64 {
        let frames = Double(time &- now) * rate * 1e-9
        return Int64(max(-1e15, min(1e15, frames)).rounded())
    }

    /// Clears outputs that got nothing, and silences those with samples that are not finite. Then every module is watched,
    /// to find the one that makes them.
    private func checkOutputs(
        _ core: UnsafeMutablePointer<CycleMemory>, _ offset: Int, _ length: Int, _ now: Int64, _ rate: Double
    ) {
        var isFinite = true
        for index in unsafe 0..<core.pointee.busCount {
            let bus = unsafe core.pointee.buses + index
            unsafe OutputBus.fill(bus, to: offset &+ length)
            if unsafe bus.pointee.isFinite { continue }
            unsafe bus.pointee.isFinite = true
            for channel in unsafe 0..<bus.pointee.channelCount {
                let samples = unsafe bus.pointee.channels[channel] + offset
                if unsafe Kernel.isFinite(samples, length) { continue }
                unsafe samples.update(repeating: 0, count: length)
                isFinite = false
            }
        }
        // As long as modules make such samples, every module is looked at, so that they do not silence the whole
        // output.
        guard unsafe !isFinite || core.pointee.foundNotFinite else { return }
        unsafe carried.pointee.inspectUntil = now &+ Int64(rate)
        unsafe core.pointee.foundNotFinite = false
        guard !isFinite else { return }
        unsafe core.pointee.last = core.pointee.loopRecord
        unsafe core.pointee.report(.notFinite, .output, wanted: 0, found: 0, at: now)
    }
}

/// The lateness of scheduled jobs, on the way to the control side: their number and the worst.
final class LateLog: Sendable {
    private let count = Atomic<Int>(0)
    private let worst = Atomic<Int64>(0)
    private let sampleTime = Atomic<Int64>(0)

    func add(frames: Int64, at now: Int64) {
        if frames > worst.load(ordering: .relaxed) { worst.store(frames, ordering: .relaxed) }
        sampleTime.store(now, ordering: .relaxed)
        // The count comes last, so that a thread that sees it sees the rest.
        count.wrappingAdd(1, ordering: .releasing)
    }

    /// Returns the entries since the last call, and removes them.
    func take() -> (count: Int, frames: Int64, sampleTime: Int64)? {
        let count = count.exchange(0, ordering: .acquiring)
        return count == 0 ? nil : (count, worst.exchange(0, ordering: .relaxed), sampleTime.load(ordering: .relaxed))
    }
}
