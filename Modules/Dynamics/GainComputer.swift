internal import RenderCore

/// From the levels of a key to the gain of a sound, frame by frame: detector, curve, hold, attack and release. It has a lane
/// for each gain, with a memory of its own.
///
/// The gain moves in decibels: in each frame by a share of what is left of the way to where the curve wants it.
struct GainComputer: ~Copyable, Sendable {
    /// The lanes that there are.
    let laneCount: Int
    /// Key channels that have a memory of their mean square.
    private let channelLimit: Int
    private let rate: Double
    /// The share of each new sample in the mean square; 0 for a detector of peaks.
    private let share: Double
    private let isRMS: Bool
    /// Frames of a block of the hold, and the most blocks.
    private let blockFrames: Int
    private let blockLimit: Int

    /// The levels of the slice: magnitudes, or mean squares; then the goals.
    private var levels: RenderMemory<Float>
    /// The reductions of the slice.
    private var reductions: RenderMemory<Float>
    /// The gains of the slice, as factors.
    var gains: RenderMemory<Float>
    private var lanes: RenderMemory<Lane>
    private var squares: RenderMemory<Double>
    /// Goals that are held and their blocks: for each lane a queue in which they fall.
    private var held: RenderMemory<Held>

    /// A gain's memory.
    struct Lane: Sendable, BitwiseCopyable {
        /// The reduction of the last frame in dB, with the curve's sign.
        var state = 0.0
        var isNew = true
        /// A gate's.
        var isOpen = false
        // The hold.
        var position = 0
        var block: Int32 = 0
        var loudest = -Float.infinity
        var before = -Float.infinity
        var first = 0
        var count = 0
        // The shares of the way for times that rest.
        var attack: Float = -1
        var release: Float = -1
        var attackShare = 1.0
        var releaseShare = 1.0
        // Make-up and mix, which follow their glides so that a glide begins and ends smoothly.
        var makeUp = 0.0
        var mix = 1.0
    }

    struct Held: Sendable, BitwiseCopyable {
        var goal: Float
        var block: Int32
    }

    /// - Parameters:
    ///   - channels: Channels of keys.
    ///   - frames: The longest slice.
    ///   - hold: The longest hold in seconds.
    init(lanes: Int, channels: Int, frames: Int, sampleRate: Double, detector: LevelDetector, hold: Double) {
        laneCount = lanes
        channelLimit = channels
        rate = sampleRate
        switch detector {
        case .peak: (isRMS, share) = (false, 0)
        case .rms(let seconds): (isRMS, share) = (true, GainComputer.share(max(0, min(seconds, 10)), sampleRate))
        }
        blockFrames = GainComputer.blockFrames(sampleRate)
        blockLimit = Int((hold * sampleRate / Double(blockFrames)).rounded(.up)) + 1
        levels = RenderMemory(repeating: 0, count: frames)
        reductions = RenderMemory(repeating: 0, count: frames)
        gains = RenderMemory(repeating: 1, count: frames)
        self.lanes = RenderMemory(repeating: Lane(), count: lanes)
        squares = RenderMemory(repeating: 0, count: channels)
        held = RenderMemory(repeating: Held(goal: 0, block: 0), count: lanes * blockLimit)
    }

    /// The longest slice.
    var frameLimit: Int { @_noLocks @_noAllocation get { levels.count } }

    /// Returns the frames of a block of the hold: 16 up to 96 kHz.
    @_noLocks @_noAllocation
    static func blockFrames(_ rate: Double) -> Int {
        var frames = 16
        while Double(frames) * 6_000 <= rate && frames < 4_096 { frames &*= 2 }
        return frames
    }

    /// Returns the share of the way that is gone in a frame.
    @_noLocks @_noAllocation
    static func share(_ seconds: Double, _ rate: Double) -> Double {
        seconds > 0 ? 1 - RenderMath.exp(-1 / (seconds * rate)) : 1
    }

    /// Forgets everything.
    @_noLocks @_noAllocation
    mutating func reset() {
        for lane in 0..<laneCount { lanes[lane] = Lane() }
        for channel in 0..<channelLimit { squares[channel] = 0 }
    }

