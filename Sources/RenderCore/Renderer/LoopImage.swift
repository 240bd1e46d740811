internal import CRender
internal import Synchronization

/// A render closure with all that the render thread needs to run it: memory, modules, rate. Swapped whole, never changed.
@safe final class LoopImage: @unchecked Sendable {
    // Unchecked because the memory is the render thread's inside a cycle, and the control side's before and after.
    let body: RenderLoop
    let modules: [any Module]
    let settings: Settings
    let stack: StackMemory
    let core: UnsafeMutablePointer<CycleMemory>
    let id: Leases.LoopID
    /// The ``id`` of the first image with the same closure.
    let bodyID: Int
    private let slots: [ModuleSlot]
    /// Those that the driver waits for when it renders offline.
    private let streaming: [Unmanaged<StreamingSlot>]
    private let log: FaultLog
    private let newcomers: Newcomers
    private let recordCount: Int

    /// What is the same for all loops of a renderer until somebody changes it.
    struct Settings: Sendable, Equatable {
        var layout: StackLayout
        var sampleRate: Double
        var outputs: [Int]
        var preparation: Preparation {
            Preparation(
                sampleRate: sampleRate, maximumFrameCount: layout.frames, maximumChannelCount: layout.channels)
        }
    }

    private static let ids = Atomic<Int>(1)

