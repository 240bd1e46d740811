internal import RenderCore

/// By how much peaks between the samples may be higher than a `TruePeakFinder` finds them.
///
/// Half-way between two samples it weighs 128 of them on each side. That is too few for what lies just below half of the sample
/// rate: white noise has a hundredth of its power there, and its peaks would come out up to 0.5 dB too high. But what lies there
/// changes its sign with every frame, and so it is easily measured: the highest sum of 128 frames, every second one with a minus,
/// is what the finder may have missed. In music there is almost nothing, and its peaks stay as they were found.
struct UnseenPeaks: ~Copyable, Sendable {
    /// The frames of a block, whose sums go into those of four.
    private static var blockLength: Int { @_noLocks @_noAllocation get { 32 } }

    struct Channel: BitwiseCopyable, Sendable {
        /// The sums of the last four blocks.
        var sums = SIMD4<Float>(repeating: 0)
        /// The last 16 levels.
        var levels = SIMD16<Float>(repeating: 0)
    }

    private var channels: RenderMemory<Channel>
    /// For each frame of the slice, what is to be added to its peak.
    private var additions: RenderMemory<Float>
    private var level: Float = 0
    /// The frames of the block that is not whole, and the number of those that were.
    private var begun = 0
    private var blocks = 0

    init(channels: Int, maximumFrameCount: Int) {
        self.channels = RenderMemory(repeating: Channel(), count: channels)
        additions = RenderMemory(repeating: 0, count: maximumFrameCount)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        for channel in 0..<channels.count { channels[channel] = Channel() }
        (level, begun, blocks) = (0, 0, 0)
    }

    /// Listens to a slice. Returns the most that is to be added to one of its peaks.
    ///
    /// - Precondition: The history has 34 frames before the slice.
    @_noLocks @_noAllocation
    mutating func listen(_ history: borrowing SampleHistory, channels used: Int, frames: Int) -> Float {
        var most = level
        var frame = 0
        while frame < frames {
            let end = min(frames, frame &+ UnseenPeaks.blockLength &- begun)
            for i in frame..<end { additions[i] = level }
            begun &+= end &- frame
            frame = end
            if begun == UnseenPeaks.blockLength {
                endBlock(history, channels: used, at: history.position &+ frame)
                most = level > most ? level : most
            }
        }
        return most
    }

    /// Adds what may be missing to the peaks of the slice.
    @_noLocks @_noAllocation
    func add(to peaks: inout RenderMemory<Float>, frames: Int) {
        for i in 0..<frames { peaks[i] += additions[i] }
    }

    /// Sums up the block before a position in the history.
    @_noLocks @_noAllocation
    private mutating func endBlock(_ history: borrowing SampleHistory, channels used: Int, at end: Int) {
        (begun, blocks) = (0, blocks &+ 1)
        level = 0
        for channel in 0..<used {
            var memory = channels[channel]
            let sum = UnseenPeaks.sum(history.samples(channel), endingAt: end)
            memory.sums[blocks & 3] = sum
            let level = abs(memory.sums.sum()) * (1 / Float(4 &* UnseenPeaks.blockLength))
            // Of what is not a number, or without end, the finder knows.
            memory.levels[blocks & 15] = level < .infinity ? level : 0
            channels[channel] = memory
            let highest = memory.levels.max()
            self.level = highest > self.level ? highest : self.level
        }
    }

    /// Returns the sum of a block, every second frame with a minus. At both ends it goes over softly into the next block, so that
    /// low frequencies leave nothing.
    @_noLocks @_noAllocation
    private static func sum(_ samples: borrowing Samples, endingAt end: Int) -> Float {
        let first = end &- blockLength
        let sums =
            samples.vector8(at: first) + samples.vector8(at: first &+ 8) + samples.vector8(at: first &+ 16)
            + samples.vector8(at: first &+ 24)
        let edges = 0.25 * (samples[first &- 2] - samples[end &- 2]) - 0.75 * (samples[first &- 1] - samples[end &- 1])
        return sums.evenHalf.sum() - sums.oddHalf.sum() + edges
    }
}