    /// Forgets one lane or channel.
    @_noLocks @_noAllocation
    mutating func reset(lane: Int) { if lane >= 0 && lane < laneCount { lanes[lane] = Lane() } }

    @_noLocks @_noAllocation
    mutating func reset(channel: Int) { if channel >= 0 && channel < channelLimit { squares[channel] = 0 } }

    /// The reduction at the end of the slice, in dB: 0 or more.
    @_noLocks @_noAllocation
    func reduction(_ lane: Int) -> Float {
        guard lane >= 0 && lane < laneCount else { return 0 }
        let state = Float(lanes[lane].state)
        return state < 0 ? -state : state
    }

    // MARK: The detector

    /// Takes a channel of the key. The loudest of several counts.
    ///
    /// - Parameters:
    ///   - channel: The number of its memory.
    ///   - isFirst: `true` for the first of a lane.
    @_noLocks @_noAllocation
    mutating func listen(_ key: borrowing Samples, frames: Int, channel: Int, isFirst: Bool) {
        guard frames <= levels.count, frames <= key.count, channel >= 0, channel < channelLimit else { return }
        if isRMS {
            var square = squares[channel]
            GainComputer.measure(key, frames, isFirst, share, &square, &levels)
            squares[channel] = square
        } else {
            GainComputer.measure(key, frames, isFirst, &levels)
        }
    }

    @_noLocks @_noAllocation
    private static func measure(
        _ key: borrowing Samples, _ frames: Int, _ isFirst: Bool, _ levels: inout RenderMemory<Float>
    ) {
        var levels = levels.span
        if isFirst {
            for i in 0..<frames { levels[i] = magnitude(key[i]) }
        } else {
            for i in 0..<frames {
                let (level, other) = (magnitude(key[i]), levels[i])
                levels[i] = level > other ? level : other
            }
        }
    }

    @_noLocks @_noAllocation
    private static func measure(
        _ key: borrowing Samples, _ frames: Int, _ isFirst: Bool, _ share: Double, _ mean: inout Double,
        _ levels: inout RenderMemory<Float>
    ) {
        var levels = levels.span
        var square = mean
        let kept = 1 - share
        for i in 0..<frames {
            let magnitude = Double(magnitude(key[i]))
            square = kept * square + share * (magnitude * magnitude)
            let level = Float(square)
            levels[i] = isFirst || level > levels[i] ? level : levels[i]
        }
        mean = square
    }

    /// Takes silence in the place of a key.
    @_noLocks @_noAllocation
    mutating func listenToSilence(frames: Int) {
        guard frames <= levels.count else { return }
        for i in 0..<frames { levels[i] = 0 }
    }

    /// Returns the magnitude of a sample, at most +200 dB; what is no number is silence.
    @_noLocks @_noAllocation @inline(__always)
    static func magnitude(_ sample: Float) -> Float {
        let magnitude = Float(bitPattern: sample.bitPattern & 0x7FFF_FFFF)
        return magnitude < 1e10 ? magnitude : (magnitude <= .infinity ? 1e10 : 0)
    }

    // MARK: The gain

    /// Computes the ``gains`` of a slice from the levels.
    @_noLocks @_noAllocation
    mutating func compute(_ settings: GainSettings, frames: Int, lane: Int) {
        guard frames > 0, frames <= levels.count, lane >= 0, lane < laneCount else { return }
        switch settings.shape {
        case .gate: findGateGoals(settings, frames, lane)
        case .compress, .expand: GainComputer.findGoals(settings, frames, decibels, &levels)
        }
        if lanes[lane].isNew {
            // A curve that reduces silence begins where the first frame wants it, so that nothing slips through at first.
            lanes[lane].isNew = false
            lanes[lane].state = settings.isCompressing ? 0 : Double(levels[0])
            lanes[lane].makeUp = Double(settings.makeUp[0])
            lanes[lane].mix = Double(settings.mix[0])
        }
        follow(settings, frames, lane)
        GainComputer.findGains(settings, frames, rate, reductions, &lanes[lane], &gains)
    }

    private var decibels: Float {
        @_noLocks @_noAllocation @inline(__always) get { isRMS ? 3.0102999566 : 6.0205999133 }
    }

