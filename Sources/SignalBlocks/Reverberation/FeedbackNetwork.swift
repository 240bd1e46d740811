internal import CKernels

/// A feedback delay network: 8, 16 or 32 lines, which a matrix of Hadamard mixes and which so lose only what their equalisers
/// take. (Jot 1991; Schlecht and Habets 2015 for the matrix that moves.)
///
///     var network = FeedbackNetwork(lines: 16, longestMean: 0.03 * sampleRate, inputs: 2)
///     …
///     let count = min(frames - done, network.room)
///     network.process(rows, inputCount: 2, outputs: &late, count: count, settings)
///
/// It works in blocks of 64 frames, which are counted from the first frame on, so that the length of the pieces in which it
/// is asked for them changes nothing. At the beginning of each block it looks at its settings, and until the end of the block they
/// are reached.
///
/// Threads: any.
public struct FeedbackNetwork: ~Copyable, Sendable {
    /// The number of lines.
    public let lineCount: Int
    /// The longest mean delay in frames.
    public let longestMean: Float
    /// The shortest delay in frames, at present or at the end of a fade: as many frames may be processed at once.
    private var shortest = 1
    /// The number of frames since the beginning.
    package private(set) var position = 0
    /// The number of the next frame in its block.
    package var frame: Int { @_noLocks @_noAllocation get { position & (SampleRows.length &- 1) } }
    /// The most frames that may be processed next: those that are left of the block, and no more than the shortest delay.
    public var room: Int { @_noLocks @_noAllocation get { min(SampleRows.length &- frame, shortest) } }

    /// The oldest frames of a line that are used by no delay: there its sound may fade in.
    private static var softness: Int { @_noLocks @_noAllocation get { 512 } }
    private let capacity: Int
    /// The frames of a line that are used, a power of two: no more than the delays need, so that all of it stays in a cache.
    private var length = 2 * SampleRows.length
    /// The frames before the present that are in it: what is older is silent.
    private var known = 0
    private var ring: RenderMemory<Float>
    private var numbers: RenderMemory<Float>
    private var delays: RenderMemory<Int32>
    /// The delays against their mean; the gains that are the target of a block; the phases and angles of the turns.
    private let ratios: RenderMemory<Float>
    private let longestLine: Int
    private var gains: RenderMemory<Float>
    private var phases: RenderMemory<UInt32>
    private var steps: RenderMemory<UInt32>
    private var isTurned = false
    private var isFading = false
    private var isNew = true
    private var isMoving = false
    /// Whether the gains are what they should be, and have no slope.
    private var isSettled = false
    private var last = Settings()
    /// The numbers behind the last ``level(_:mean:inputs:)``.
    private var leveled = (loss: Float.nan, kept: Float(0.2), share: Float(0), level: Float(0))

    /// Creates a silent network, whose delays have the longest mean. It allocates.
    ///
    /// - Parameters:
    ///   - lines: 8, 16 or 32.
    ///   - longestMean: The longest mean of the delays in frames: 1…16,777,216, and held to that.
    ///   - inputs: The number of inputs, 1…8.
    ///
    /// Threads: control.
    public init(lines: Int, longestMean: Float, inputs: Int) {
        demand([8, 16, 32].contains(lines), "FeedbackNetwork: \(lines) lines; it must be 8, 16 or 32")
        demand((1...8).contains(inputs), "FeedbackNetwork: \(inputs) inputs; it must be 1…8")
        let table = FeedbackNetwork.ratios(lines)
        let longestMean = longestMean > 1 ? min(longestMean, 0x1p24) : 1
        lineCount = table.count
        self.longestMean = longestMean
        capacity = BlockRing.length(frames: Int(longestMean * 2.25) + 2 + FeedbackNetwork.softness)
        ring = RenderMemory(repeating: 0, count: table.count * (capacity + BlockRing.behind))
        numbers = RenderMemory(repeating: 0, count: (Int(network_inputs) + inputs) * table.count)
        delays = RenderMemory(repeating: 1, count: 2 * table.count)
        var ratios = RenderMemory<Float>(repeating: 1, count: table.count)
        gains = RenderMemory(repeating: 0, count: table.count)
        // Eight pairs are turned at a time.
        phases = RenderMemory(repeating: 0, count: max(8, table.count / 2))
        steps = RenderMemory(repeating: 0, count: phases.count)
        // In the order of the matrix lines of almost the same length would be neighbours: low frequencies would come out of 32 of
        // them with almost the same phase, and be too soft at first.
        let step = table.count > 16 ? 5 : 1
        for line in 0..<table.count { ratios[line] = table[line * step % table.count] }
        longestLine = (0..<table.count).first { $0 * step % table.count == table.count - 1 } ?? 0
        self.ratios = ratios
        for input in 0..<inputs {
            for line in 0..<table.count {
                let isNegative = kernel_input_is_negative(input, line)
                let share = 1 / Float(table.count).squareRoot()
                numbers[(Int(network_inputs) + input) * table.count + line] = isNegative ? -share : share
            }
        }
        reset()
        jump(toMean: longestMean)
    }

