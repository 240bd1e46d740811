internal import Synchronization

/// A render loop that takes the place of others, while all of them are heard.
///
/// In each slice the new loop runs first, then those that leave, the youngest first. A module that several of them have
/// runs once, for the first: the others get a copy of what it left on the stack. So a generator that stays goes on for
/// both loops, and an effect that stays gets what the new loop gives it. The outputs of the loops are cross-faded.
///
/// A loop that leaves may ring out: then its sources are faded and not its output, so that its delays and reverbs go on
/// by themselves for a while.
@safe package final class LoopChange: @unchecked Sendable {
    // Unchecked because the memory belongs to the thread that renders, from the first slice on.

    /// The results of a module that several loops have.
    @safe struct Shared {
        let identity: UnsafeRawPointer
        let buffers: Int
        let memory: UnsafeMutablePointer<Float>
        /// The channels of each buffer.
        let channels: UnsafeMutablePointer<Int>
        /// The slice in which the module ran last, and the loop that ran it: 0 is the new one.
        var slice: UInt = 0
        var layer = 0
    }

    private let new: RenderLoop
    /// The modules of the new loop, with those inside of them.
    package let modules: [any Module]
    /// The loops that leave, the youngest first.
    package let leaving: [Leaving]
    private let shared: UnsafeMutableBufferPointer<Shared>
    private let frameLimit, channelLimit: Int
    private let outputs: [Int]
    /// The outputs of a loop that leaves, and the places where its channels begin.
    private let scratch: UnsafeMutableBufferPointer<Float>
    private let tables: UnsafeMutableBufferPointer<UnsafeMutablePointer<Float>>
    private let kept: UnsafeMutableBufferPointer<OutputBus>
    /// The slices so far, and the loop that is running.
    private let progress: UnsafeMutablePointer<(slice: UInt, layer: Int)>
    private let began = Atomic<Int64>(.min)

    /// Creates the change.
    ///
    /// - Parameters:
    ///   - new: The new loop.
    ///   - modules: Its modules, with those inside of them.
    ///   - leaving: The loops that leave, the youngest first.
    ///   - layout: The layout of the renderer's stack.
    ///   - outputs: The number of channels of each of the renderer's outputs.
    package init(
        to new: @escaping RenderLoop, modules: [any Module], leaving: [Leaving], layout: StackLayout, outputs: [Int]
    ) {
        self.new = new
        self.modules = modules
        self.leaving = leaving
        self.outputs = outputs
        frameLimit = layout.frames
        channelLimit = layout.channels
        var counts: [ObjectIdentifier: (module: any Module, count: Int)] = [:]
        for list in [modules] + leaving.map(\.modules) {
            for module in list { counts[ObjectIdentifier(module), default: (module, 0)].count += 1 }
        }
        let several = counts.values.filter { $0.count > 1 }.map(\.module)
            .sorted { unsafe Self.address($0) < Self.address($1) }
        unsafe shared = .allocate(capacity: several.count)
        for (index, module) in several.enumerated() {
            let effect = module.stackEffect
            let buffers = effect.isReadOnly ? 0 : min(effect.pushes, layout.slots)
            let memory = UnsafeMutablePointer<Float>.allocate(
                capacity: max(1, buffers * layout.channels * layout.frames))
            unsafe memory.initialize(repeating: 0, count: max(1, buffers * layout.channels * layout.frames))
            let channels = UnsafeMutablePointer<Int>.allocate(capacity: max(1, buffers))
            unsafe channels.initialize(repeating: 1, count: max(1, buffers))
            let identity = unsafe Self.address(module)
            unsafe shared.initializeElement(
                at: index, to: Shared(identity: identity, buffers: buffers, memory: memory, channels: channels))
        }
        let channelCount = outputs.reduce(0, +)
        unsafe scratch = .allocate(capacity: channelCount * layout.frames)
        unsafe scratch.initialize(repeating: 0)
        unsafe tables = .allocate(capacity: channelCount)
        for channel in 0..<channelCount {
            unsafe tables.initializeElement(at: channel, to: scratch.baseAddress! + channel * layout.frames)
        }
        unsafe kept = .allocate(capacity: outputs.count)
        unsafe kept.initialize(
            repeating: OutputBus(channels: UnsafePointer(tables.baseAddress!), channelCount: 0, fullCount: 0))
        unsafe progress = .allocate(capacity: 1)
        unsafe progress.initialize(to: (0, 0))
    }

    private static func address(_ module: any Module) -> UnsafeRawPointer {
        unsafe UnsafeRawPointer(Unmanaged.passUnretained(module as AnyObject).toOpaque())
    }

    deinit {
        for index in unsafe shared.indices {
            unsafe shared[index].memory.deallocate()
            unsafe shared[index].channels.deallocate()
        }
        unsafe shared.deallocate()
        unsafe scratch.deallocate()
        unsafe tables.deallocate()
        unsafe kept.deallocate()
        unsafe progress.deallocate()
    }

    /// Indicates whether only the new loop is heard.
    package var isOver: Bool { leaving.allSatisfy(\.isOver) }

    /// The frame of the renderer's clock at which the new loop was heard first; `nil` before that.
    package var firstFrame: Int64? {
        let frame = began.load(ordering: .acquiring)
        return frame == .min ? nil : frame
    }

    /// Runs all the loops for one slice. On the render thread, or in a dry run.
    package func run(_ context: inout RenderContext) {
        if context.isDryRun {
            new(&context)
            for layer in leaving where !layer.isOver {
                context.beginLayer()
                layer.loop(&context)
            }
            context.beginLayer()
            return
        }
        if began.load(ordering: .relaxed) == .min { begin(at: context.sampleTime) }
        guard !isOver else { return new(&context) }
        context.runLayers(self)
    }

    /// The number of loops that may ring out at once.
    private static let ringLimit = 4

    private func begin(at frame: Int64) {
        began.store(frame, ordering: .releasing)
        var count = 0
        for layer in leaving where !layer.isOver {
            count += 1
            if count > Self.ringLimit { layer.endSoon() }
        }
    }

    /// Runs the loops one after the other, with their outputs in the right proportion.
    fileprivate func runLayers(_ context: inout RenderContext) {
        let (core, frames) = unsafe (context.core, context.frameCount)
        let outputOffset = unsafe core.pointee.outputOffset
        unsafe progress.pointee.slice &+= 1
        unsafe progress.pointee.layer = 0
        new(&context)
        context.beginLayer()
        for index in unsafe 0..<core.pointee.busCount {
            unsafe OutputBus.fill(core.pointee.buses + index, to: outputOffset + frames)
            unsafe core.pointee.buses[index].isFinite = false
        }
        if let youngest = leaving.first(where: { !$0.isOver && $0.position < $0.fade }) {
            let position = youngest.position
            for index in unsafe 0..<core.pointee.busCount {
                let bus = unsafe core.pointee.buses[index]
                for channel in 0..<bus.channelCount {
                    let samples = unsafe bus.channels[channel] + outputOffset
                    for i in 0..<frames { unsafe samples[i] *= 1 - youngest.remains(at: position + i) }
                }
            }
        }
        for (number, layer) in leaving.enumerated() where !layer.isOver {
            unsafe progress.pointee.layer = number + 1
            unsafe redirect(core, frames)
            layer.loop(&context)
            context.beginLayer()
            unsafe giveBack(core, frames, outputOffset, layer)
            layer.advance(frames)
        }
    }

    /// Has the outputs of the next loop go into the scratch memory.
    private func redirect(_ core: UnsafeMutablePointer<CycleMemory>, _ frames: Int) {
        var first = 0
        for channel in unsafe tables.indices { unsafe tables[channel].clearSamples(count: frames) }
        for index in unsafe 0..<core.pointee.busCount {
            let bus = unsafe core.pointee.buses[index]
            unsafe kept[index] = bus
            unsafe core.pointee.buses[index].channels = UnsafePointer(tables.baseAddress! + first)
            unsafe core.pointee.buses[index].filled = frames
            first += outputs[index]
        }
        unsafe core.pointee.outputOffset = 0
    }

    /// Adds the outputs of a loop that leaves to those of the renderer.
    private func giveBack(
        _ core: UnsafeMutablePointer<CycleMemory>, _ frames: Int, _ outputOffset: Int, _ layer: Leaving
    ) {
        let position = layer.position
        var first = 0
        for index in unsafe 0..<core.pointee.busCount {
            let bus = unsafe kept[index]
            unsafe core.pointee.buses[index] = bus
            for channel in 0..<bus.channelCount {
                let (from, to) = unsafe (tables[first + channel], bus.channels[channel] + outputOffset)
                for i in 0..<frames { unsafe to[i] += from[i] * layer.outputGain(at: position + i) }
            }
            first += outputs[index]
        }
        unsafe core.pointee.outputOffset = outputOffset
    }

    // MARK: Modules that stay

    private func place(of identity: UnsafeRawPointer) -> Int? {
        var (low, high) = unsafe (0, shared.count)
        while low < high {
            let middle = (low + high) / 2
            if unsafe shared[middle].identity < identity { low = middle + 1 } else { high = middle }
        }
        return unsafe low < shared.count && shared[low].identity == identity ? low : nil
    }

    /// Leaves the results of a module on the stack that another loop has run in this slice. `false`: the module is to run.
    func substitute(_ identity: UnsafeRawPointer, _ effect: StackEffect, _ context: inout RenderContext) -> Bool {
        guard let index = unsafe place(of: identity) else { return false }
        let (slice, layer) = unsafe progress.pointee
        if unsafe shared[index].slice != slice {
            unsafe shared[index].slice = slice
            unsafe shared[index].layer = layer
            return false
        }
        if unsafe shared[index].layer == layer { return false }
        if !effect.isReadOnly { unsafe context.putResults(shared[index], effect, channelLimit, frameLimit) }
        fadeSource(effect, isStandIn: true, &context)
        return true
    }

    /// Keeps the results of a module that has run, for the loops that run after this one.
    func keepResults(_ identity: UnsafeRawPointer, _ effect: StackEffect, _ context: inout RenderContext) {
        if let index = unsafe place(of: identity), !effect.isReadOnly {
            unsafe context.copyResults(to: shared[index], channelLimit, frameLimit)
        }
        fadeSource(effect, isStandIn: false, &context)
    }

    /// Fades what feeds the effects of a loop that rings out.
    private func fadeSource(_ effect: StackEffect, isStandIn: Bool, _ context: inout RenderContext) {
        let layer = unsafe progress.pointee.layer
        guard layer > 0, leaving[layer - 1].ring > 0, !effect.isReadOnly, isStandIn || effect.pops == 0,
            unsafe context.core.pointee.nesting == 0
        else { return }
        let loop = leaving[layer - 1]
        let position = loop.position
        context.scaleTop(effect.pushes) { loop.remains(at: position + $0) }
    }
}

