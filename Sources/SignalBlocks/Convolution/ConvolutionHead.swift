internal import CKernels

/// The part of a convolution without latency that is computed on the render thread: the first frames of the response, which
/// are multiplied out, the shortest parts, and the sum with what the longer parts gave.
///
/// All work is done at frames that are multiples of 64, counted from the start, however long the slices are.
package struct ConvolutionHead: ~Copyable, Sendable {
    /// The most channels.
    package let channelCount: Int
    private let matrix: ConvolutionMatrix
    private let maximumFrameCount: Int
    private var taps: SampleMemory
    /// For each channel the block before and the present one.
    private var line: ConvolutionBlock
    private var short: PartitionedConvolution
    private var shortOutput: ConvolutionBlock
    private var wet: SampleMemory
    private var scratch = SampleMemory(count: ConvolutionPartition.step)
    private var desk0: ConvolutionDesk
    private var desk1: ConvolutionDesk
    private var desk2: ConvolutionDesk
    private var desk3: ConvolutionDesk
    /// Levels that are computed here, over the cycles: the first one always.
    private var level0: ConvolutionLevel
    private var level1: ConvolutionLevel
    private var level2: ConvolutionLevel
    private var level3: ConvolutionLevel
    /// Frames since the start.
    private var position = 0
    /// The most channels since the start.
    private var used = 0
    /// Sums and products of what is multiplied out.
    private var directCount = 0

    /// Allocates.
    ///
    /// - Parameters:
    ///   - levels: The long parts that are computed here; those that do not exist are computed elsewhere.
    package init(
        _ partition: ConvolutionPartition, response: borrowing AudioBlock, channels: Int, frames: Int,
        matrix: ConvolutionMatrix, _ level1: consuming ConvolutionLevel, _ level2: consuming ConvolutionLevel,
        _ level3: consuming ConvolutionLevel
    ) {
        let step = ConvolutionPartition.step
        channelCount = channels
        self.matrix = matrix
        maximumFrameCount = frames
        taps = SampleMemory(count: matrix.responseCount * step)
        for channel in 0..<matrix.responseCount {
            for i in 0..<min(step, response.frameCount) { taps[channel * step + i] = response[channel, i] }
        }
        line = ConvolutionBlock(count: channels * 2 * step)
        short = PartitionedConvolution(
            blockLength: step, parts: partition.short.partCount, channels: channels, matrix: matrix)
        for channel in 0..<(partition.short.partCount > 0 ? matrix.responseCount : 0) {
            short.setFilter(
                channel, response.samples(channel), from: partition.short.start, to: partition.short.end)
        }
        shortOutput = ConvolutionBlock(count: channels * step)
        wet = SampleMemory(count: channels * frames)
        desk0 = ConvolutionDesk(partition.middle, channels: channels)
        desk1 = ConvolutionDesk(partition.long[0], channels: channels)
        desk2 = ConvolutionDesk(partition.long[1], channels: channels)
        desk3 = ConvolutionDesk(partition.long[2], channels: channels)
        level0 = ConvolutionLevel(partition.middle, response: response, channels: channels, matrix: matrix)
        self.level1 = level1
        self.level2 = level2
        self.level3 = level3
    }

    /// Creates one that gives silence.
    package init() {
        self.init(
            ConvolutionPartition(frames: 0), response: AudioBlock(channels: 1, frames: 0), channels: 1, frames: 0,
            matrix: .mono, ConvolutionLevel(), ConvolutionLevel(), ConvolutionLevel())
    }

    /// Sums and products that were computed here since the beginning, about: by which tests see that the cycles are alike.
    package var operationCount: Int {
        directCount + short.operationCount + level0.operationCount + level1.operationCount + level2.operationCount
            + level3.operationCount
    }

    /// The bytes that it takes.
    package var memoryBytes: Int {
        let desks = desk0.memoryBytes + desk1.memoryBytes + desk2.memoryBytes + desk3.memoryBytes
        let levels = level0.memoryBytes + level1.memoryBytes + level2.memoryBytes + level3.memoryBytes
        return 4 * (taps.count + line.count + shortOutput.count + wet.count) + short.memoryBytes + desks + levels
    }

    /// Forgets all sound.
    @_noLocks @_noAllocation
    package mutating func reset() {
        position = 0
        used = 0
        short.reset()
        line.erase()
        shortOutput.erase()
        desk0.reset()
        desk1.reset()
        desk2.reset()
        desk3.reset()
    }

    // MARK: Frames

    /// The frames that can be taken in at once.
    package var room: Int {
        @_noLocks @_noAllocation get { ConvolutionPartition.step &- position & (ConvolutionPartition.step &- 1) }
    }

    /// Makes ready for channels.
    @_noLocks @_noAllocation
    package mutating func open(channels: Int) {
        while used < min(channels, channelCount) {
            desk0.input.erase(used &* desk0.blockLength, position & max(0, desk0.blockLength &- 1))
            desk1.input.erase(used &* desk1.blockLength, position & max(0, desk1.blockLength &- 1))
            desk2.input.erase(used &* desk2.blockLength, position & max(0, desk2.blockLength &- 1))
            desk3.input.erase(used &* desk3.blockLength, position & max(0, desk3.blockLength &- 1))
            used &+= 1
        }
    }

    /// The channels that are computed.
    package var openCount: Int { @_noLocks @_noAllocation get { used } }

    /// Takes in frames of a channel, at most ``room`` of them.
    ///
    /// Samples that are no numbers, tiny, or above +200 dB count as silence.
    @_noLocks @_noAllocation
    package mutating func take(
        _ samples: borrowing Samples, from first: Int, count: Int, channel: Int, gain: Glide
    ) {
        let start = begin(count, channel)
        precondition(first >= 0 && first <= samples.count &- count)
        let target = unsafe line.base + start
        if gain.isFlat {
            let flat = gain.end
            for i in 0..<count { unsafe target[i] = ConvolutionHead.kept(samples[first &+ i]) * flat }
        } else {
            for i in 0..<count {
                unsafe target[i] = ConvolutionHead.kept(samples[first &+ i]) * gain[first &+ i]
            }
        }
        file(start, count, channel)
    }

    /// Takes in silence.
    @_noLocks @_noAllocation
    package mutating func takeSilence(count: Int, channel: Int) {
        let start = begin(count, channel)
        line.erase(start, count)
        file(start, count, channel)
    }

    @_noLocks @_noAllocation
    @inline(__always) private static func kept(_ sample: Float) -> Float {
        let size = abs(sample)
        return size > 1e-30 && size < 1e10 ? sample : 0
    }

    @_noLocks @_noAllocation
    private func begin(_ count: Int, _ channel: Int) -> Int {
        precondition(count >= 0 && count <= room && channel >= 0 && channel < used)
        let step = ConvolutionPartition.step
        return (2 &* channel &+ 1) &* step &+ position & (step &- 1)
    }

    /// Copies frames into the blocks of the longer parts.
    @_noLocks @_noAllocation
    private mutating func file(_ start: Int, _ count: Int, _ channel: Int) {
        let source = unsafe line.base + start
        unsafe ConvolutionHead.fill(&desk0, source, count, channel, position)
        unsafe ConvolutionHead.fill(&desk1, source, count, channel, position)
        unsafe ConvolutionHead.fill(&desk2, source, count, channel, position)
        unsafe ConvolutionHead.fill(&desk3, source, count, channel, position)
    }

    @_noLocks @_noAllocation
    private static func fill(
        _ desk: inout ConvolutionDesk, _ source: UnsafeMutablePointer<Float>, _ count: Int, _ channel: Int,
        _ position: Int
    ) {
        let length = desk.blockLength
        if length == 0 { return }
        let place = channel &* length &+ position & (length &- 1)
        precondition(place &+ count <= desk.input.count)
        unsafe (desk.input.base + place).copySamples(from: source, count: count)
    }

    /// Computes the frames that were taken in, into the slice's from `first` on.
    @_noLocks @_noAllocation
    package mutating func compute(from first: Int, count: Int) {
        let step = ConvolutionPartition.step
        let place = position & (step &- 1)
        precondition(first >= 0 && count <= room && first &+ count <= maximumFrameCount)
        for channel in 0..<used {
            let target = unsafe wet.base + channel &* maximumFrameCount + first
            for index in 0..<matrix.sourceCount(of: channel, among: used) {
                let path = matrix.path(index, to: channel)
                // The first frame that the last tap of the first output frame hears.
                let past = unsafe line.base + path.source &* 2 &* step + place + 1
                let weights = unsafe taps.base + path.response &* step
                directCount &+= 2 &* step &* count
                if index == 0 {
                    unsafe kernel_combine(weights, step, past, target, count)
                } else {
                    unsafe kernel_combine(weights, step, past, scratch.base, count)
                    unsafe Kernel.add(scratch.base, to: target, count)
                }
            }
            unsafe Kernel.add(shortOutput.base + channel &* step + place, to: target, count)
            unsafe ConvolutionHead.add(desk0, to: target, count, channel, position)
            unsafe ConvolutionHead.add(desk1, to: target, count, channel, position)
            unsafe ConvolutionHead.add(desk2, to: target, count, channel, position)
            unsafe ConvolutionHead.add(desk3, to: target, count, channel, position)
        }
    }

    @_noLocks @_noAllocation
    private static func add(
        _ desk: borrowing ConvolutionDesk, to target: UnsafeMutablePointer<Float>, _ count: Int, _ channel: Int,
        _ position: Int
    ) {
        let length = desk.blockLength
        if length == 0 || !desk.isAudible { return }
        let place = channel &* length &+ position & (length &- 1)
        precondition(place &+ count <= desk.output.count)
        unsafe Kernel.add(desk.output.base + place, to: target, count)
    }

    /// Goes on by the frames that were computed.
    ///
    /// - Returns: The number of levels, of those that are computed elsewhere or here, whose block is complete.
    @_noLocks @_noAllocation
    package mutating func advance(_ count: Int) -> Int {
        let step = ConvolutionPartition.step
        position &+= count
        if position & (step &- 1) != 0 { return 0 }
        if short.partCount > 0 && used > 0 {
            short.begin(channels: used, skipped: 0)
            var (unit, done) = (0, 0)
            short.work(
                from: &unit, done: &done, goal: Int.max, older: line, newer: line, newerStart: step, stride: 2 &* step,
                into: &shortOutput)
        }
        for channel in 0..<used {
            let row = unsafe line.base + channel &* 2 &* step
            unsafe row.copySamples(from: row + step, count: step)
        }
        spread()
        if desk1.blockLength == 0 || position & (desk1.blockLength &- 1) != 0 { return 0 }
        if desk2.blockLength == 0 || position & (desk2.blockLength &- 1) != 0 { return 1 }
        return desk3.blockLength == 0 || position & (desk3.blockLength &- 1) != 0 ? 2 : 3
    }

    // MARK: Long parts

    /// Does the share of the work of this step, on levels that are computed here.
    @_noLocks @_noAllocation
    private mutating func spread() {
        ConvolutionHead.spread(&desk0, &level0, position, used)
        ConvolutionHead.spread(&desk1, &level1, position, used)
        ConvolutionHead.spread(&desk2, &level2, position, used)
        ConvolutionHead.spread(&desk3, &level3, position, used)
    }

    @_noLocks @_noAllocation
    private static func spread(
        _ desk: inout ConvolutionDesk, _ level: inout ConvolutionLevel, _ position: Int, _ channels: Int
    ) {
        if !level.exists { return }
        let length = desk.blockLength
        let passed = position & (length &- 1)
        if !desk.isNew { level.advance(to: passed == 0 ? length : passed, of: length) }
        if passed == 0 {
            desk.exchange(&level, block: Int64(position / length), channels: channels)
            level.begin()
        }
    }

    /// Exchanges a result for a block, with a level that is computed elsewhere.
    @_noLocks @_noAllocation
    package mutating func exchange(_ level: inout ConvolutionLevel, at index: Int) {
        switch index {
        case 0: desk1.exchange(&level, block: number(desk1.blockLength), channels: used)
        case 1: desk2.exchange(&level, block: number(desk2.blockLength), channels: used)
        default: desk3.exchange(&level, block: number(desk3.blockLength), channels: used)
        }
    }

    /// The number of a block that is complete.
    @_noLocks @_noAllocation
    private func number(_ length: Int) -> Int64 { Int64(position / max(1, length)) }

    /// Goes on without a level, which is late.
    @_noLocks @_noAllocation
    package mutating func miss(_ index: Int) {
        switch index {
        case 0: desk1.miss()
        case 1: desk2.miss()
        default: desk3.miss()
        }
    }

    // MARK: The sum

    /// Adds the frames that were computed to a channel.
    ///
    /// - Parameters:
    ///   - mix: The share of them.
    ///   - gain: The gain before the mix.
    @_noLocks @_noAllocation
    package func add(channel: Int, to samples: inout MutableSpan<Float>, frames: Int, mix: Glide, gain: Glide) {
        if channel >= used { return }
        let start = channel &* maximumFrameCount
        precondition(frames >= 0 && frames <= maximumFrameCount && frames <= samples.count)
        if mix.isFlat && gain.isFlat {
            let factor = mix.end * gain.end
            for i in 0..<frames { samples[i] += wet[start &+ i] * factor }
        } else {
            for i in 0..<frames { samples[i] += wet[start &+ i] * (mix[i] * gain[i]) }
        }
    }
}