    /// Forgets all sound, at once.
    @_noLocks @_noAllocation
    public mutating func reset() {
        position = 0
        isNew = true
        isMoving = false
        isFading = false
        isTurned = false
        known = 0
        for line in 0..<lineCount {
            set(network_low_state, line, 0)
            set(network_high_state, line, 0)
            set(network_cosine, line, 1)
            set(network_cosine_slope, line, 0)
            set(network_sine, line, 0)
            set(network_sine_slope, line, 0)
        }
        for pair in 0..<(lineCount &>> 1) { phases.put(UInt32(truncatingIfNeeded: pair &* 0x9E37_79B9), at: pair) }
    }

    @_noLocks @_noAllocation
    private mutating func set(_ row: Int, _ line: Int, _ value: Float) {
        numbers.put(value, at: row &* lineCount &+ line)
    }

    // MARK: Lengths

    /// Returns the delay of a line for a mean of all, in frames.
    @_noLocks @_noAllocation
    private func delay(_ line: Int, mean: Float) -> Int32 {
        let frames = ratios.value(at: line) * min(max(mean, 1), longestMean) + 0.5
        return max(1, Int32(truncatingIfNeeded: Int(frames)))
    }

    /// Sets the mean of the delays at once, to 1…``longestMean`` frames. What is in them is lost.
    @_noLocks @_noAllocation
    public mutating func jump(toMean mean: Float) {
        isFading = false
        for line in 0..<lineCount { delays.put(delay(line, mean: mean), at: line) }
        findShortest()
        length = 2 &* SampleRows.length
        known = 0
        grow(to: delay(longestLine, mean: mean))
    }

    /// Begins a fade to other delays.
    ///
    /// - Parameter mean: The mean of the delays in frames.
    @_noLocks @_noAllocation
    package mutating func fade(toMean mean: Float) {
        isFading = true
        for line in 0..<lineCount { delays.put(delay(line, mean: mean), at: lineCount &+ line) }
        findShortest()
        grow(to: delay(longestLine, mean: mean))
    }

    /// Uses more of the lines, if a delay needs it. Their sound stays in its place in time.
    @_noLocks @_noAllocation
    private mutating func grow(to delay: Int32) {
        var longer = length
        while longer < Int(delay) &+ SampleRows.length &+ FeedbackNetwork.softness && longer < capacity { longer &*= 2 }
        if longer == length { return }
        let part = position & (length &- 1)
        let start = position & (longer &- 1) &- part
        let before = (start &- length) & (longer &- 1)
        for line in 0..<(known > 0 ? lineCount : 0) {
            let base = unsafe ring.memory.base + line &* (capacity &+ BlockRing.behind)
            if before > 0 { unsafe (base + before + part).copySamples(from: base + part, count: length &- part) }
            if start > 0 { unsafe (base + start).copySamples(from: base, count: part) }
        }
        let kept = length &- SampleRows.length
        length = longer
        if known > kept {
            known = kept
            for line in 0..<lineCount { fadeIn(line, from: position &- kept) }
        }
        for line in 0..<(known > 0 ? lineCount : 0) {
            let base = unsafe ring.memory.base + line &* (capacity &+ BlockRing.behind)
            unsafe (base + longer).copySamples(from: base, count: SampleRows.length)
        }
    }

    /// Lets the sound of a line begin softly at a frame: a line that has become longer does not know what was before, and the
    /// longer delay would come to it in the middle of a wave.
    @_noLocks @_noAllocation
    private mutating func fadeIn(_ line: Int, from position: Int) {
        let start = line &* (capacity &+ BlockRing.behind)
        for i in 0..<FeedbackNetwork.softness {
            let place = start &+ ((position &+ i) & (length &- 1))
            let t = Float(Int32(truncatingIfNeeded: i)) / Float(Int32(truncatingIfNeeded: FeedbackNetwork.softness))
            let share = t * t * t * (10 + t * (6 * t - 15))
            ring.put(ring.value(at: place) * share, at: place)
        }
    }

    /// Ends a fade.
    @_noLocks @_noAllocation
    package mutating func endFade() {
        if !isFading { return }
        for line in 0..<lineCount { delays.put(delays.number(at: lineCount &+ line), at: line) }
        isFading = false
        findShortest()
    }

