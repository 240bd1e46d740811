import RenderStack

/// The buffer stack written the naive way, from its documentation: arrays of arrays, nothing is shared or reused.
final class StackModel {
    struct Buffer {
        enum Memory { case own, silent, readOnly(AudioBlockModel), editable(AudioBlockModel) }
        var memory: Memory
        /// Samples of the whole slice; those of an editable external buffer are in its block.
        var samples: [[Float]]
        var time: Int64
        /// The number of parts that it was pushed inside of.
        var level: Int

        var isReal: Bool { if case .silent = memory { false } else { true } }
        var isExternal: Bool {
            switch memory {
            case .own, .silent: false
            case .readOnly, .editable: true
            }
        }
    }

    /// Memory that is not the stack's, and from which frame on it is shown.
    final class AudioBlockModel {
        var samples: [[Float]]
        let first: Int
        /// The part of the slice in which it is shown.
        let shown: Range<Int>
        init(_ samples: [[Float]], first: Int, shown: Range<Int>) {
            (self.samples, self.first, self.shown) = (samples, first, shown)
        }
    }

    let layout: StackLayout
    let sliceFrames: Int
    /// The bottom first.
    var buffers: [Buffer] = []
    /// The number of buffers that the running module cannot reach.
    var floor = 0
    /// The part of the slice that is being rendered.
    var part: Range<Int>
    /// The number of parts that this is inside of.
    var level = 0
    /// The time of the part's first frame.
    var time: Int64
    var faults = 0
    /// Indicates whether there was one since the running module began.
    var hasFailed = false
    /// Channels of each output.
    var outputs: [[[Float]]]

    init(layout: StackLayout, frames: Int, time: Int64, outputs: [Int]) {
        self.layout = layout
        sliceFrames = frames
        part = 0..<frames
        self.time = time
        self.outputs = outputs.map { [[Float]](repeating: [Float](repeating: 0, count: frames), count: $0) }
    }

    var reach: Int { buffers.count - floor }

    func fault() {
        faults += 1
        hasFailed = true
    }

    /// The position of a buffer by its index from the top; `nil` where there is none.
    func position(_ index: Int) -> Int? {
        index >= 0 && index < reach ? buffers.count - 1 - index : nil
    }

    // MARK: Samples

    /// Returns the samples that a buffer shows in the part, per channel.
    func contents(_ position: Int) -> [[Float]] {
        let buffer = buffers[position]
        switch buffer.memory {
        case .silent: return [[Float](repeating: 0, count: part.count)]
        case .own, .readOnly: return buffer.samples.map { Array($0[part]) }
        case .editable(let block):
            let first = block.first + part.lowerBound - block.shown.lowerBound
            return block.samples.map { Array($0[first..<(first + part.count)]) }
        }
    }

    /// Changes what a buffer shows; read-only memory becomes the stack's own.
    func edit(_ position: Int, _ change: (_ channel: Int, _ frame: Int, _ old: Float) -> Float) {
        switch buffers[position].memory {
        case .silent: return
        case .readOnly: buffers[position].memory = .own
        case .own, .editable: break
        }
        let old = contents(position)
        for channel in old.indices {
            for frame in 0..<part.count {
                write(change(channel, frame, old[channel][frame]), position, channel, frame)
            }
        }
    }

    private func write(_ value: Float, _ position: Int, _ channel: Int, _ frame: Int) {
        if case .editable(let block) = buffers[position].memory {
            block.samples[channel][block.first + part.lowerBound - block.shown.lowerBound + frame] = value
        } else {
            buffers[position].samples[channel][part.lowerBound + frame] = value
        }
    }

    func channelCount(_ position: Int) -> Int { buffers[position].isReal ? buffers[position].samples.count : 1 }

    // MARK: Pushing and moving

    /// Pushes a buffer with samples (of the part). `false`: it became silence, or is as silent as if it had.
    @discardableResult
    func claim(_ channels: Int, _ samples: [[Float]]?, memory: Buffer.Memory = .own) -> Bool {
        let wanted = max(1, min(channels, layout.channels))
        if wanted != channels {
            fault()
            claim(wanted, nil)
            return false
        }
        // There are as many places for silence as slots; what is pushed beyond both is silence whatever is free.
        let used = buffers.count { $0.isReal }
        guard used < layout.slots, buffers.count < 2 * layout.slots else {
            fault()
            buffers.append(Buffer(memory: .silent, samples: [], time: time, level: level))
            return false
        }
        var whole = [[Float]](repeating: [Float](repeating: 0, count: sliceFrames), count: channels)
        if let samples {
            for channel in 0..<channels { whole[channel].replaceSubrange(part, with: samples[channel]) }
        }
        buffers.append(Buffer(memory: memory, samples: whole, time: time, level: level))
        return true
    }

