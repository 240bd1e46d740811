/// The long parts of a response that have one length, with the blocks that they are computed from: the state of a job.
package struct ConvolutionLevel: ~Copyable, Sendable {
    var convolution: PartitionedConvolution
    var older: ConvolutionBlock
    var input: ConvolutionBlock
    var output: ConvolutionBlock
    /// The block whose result is in the output, or will be.
    var block: Int64 = -1
    var channels = 0
    var skipped = 0
    /// Indicates whether everything before this block is to be forgotten.
    var isNew = true
    /// The units of work that are done, their work, and that of all.
    private var doneCount = 0
    private var doneWork = 0
    private var workload = 0

    /// Allocates.
    ///
    /// - Parameters:
    ///   - level: The parts.
    ///   - response: The response, whose channels the matrix uses.
    package init(
        _ level: ConvolutionPartition.Level, response: borrowing AudioBlock, channels: Int, matrix: ConvolutionMatrix
    ) {
        let parts = level.partCount
        convolution = PartitionedConvolution(
            blockLength: level.blockLength, parts: parts, channels: channels, matrix: matrix)
        for channel in 0..<(parts > 0 ? matrix.responseCount : 0) {
            convolution.setFilter(channel, response.samples(channel), from: level.start, to: level.end)
        }
        let count = parts > 0 ? channels * level.blockLength : 0
        older = ConvolutionBlock(count: count)
        input = ConvolutionBlock(count: count)
        output = ConvolutionBlock(count: count)
    }

    /// Parts that do not exist.
    package init() {
        convolution = PartitionedConvolution(blockLength: 64, parts: 0, channels: 1, matrix: .mono)
        older = ConvolutionBlock(count: 0)
        input = ConvolutionBlock(count: 0)
        output = ConvolutionBlock(count: 0)
    }

    /// Indicates whether there are parts.
    package var exists: Bool { @_noLocks @_noAllocation get { convolution.partCount > 0 } }

    /// The bytes that it takes.
    package var memoryBytes: Int { convolution.memoryBytes + 12 * input.count }

    /// Sums and products that were computed since the beginning, about.
    package var operationCount: Int { convolution.operationCount }

    /// Computes the block: the job.
    package mutating func work() {
        begin()
        advance(to: 1, of: 1)
    }

    /// Begins with the block.
    @_noLocks @_noAllocation
    mutating func begin() {
        if isNew { convolution.reset() }
        if isNew || skipped > 0 { older.erase() }
        let known = convolution.openCount
        convolution.begin(channels: channels, skipped: isNew ? 0 : skipped)
        isNew = false
        // A channel that comes in has no block before.
        let first = known &* convolution.blockLength
        older.erase(first, max(0, channels &* convolution.blockLength &- first))
        (doneCount, doneWork, workload) = (0, 0, convolution.workload())
    }

    /// Does a share of the work for the block, with what is done already.
    @_noLocks @_noAllocation
    mutating func advance(to share: Int, of whole: Int) {
        let goal = share == whole ? Int.max : (workload &* share &+ whole &- 1) / whole
        convolution.work(
            from: &doneCount, done: &doneWork, goal: goal, older: older, newer: input, stride: convolution.blockLength,
            into: &output)
    }
}

/// The render thread's side of a level: the block that is being filled, and the result that is being heard.
struct ConvolutionDesk: ~Copyable, Sendable {
    /// 0 if the level has no parts.
    let blockLength: Int
    var input: ConvolutionBlock
    var output: ConvolutionBlock
    /// Indicates whether the output is the result for these frames.
    var isAudible = false
    /// The blocks since the last that the level got.
    var skipped = 0
    var isNew = true

    init(_ level: ConvolutionPartition.Level, channels: Int) {
        blockLength = level.partCount > 0 ? level.blockLength : 0
        input = ConvolutionBlock(count: channels * blockLength)
        output = ConvolutionBlock(count: channels * blockLength)
    }

    var memoryBytes: Int { 8 * input.count }

    @_noLocks @_noAllocation
    mutating func reset() {
        isAudible = false
        skipped = 0
        isNew = true
    }

    /// Takes the result out of a level, and puts a block in, without a copy.
    ///
    /// - Parameter block: The number of the block, one more with each.
    @_noLocks @_noAllocation
    mutating func exchange(_ level: inout ConvolutionLevel, block: Int64, channels: Int) {
        isAudible = !isNew && skipped == 0 && level.block == block &- 1
        ConvolutionBlock.exchange(&output, &level.output)
        ConvolutionBlock.exchange(&level.older, &level.input)
        ConvolutionBlock.exchange(&level.input, &input)
        level.block = block
        level.channels = channels
        level.skipped = skipped
        level.isNew = isNew
        skipped = 0
        isNew = false
    }

    /// Goes on without the level, which is late.
    @_noLocks @_noAllocation
    mutating func miss() {
        isAudible = false
        skipped &+= 1
    }
}