    @_noLocks @_noAllocation
    private static func findGoals(
        _ settings: GainSettings, _ frames: Int, _ decibels: Float, _ levels: inout RenderMemory<Float>
    ) {
        var levels = levels.span
        if settings.isFlat {
            let curve = settings.curve(0)
            for i in 0..<frames { levels[i] = curve.goal(GainMath.log2(levels[i]) * decibels) }
        } else {
            for i in 0..<frames { levels[i] = settings.curve(i).goal(GainMath.log2(levels[i]) * decibels) }
        }
    }

    @_noLocks @_noAllocation
    private mutating func findGateGoals(_ settings: GainSettings, _ frames: Int, _ lane: Int) {
        let decibels = decibels
        var isOpen = lanes[lane].isOpen
        for i in 0..<frames {
            let level = GainMath.log2(levels[i]) * decibels
            let threshold = settings.threshold[i]
            isOpen = level >= (isOpen ? threshold - settings.knee[i] : threshold)
            levels[i] = isOpen ? 0 : -settings.range[i]
        }
        lanes[lane].isOpen = isOpen
    }

    /// Moves from goal to goal.
    @_noLocks @_noAllocation
    private mutating func follow(_ settings: GainSettings, _ frames: Int, _ number: Int) {
        var lane = lanes[number]
        if settings.attack.isFlat && lane.attack != settings.attack.end {
            lane.attack = settings.attack.end
            lane.attackShare = GainComputer.share(Double(lane.attack), rate)
        }
        if settings.release.isFlat && lane.release != settings.release.end {
            lane.release = settings.release.end
            lane.releaseShare = GainComputer.share(Double(lane.release), rate)
        }
        // Rounded up, but not for the rounding of a `Float`.
        let wanted = Int(Double(settings.hold) * rate / Double(blockFrames) + 0.999)
        let blocks = wanted < blockLimit ? wanted : blockLimit &- 1
        if blocks <= 0 { (lane.position, lane.count, lane.loudest, lane.before) = (0, 0, -.infinity, -.infinity) }
        let rests = settings.attack.isFlat && settings.release.isFlat
        var done = 0
        while done < frames {
            var length = frames &- done
            if blocks > 0 && blockFrames &- lane.position < length { length = blockFrames &- lane.position }
            if rests && blocks <= 0 {
                GainComputer.walk(&lane, from: done, to: done &+ length, holds: false, levels, &reductions)
            } else if rests {
                GainComputer.walk(&lane, from: done, to: done &+ length, holds: true, levels, &reductions)
            } else {
                GainComputer.creep(
                    &lane, from: done, to: done &+ length, holds: blocks > 0, settings, rate, levels, &reductions)
            }
            done &+= length
            if blocks > 0 {
                lane.position &+= length
                if lane.position == blockFrames { endBlock(&lane, number &* blockLimit, blocks) }
            }
        }
        lanes[number] = lane
    }

    @_noLocks @_noAllocation @inline(__always)
    private static func walk(
        _ lane: inout Lane, from start: Int, to end: Int, holds: Bool, _ levels: borrowing RenderMemory<Float>,
        _ reductions: inout RenderMemory<Float>
    ) {
        // Of the two ways the faster one is right on the way up, and the other on the way down.
        if lane.attackShare >= lane.releaseShare {
            walk(&lane, from: start, to: end, holds: holds, attackIsFaster: true, levels, &reductions)
        } else {
            walk(&lane, from: start, to: end, holds: holds, attackIsFaster: false, levels, &reductions)
        }
    }

