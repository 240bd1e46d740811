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
    /// The longest slice.
    let frameLimit: Int
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
    private var programs: RenderMemory<Program>
    private var squares: RenderMemory<Double>
    private var hold: LevelHold

    /// A gain's memory.
    struct Lane: Sendable, BitwiseCopyable {
        /// The reduction of the last frame in dB, with the curve's sign.
        var state = 0.0
        // Two reductions on the way to which a gate's own one follows.
        var first = 0.0
        var second = 0.0
        var isNew = true
        /// Indicates whether the last slice held levels.
        var isHolding = false
        /// A gate's.
        var isOpen = false
        // The shares of the way for times that rest.
        var attack: Float = -1
        var release: Float = -1
        var attackShare = 1.0
        var releaseShare = 1.0
    }

    /// The settings that lanes go by.
    struct Program: Sendable, BitwiseCopyable {
        var settings = GainSettings()
        /// The note of the parameters that the settings are from; none while one moves.
        var rest = ParametersAtRest.none
        /// Indicates whether the settings rest, those of no gate: then the gain is made of them.
        var isResting = false
        var gain = RestingGain()
    }

    /// - Parameters:
    ///   - channels: Channels of keys.
    ///   - frames: The longest slice.
    ///   - hold: The longest hold in seconds.
    init(
        programs: Int, lanes: Int, channels: Int, frames: Int, sampleRate: Double, detector: LevelDetector, hold: Double
    ) {
        laneCount = lanes
        channelLimit = channels
        rate = sampleRate
        switch detector {
        case .peak: (isRMS, squareShare) = (false, 0)
        case .rms(let seconds): (isRMS, squareShare) = (true, GainComputer.share(max(0, min(seconds, 10)), sampleRate))
        }
        frameLimit = frames
        let whole = (frames + RestingGain.block - 1) / RestingGain.block * RestingGain.block
        levels = RenderMemory(repeating: 0, count: whole)
        reductions = RenderMemory(repeating: 0, count: whole)
        gains = RenderMemory(repeating: 1, count: whole)
        self.lanes = RenderMemory(repeating: Lane(), count: lanes)
        self.programs = RenderMemory(repeating: Program(), count: programs)
        squares = RenderMemory(repeating: 0, count: channels)
        self.hold = LevelHold(lanes: lanes, seconds: hold, sampleRate: sampleRate)
    }

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
        guard frames <= frameLimit, frames <= key.count, channel >= 0, channel < channelLimit else { return }
        if isRMS {
            levels.takeSquares(key, count: frames, share: squareShare, &squares, at: channel, lifts: !isFirst)
        } else {
            levels.takeMagnitudes(key, count: frames, lifts: !isFirst)
        }
    }

    /// Takes two channels of the key, with memories side by side.
    @_noLocks @_noAllocation
    mutating func listen(
        _ key: borrowing Samples, _ other: borrowing Samples, frames: Int, channel: Int, isFirst: Bool
    ) {
        guard frames <= frameLimit, frames <= key.count, frames <= other.count else { return }
        guard channel >= 0, channel < channelLimit &- 1 else { return }
        if isRMS {
            levels.takeSquares(key, other, count: frames, share: squareShare, &squares, at: channel, lifts: !isFirst)
        } else {
            levels.takeMagnitudes(key, other, count: frames, lifts: !isFirst)
        }
    }

    /// Takes silence in the place of a key.
    @_noLocks @_noAllocation
    mutating func listenToSilence(frames: Int) {
        guard frames <= frameLimit else { return }
        for i in 0..<frames { levels[i] = 0 }
    }

    /// Writes the levels of the slice, of which the higher of two lanes counts, before ``compute(program:frames:lane:)`` changes them.
    @_noLocks @_noAllocation
    func lift(_ others: inout RenderMemory<Float>, frames: Int, isFirst: Bool) {
        guard frames <= frameLimit && frames <= others.count else { return }
        for i in 0..<frames where isFirst || levels[i] > others[i] { others[i] = levels[i] }
    }

    // MARK: The gain

    /// Returns whether the settings of a program are right still.
    @_noLocks @_noAllocation
    func goesOn(_ rest: ParametersAtRest, program: Int = 0) -> Bool { rest.isEqual(to: programs[program].rest) }

    /// Takes the settings of a slice, and the note of the parameters that they are from.
    @_noLocks @_noAllocation
    mutating func take(_ settings: GainSettings, _ rest: ParametersAtRest, program: Int = 0) {
        programs[program].settings = settings
        let isAtRest = settings.isAtRest
        programs[program].rest = isAtRest ? rest : .none
        programs[program].isResting = isAtRest && !settings.isGate
        if isAtRest && !settings.isGate { programs[program].gain = makeGain(settings) }
    }

    /// Makes of settings what the kernel goes by.
    @inline(never) @_noLocks @_noAllocation
    private func makeGain(_ settings: GainSettings) -> RestingGain {
        var gain = settings.curve(0).resting
        gain.decibels = decibels
        gain.octaves = GainComputer.octaves(settings.isCompressing)
        (gain.wet, gain.dry) = GainComputer.parts(makeUp: Double(settings.makeUp.end), mix: settings.mix.end)
        gain.attack = GainComputer.share(settings.attack.end, false, rate)
        gain.release = GainComputer.share(settings.release.end, false, rate)
        return gain
    }

    /// Computes the ``gains`` of a slice from the levels.
    @_noLocks @_noAllocation
    mutating func compute(program: Int = 0, frames: Int, lane: Int) {
        guard frames > 0, frames <= frameLimit, lane >= 0, lane < laneCount else { return }
        hold(programs[program].settings.hold, frames, lane)
        if programs[program].isResting {
            follow(program, frames, lane)
        } else {
            move(programs[program].settings, frames, lane)
        }
    }

    /// Computes the gains of a slice in which nothing moves but the levels, of no gate: all at once, with the same bits.
    @_noLocks @_noAllocation
    private mutating func follow(_ program: Int, _ frames: Int, _ lane: Int) {
        var state = lanes[lane].state
        if lanes[lane].isNew {
            lanes[lane].isNew = false
            let settings = programs[program].settings
            let goal = settings.curve(0).goal(GainMath.log2(levels[0]) * decibels)
            state = settings.isCompressing ? 0 : Double(goal)
        }
        programs[program].gain.follow(&state, levels, into: &gains, count: frames)
        lanes[lane].state = state
    }

    @_noLocks @_noAllocation
    private mutating func move(_ settings: GainSettings, _ frames: Int, _ lane: Int) {
        let isGate = settings.isGate
        prepareShares(settings, lane)
        if isGate {
            findGateGoals(settings, frames, lane)
        } else {
            GainComputer.findGoals(settings, frames, decibels, &levels)
        }
        if lanes[lane].isNew {
            // A curve that reduces silence begins where the first frame wants it, so that nothing slips through at first.
            lanes[lane].isNew = false
            let state = settings.isCompressing ? 0 : Double(levels[0])
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

    /// Puts the loudest level of the last time in the place of each.
    @_noLocks @_noAllocation
    private mutating func hold(_ seconds: Float, _ frames: Int, _ lane: Int) {
        if seconds > 0 && hold.holds(seconds) {
            hold.apply(seconds, &levels, frames, lane)
            lanes[lane].isHolding = true
        } else if lanes[lane].isHolding {
            hold.reset(lane: lane)
            lanes[lane].isHolding = false
        }
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
        let octaves = octaves(settings.isCompressing)
        guard frames <= reductions.count && frames <= gains.count else { return }
        let (makeUp, mix) = (settings.makeUp, settings.mix)
        var gains = gains.span
        if makeUp.isFlat && mix.isFlat {
            let (wet, dry) = parts(makeUp: Double(makeUp.end), mix: mix.end)
            for i in 0..<frames { gains[i] = dry + wet * GainMath.exp2(octaves * reductions[i]) }
        } else {
            for i in 0..<frames {
                let (wet, dry) = parts(makeUp: makeUp.fine(i), mix: mix[i])
                gains[i] = dry + wet * GainMath.exp2(octaves * reductions[i])
            }
        }
    }

    /// Multiplies samples by the gains of the slice.
    @_noLocks @_noAllocation
    func apply(to samples: inout MutableSpan<Float>) {
        guard samples.count <= gains.count else { return }
        gains.apply(to: &samples)
    }

    /// The octaves of a decibel of reduction, with the sign of the gain.
    @_noLocks @_noAllocation @inline(__always)
    private static func octaves(_ isCompressing: Bool) -> Float {
        isCompressing ? -0.16609640474 : 0.16609640474
    }

    /// Returns the shares of the sound with its gain, and of the sound as it was. A `Float` of the sum of make-up and reduction
    /// would be too coarse.
    @_noLocks @_noAllocation @inline(__always)
    private static func parts(makeUp: Double, mix: Float) -> (wet: Float, dry: Float) {
        let factor = makeUp == 0 ? 1 : Float(RenderMath.exp2(makeUp * 0.166_096_404_744_368_1))
        return (mix * factor, 1 - mix)
    }
}