extension RenderContext {
    /// Empties the stack for the next of several loops in one slice.
    fileprivate mutating func beginLayer() {
        cleanUp()
        if let dryRun = unsafe core.pointee.dryRun {
            unsafe dryRun._withUnsafeGuaranteedRef { $0.beginLayer() }
        }
    }

    fileprivate mutating func runLayers(_ change: LoopChange) {
        let core = unsafe core  // with ThreadSanitizer the compiler takes a use of the stored pointer for an escape
        unsafe core.pointee.change = Unmanaged.passUnretained(change)
        unsafe core.pointee.attention |= 4
        change.runLayers(&self)
        unsafe core.pointee.attention &= ~4
        unsafe core.pointee.change = nil
    }

    /// The change of loops that is under way in this slice; `nil` if there is none.
    var change: Unmanaged<LoopChange>? {
        @inline(__always) get { unsafe core.pointee.attention & 4 == 0 ? nil : core.pointee.change }
    }

    /// Puts kept results in the place of the buffers that their module takes from the stack.
    fileprivate mutating func putResults(
        _ shared: LoopChange.Shared, _ effect: StackEffect, _ channelLimit: Int, _ frameLimit: Int
    ) {
        let found = min(effect.pops, depth &- floor)
        // Inside of a part of a slice the buffers may be those around it: they stay.
        let staysInPlace = place != 0 && found == effect.pops && effect.pops == effect.pushes
        if !staysInPlace { depth &-= found }
        var index = shared.buffers
        while index > 0 {
            index &-= 1
            let count = unsafe shared.channels[index]
            if !staysInPlace { pushSilence(channels: count) }
            guard let entry = unsafe realEntry(staysInPlace ? index : 0) else { continue }
            if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
            for channel in unsafe 0..<min(count, entry.pointee.channelCount) {
                let from = unsafe shared.memory + (index &* channelLimit &+ channel) &* frameLimit
                unsafe (entry.pointee.channels[channel] + offset).copySamples(from: from + offset, count: frameCount)
            }
        }
    }

