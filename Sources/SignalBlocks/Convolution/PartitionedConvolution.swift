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
    private var aRe: SampleMemory
    private var aIm: SampleMemory
    private var bRe: SampleMemory
    private var bIm: SampleMemory
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
        aRe = SampleMemory(count: planes)
        aIm = SampleMemory(count: planes)
        bRe = SampleMemory(count: planes)
        bIm = SampleMemory(count: planes)
        chunkCount = max(1, blockLength / 256)
    }

    /// The bytes of the spectra.
    var memoryBytes: Int { 4 * (filters.count + history.count + 8 * aRe.count) }

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
            transform()
            let row = response * partCount * 2 * blockLength + 32 * part
            unsafe file(filters.base + row, 0, blockLength)
        }
    }

    private mutating func transform() {
        for pass in 0..<plan.passCount { self.pass(pass, 0, blockLength / 4) }
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

    /// The sums and products of a unit, about.
    @_noLocks @_noAllocation
    private func cost(ofUnit unit: Int) -> Int {
        let step = unit / chunkCount
        let (channel, phase) = (step / (plan.passCount &+ 2), step % (plan.passCount &+ 2))
        // A butterfly of four has 16 sums and three complex products.
        var each = 9
        if phase == 0 {
            each = channel < channels ? 6 : 8 &* used &* matrix.sourceCount(of: channel &- channels, among: channels)
        } else if phase > plan.passCount {
            each = channel < channels ? 2 : 3
        }
        return each &* (blockLength / chunkCount)
    }

    /// The sums and products of the block that was begun, about.
    @_noLocks @_noAllocation
    func workload() -> Int {
        var sum = 0
        for channel in 0..<channels {
            let sources = matrix.sourceCount(of: channel, among: channels)
            sum &+= (18 &* plan.passCount &+ 11 &+ 8 &* used &* sources) &* blockLength
        }
        return sum
    }

    /// Returns the unit before which as much work is done.
    ///
    /// - Parameters:
    ///   - unit: The first one that is not done.
    ///   - done: The work that is done, and then that before the unit that is returned.
    ///   - goal: The work that has to be done.
    @_noLocks @_noAllocation
    func unit(after unit: Int, done: inout Int, goal: Int) -> Int {
        let count = unitCount(channels: channels)
        var unit = unit
        while unit < count && done < goal {
            done &+= cost(ofUnit: unit)
            unit &+= 1
        }
        return unit
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
        var row = (channel &* blockLength &* partCount) &* 2 &+ 32 &* newest
        for _ in 0..<(blockLength / 16) {
            unsafe (history.base + row).clearSamples(count: 32)
            row &+= 32 &* partCount
        }
    }

    /// Does some of the units of work, which must be done in their order.
    ///
    /// - Parameters:
    ///   - first: The first unit.
    ///   - end: The first unit not to do, up to ``unitCount(channels:)``.
    ///   - older: The block before, each channel `stride` after the one before.
    ///   - newer: The block.
    ///   - output: Receives the frames of all channels, one channel after the other.
    @_noLocks @_noAllocation
    mutating func work(
        from first: Int, to end: Int, older: borrowing ConvolutionBlock, newer: borrowing ConvolutionBlock,
        newerStart: Int = 0, stride: Int, into output: inout ConvolutionBlock
    ) {
        precondition(channels > 0 && partCount > 0)
        var unit = first
        let length = blockLength / chunkCount
        while unit < end {
            let (step, chunk) = (unit / chunkCount, unit % chunkCount)
            let (channel, phase) = (step / (plan.passCount &+ 2), step % (plan.passCount &+ 2))
            let bin = chunk &* length
            if phase > 0 && phase <= plan.passCount {
                if channel < channels {
                    pass(phase &- 1, bin / 4, (bin &+ length) / 4)
                } else {
                    passBack(phase &- 1, bin / 4, (bin &+ length) / 4)
                }
            } else if channel < channels {
                if phase == 0 {
                    turn(older, channel &* stride, newer, newerStart &+ channel &* stride, bin, length)
                } else {
                    unsafe file(history.base + (channel &* partCount &* 2 &* blockLength &+ 32 &* newest), bin, length)
                }
            } else if phase == 0 {
                multiply(channel &- channels, bin, length)
            } else {
                turnBack(into: &output, at: (channel &- channels) &* blockLength, bin, length)
            }
            operationCount &+= cost(ofUnit: unit)
            unit &+= 1
        }
    }

    /// Does all the work.
    @_noLocks @_noAllocation
    mutating func workAtOnce(
        older: borrowing ConvolutionBlock, newer: borrowing ConvolutionBlock, newerStart: Int = 0, stride: Int,
        into output: inout ConvolutionBlock
    ) {
        work(
            from: 0, to: unitCount(channels: channels), older: older, newer: newer, newerStart: newerStart,
            stride: stride,
            into: &output)
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
            plan.turns.base + blockLength + first, aRe.base + first, aIm.base + first, count)
    }

    @_noLocks @_noAllocation
    private mutating func pass(_ index: Int, _ first: Int, _ end: Int) {
        if index & 1 == 0 {
            plan.pass(index, first, end, aRe, aIm, &bRe, &bIm)
        } else {
            plan.pass(index, first, end, bRe, bIm, &aRe, &aIm)
        }
    }

    /// The planes exchanged, it is a pass of the inverse transform.
    @_noLocks @_noAllocation
    private mutating func passBack(_ index: Int, _ first: Int, _ end: Int) {
        if index & 1 == 0 {
            plan.pass(index, first, end, aIm, aRe, &bIm, &bRe)
        } else {
            plan.pass(index, first, end, bIm, bRe, &aIm, &aRe)
        }
    }

    /// Files some bins of a spectrum.
    ///
    /// - Parameter rows: The place of the spectrum among the first sixteen bins.
    @_noLocks @_noAllocation
    private func file(_ rows: UnsafeMutablePointer<Float>, _ first: Int, _ count: Int) {
        let target = unsafe rows + first &* 2 &* partCount
        if plan.passCount & 1 == 0 {
            unsafe kernel_file_spectrum(aRe.base + first, aIm.base + first, target, partCount, count)
        } else {
            unsafe kernel_file_spectrum(bRe.base + first, bIm.base + first, target, partCount, count)
        }
    }

    @_noLocks @_noAllocation
    private mutating func multiply(_ channel: Int, _ first: Int, _ count: Int) {
        let size = partCount &* 2 &* blockLength
        for index in 0..<matrix.sourceCount(of: channel, among: channels) {
            let path = matrix.path(index, to: channel)
            precondition((path.source &+ 1) &* size <= history.count && (path.response &+ 1) &* size <= filters.count)
            unsafe kernel_multiply_spectra(
                filters.base + path.response &* size, history.base + path.source &* size, partCount, newest, used,
                index > 0, first, first &+ count, aRe.base, aIm.base)
        }
    }

    @_noLocks @_noAllocation
    private mutating func turnBack(into output: inout ConvolutionBlock, at start: Int, _ first: Int, _ count: Int) {
        precondition(start >= 0 && start &+ blockLength <= output.count && first &+ count <= blockLength)
        let target = unsafe output.base + start + first
        let turns = unsafe (plan.turns.base + first, plan.turns.base + blockLength + first)
        if plan.passCount & 1 == 0 {
            unsafe kernel_turn_back(aRe.base + first, aIm.base + first, turns.0, turns.1, target, count)
        } else {
            unsafe kernel_turn_back(bRe.base + first, bIm.base + first, turns.0, turns.1, target, count)
        }
    }
}