    @_noLocks @_noAllocation @inline(__always)
    private static func walk(
        _ lane: inout Lane, from start: Int, to end: Int, holds: Bool, attackIsFaster: Bool,
        _ levels: borrowing RenderMemory<Float>, _ reductions: inout RenderMemory<Float>
    ) {
        guard start >= 0 && end <= levels.count && end <= reductions.count else { return }
        let (attack, release) = (lane.attackShare, lane.releaseShare)
        // The second is negative, and subtracted: else the compiler packs both ways and shuffles in each frame.
        let (attackRest, releaseRest) = (1 - attack, release - 1)
        let before = lane.before
        var (state, loudest) = (lane.state, lane.loudest)
        var reductions = reductions.span
        for i in start..<end {
            var goal = levels[i]
            if holds {
                loudest = goal > loudest ? goal : loudest
                goal = loudest > before ? loudest : before
            }
            let rising = attackRest * state + attack * Double(goal)
            let falling = release * Double(goal) - releaseRest * state
            if attackIsFaster {
                state = rising > falling ? rising : falling
            } else {
                state = rising < falling ? rising : falling
            }
            reductions[i] = Float(state)
        }
        lane.state = state
        lane.loudest = loudest
    }

    /// Moves while the attack or the release moves.
    @inline(never) @_noLocks @_noAllocation
    private static func creep(
        _ lane: inout Lane, from start: Int, to end: Int, holds: Bool, _ settings: GainSettings, _ rate: Double,
        _ levels: borrowing RenderMemory<Float>, _ reductions: inout RenderMemory<Float>
    ) {
        for i in start..<end {
            lane.attackShare = share(Double(settings.attack[i]), rate)
            lane.releaseShare = share(Double(settings.release[i]), rate)
            walk(&lane, from: i, to: i &+ 1, holds: holds, levels, &reductions)
        }
        // These are the shares of no time that rests.
        (lane.attack, lane.release) = (-1, -1)
    }

    /// Puts a block's largest goal in the queue, from which those have gone that are smaller and older, and those that are
    /// too old.
    @_noLocks @_noAllocation
    private mutating func endBlock(_ lane: inout Lane, _ base: Int, _ blocks: Int) {
        let limit = blockLimit
        while lane.count > 0 && Int(lane.block &- held[base &+ lane.first].block) >= blocks {
            lane.first = lane.first &+ 1 == limit ? 0 : lane.first &+ 1
            lane.count &-= 1
        }
        while lane.count > 0 {
            let last = (lane.first &+ lane.count &- 1) % limit
            if held[base &+ last].goal > lane.loudest { break }
            lane.count &-= 1
        }
        let place = (lane.first &+ lane.count) % limit
        held[base &+ place] = Held(goal: lane.loudest, block: lane.block)
        lane.count &+= 1
        lane.before = held[base &+ lane.first].goal
        lane.loudest = -.infinity
        lane.position = 0
        // It wraps, and so does the difference of two.
        lane.block = lane.block &+ 1
    }

    @_noLocks @_noAllocation
    private static func findGains(
        _ settings: GainSettings, _ frames: Int, _ rate: Double, _ reductions: borrowing RenderMemory<Float>,
        _ lane: inout Lane, _ gains: inout RenderMemory<Float>
    ) {
        let octaves: Float = 0.16609640474
        let sign: Float = settings.isCompressing ? -octaves : octaves
        guard frames <= reductions.count && frames <= gains.count else { return }
        let (makeUp, mix) = (settings.makeUp, settings.mix)
        var gains = gains.span
        if makeUp.isFlat && mix.isFlat && lane.makeUp == Double(makeUp.end) && lane.mix == Double(mix.end) {
            let makeUp = makeUp.end * octaves
            let (wet, dry) = (mix.end, 1 - mix.end)
            for i in 0..<frames { gains[i] = dry + wet * GainMath.exp2(sign * reductions[i] + makeUp) }
            return
        }
        // 3 ms.
        let share = share(0.003, rate)
        for i in 0..<frames {
            lane.makeUp = follow(lane.makeUp, Double(makeUp[i]), share)
            lane.mix = follow(lane.mix, Double(mix[i]), share)
            let wet = Float(lane.mix)
            let made = Float(lane.makeUp) * octaves
            gains[i] = (1 - wet) + wet * GainMath.exp2(sign * reductions[i] + made)
        }
    }

    /// Returns a value a share of the way nearer to its goal, and at it where it is near.
    @_noLocks @_noAllocation @inline(__always)
    private static func follow(_ value: Double, _ goal: Double, _ share: Double) -> Double {
        let rest = goal - value
        return rest < 1e-6 && rest > -1e-6 ? goal : value + share * rest
    }
}