    func push(_ count: Int, _ channels: Int) {
        for _ in 0..<max(count, 0) { claim(channels, nil) }
        if count < 1 { fault() }
    }

    func pop(_ count: Int) {
        if count < 0 { return fault() }
        if count > reach { fault() }
        buffers.removeLast(min(count, reach))
    }

    func remove(_ index: Int) {
        guard let position = position(index) else { return fault() }
        buffers.remove(at: position)
    }

    func swap() {
        guard reach >= 2 else { return fault() }
        let top = buffers.count - 1
        buffers.swapAt(top, top - 1)
        // A buffer that is swapped up to where there are no places any more is lost.
        if top >= 2 * layout.slots { buffers[top] = Buffer(memory: .silent, samples: [], time: time, level: level) }
    }

    func duplicate(_ index: Int) {
        guard let top = position(index) else {
            fault()
            claim(1, nil)
            return
        }
        let (samples, sampleTime, isReal) = (contents(top), buffers[top].time, buffers[top].isReal)
        if claim(channelCount(top), samples), isReal { buffers[buffers.count - 1].time = sampleTime }
    }

    func silence() {
        guard let top = position(0) else { return fault() }
        edit(top) { _, _, _ in 0 }
    }

    func gain(_ gain: Float, _ index: Int) {
        guard let buffer = position(index) else { return fault() }
        if gain != 1 && buffers[buffer].isReal { edit(buffer) { _, _, old in old * gain } }
    }

    /// Writes the samples of one buffer into another, by the rule for channels.
    func copy(_ source: Int, to target: Int) {
        guard source >= 0, target >= 0, source != target, let from = position(source), let to = position(target) else {
            return fault()
        }
        let (samples, channels) = (contents(from), channelCount(to))
        edit(to) { channel, frame, _ in Self.share(samples, channel, of: channels)[frame] }
    }

    func gain(_ gain: Float) {
        guard let top = position(0) else { return fault() }
        if gain != 1 || isReadOnly(top) { edit(top) { _, _, old in old * gain } }
    }

    private func isReadOnly(_ position: Int) -> Bool {
        if case .readOnly = buffers[position].memory { true } else { false }
    }

    // MARK: Mixing

    /// Returns the samples that a source of several channels gives to channel `channel` of `total`: the one rule for
    /// channels.
    static func share(_ source: [[Float]], _ channel: Int, of total: Int) -> [Float] {
        if source.count == 1 { return source[0] }
        if total == 1 {
            return source.dropFirst().reduce(source[0]) { sum, next in zip(sum, next).map { $0 + $1 } }
        }
        return channel < source.count ? source[channel] : [Float](repeating: 0, count: source[0].count)
    }

    func mix(_ count: Int, gains: [Float]? = nil) {
        if count < 1 { return fault() }
        if count > reach {
            fault()
            buffers.removeLast(reach)
            claim(1, nil)
            return
        }
        let positions = (0..<count).map { buffers.count - 1 - $0 }
        var target: Int?
        for position in positions where buffers[position].isReal {
            if target.map({ channelCount(position) > channelCount($0) }) ?? true { target = position }
        }
        guard let target else {
            buffers.removeLast(count - 1)
            return
        }
        var sum = contents(target).map { $0.map { $0 * (gains?[positions.firstIndex(of: target)!] ?? 1) } }
        for (index, position) in positions.enumerated() where position != target && buffers[position].isReal {
            let source = contents(position)
            for channel in sum.indices {
                let share = StackModel.share(source, channel, of: sum.count)
                for i in share.indices { sum[channel][i] += share[i] * (gains?[index] ?? 1) }
            }
        }
        let changes = count > 1 || (gains?[0] ?? 1) != 1
        if changes { edit(target) { channel, frame, _ in sum[channel][frame] } }
        let (result, lowest) = (buffers[target], buffers.count - count)
        if buffers[lowest].isReal && buffers[lowest].level < result.level {
            // The buffer around the part goes on outside: the sum is put into it.
            keep(lowest, contents(target))
            buffers.removeLast(count - 1)
        } else {
            buffers.removeLast(count)
            buffers.append(result)
        }
    }

