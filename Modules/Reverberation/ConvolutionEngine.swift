internal import Background
internal import RenderCore

/// A response at the rate of a renderer, with all that its convolution needs, and the jobs for its long parts.
struct ConvolutionEngine: ~Copyable, Sendable {
    /// The number of the response: the highest one is in use, those below ring out. 0 for none.
    let serial: UInt64
    /// Indicates whether the response is there from the beginning, and is not faded in.
    let isFirst: Bool
    /// The frames for which it rings.
    let frameCount: Int
    /// The frames of a fade.
    let fade: Int32
    /// Indicates whether a channel becomes two.
    let isWide: Bool
    /// The bytes that it takes.
    let memoryBytes: Int
    private let head = RenderState(ConvolutionHead())
    private let work1: BackgroundWork<ConvolutionLevel>
    private let work2: BackgroundWork<ConvolutionLevel>
    private let work3: BackgroundWork<ConvolutionLevel>
    private let lengths: (Int, Int, Int)
    private let isSpread: Bool

    /// Makes everything. On the control side, where it takes some milliseconds for a second of response.
    ///
    /// - Parameter isSpread: `true` to compute the long parts on the render thread, a share in each cycle.
    init(
        _ response: borrowing AudioBlock, serial: UInt64, isFirst: Bool, channels: Int, frames: Int, fade: Int32,
        isSpread: Bool
    ) {
        let matrix = ConvolutionMatrix(responseChannels: response.channelCount) ?? .mono
        let partition = ConvolutionPartition(frames: response.frameCount)
        let level1 = ConvolutionLevel(partition.long[0], response: response, channels: channels, matrix: matrix)
        let level2 = ConvolutionLevel(partition.long[1], response: response, channels: channels, matrix: matrix)
        let level3 = ConvolutionLevel(partition.long[2], response: response, channels: channels, matrix: matrix)
        self.serial = serial
        self.isFirst = isFirst
        self.fade = fade
        self.isSpread = isSpread
        isWide = response.channelCount > 1
        frameCount = response.frameCount
        lengths = (partition.long[0].blockLength, partition.long[1].blockLength, partition.long[2].blockLength)
        let levels = level1.memoryBytes + level2.memoryBytes + level3.memoryBytes
        if isSpread {
            let made = ConvolutionHead(
                partition, response: response, channels: channels, frames: frames, matrix: matrix, level1, level2,
                level3)
            work1 = ConvolutionEngine.work(ConvolutionLevel())
            work2 = ConvolutionEngine.work(ConvolutionLevel())
            work3 = ConvolutionEngine.work(ConvolutionLevel())
            memoryBytes = made.memoryBytes
            head.replace(with: made)
        } else {
            let made = ConvolutionHead(
                partition, response: response, channels: channels, frames: frames, matrix: matrix, ConvolutionLevel(),
                ConvolutionLevel(), ConvolutionLevel())
            work1 = ConvolutionEngine.work(level1)
            work2 = ConvolutionEngine.work(level2)
            work3 = ConvolutionEngine.work(level3)
            memoryBytes = made.memoryBytes + levels
            head.replace(with: made)
        }
    }

    /// Makes one that is never run.
    init() {
        serial = 0
        isFirst = false
        frameCount = 0
        fade = 1
        isWide = false
        isSpread = false
        memoryBytes = 0
        lengths = (0, 0, 0)
        work1 = ConvolutionEngine.work(ConvolutionLevel())
        work2 = ConvolutionEngine.work(ConvolutionLevel())
        work3 = ConvolutionEngine.work(ConvolutionLevel())
    }

    private static func work(_ level: consuming ConvolutionLevel) -> BackgroundWork<ConvolutionLevel> {
        BackgroundWork(level) { $0.work() }
    }

    /// Forgets all sound.
    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { head.with(&context) { head, _ in head.reset() } }

    /// Computes the answer to the first frames of the top, and leaves the top as it is.
    ///
    /// - Parameters:
    ///   - gain: The gain of what goes in.
    /// - Returns: The number of parts that came too late.
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext, frames: Int, gain: Glide) -> Int {
        var (done, late) = (0, 0)
        while done < frames {
            let first = done
            var (count, complete) = (0, 0)
            head.withTop(&context) { head, top in
                count = min(frames - first, head.room)
                head.open(channels: top.channelCount)
                let isSilent = gain.isFlat && gain.end == 0
                for channel in 0..<head.openCount {
                    if channel < top.channelCount && !isSilent {
                        head.take(top.samples(channel), from: first, count: count, channel: channel, gain: gain)
                    } else {
                        head.takeSilence(count: count, channel: channel)
                    }
                }
                head.compute(from: first, count: count)
                complete = head.advance(count)
            }
            // Another renderer has the module: the fault is reported.
            if count == 0 { return late }
            done += count
            if complete == 0 || isSpread { continue }
            late += exchange(work1, 0, lengths.0, &context, at: done)
            if complete > 1 { late += exchange(work2, 1, lengths.1, &context, at: done) }
            if complete > 2 { late += exchange(work3, 2, lengths.2, &context, at: done) }
        }
        return late
    }

    /// Takes the result of a job, which is heard from this frame on, and submits the next, which has to be done a block
    /// later. Returns 1 if the job is late.
    @_noLocks @_noAllocation
    private func exchange(
        _ work: borrowing BackgroundWork<ConvolutionLevel>, _ index: Int, _ length: Int,
        _ context: inout RenderContext, at frame: Int
    ) -> Int {
        let outcome = work.collect(&context, at: frame, with: head) { level, head, _ in
            head.exchange(&level, at: index)
        }
        if outcome.isReady {
            work.submit(context, at: frame, deadline: length)
            return 0
        }
        head.with(&context) { head, _ in head.miss(index) }
        return 1
    }

    /// Adds the answer to the first frames of the top.
    @_noLocks @_noAllocation
    func add(_ context: inout RenderContext, frames: Int, mix: Glide, gain: Glide) {
        head.withTop(&context) { head, top in
            for channel in 0..<top.channelCount {
                var samples = top[channel]
                head.add(channel: channel, to: &samples, frames: frames, mix: mix, gain: gain)
            }
        }
    }
}