    @_noLocks @_noAllocation
    private mutating func findShortest() {
        var least = Int32.max
        for line in 0..<(isFading ? 2 &* lineCount : lineCount) { least = min(least, delays.number(at: line)) }
        shortest = Int(least)
    }

    // MARK: A block

    /// Returns the gain with which sound is to go in, so that a steady one is as loud with a long decay as with a short one.
    ///
    /// - Parameters:
    ///   - settings: The settings of the decay.
    ///   - mean: The mean of the delays in frames.
    ///   - inputs: The number of inputs that are used.
    @_noLocks @_noAllocation
    public mutating func level(_ settings: Settings, mean: Float, inputs: Int) -> Float {
        let loss = -2 * settings.middle * mean
        if loss != leveled.loss { (leveled.loss, leveled.kept) = (loss, max(RenderMath.exp2(loss), 0.2)) }
        let share =
            (1 - leveled.kept) / leveled.kept * Float(Int32(truncatingIfNeeded: lineCount))
            / Float(Int32(truncatingIfNeeded: inputs))
        if share != leveled.share {
            (leveled.share, leveled.level) = (share, Float(RenderMath.pow(Double(share), 0.5)))
        }
        return leveled.level
    }

    /// Begins a block of 64 frames.
    ///
    /// - Parameters:
    ///   - settings: The settings that are reached at the end of the block.
    ///   - fade: The part of the fade to other delays that is over at the start and at the end of the block, 0…1. Not all
    ///     lines fade at once.
    @_noLocks @_noAllocation
    package mutating func begin(_ settings: Settings, fade: (start: Float, end: Float)) {
        let isSame =
            settings.middle == last.middle && settings.low == last.low && settings.high == last.high
            && settings.lowTangent == last.lowTangent && settings.highTangent == last.highTangent
        if isFading {
            for line in 0..<lineCount {
                let ramp = Ramp(from: share(line, fade.start), to: share(line, fade.end))
                set(network_fade, line, ramp.start)
                set(network_fade_slope, line, ramp.slope)
            }
        }
        // One block after they have moved, the filters are what they should be to the last bit.
        // At a rate of a few hertz a block is long against a glide: numbers leap, and between them nothing would be stable.
        let change = abs(settings.middle - last.middle) + abs(settings.low - last.low) + abs(settings.high - last.high)
        let jumps = isNew || change * Float(delays.number(at: longestLine)) > 8
        let moves = !jumps && (isFading || !isSame)
        let isStill = !(jumps || moves || isMoving)
        for line in 0..<(isStill && isSettled ? 0 : lineCount) {
            let before = gains.value(at: line)
            if !isStill { equalise(line, settings, fade.end, isJump: !moves) }
            let ramp = Ramp(from: jumps ? gains.value(at: line) : before, to: gains.value(at: line))
            set(network_gain, line, ramp.start)
            set(network_gain_slope, line, ramp.slope)
        }
        isSettled = isStill
        isMoving = moves
        if settings.swing > 0 || isTurned { turn(settings) }
        last = settings
        isNew = false
    }

    /// Returns how far a line is in a fade: each takes half of the time, one a little later than the other.
    @_noLocks @_noAllocation
    private func share(_ line: Int, _ fade: Float) -> Float {
        let turn = Float(Int32(truncatingIfNeeded: (line &* 5) % lineCount)) / Float(lineCount)
        return min(max(2 * fade - turn, 0), 1)
    }

    /// Returns the part of the longer delay that a line then has: the kernel takes it on the same way between two blocks.
    @_noLocks @_noAllocation
    private func smoothShare(_ line: Int, _ fade: Float) -> Float {
        let t = share(line, fade)
        return t * t * (3 - 2 * t)
    }

    /// Computes the filters of a line: its gain at middle frequencies, and the two shelves.
    @_noLocks @_noAllocation
    private mutating func equalise(_ line: Int, _ settings: Settings, _ fade: Float, isJump: Bool) {
        var frames = Float(delays.number(at: line))
        if isFading { frames += (Float(delays.number(at: lineCount &+ line)) - frames) * smoothShare(line, fade) }
        let scale: Float = lineCount == 8 ? 0.353_553_39 : lineCount == 16 ? 0.25 : 0.176_776_695
        gains.put(RenderMath.exp2(-settings.middle * frames) * scale, at: line)
        // The root of the gain of a shelf. Its zero lies as far above the crossover as its pole lies below.
        let low = RenderMath.exp2(min(max(-0.5 * settings.low * frames, -30), 30))
        let high = RenderMath.exp2(min(max(-0.5 * settings.high * frames, -30), 30))
        // Divisions, and no inverse: at a gain of 1 they leave exactly 1 and 0.
        let t = settings.lowTangent
        var bottom = 1 + t / low
        var direct = (1 + t * low) / bottom
        var hold = (1 - t / low) / bottom
        var feed = hold * direct - (1 - t * low) / bottom
        lead(network_low_direct, network_low_direct_slope, line, to: direct, isJump: isJump)
        lead(network_low_hold, network_low_hold_slope, line, to: hold, isJump: isJump)
        lead(network_low_feed, network_low_feed_slope, line, to: feed, isJump: isJump)
        let u = settings.highTangent
        bottom = 1 / high + u
        direct = (high + u) / bottom
        hold = (1 / high - u) / bottom
        feed = hold * direct - (high - u) / bottom
        lead(network_high_direct, network_high_direct_slope, line, to: direct, isJump: isJump)
        lead(network_high_hold, network_high_hold_slope, line, to: hold, isJump: isJump)
        lead(network_high_feed, network_high_feed_slope, line, to: feed, isJump: isJump)
    }