    /// Copies the buffers on top to the place where the loops that leave find them.
    fileprivate mutating func copyResults(to shared: LoopChange.Shared, _ channelLimit: Int, _ frameLimit: Int) {
        for index in 0..<shared.buffers {
            guard let entry = unsafe realEntry(index) else {
                unsafe shared.channels[index] = 1
                unsafe (shared.memory + index &* channelLimit &* frameLimit + offset).clearSamples(count: frameCount)
                continue
            }
            let count = unsafe min(entry.pointee.channelCount, channelLimit)
            unsafe shared.channels[index] = count
            for channel in 0..<count {
                let to = unsafe shared.memory + (index &* channelLimit &+ channel) &* frameLimit
                unsafe (to + offset).copySamples(from: entry.pointee.channels[channel] + offset, count: frameCount)
            }
        }
    }

    /// Scales the buffers on top.
    ///
    /// - Parameter gain: Returns the gain at a frame of the slice.
    fileprivate mutating func scaleTop(_ buffers: Int, _ gain: (Int) -> Float) {
        for index in 0..<min(buffers, depth &- floor) {
            guard let entry = unsafe realEntry(index) else { continue }
            if unsafe entry.pointee.kind == StackEntry.readOnly { unsafe CycleMemory.makeOwn(entry, in: core) }
            for channel in unsafe 0..<entry.pointee.channelCount {
                let samples = unsafe entry.pointee.channels[channel] + offset
                for i in 0..<frameCount { unsafe samples[i] *= gain(offset + i) }
            }
        }
    }

