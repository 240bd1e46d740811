internal import CRender
internal import Synchronization

/// A render loop with all that the render thread needs to run it: memory, modules, rate. Swapped whole, never changed.
@safe final class LoopImage: @unchecked Sendable {
    // Unchecked because the memory is the render thread's inside a cycle, and the control side's before and after.
    let renderLoop: RenderLoop
    let modules: [any Module]
    let settings: Settings
    let stack: StackMemory
    let core: UnsafeMutablePointer<CycleMemory>
    let id: Leases.ImageID
    /// The ``id`` of the first image with the same render loop.
    let loopID: Int
    private let slots: [ModuleSlot]
    /// The modules that the driver waits for when it renders offline.
    private let streaming: [Unmanaged<StreamingSlot>]
    private let log: FaultLog
    private let newcomers: Newcomers
    private let recordCount: Int
    /// The numbers of the members of all modules.
    private let memberTable: UnsafeMutablePointer<Int32>
    private let names: ModuleNames
    private let nameNumbers: [Int32]

    /// The settings that all loops of a renderer have in common, until control code changes them.
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
        _ renderLoop: @escaping RenderLoop, modules: [any Module], settings: Settings, stack: StackMemory, token: UInt,
        log: FaultLog, newcomers: Newcomers, dryRun: DryRun? = nil, loopID: Int? = nil, names: ModuleNames
    ) {
        self.renderLoop = renderLoop
        self.modules = modules
        self.settings = settings
        self.stack = stack
        self.log = log
        self.newcomers = newcomers
        id = Self.ids.wrappingAdd(1, ordering: .relaxed).newValue
        self.loopID = loopID ?? id
        slots = modules.map { $0.makeSlot() }
        recordCount = modules.count
        self.names = names
        nameNumbers = modules.map { names.take($0.name) }
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
                    identity: identity, nameNumber: nameNumbers[index],
                    slot: Unmanaged.passUnretained(slots[index])
                ))
            var bucket = CycleMemory.hash(UInt(bitPattern: identity)) & (bucketCount - 1)
            while unsafe buckets[bucket] >= 0 { bucket = (bucket + 1) & (bucketCount - 1) }
            unsafe buckets[bucket] = Int32(index)
        }
        unsafe memberTable = Self.makeMemberTable(modules, details)
        for index in 0..<modules.count + 2 { unsafe (records + index).initialize(to: ModuleRecord()) }
        // Two more: for the end of the table, and for the render loop.
        for index in modules.count..<modules.count + 2 {
            unsafe (details + index).initialize(to: ModuleDetails(identity: nil, nameNumber: -1, slot: nil))
        }
        let loopRecord = unsafe records + (modules.count + 1)
        unsafe loopRecord.pointee.token.store(token, ordering: .relaxed)

        let buses = UnsafeMutablePointer<OutputBus>.allocate(capacity: settings.outputs.count)
        for (index, count) in settings.outputs.enumerated() {
            unsafe (buses + index).initialize(
                to: OutputBus(channels: stack.sinkChannels, channelCount: 0, fullCount: count))
        }
        unsafe core = .allocate(capacity: 1)
        unsafe core.initialize(
            to: CycleMemory(
                entries: stack.entries, entryCount: 2 * stack.layout.slots, slotCount: stack.layout.slots,
                channelLimit: stack.layout.channels, stride: stack.layout.stride, sinks: stack.sinks,
                spares: stack.spares, owner: token, sampleRate: settings.sampleRate, frameLimit: stack.layout.frames,
                faults: Unmanaged.passUnretained(log), tokens: Tokens.shared.forRendering,
                graveyard: Reclaimer.shared.graveyard,
                newcomers: Unmanaged.passUnretained(newcomers), loopID: self.loopID,
                dryRun: dryRun.map { unsafe Unmanaged.passUnretained($0) },
                records: records, details: details, recordCount: modules.count, buckets: buckets,
                bucketMask: bucketCount - 1, loopRecord: loopRecord, current: loopRecord, last: loopRecord,
                buses: buses, busCount: settings.outputs.count))
        let offset = unsafe withUnsafePointer(to: &core.pointee.current) { current in
            unsafe UnsafeRawPointer(current) - UnsafeRawPointer(core)
        }
        unsafe core.pointee.offsetOfCurrent = offset
    }

    deinit {
        for index in unsafe streaming.indices { unsafe streaming[index].release() }
        CycleState.diagnosis.withLock { _ in
            unsafe core.pointee.records.deinitialize(count: recordCount + 2)
            unsafe core.pointee.records.deallocate()
            unsafe core.pointee.details.deinitialize(count: recordCount + 2)
            unsafe core.pointee.details.deallocate()
            unsafe memberTable.deallocate()
            unsafe core.pointee.buckets.deallocate()
            unsafe core.pointee.buses.deallocate()
            unsafe core.deallocate()
        }
        names.giveBack(nameNumbers)
    }

    /// Notes for each module which of the others are its members.
    private static func makeMemberTable(
        _ modules: [any Module], _ details: UnsafeMutablePointer<ModuleDetails>
    ) -> UnsafeMutablePointer<Int32> {
        var numbers: [ObjectIdentifier: Int32] = [:]
        for (index, module) in modules.enumerated() { numbers[ObjectIdentifier(module)] = Int32(index) }
        let lists = modules.map { module in module.members.compactMap { numbers[ObjectIdentifier($0)] } }
        let table = UnsafeMutablePointer<Int32>.allocate(capacity: max(1, lists.reduce(0) { $0 + $1.count }))
        var next = unsafe table
        for (index, list) in lists.enumerated() {
            unsafe details[index].members = UnsafeMutableBufferPointer(start: next, count: list.count)
            _ = unsafe details[index].members.initialize(from: list)
            unsafe next += list.count
        }
        return unsafe table
    }

    /// Asks for all its modules, and prepares those it gets.
    func claimModules(for renderer: UInt, _ entrance: Entrance) {
        for (index, module) in modules.enumerated() {
            Leases.shared.claim(module, for: id, of: renderer, settings.preparation, entrance) { token in
                unsafe self.core.pointee.records[index].grant(token, self.core.pointee.details[index].identity)
            }
        }
    }

    /// Returns the modules and those inside of them, each once.
    static func withMembers(_ modules: [any Module]) -> [any Module] {
        var all: [any Module] = []
        var known: Set<ObjectIdentifier> = []
        var waiting = Array(modules.reversed())
        while let module = waiting.popLast() {
            guard known.insert(ObjectIdentifier(module)).inserted else { continue }
            all.append(module)
            waiting += module.members.reversed()
        }
        return all
    }

    /// Runs the render loop for one slice. On the render thread, or in a dry run.
    func run(
        frames: Int, offset: Int, sampleTime: Int64, hostTime: Int64, mode: RenderContext.Mode,
        outerSlice: OuterSlice = .none
    ) {
        unsafe CycleMemory.begin(core, outputOffset: offset, sampleTime: sampleTime)
        unsafe core.pointee.outerSlice = outerSlice
        var context = unsafe RenderContext(
            core, mode: mode, frames: frames, sampleTime: sampleTime, hostTime: hostTime)
        if unsafe mode.has(.offline) && !streaming.isEmpty {
            // Offline the driver waits here, and no device waits for the driver.
            crender_permitted_begins()
            for index in unsafe streaming.indices {
                unsafe streaming[index]._withUnsafeGuaranteedRef { $0.awaitDisk(&context) }
            }
            crender_permitted_ends()
        }
        renderLoop(&context)
    }

    /// The findings of a dry run: the modules that no other module answers for, the ways that the sound goes, and
    /// notices of surprises for the user.
    typealias Findings = (modules: [any Module], paths: SignalPaths, notices: [String])

    /// Runs the render loop so that it is not heard, and says what it has found.
    ///
    /// - Throws: An error that says what is wrong with its stack.
    static func inspect(_ renderLoop: @escaping RenderLoop, _ settings: Settings) throws(RenderLoopError) -> Findings {
        let dryRun = DryRun()
        var layout = settings.layout
        layout.frames = min(layout.frames, 64)
        let (log, newcomers) = (FaultLog(), Newcomers())
        let image = LoopImage(
            renderLoop, modules: [], settings: settings, stack: StackMemory(layout), token: .max, log: log,
            newcomers: newcomers, dryRun: dryRun, names: ModuleNames())
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
        // Values that the render loop reads must not be freed meanwhile, as on a render thread.
        let counter = CycleCounter()
        Reclaimer.shared.add(counter)
        _ = counter.begin()
        defer {
            counter.end()
            Reclaimer.shared.remove(counter)
        }
        DryRuns.run {
            image.run(frames: layout.frames, offset: 0, sampleTime: 0, hostTime: HostClock.now, mode: .dry)
        }
        return try dryRun.findings()
    }
}

extension Int {
    fileprivate var nextPowerOf2: Int { 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
