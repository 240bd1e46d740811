internal import RenderCore

/// Puts the loudest level of the last time in the place of each level. It has a lane for each gain, with a memory of its own.
///
/// The time is counted in blocks of frames; of the blocks that are over, a queue keeps the levels that fall.
struct LevelHold: ~Copyable, Sendable {
    private let rate: Double
    /// Frames of a block, and the most blocks.
    private let blockFrames: Int
    private let blockLimit: Int
    private var lanes: RenderMemory<Lane>
    /// For each lane a queue.
    private var held: RenderMemory<Held>

    // These two are not private: a debug build of other files would not be able to link their memory.
    struct Lane: Sendable, BitwiseCopyable {
        /// Frames of the block that are over.
        var position = 0
        var block: Int32 = 0
        var loudest: Float = 0
        var before: Float = 0
        var first = 0
        var count = 0
    }

    struct Held: Sendable, BitwiseCopyable {
        var level: Float
        var block: Int32
    }

    /// - Parameter seconds: The longest time.
    init(lanes: Int, seconds: Double, sampleRate: Double) {
        rate = sampleRate
        // 16 below 96 kHz, 32 from there on, and so forth.
        var frames = 16
        while Double(frames) * 6_000 <= sampleRate && frames < 4_096 { frames *= 2 }
        blockFrames = frames
        blockLimit = Int((seconds * sampleRate / Double(frames)).rounded(.up)) + 1
        self.lanes = RenderMemory(repeating: Lane(), count: lanes)
        held = RenderMemory(repeating: Held(level: 0, block: 0), count: lanes * blockLimit)
    }

    /// Forgets the levels of a lane.
    @_noLocks @_noAllocation
    mutating func reset(lane: Int) { lanes[lane] = Lane() }

    /// Returns whether anything is held for a time.
    @_noLocks @_noAllocation
    func holds(_ seconds: Float) -> Bool { blocks(seconds) > 0 }

    @_noLocks @_noAllocation
    private func blocks(_ seconds: Float) -> Int {
        // Rounded up, but not for the rounding of a `Float`.
        let wanted = Int(Double(seconds) * rate / Double(blockFrames) + 0.999)
        return wanted < blockLimit ? wanted : blockLimit &- 1
    }

    /// Holds the levels of a lane.
    @_noLocks @_noAllocation
    mutating func apply(_ seconds: Float, _ levels: inout RenderMemory<Float>, _ frames: Int, _ number: Int) {
        let blocks = blocks(seconds)
        var lane = lanes[number]
        var done = 0
        while done < frames {
            let length = min(frames &- done, blockFrames &- lane.position)
            lane.loudest = levels.hold(from: done, count: length, lane.loudest, over: lane.before)
            done &+= length
            lane.position &+= length
            if lane.position == blockFrames { endBlock(&lane, number &* blockLimit, blocks) }
        }
        lanes[number] = lane
    }

    /// Puts a block's loudest level in the queue, from which those have gone that are softer and older, and those that are
    /// too old.
    @_noLocks @_noAllocation
    private mutating func endBlock(_ lane: inout Lane, _ base: Int, _ blocks: Int) {
        let limit = blockLimit
        while lane.count > 0 && Int(lane.block &- held[base &+ lane.first].block) >= blocks {
            lane.first = lane.first &+ 1 == limit ? 0 : lane.first &+ 1
            lane.count &-= 1
        }
        while lane.count > 0 {
            let last = place(lane, lane.count &- 1)
            if held[base &+ last].level > lane.loudest { break }
            lane.count &-= 1
        }
        held[base &+ place(lane, lane.count)] = Held(level: lane.loudest, block: lane.block)
        lane.count &+= 1
        lane.before = held[base &+ lane.first].level
        lane.loudest = 0
        lane.position = 0
        // It wraps, and so does the difference of two.
        lane.block = lane.block &+ 1
    }

    /// Returns the place of a level in the queue, in which there are fewer than it can hold.
    @_noLocks @_noAllocation
    private func place(_ lane: Lane, _ index: Int) -> Int {
        let place = lane.first &+ index
        return place < blockLimit ? place : place &- blockLimit
    }
}