    /// Takes what is on the first output so far and pushes it as a buffer, for the modules behind a loop that is not theirs:
    /// a volume control, a meter, a recorder.
    package mutating func takeOutput() {
        let next = unsafe cursor
        cleanUp()
        unsafe cursor = next
        let bus = unsafe core.pointee.buses[0]
        let count = max(1, min(bus.channelCount, channelLimit))
        pushSilence(channels: count)
        if isDryRun { return }
        unsafe OutputBus.fill(core.pointee.buses, to: core.pointee.outputOffset + frameCount)
        for channel in 0..<min(count, bus.channelCount) {
            let samples = unsafe bus.channels[channel] + core.pointee.outputOffset
            if let entry = unsafe realEntry(0) {
                unsafe entry.pointee.channels[channel].copySamples(from: samples, count: frameCount)
            }
            unsafe samples.clearSamples(count: frameCount)
        }
    }
}

extension Renderer {
    /// Runs a loop so that it is not heard, and returns its modules, with those inside of them, and notices for its writer.
    ///
    /// - Throws: An error that says what is wrong with its stack.
    package func inspect(
        _ loop: @escaping RenderLoop
    ) throws(RenderLoopError) -> (modules: [any Module], notices: [String]) {
        let settings = LoopImage.Settings(layout: layout, sampleRate: sampleRate, outputs: outputChannelCounts)
        let findings = try LoopImage.inspect(loop, settings)
        return (LoopImage.withMembers(findings.modules), findings.notices)
    }
}