    init(
        _ body: @escaping RenderLoop, modules: [any Module], settings: Settings, stack: StackMemory, token: UInt,
        log: FaultLog, newcomers: Newcomers, dryRun: DryRun? = nil, bodyID: Int? = nil, nameNumber: (String) -> Int32
    ) {
        self.body = body
        self.modules = modules
        self.settings = settings
        self.stack = stack
        self.log = log
        self.newcomers = newcomers
        id = Self.ids.wrappingAdd(1, ordering: .relaxed).newValue
        self.bodyID = bodyID ?? id
        slots = modules.map { $0.makeSlot() }
        recordCount = modules.count
        let streamingSlots = modules.compactMap { ($0 as? any StreamingModule)?.makeStreamingSlot() }
        unsafe streaming = streamingSlots.map { unsafe .passRetained($0) }

        let records = UnsafeMutablePointer<ModuleRecord>.allocate(capacity: modules.count + 2)
        let details = UnsafeMutablePointer<ModuleDetails>.allocate(capacity: modules.count + 2)
        let bucketCount = max(16, modules.count * 4).nextPowerOf2
        let buckets = UnsafeMutablePointer<Int32>.allocate(capacity: bucketCount)
        unsafe buckets.initialize(repeating: -1, count: bucketCount)
        for (index, module) in modules.enumerated() {
            let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module as AnyObject).toOpaque())
            unsafe (details + index).initialize(
                to: ModuleDetails(
                    identity: identity, nameNumber: nameNumber(module.name),
                    slot: Unmanaged.passUnretained(slots[index])
                ))
            var bucket = CycleMemory.hash(UInt(bitPattern: identity)) & (bucketCount - 1)
            while unsafe buckets[bucket] >= 0 { bucket = (bucket + 1) & (bucketCount - 1) }
            unsafe buckets[bucket] = Int32(index)
        }
        for index in 0..<modules.count + 2 { unsafe (records + index).initialize(to: ModuleRecord()) }
        // One that ends the table, and the closure.
        for index in modules.count..<modules.count + 2 {
            unsafe (details + index).initialize(to: ModuleDetails(identity: nil, nameNumber: -1, slot: nil))
        }
        let closure = unsafe records + (modules.count + 1)
        unsafe closure.pointee.token.store(token, ordering: .relaxed)

        let buses = UnsafeMutablePointer<OutputBus>.allocate(capacity: settings.outputs.count)
        for (index, count) in settings.outputs.enumerated() {
            unsafe (buses + index).initialize(
                to: OutputBus(channels: UnsafePointer(stack.sinks[0].channels), channelCount: 0, fullCount: count))
        }
        unsafe core = .allocate(capacity: 1)
        unsafe core.initialize(
            to: CycleMemory(
                entries: stack.entries, entryCount: 2 * stack.layout.slots, slotCount: stack.layout.slots,
                channelLimit: stack.layout.channels, stride: stack.layout.stride, sinks: stack.sinks,
                owner: token, sampleRate: settings.sampleRate, frameLimit: stack.layout.frames,
                faults: Unmanaged.passUnretained(log), tokens: Tokens.shared.forRendering,
                newcomers: Unmanaged.passUnretained(newcomers), body: self.bodyID,
                dryRun: dryRun.map { unsafe Unmanaged.passUnretained($0) },
                records: records, details: details, recordCount: modules.count, buckets: buckets,
                bucketMask: bucketCount - 1, closure: closure, current: closure, last: closure,
                buses: buses, busCount: settings.outputs.count))
    }

    deinit {
        for index in unsafe streaming.indices { unsafe streaming[index].release() }
        unsafe core.pointee.records.deinitialize(count: recordCount + 2)
        unsafe core.pointee.records.deallocate()
        unsafe core.pointee.details.deinitialize(count: recordCount + 2)
        unsafe core.pointee.details.deallocate()
        unsafe core.pointee.buckets.deallocate()
        unsafe core.pointee.buses.deallocate()
        unsafe core.deallocate()
    }

    /// Asks for all its modules, and prepares those it gets.
    func claimModules(for renderer: UInt) {
        var isComplete = true
        for (index, module) in modules.enumerated() {
            let isGranted = Leases.shared.claim(module, for: id, of: renderer, settings.preparation) { token in
                unsafe self.core.pointee.records[index].grant(token, self.core.pointee.details[index].identity)
            }
            isComplete = isComplete && isGranted
        }
        // Its holder may be gone but for the collector, which is looking after it just now.
        if !isComplete { Collector.shared.finishRound() }
    }

    /// The modules and those inside of them, each once.
    static func withMembers(_ modules: [any Module]) -> [any Module] {
        var all: [any Module] = []
        var known: Set<ObjectIdentifier> = []
        var waiting = Array(modules.reversed())
        while let module = waiting.popLast() {
            guard known.insert(ObjectIdentifier(module)).inserted else { continue }
            all.append(module)
            if let composite = module as? any CompositeModule { waiting += composite.members.reversed() }
        }
        return all
    }

    /// Runs the closure for one slice. On the render thread, or in a dry run.
    func run(
        frames: Int, offset: Int, sampleTime: Int64, hostTime: Int64, mode: RenderContext.Mode,
        pass: RenderPass = .none
    ) {
        unsafe CycleMemory.begin(core, outputOffset: offset, sampleTime: sampleTime)
        unsafe core.pointee.pass = pass
        var context = unsafe RenderContext(
            core, mode: mode, frames: frames, sampleTime: sampleTime, hostTime: hostTime)
        if unsafe mode.has(.offline) && !streaming.isEmpty {
            // Here the driver waits, and nobody waits for the driver.
            crender_permitted_begins()
            for index in unsafe streaming.indices {
                unsafe streaming[index]._withUnsafeGuaranteedRef { $0.awaitDisk(&context) }
            }
            crender_permitted_ends()
        }
        body(&context)
    }

    /// What a dry run has found: the modules that no other module answers for, and the way that the sound goes.
    typealias Findings = (modules: [any Module], paths: SignalPaths)

    /// Runs the closure so that nobody hears it, and says what it has found.
    ///
    /// - Throws: what is wrong with its stack.
    static func inspect(_ body: @escaping RenderLoop, _ settings: Settings) throws(RenderLoopError) -> Findings {
        let dryRun = DryRun()
        var layout = settings.layout
        layout.frames = min(layout.frames, 64)
        let (log, newcomers) = (FaultLog(), Newcomers())
        let image = LoopImage(
            body, modules: [], settings: settings, stack: StackMemory(layout), token: .max, log: log,
            newcomers: newcomers, dryRun: dryRun, nameNumber: { _ in -1 })
        let channelCount = settings.outputs.reduce(0, +)
        let silence = UnsafeMutablePointer<Float>.allocate(capacity: layout.frames)
        unsafe silence.initialize(repeating: 0, count: layout.frames)
        let channels = UnsafeMutableBufferPointer<UnsafeMutablePointer<Float>>.allocate(capacity: channelCount)
        unsafe channels.initialize(repeating: silence)
        defer {
            unsafe channels.deallocate()
            unsafe silence.deallocate()
        }
        unsafe image.core.pointee.setOutputs(UnsafeBufferPointer(channels))
        // Values that the closure reads must not be freed meanwhile, as on a render thread.
        let counter = CycleCounter()
        Reclaimer.shared.add(counter)
        _ = counter.begin()
        defer {
            counter.end()
            Reclaimer.shared.remove(counter)
        }
        image.run(frames: layout.frames, offset: 0, sampleTime: 0, hostTime: HostClock.now, mode: .dry)
        if !dryRun.faults.isEmpty { throw RenderLoopError(faults: dryRun.faults) }
        return (dryRun.ownModules, dryRun.paths)
    }
}

extension Int {
    fileprivate var nextPowerOf2: Int { 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
