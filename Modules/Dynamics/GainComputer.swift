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
    private let squareShare: Double
    private let isRMS: Bool

    /// The levels of the slice: magnitudes, or mean squares; then the goals.
    private var levels: RenderMemory<Float>
    /// The reductions of the slice.
    private var reductions: RenderMemory<Float>
    /// The gains of the slice, as factors.
    var gains: RenderMemory<Float>
    private var lanes: RenderMemory<Lane>
    private var squares: RenderMemory<Double>
    private var hold: LevelHold

    /// A gain's memory.
    struct Lane: Sendable, BitwiseCopyable {
        /// The reduction of the last frame in dB, with the curve's sign.
        var state = 0.0
        // Those that lead a gate's to where it goes.
        var first = 0.0
        var second = 0.0
        var isNew = true
        /// A gate's.
        var isOpen = false
        // The shares of the way for times that rest.
        var attack: Float = -1
        var release: Float = -1
        var attackShare = 1.0
        var releaseShare = 1.0
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
        case .peak: (isRMS, squareShare) = (false, 0)
        case .rms(let seconds): (isRMS, squareShare) = (true, GainComputer.share(max(0, min(seconds, 10)), sampleRate))
        }
        levels = RenderMemory(repeating: 0, count: frames)
        reductions = RenderMemory(repeating: 0, count: frames)
        gains = RenderMemory(repeating: 1, count: frames)
        self.lanes = RenderMemory(repeating: Lane(), count: lanes)
        squares = RenderMemory(repeating: 0, count: channels)
        self.hold = LevelHold(lanes: lanes, seconds: hold, sampleRate: sampleRate)
    }

    /// The longest slice.
    var frameLimit: Int { @_noLocks @_noAllocation get { levels.count } }

    /// Returns the share of the way that is gone in a frame.
    @_noLocks @_noAllocation
    static func share(_ seconds: Double, _ rate: Double) -> Double {
        seconds > 0 ? 1 - RenderMath.exp(-1 / (seconds * rate)) : 1
    }

    /// Forgets everything.
    @_noLocks @_noAllocation
    mutating func reset() {
        for lane in 0..<laneCount { reset(lane: lane) }
        for channel in 0..<channelLimit { squares[channel] = 0 }
    }

    /// Forgets one lane or channel.
    @_noLocks @_noAllocation
    mutating func reset(lane: Int) {
        guard lane >= 0 && lane < laneCount else { return }
        lanes[lane] = Lane()
        hold.reset(lane: lane)
    }

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
            GainComputer.measure(key, frames, isFirst, squareShare, &square, &levels)
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
        prepareShares(settings, lane)
        let holds = hold.holds(settings.hold)
        let isCompressing = settings.isCompressing
        if holds { hold.apply(settings.hold, &levels, frames, lane) } else { hold.reset(lane: lane) }
        let isGate = settings.isGate
        if isGate {
            findGateGoals(settings, frames, lane)
        } else {
            GainComputer.findGoals(settings, frames, decibels, &levels)
        }
        if lanes[lane].isNew {
            // A curve that reduces silence begins where the first frame wants it, so that nothing slips through at first.
            lanes[lane].isNew = false
            let state = isCompressing ? 0 : Double(levels[0])
            (lanes[lane].state, lanes[lane].first, lanes[lane].second) = (state, state, state)
        }
        if settings.hasFlatTimes {
            if isGate {
                GainComputer.swing(&lanes[lane], from: 0, to: frames, levels, &reductions)
            } else {
                GainComputer.walk(&lanes[lane], from: 0, to: frames, levels, &reductions)
            }
        } else {
            GainComputer.creep(&lanes[lane], frames, settings, rate, levels, &reductions)
        }
        GainComputer.findGains(settings, frames, reductions, &gains)
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
            // Closed it is never 0, by which the steps tell the two apart.
            let range = settings.range[i]
            levels[i] = isOpen ? 0 : -(range > 1e-20 ? range : 1e-20)
        }
        lanes[lane].isOpen = isOpen
    }

    /// Computes the shares of the way for times that rest.
    @_noLocks @_noAllocation
    private mutating func prepareShares(_ settings: GainSettings, _ lane: Int) {
        let isGate = settings.isGate
        if settings.attack.isFlat && lanes[lane].attack != settings.attack.end {
            lanes[lane].attack = settings.attack.end
            lanes[lane].attackShare = GainComputer.share(settings.attack.end, isGate, rate)
        }
        if settings.release.isFlat && lanes[lane].release != settings.release.end {
            lanes[lane].release = settings.release.end
            lanes[lane].releaseShare = GainComputer.share(settings.release.end, isGate, rate)
        }
    }

    @_noLocks @_noAllocation
    private static func findGains(
        _ settings: GainSettings, _ frames: Int, _ reductions: borrowing RenderMemory<Float>,
        _ gains: inout RenderMemory<Float>
    ) {
        let octaves: Float = 0.16609640474
        let sign: Float = settings.isCompressing ? -octaves : octaves
        guard frames <= reductions.count && frames <= gains.count else { return }
        let (makeUp, mix) = (settings.makeUp, settings.mix)
        var gains = gains.span
        if makeUp.isFlat && mix.isFlat {
            let (wet, dry) = (mix.end * factor(makeUp.end), 1 - mix.end)
            for i in 0..<frames { gains[i] = dry + wet * GainMath.exp2(sign * reductions[i]) }
        } else {
            for i in 0..<frames {
                let (wet, dry) = (mix[i] * factor(makeUp[i]), 1 - mix[i])
                gains[i] = dry + wet * GainMath.exp2(sign * reductions[i])
            }
        }
    }

    /// Multiplies samples by the gains of the slice.
    @_noLocks @_noAllocation
    func apply(to samples: inout MutableSpan<Float>) {
        guard samples.count <= gains.count else { return }
        for i in samples.indices { samples[i] *= gains[i] }
    }

    /// Returns the factor of a make-up; a `Float` of the sum with the reduction would be too coarse.
    @_noLocks @_noAllocation
    private static func factor(_ decibels: Float) -> Float {
        Float(RenderMath.exp2(Double(decibels) * 0.166_096_404_744_368_1))
    }
}
