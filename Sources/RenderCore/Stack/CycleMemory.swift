internal import CRender
internal import Synchronization

/// The memory that one render loop of one renderer needs on the render thread, besides the context itself. It never
/// moves.
@safe @usableFromInline package struct CycleMemory: ~Copyable {
    // The stack.
    @usableFromInline let entries: UnsafeMutablePointer<StackEntry>
    @usableFromInline let entryCount: Int
    @usableFromInline let slotCount: Int
    @usableFromInline let channelLimit: Int
    @usableFromInline let stride: Int
    @usableFromInline let sinks: UnsafeMutablePointer<StackEntry>
    /// Two buffers besides the stack's; `nil` while an ``RenderContext/add(_:)`` further out uses them.
    @usableFromInline package var spares: UnsafeMutablePointer<StackEntry>?

    // The renderer.
    @usableFromInline let owner: UInt
    let sampleRate: Double
    let frameLimit: Int
    let faults: Unmanaged<FaultLog>
    let tokens: Tokens.Table
    /// The place where render threads leave values that they have replaced.
    let graveyard: Graveyard
    /// Modules that the table lacks, on their way to the control side.
    let newcomers: Unmanaged<Newcomers>
    /// The number of the render loop, which stays when its modules or its settings change.
    let loopID: Int
    /// The dry run; `nil` outside of one.
    var dryRun: Unmanaged<DryRun>?
    /// In a dry run, the path of the results of the module that was met last.
    @usableFromInline var resultPath: Int32 = 0
    /// The sound, events and transport that the driver has brought into this cycle; `nil` outside of one.
    package var supply: UnsafeMutablePointer<CycleSupply>?
    /// The frame of the supply at which this cycle begins: 0, but for a renderer inside of another.
    var supplyStart = 0
    /// The clock that counts beats, and how many frames it is ahead of the sample time; `nil` in a dry run.
    var beats: UnsafeMutablePointer<BeatClock>?
    var beatShift: Int64 = 0

    // The modules.
    @usableFromInline var records: UnsafeMutablePointer<ModuleRecord>
    let details: UnsafeMutablePointer<ModuleDetails>
    var recordCount = 0
    /// Record numbers by the hash of the module's address; -1 if there is none.
    @usableFromInline var buckets: UnsafeMutablePointer<Int32>
    @usableFromInline var bucketMask = 0
    /// The render loop's own record: its token is the renderer's.
    let loopRecord: UnsafeMutablePointer<ModuleRecord>
    /// The record of the module at work, or the render loop's.
    @usableFromInline package var current: UnsafeMutablePointer<ModuleRecord>
    /// The offset of ``current`` in this memory, for diagnosis from another thread.
    var offsetOfCurrent = 0
    /// The module that ended last: faults of the render loop itself come after it.
    @usableFromInline package var last: UnsafeMutablePointer<ModuleRecord>
    /// The reasons that keep ``RenderContext/run(_:)`` from its short way, as bits; 0 for none. See ``failed``,
    /// ``isSlow``.
    @usableFromInline package var attention: UInt8 = 0
    /// The first module that a slice measures, and the number of modules that this slice still has to measure.
    var firstTimed = 0
    var toTime = 0
    /// The number of times that every module's turn has come.
    var timingRounds = 0
    /// The record whose key has the mark of ``beginTiming(_:)``; `nil` if none has.
    var marked: UnsafeMutablePointer<ModuleRecord>?
    /// The change of loops that is under way in this slice.
    var change: Unmanaged<LoopChange>?
    /// In a dry run, where there are no records: the number of the module at work, and of the one that ended last.
    var dryModule: Int32 = -1
    var dryLast: Int32 = -1
    /// The number of members that are being run, one inside of the other.
    var nesting = 0
    /// The number of times that modules have been reset.
    var resetRounds: UInt64 = 0
    /// Indicates whether a module made a sample that is not finite, since that was last asked.
    var foundNotFinite = false
    /// Indicates whether the module at work has to be reset when it ends, because foreign code in it made such a
    /// sample.
    var mustReset = false
    /// The frame that this slice begins with.
    var sampleTime: Int64 = 0
    /// The place in the outermost renderer's slice at which this slice begins.
    var outerSlice = OuterSlice.none
    /// A frame of the sample clock at which the next slice has to end, if it gets that far; `.max` where nothing asks for it.
    var cut = Int64.max

    // The outputs, in this cycle.
    var buses: UnsafeMutablePointer<OutputBus>
    var busCount = 0
    var outputOffset = 0

    // Functions by which a context changes this memory are static and take the pointer. A method that changes the
    // memory would, to the compiler's eyes, let the context escape; one that does not would copy all of it.

    /// Indicates whether a fault was raised since the running module began.
    var failed: Bool { @_noLocks @_noAllocation get { attention & 1 != 0 } }

    @_noLocks @_noAllocation
    static func setFailed(_ failed: Bool, in core: UnsafeMutablePointer<CycleMemory>) {
        unsafe core.pointee.attention = core.pointee.attention & ~1 | (failed ? 1 : 0)
    }

    /// Says whether there is more to do than to call the modules.
    @_noLocks @_noAllocation
    static func setSlow(_ isSlow: Bool, in core: UnsafeMutablePointer<CycleMemory>) {
        unsafe core.pointee.attention = core.pointee.attention & ~2 | (isSlow ? 2 : 0)
    }

    /// Forgets the slice before.
    @_noLocks @_noAllocation
    static func begin(_ core: UnsafeMutablePointer<CycleMemory>, outputOffset: Int, sampleTime: Int64) {
        unsafe core.pointee.outputOffset = outputOffset
        unsafe core.pointee.sampleTime = sampleTime
        unsafe forgetModules(core)
    }

    /// Notes that the render loop is at work, and no module has been yet.
    @_noLocks @_noAllocation
    static func forgetModules(_ core: UnsafeMutablePointer<CycleMemory>) {
        unsafe core.pointee.current = core.pointee.loopRecord
        unsafe core.pointee.last = core.pointee.loopRecord
        unsafe core.pointee.dryModule = -1
        unsafe core.pointee.dryLast = -1
        unsafe core.pointee.mustReset = false
        unsafe setFailed(false, in: core)
    }

    /// Deals channels out to the outputs, in order, until there are no more. Nothing is in them yet. Returns the number of
    /// channels that the outputs have got.
    @discardableResult
    func setOutputs(_ channels: UnsafeBufferPointer<UnsafeMutablePointer<Float>>) -> Int {
        let table = unsafe channels.baseAddress ?? UnsafePointer(sinks[0].channels)
        var first = 0
        var index = 0
        while index < busCount {
            let count = unsafe min(buses[index].fullCount, channels.count &- first)
            unsafe buses[index].channels = table + first
            unsafe buses[index].channelCount = count
            unsafe buses[index].filled = 0
            unsafe buses[index].isFinite = true
            first &+= count
            index &+= 1
        }
        return first
    }

    /// Gives an entry the slot's own memory, with whatever is in it.
    @_noLocks @_noAllocation
    static func makeOwnUninitialized(
        _ entry: UnsafeMutablePointer<StackEntry>, in core: UnsafeMutablePointer<CycleMemory>
    ) {
        guard let home = unsafe entry.pointee.home else { return }
        let (channelLimit, stride) = unsafe (core.pointee.channelLimit, core.pointee.stride)
        // It is also done for silence, which may have been external before that.
        if unsafe entry.pointee.kind != StackEntry.own {
            var channel = 0
            while channel < channelLimit {
                unsafe entry.pointee.channels[channel] = home + channel &* stride
                channel &+= 1
            }
        }
        unsafe entry.pointee.kind = StackEntry.own
    }

    /// Gives an entry the slot's own memory, with what it shows now.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    package static func makeOwn(
        _ entry: UnsafeMutablePointer<StackEntry>, in core: UnsafeMutablePointer<CycleMemory>
    ) {
        guard let home = unsafe entry.pointee.home else { return }
        let stride = unsafe core.pointee.stride
        let from = unsafe Int(entry.pointee.validFrom)
        let frames = unsafe Int(entry.pointee.validTo) &- from
        var channel = 0
        while unsafe channel < entry.pointee.channelCount {
            unsafe (home + (channel &* stride &+ from)).copySamples(
                from: entry.pointee.channels[channel] + from, count: frames)
            channel &+= 1
        }
        unsafe makeOwnUninitialized(entry, in: core)
    }

    /// Gives a buffer of the stack's own more channels, over its whole length: copies of a mono one, else silence.
    @_noLocks @_noAllocation
    static func widen(
        _ entry: UnsafeMutablePointer<StackEntry>, to channels: Int, in core: UnsafeMutablePointer<CycleMemory>
    ) {
        let frameLimit = unsafe core.pointee.frameLimit
        var channel = unsafe entry.pointee.channelCount
        let isMono = channel == 1
        while channel < channels {
            if isMono {
                unsafe entry.pointee.channels[channel].copySamples(from: entry.pointee.channels[0], count: frameLimit)
            } else {
                unsafe entry.pointee.channels[channel].clearSamples(count: frameLimit)
            }
            channel &+= 1
        }
        if unsafe entry.pointee.channelCount < channels { unsafe entry.pointee.channelCount = channels }
    }

    /// Returns memory for a channel that a buffer does not have.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    mutating func missingChannel(_ channel: Int, of count: Int) -> UnsafeMutablePointer<Float> {
        report(.wrongChannels, .channel, wanted: channel, found: count, at: sampleTime)
        let stand = unsafe sinks[StackEntry.sinkCount - 1].channels[0]
        unsafe stand.clearSamples(count: frameLimit)
        return unsafe stand
    }

    /// Counts a fault and puts it where the control side finds it.
    @_noLocks @_noAllocation
    mutating func report(
        _ kind: Fault.Kind, _ operation: Fault.Operation, wanted: Int, found: Int, at sampleTime: Int64
    ) {
        let isDry = unsafe dryRun != nil
        let isInside = unsafe isDry ? dryModule >= 0 : current != loopRecord
        if isInside { attention |= 1 }
        let module =
            unsafe isDry ? (isInside ? dryModule : dryLast) : details(of: isInside ? current : last).pointee.nameNumber
        let record = FaultRecord(
            kind: kind, operation: operation, isInside: isInside, module: module, wanted: wanted, found: found,
            sampleTime: sampleTime)
        // A dry run is on the control side: it may allocate. The log is a ring of atomics; a reference without a count.
        let (faults, dryRun) = unsafe (faults, dryRun)
        unsafe _unsafePerformance { unsafe deliver(record, faults, dryRun) }
    }

    /// Returns the details that belong to a record.
    @_noLocks @_noAllocation
    func details(of record: UnsafeMutablePointer<ModuleRecord>) -> UnsafeMutablePointer<ModuleDetails> {
        unsafe details + (record - records)
    }

    /// Returns whether a record is one of a module.
    @_noLocks @_noAllocation
    func isModule(_ record: UnsafeMutablePointer<ModuleRecord>) -> Bool { unsafe record - records < recordCount }

    /// Returns the number of the name of the module that another thread is running at this moment; `nil` for the
    /// render loop. For diagnosis: the other thread is writing what is read here.
    static func nameNumberAtWork(_ core: UnsafeMutablePointer<CycleMemory>) -> Int32? {
        let place = unsafe UnsafeRawPointer(core) + core.pointee.offsetOfCurrent
        let current = unsafe UnsafeMutablePointer<ModuleRecord>(bitPattern: crender_peek(place))
        guard let current = unsafe current, unsafe core.pointee.isModule(current),
            unsafe current >= core.pointee.records
        else { return nil }
        return unsafe core.pointee.details(of: current).pointee.nameNumber
    }

    /// Returns the record of a module, or the one without a token that ends the table.
    @_noLocks @_noAllocation
    @usableFromInline @inline(never)
    static func find(
        _ identity: UnsafeRawPointer, in core: UnsafeMutablePointer<CycleMemory>
    ) -> UnsafeMutablePointer<ModuleRecord> {
        let (records, buckets, mask) = unsafe (core.pointee.records, core.pointee.buckets, core.pointee.bucketMask)
        var bucket = hash(UInt(bitPattern: identity)) & mask
        while true {
            let index = unsafe Int(buckets[bucket])
            if index < 0 { return unsafe records + core.pointee.recordCount }
            if unsafe core.pointee.details[index].identity == identity { return unsafe records + index }
            bucket = (bucket &+ 1) & mask
        }
    }

    /// Spreads addresses, whose low bits are alike, over the buckets.
    @_noLocks @_noAllocation
    static func hash(_ address: UInt) -> Int {
        Int(truncatingIfNeeded: (address &* 0x9E37_79B9_7F4A_7C15) &>> 20)
    }

    /// The reason for which a module is called.
    enum Call: UInt8 {
        /// The module is called to render.
        case run = 1
        /// The module is called to be reset, or is asked for a value.
        case question = 2
    }

    /// Notes that a module is called out of turn. `false`: it is being called out of turn already, by itself or by a module
    /// that it runs.
    @_noLocks @_noAllocation
    static func begin(
        _ call: Call, _ record: UnsafeMutablePointer<ModuleRecord>, in core: UnsafeMutablePointer<CycleMemory>
    ) -> Bool {
        let details = unsafe core.pointee.details(of: record)
        if unsafe details.pointee.calls & call.rawValue != 0 { return false }
        unsafe details.pointee.calls |= call.rawValue
        return true
    }

    @_noLocks @_noAllocation
    static func end(
        _ call: Call, _ record: UnsafeMutablePointer<ModuleRecord>, in core: UnsafeMutablePointer<CycleMemory>
    ) {
        unsafe core.pointee.details(of: record).pointee.calls &= ~call.rawValue
    }
}

private func deliver(_ record: FaultRecord, _ faults: Unmanaged<FaultLog>, _ dryRun: Unmanaged<DryRun>?) {
    if let dryRun = unsafe dryRun {
        unsafe dryRun._withUnsafeGuaranteedRef { $0.note(record) }
    } else {
        unsafe faults._withUnsafeGuaranteedRef { $0.add(record) }
    }
}
