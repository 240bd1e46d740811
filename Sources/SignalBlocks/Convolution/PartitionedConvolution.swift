internal import CKernels

/// Convolves channels with a long response, block by block: the response in parts as long as the blocks, the spectra of the
/// last blocks in a ring, and one transform there and one back for each block (uniformly partitioned, overlap-save).
///
/// The work for a block is a list of units of less than a microsecond, so that it can be done at once or a few units at a time.
/// The result has the same bits.
struct PartitionedConvolution: ~Copyable, Sendable {
    /// The frames of a block, and of a part of the response.
    let blockLength: Int
    /// The number of parts.
    let partCount: Int
    /// The most channels that go in, which are also those that come out.
    let channelCount: Int
    private let matrix: ConvolutionMatrix
    private let plan: FourierPlan
    private var filters: SampleMemory
    private var history: SampleMemory
    private var re: SampleMemory
    private var im: SampleMemory
    /// The place of the newest block's spectra.
    private var newest = 0
    /// The number of blocks that are in the ring.
    private var used = 0
    /// The channels that are computed: as many as there were since the start.
    private var channels = 0
    /// The chunks that a phase is cut into.
    private let chunkCount: Int
    /// Sums and products that were computed since the beginning, about.
    private(set) var operationCount = 0

    /// Allocates.
    ///
    /// - Parameters:
    ///   - blockLength: A power of two from 64 on.
    ///   - parts: 0 or more; 0 for one that is not used.
    ///   - channels: The most channels.
    ///   - matrix: The way in which the channels of the response are used.
    init(blockLength: Int, parts: Int, channels: Int, matrix: ConvolutionMatrix) {
        let planes = parts == 0 ? 0 : blockLength
        self.blockLength = blockLength
        partCount = parts
        channelCount = channels
        self.matrix = matrix
        plan = FourierPlan(count: parts == 0 ? 64 : blockLength)
        filters = SampleMemory(count: matrix.responseCount * parts * 2 * blockLength)
        history = SampleMemory(count: channels * parts * 2 * blockLength)
        re = SampleMemory(count: planes)
        im = SampleMemory(count: planes)
        chunkCount = max(1, min(2, blockLength / 128), blockLength / 256)
    }

    /// The bytes of the spectra.
    var memoryBytes: Int { 4 * (filters.count + history.count + 7 * re.count) }

    // MARK: The response

    /// Sets a response: its frames from `start` on, at most up to `end`.
    mutating func setFilter(_ response: Int, _ samples: borrowing Samples, from start: Int, to end: Int) {
        let older = ConvolutionBlock(count: blockLength)
        let newer = ConvolutionBlock(count: blockLength)
        let scale = 1 / Float(blockLength)
        for part in 0..<partCount {
            let first = start + part * blockLength
            for i in 0..<blockLength {
                let frame = first + i
                unsafe older.base[i] = frame < end && frame < samples.count ? samples[frame] * scale : 0
            }
            turn(older, 0, newer, 0, 0, blockLength)
            for pass in 0..<plan.passCount { plan.pass(pass, 0, blockLength / 4, &re, &im) }
            let row = response * partCount * 2 * blockLength + 128 * part
            unsafe file(filters.base + row, 0, blockLength)
        }
    }

    // MARK: Blocks

    /// Forgets all blocks.
    @_noLocks @_noAllocation
    mutating func reset() {
        used = 0
        channels = 0
    }

    /// The channels that are computed.
    var openCount: Int { @_noLocks @_noAllocation get { channels } }

    /// The units of work for a block of that many channels.
    @_noLocks @_noAllocation
    func unitCount(channels: Int) -> Int { 2 &* (plan.passCount &+ 2) &* chunkCount &* channels }

    /// The sums and products of a phase for each bin, about.
    @_noLocks @_noAllocation
    private func cost(ofPhase phase: Int, _ channel: Int) -> Int {
        let isBack = channel >= channels
        if phase == 0 {
            return isBack ? 8 &* used &* matrix.sourceCount(of: channel &- channels, among: channels) : 6
        }
        if phase > plan.passCount { return isBack ? 3 : 2 }
        // A butterfly of four has 16 sums and three complex products. The pass of the shortest span has three of them.
        return phase == (isBack ? 1 : plan.passCount) ? 27 : 9
    }

    /// The sums and products of the block that was begun, about.
    @_noLocks @_noAllocation
    func workload() -> Int {
        var sum = 0
        for channel in 0..<channels {
            let sources = matrix.sourceCount(of: channel, among: channels)
            sum &+= (18 &* (plan.passCount &+ 2) &+ 11 &+ 8 &* used &* sources) &* blockLength
        }
        return sum
    }

    /// Begins with a block.
    ///
    /// - Parameters:
    ///   - channels: The channels that it has. Those that were there before go on.
    ///   - skipped: The number of blocks before it that never came: they count as silent.
    @_noLocks @_noAllocation
    mutating func begin(channels wanted: Int, skipped: Int) {
        // The ring still has old spectra of a channel that was not heard.
        let size = partCount &* 2 &* blockLength
        while channels < min(wanted, channelCount) {
            if used > 0 { unsafe (history.base + channels &* size).clearSamples(count: size) }
            channels &+= 1
        }
        if skipped >= partCount {
            used = 0
        } else {
            for _ in 0..<skipped {
                advance()
                for channel in 0..<channelCount { eraseNewest(channel) }
            }
        }
        advance()
    }

