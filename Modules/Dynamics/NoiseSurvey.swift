internal import RenderCore

/// The levels that a detector has while a ``NoiseCalibration`` listens: for each block of 10 ms the highest, sorted by tenths of a
/// decibel. Only the render thread uses it; a module holds it in its state.
struct NoiseSurvey: ~Copyable, Sendable {
    /// Of each frame of the slice, the highest level of all lanes.
    private var levels: RenderMemory<Float>
    /// The number of blocks for each tenth of a decibel from ``lowest`` on.
    private var counts: RenderMemory<Int32>
    private let blockLength: Int
    /// The decibels of a doubled level.
    private let decibels: Float
    /// The request that was heeded last: its number, and in the lower half the blocks that it asks for.
    private var request: UInt64 = 0
    /// Blocks that were heard, and those that are to be.
    private var blocks = 0
    private var wanted = 0
    /// The frames of the present block, and the highest level in it.
    private var begun = 0
    private var highest: Float = 0

    /// The least level that is told from silence, in dB.
    static var lowest: Float { @_noLocks @_noAllocation get { -150 } }
    private static var size: Int { @_noLocks @_noAllocation get { 2_000 } }

    init(frames: Int, sampleRate: Double, detector: LevelDetector) {
        levels = RenderMemory(repeating: 0, count: frames)
        counts = RenderMemory(repeating: 0, count: NoiseSurvey.size)
        blockLength = max(1, Int((0.01 * sampleRate.asSampleRate).rounded()))
        decibels = if case .rms = detector { 3.0102999566 } else { 6.0205999133 }
    }

    /// Begins anew, if it listens.
    @_noLocks @_noAllocation
    mutating func reset() { request = 0 }

    /// Takes a request; 0 is none.
    @_noLocks @_noAllocation
    mutating func heed(_ wish: UInt64) {
        if wish == request { return }
        request = wish
        (blocks, begun, highest) = (0, 0, 0)
        wanted = Int(UInt32(truncatingIfNeeded: wish))
        for level in 0..<counts.count { counts[level] = 0 }
    }

    /// Indicates whether it listens.
    var isListening: Bool { @_noLocks @_noAllocation get { blocks < wanted } }

    /// Takes the levels of a lane.
    @_noLocks @_noAllocation
    mutating func listen(_ computer: borrowing GainComputer, frames: Int, isFirst: Bool) {
        guard frames <= levels.count else { return }
        computer.lift(&levels, frames: frames, isFirst: isFirst)
    }

    /// Goes on by the slice whose levels were taken. Returns the answer if that was the last: the number of the request, and in
    /// the lower half the level in dB. Else 0.
    @_noLocks @_noAllocation
    mutating func finish(frames: Int) -> UInt64 {
        guard frames <= levels.count else { return 0 }
        for frame in 0..<frames {
            if levels[frame] > highest { highest = levels[frame] }
            begun &+= 1
            if begun < blockLength { continue }
            let tenths = (GainMath.log2(highest) * decibels - NoiseSurvey.lowest) * 10
            let last = NoiseSurvey.size &- 1
            let place = tenths > 0 ? (tenths < Float(last) ? Int(tenths) : last) : 0
            counts[place] &+= 1
            (begun, highest) = (0, 0)
            blocks &+= 1
            if blocks == wanted { return request & 0xffff_ffff_0000_0000 | UInt64(level.bitPattern) }
        }
        return 0
    }

    /// The level in dB that 19 blocks of 20 stay below.
    private var level: Float {
        @_noLocks @_noAllocation get {
            var (left, place) = (blocks &- blocks / 20, 0)
            while place < counts.count {
                left &-= Int(counts[place])
                if left <= 0 { break }
                place &+= 1
            }
            return place == 0 ? -.infinity : NoiseSurvey.lowest + 0.1 * Float(place &+ 1)
        }
    }
}