    /// Turns each pair of neighbours on.
    @_noLocks @_noAllocation
    private mutating func turn(_ settings: Settings) {
        isTurned = settings.swing > 0 || last.swing > 0
        let pairs = lineCount &>> 1
        if isNew || settings.step != last.step {
            // Every pair at a rate of its own, 0.7 to 1.3 times the one that is set.
            for pair in 0..<pairs {
                let turn = Float(Int32(truncatingIfNeeded: (pair &* 7) % pairs))
                let spread = 0.7 + 0.6 * turn / Float(Int32(truncatingIfNeeded: pairs))
                steps.put(UInt32(truncatingIfNeeded: Int(settings.step * spread)), at: pair)
            }
        }
        if !isTurned {
            for pair in 0..<pairs { phases.put(phases.number(at: pair) &+ steps.number(at: pair), at: pair) }
            for line in 0..<lineCount {
                set(network_cosine, line, 1)
                set(network_sine, line, 0)
                set(network_cosine_slope, line, 0)
                set(network_sine_slope, line, 0)
            }
            return
        }
        precondition(phases.count >= max(8, pairs) && steps.count >= max(8, pairs))
        unsafe kernel_turn(
            numbers.memory.base, lineCount, phases.memory.base, steps.memory.base, min(settings.swing, 0.25))
    }

    /// Lets a number go on from where its ramp ends to another value, or be there at once.
    @_noLocks @_noAllocation
    private mutating func lead(_ row: Int, _ slope: Int, _ line: Int, to value: Float, isJump: Bool = false) {
        let (place, other) = (row &* lineCount &+ line, slope &* lineCount &+ line)
        var ramp = Ramp(numbers.value(at: place) + numbers.value(at: other) * Float(SampleRows.length))
        ramp.lead(to: value, isJump: isJump)
        numbers.put(ramp.start, at: place)
        numbers.put(ramp.slope, at: other)
    }

    /// Runs the network for some frames, and looks at the settings if they begin a block.
    ///
    /// - Parameters:
    ///   - inputs: A row for each input; the first `count` samples are used.
    ///   - inputCount: The number of inputs that are used.
    ///   - outputs: Receives eight rows: eight outputs that hardly have anything in common.
    ///   - count: The number of frames, at most ``room``.
    ///   - settings: The settings that are reached at the end of the block.
    @_noLocks @_noAllocation
    public mutating func process(
        _ inputs: borrowing SampleRows, inputCount: Int, outputs: inout SampleRows, count: Int, _ settings: Settings
    ) {
        if frame == 0 { begin(settings, fade: (0, 0)) }
        process(inputs, inputCount: inputCount, outputs: &outputs, count: count)
    }

    /// Runs the network for some frames of a block that has begun.
    @_noLocks @_noAllocation
    package mutating func process(
        _ inputs: borrowing SampleRows, inputCount: Int, outputs: inout SampleRows, count: Int
    ) {
        precondition(count >= 0 && count <= room && outputs.count >= 8)
        precondition(inputCount >= 0 && (Int(network_inputs) &+ inputCount) &* lineCount <= numbers.count)
        precondition(inputs.count >= inputCount)
        unsafe kernel_network(
            ring.memory.base, capacity &+ BlockRing.behind, Int32(truncatingIfNeeded: length &- 1),
            Int32(truncatingIfNeeded: position & (length &- 1)), Int32(truncatingIfNeeded: known), delays.memory.base,
            isFading, isMoving, numbers.memory.base, inputs.address(0), inputCount, outputs.address(0),
            Int32(truncatingIfNeeded: frame), count, lineCount &>> 3)
        known = min(known &+ count, 1 &<< 30)
        position &+= count
        // Far beyond the longest delay, and far below what a number can hold.
        if position >= 1 << 40 { position &-= 1 << 39 }
    }
}