    @_noLocks @_noAllocation
    private mutating func advance() {
        newest = newest == 0 ? partCount &- 1 : newest &- 1
        used = min(used &+ 1, partCount)
    }

    @_noLocks @_noAllocation
    private mutating func eraseNewest(_ channel: Int) {
        var row = (channel &* blockLength &* partCount) &* 2 &+ 128 &* newest
        for _ in 0..<(blockLength / 64) {
            unsafe (history.base + row).clearSamples(count: 128)
            row &+= 128 &* partCount
        }
    }

    /// Does units of work, in their order, until as much work is done.
    ///
    /// - Parameters:
    ///   - unit: The first one that is not done, of ``unitCount(channels:)``, and then that behind those that were done.
    ///   - done: The work that is done.
    ///   - goal: The work that has to be done.
    ///   - older: The block before, each channel `stride` after the one before.
    ///   - newer: The block.
    ///   - output: Receives the frames of all channels, one channel after the other.
    @_noLocks @_noAllocation
    mutating func work(
        from unit: inout Int, done: inout Int, goal: Int, older: borrowing ConvolutionBlock,
        newer: borrowing ConvolutionBlock, newerStart: Int = 0, stride: Int, into output: inout ConvolutionBlock
    ) {
        let count = unitCount(channels: channels)
        if unit >= count || done >= goal { return }
        precondition(channels > 0 && partCount > 0 && unit >= 0)
        let (length, phaseCount) = (blockLength / chunkCount, plan.passCount &+ 2)
        var chunk = unit % chunkCount
        var (channel, phase) = (unit / chunkCount / phaseCount, unit / chunkCount % phaseCount)
        repeat {
            let bin = chunk &* length
            if phase > 0 && phase < phaseCount &- 1 {
                if channel < channels {
                    plan.pass(phase &- 1, bin / 4, (bin &+ length) / 4, &re, &im)
                } else {
                    plan.passBack(plan.passCount &- phase, bin / 4, (bin &+ length) / 4, &re, &im)
                }
            } else if channel < channels {
                if phase == 0 {
                    turn(older, channel &* stride, newer, newerStart &+ channel &* stride, bin, length)
                } else {
                    unsafe file(history.base + (channel &* partCount &* 2 &* blockLength &+ 128 &* newest), bin, length)
                }
            } else if phase == 0 {
                multiply(channel &- channels, bin, length)
            } else {
                turnBack(into: &output, at: (channel &- channels) &* blockLength, bin, length)
            }
            let cost = cost(ofPhase: phase, channel) &* length
            operationCount &+= cost
            done &+= cost
            unit &+= 1
            chunk &+= 1
            if chunk == chunkCount { (chunk, phase) = (0, phase &+ 1) }
            if phase == phaseCount { (phase, channel) = (0, channel &+ 1) }
        } while unit < count && done < goal
    }

    // MARK: Phases

    @_noLocks @_noAllocation
    private mutating func turn(
        _ older: borrowing ConvolutionBlock, _ olderStart: Int, _ newer: borrowing ConvolutionBlock, _ newerStart: Int,
        _ first: Int, _ count: Int
    ) {
        precondition(olderStart >= 0 && olderStart &+ blockLength <= older.count)
        precondition(newerStart >= 0 && newerStart &+ blockLength <= newer.count && first &+ count <= blockLength)
        unsafe kernel_turn_blocks(
            older.base + olderStart + first, newer.base + newerStart + first, plan.turns.base + first,
            plan.turns.base + blockLength + first, re.base + first, im.base + first, count)
    }

    /// Files some bins of a spectrum.
    ///
    /// - Parameter rows: The place of the spectrum among the first 64 bins.
    @_noLocks @_noAllocation
    private func file(_ rows: UnsafeMutablePointer<Float>, _ first: Int, _ count: Int) {
        let target = unsafe rows + first &* 2 &* partCount
        unsafe kernel_file_spectrum(re.base + first, im.base + first, target, partCount, count)
    }

    @_noLocks @_noAllocation
    private mutating func multiply(_ channel: Int, _ first: Int, _ count: Int) {
        let size = partCount &* 2 &* blockLength
        for index in 0..<matrix.sourceCount(of: channel, among: channels) {
            let path = matrix.path(index, to: channel)
            precondition((path.source &+ 1) &* size <= history.count && (path.response &+ 1) &* size <= filters.count)
            unsafe kernel_multiply_spectra(
                filters.base + path.response &* size, history.base + path.source &* size, partCount, newest, used,
                index > 0, first, first &+ count, re.base, im.base)
        }
    }

    @_noLocks @_noAllocation
    private mutating func turnBack(into output: inout ConvolutionBlock, at start: Int, _ first: Int, _ count: Int) {
        precondition(start >= 0 && start &+ blockLength <= output.count && first &+ count <= blockLength)
        let target = unsafe output.base + start + first
        unsafe kernel_turn_back(
            re.base + first, im.base + first, plan.turns.base + first, plan.turns.base + blockLength + first, target,
            count)
    }
}