    /// Puts a sum into a buffer around the part, which takes as many channels.
    private func keep(_ position: Int, _ sum: [[Float]]) {
        if channelCount(position) < sum.count {
            makeOwn(position)
            let old = buffers[position].samples
            let added = old.count == 1 ? old[0] : [Float](repeating: 0, count: sliceFrames)
            for _ in old.count..<sum.count { buffers[position].samples.append(added) }
        }
        edit(position) { channel, frame, _ in sum[channel][frame] }
    }

    // MARK: Output

    func output(_ count: Int, to output: Int, channels: ClosedRange<Int>? = nil) {
        guard count >= 1 && count <= reach else { return fault() }
        guard outputs.indices.contains(output) else { return fault() }
        let range = channels ?? 0...(outputs[output].count - 1)
        guard range.lowerBound >= 0 && range.upperBound < outputs[output].count else { return fault() }
        for index in 0..<count {
            let position = buffers.count - 1 - index
            guard buffers[position].isReal else { continue }
            let source = contents(position)
            for channel in range {
                let share = StackModel.share(source, channel - range.lowerBound, of: range.count)
                for frame in share.indices { outputs[output][channel][part.lowerBound + frame] += share[frame] }
            }
        }
    }

    // MARK: Scopes

    /// Pushes external memory.
    func beginExternal(_ block: AudioBlockModel, isReadOnly: Bool) {
        guard block.samples[0].count - block.first >= part.count else {
            fault()
            claim(max(1, min(block.samples.count, layout.channels)), nil)
            return
        }
        let shown = block.samples.map { Array($0[block.first..<(block.first + part.count)]) }
        claim(block.samples.count, shown, memory: isReadOnly ? .readOnly(block) : .editable(block))
    }

    /// Lets go of a block: what is still on the stack of it becomes the stack's own.
    func endExternal(_ block: AudioBlockModel) {
        for position in buffers.indices {
            switch buffers[position].memory {
            case .readOnly(let other) where other === block: buffers[position].memory = .own
            case .editable(let other) where other === block: makeOwn(position)
            default: break
            }
        }
    }

    /// Copies external memory: all of it that the stack has been shown.
    private func makeOwn(_ position: Int) {
        if case .editable(let block) = buffers[position].memory {
            for channel in block.samples.indices {
                buffers[position].samples[channel].replaceSubrange(
                    block.shown, with: block.samples[channel][block.first..<(block.first + block.shown.count)])
            }
        }
        buffers[position].memory = .own
    }

    /// Runs a module that takes `pops` buffers and leaves `pushes`; `isReadOnly` if it leaves them as they were.
    func run(pops: Int, pushes: Int, isReadOnly: Bool, _ body: () -> Void) {
        guard reach >= pops else {
            faults += 1  // The module's, not of the one that runs it.
            let channels = position(0).map(channelCount) ?? 1
            buffers.removeLast(reach)
            for _ in 0..<pushes { claim(channels, nil) }
            return
        }
        let saved = (floor, hasFailed)
        let expected = buffers.count - pops + pushes
        (floor, hasFailed) = (buffers.count - pops, false)
        body()
        if buffers.count != expected {
            fault()
            if buffers.count > expected { buffers.removeLast(buffers.count - expected) }
            while buffers.count < expected { claim(1, nil) }
        }
        if hasFailed && !isReadOnly {
            for position in (buffers.count - pushes)..<buffers.count { edit(position) { _, _, _ in 0 } }
        }
        (floor, hasFailed) = saved
    }

    func endPart(_ saved: (part: Range<Int>, time: Int64, depth: Int)) {
        if buffers.count != saved.depth {
            fault()
            if buffers.count > saved.depth { buffers.removeLast(buffers.count - saved.depth) }
        }
        // A buffer that was pushed in the part and is in the place of another has samples in the part only.
        for position in buffers.indices where buffers[position].isReal && buffers[position].level == level {
            fault()
            buffers[position].level -= 1
            for channel in buffers[position].samples.indices {
                for frame in saved.part where !part.contains(frame) { buffers[position].samples[channel][frame] = 0 }
            }
        }
        (part, time) = (saved.part, saved.time)
        level -= 1
        while buffers.count < saved.depth { claim(1, nil) }
    }
}
