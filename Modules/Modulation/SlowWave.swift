import RenderCore
import Tones

/// The slow waves that move an effect: one ``LFOCore`` at several offsets of its phase, a block of frames at a time.
///
/// A column is one of these waves. Where the pace leaps (other beats, a transport that is moved, from beats to a rate), the
/// values go from the old pace to the new one while both run on: so nothing clicks, and nothing has a corner. It takes 40 ms, or
/// half a second where the wave moves a delay, whose change is a change of the pitch.
/// The wave follows changes in that time afterwards.
struct SlowWave: ~Copyable, Sendable {
    /// The pace of the waves in a slice.
    struct Pace: Sendable, BitwiseCopyable {
        var shape: LFOCore.Shape
        var rate: Glide
        var sampleRate: Double
        /// The part of a turn that a frame takes where the beats lead; else 0.
        var exactStep: UInt64 = 0
        var turn: UInt64 = 0
        var phase: UInt64 = 0
        var isLed = false

        @_noLocks @_noAllocation
        init(
            _ context: borrowing RenderContext, _ shape: LFOCore.Shape, rate: borrowing Parameter,
            beats: borrowing Parameter
        ) {
            self.shape = shape
            self.rate = rate.glide(context)
            sampleRate = context.sampleRate
            let beats = beats.current(context)
            if beats > 0 {
                (turn, phase, exactStep) = context.turn(ofBeats: Double(beats))
                isLed = true
            }
        }

        var isFlat: Bool { @_noLocks @_noAllocation get { isLed || rate.isFlat } }

        /// Returns the part of a turn that a frame of the slice takes.
        @_noLocks @_noAllocation
        func step(_ frame: Int) -> UInt64 {
            isLed ? exactStep : freeStep(frame)
        }

        /// Returns the part of a turn that a jump takes: 2 ms, a quarter of a turn at most.
        @_noLocks @_noAllocation
        func rounding(_ step: UInt64) -> Float {
            let turns = Double(step) * 0x1p-64 * sampleRate * 0.002
            return turns < 0.25 ? Float(turns) : 0.25
        }

        /// Returns the part of a turn that a frame takes where the beats do not lead.
        @_noLocks @_noAllocation
        func freeStep(_ frame: Int) -> UInt64 {
            LFOCore.step(frequency: Double(rate[frame]), sampleRate: sampleRate)
        }

        /// Returns the place that the beats say for a frame of the slice, or of the one behind it.
        @_noLocks @_noAllocation
        func place(_ frame: Int) -> (turn: UInt64, phase: UInt64) {
            let (high, low) = exactStep.multipliedFullWidth(by: UInt64(truncatingIfNeeded: frame))
            let (sum, isNew) = phase.addingReportingOverflow(low)
            return (turn &+ high &+ (isNew ? 1 : 0), sum)
        }
    }

    /// The most frames of a block.
    static var block: Int { @_noLocks @_noAllocation get { 64 } }

    /// The number of waves.
    let columns: Int
    private var core = LFOCore()
    private var isFresh = true
    /// Indicates whether the beats lead, and if so the part of a turn that a frame takes.
    private var isLed = false
    private var ledStep: UInt64 = 0
    /// The old pace, while a new one comes.
    private var old = LFOCore()
    private var oldStep: UInt64 = 0
    private var leapPassed = 0
    private var leapLength = 0
    /// The seconds from an old pace to a new one.
    private let leapTime: Double
    /// For each frame of the block: the part of a turn that the faster of two paces takes; 0 if there is only one pace.
    private var fastest = RenderMemory<UInt64>(repeating: 0, count: SlowWave.block)
    /// Indicates whether frames of the block lie between an old pace and a new one.
    private(set) var isCrossing = false
    /// The offset of each column in turns: its own, and what the spread adds.
    private var own: RenderMemory<Float>
    private var spread: RenderMemory<Float>
    private var values: RenderMemory<Float>

    /// Creates waves of two sides: first those of the left, then those of the right, which the spread moves.
    ///
    /// - Parameters:
    ///   - voices: The waves of a side, spread evenly over the turn.
    ///   - reach: The turns by which a spread of 1 moves the right side.
    ///   - movesDelay: Indicates whether the wave moves a delay.
    init(voices: Int = 1, reach: Float, movesDelay: Bool = false) {
        leapTime = movesDelay ? 0.5 : 0.04
        columns = 2 * voices
        own = RenderMemory(repeating: 0, count: columns)
        spread = RenderMemory(repeating: 0, count: columns)
        values = RenderMemory(repeating: 0, count: columns * SlowWave.block)
        for voice in 0..<voices {
            own[voice] = Float(voice) / Float(voices)
            own[voices + voice] = own[voice]
            spread[voices + voice] = reach
        }
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    mutating func reset() {
        core = LFOCore()
        isFresh = true
        isLed = false
        leapLength = 0
        leapPassed = 0
    }

    /// Begins a slice.
    @_noLocks @_noAllocation
    mutating func begin(_ pace: Pace) {
        if leapPassed >= leapLength { follow(pace, 0) }
        isFresh = false
    }

    /// Takes the pace as it is at a frame, with a leap where it is another one.
    @_noLocks @_noAllocation
    private mutating func follow(_ pace: Pace, _ frame: Int) {
        if !pace.isLed {
            if isLed { leap(pace, frame) }
            isLed = false
            return
        }
        let place = pace.place(frame)
        // A clock that another one leads is a trifle off at each slice, which is no leap.
        let drift = Int64(bitPattern: place.phase &- core.phase).magnitude
        if !isLed || drift > 1 << 44 { leap(pace, frame) }
        (isLed, ledStep) = (true, pace.exactStep)
        (core.turn, core.phase) = (place.turn, place.phase)
    }

    /// Notes the pace so far as the old one.
    @_noLocks @_noAllocation
    private mutating func leap(_ pace: Pace, _ frame: Int) {
        if isFresh { return }
        old = core
        oldStep = isLed ? ledStep : pace.freeStep(frame)
        leapPassed = 0
        leapLength = Int(pace.sampleRate * leapTime)
    }

    /// Goes on by frames whose values no caller needs.
    @_noLocks @_noAllocation
    mutating func skip(_ pace: Pace, from first: Int, count: Int) {
        if leapPassed < leapLength {
            for i in 0..<count { goOn(pace, first &+ i) }
        } else if pace.isFlat {
            advance(by: pace.step(first), times: count)
        } else {
            for i in 0..<count { core.advance(by: pace.step(first &+ i)) }
        }
    }

    /// Goes on by a frame.
    @_noLocks @_noAllocation
    private mutating func goOn(_ pace: Pace, _ frame: Int) {
        core.advance(by: step(pace, frame))
        if leapPassed >= leapLength { return }
        old.advance(by: oldStep)
        leapPassed &+= 1
        if leapPassed == leapLength { follow(pace, frame &+ 1) }
    }

    /// Returns the part of a turn that a frame takes, also while the pace is another one already.
    @_noLocks @_noAllocation
    private func step(_ pace: Pace, _ frame: Int) -> UInt64 { isLed ? ledStep : pace.freeStep(frame) }

    /// Computes a block of the first columns, and goes on behind it.
    ///
    /// - Parameters:
    ///   - pace: The pace in the slice.
    ///   - glide: The spread of the two sides.
    ///   - first: The frame of the slice at which the block begins.
    ///   - count: The number of frames, a block at most.
    ///   - wanted: The number of columns.
    @_noLocks @_noAllocation
    mutating func render(_ pace: Pace, spread glide: Glide, from first: Int, count: Int, columns wanted: Int) {
        isCrossing = leapPassed < leapLength
        if isCrossing {
            for i in 0..<count {
                cross(pace, glide, first &+ i, to: i, columns: wanted)
                goOn(pace, first &+ i)
            }
            return
        }
        // By cases: a debug build refuses to compare them.
        let (isSine, isTriangle) =
            switch pace.shape {
            case .sine: (true, false)
            case .triangle: (false, true)
            default: (false, false)
            }
        if (isSine || isTriangle) && pace.isFlat && glide.isFlat {
            let step = pace.step(first)
            for column in 0..<wanted {
                let start = core.phase &+ offset(column, glide.end).phase
                fill(column, isSine, start, step)
            }
        } else {
            for column in 0..<wanted { fill(column, pace, glide, from: first, count: count) }
        }
        skip(pace, from: first, count: count)
    }

    /// The value of a column at a frame of the block.
    subscript(_ column: Int, _ frame: Int) -> Float {
        @_noLocks @_noAllocation get { values.value(at: column &* SlowWave.block &+ frame) }
    }

    /// Returns the turns that the faster of two paces takes in a frame of the block, from the old one to the new one; 0 where
    /// there is one alone.
    @_noLocks @_noAllocation
    func turnsWhileCrossing(_ frame: Int) -> Double { isCrossing ? Double(fastest[frame]) * 0x1p-64 : 0 }

    /// Returns eight values of a column from a frame of the block on.
    @_noLocks @_noAllocation @inline(__always)
    func vector8(_ column: Int, _ frame: Int) -> SIMD8<Float> {
        values.vector8(at: column &* SlowWave.block &+ frame)
    }

    /// Returns the offset of a column: a part of a turn, and whole turns, which random shapes tell apart.
    @_noLocks @_noAllocation
    private func offset(_ column: Int, _ spread: Float) -> (phase: UInt64, turns: Int) {
        let turns = own.value(at: column) + self.spread.value(at: column) * spread
        return (ToneCore.phase(turns: turns), turns < 0 ? -1 : turns < 1 ? 0 : 1)
    }

    /// Sets the values of a frame on the way from an old pace.
    @_noLocks @_noAllocation
    private mutating func cross(_ pace: Pace, _ glide: Glide, _ frame: Int, to place: Int, columns wanted: Int) {
        let (rounding, before) = (pace.rounding(step(pace, frame)), pace.rounding(oldStep))
        // A polynomial without a corner, and without a bend, at its ends. A `Float` of it would be noise in a delay.
        let t = leapPassed < leapLength ? Double(leapPassed) / Double(leapLength) : 1
        let left = 1 - t * t * t * (t * (6 * t - 15) + 10)
        fastest[place] = leapPassed < leapLength ? max(oldStep, step(pace, frame)) : 0
        for column in 0..<wanted {
            let (offset, turns) = offset(column, glide[frame])
            var value = core.value(pace.shape, offset: offset, turns: turns, rounding: rounding)
            if leapPassed < leapLength {
                let other = old.value(pace.shape, offset: offset, turns: turns, rounding: before)
                value += Float(Double(other - value) * left)
            }
            values[column &* SlowWave.block &+ place] = value
        }
    }

    /// Fills a whole block of a column with a sine or a triangle: with the same bits as frame by frame.
    @_noLocks @_noAllocation
    private mutating func fill(_ column: Int, _ isSine: Bool, _ start: UInt64, _ step: UInt64) {
        let first = column &* SlowWave.block
        if isSine {
            var samples = values.span
            Signal.sine(phase: start, step: step, into: &samples, at: first, count: SlowWave.block)
        } else {
            for i in 0..<SlowWave.block {
                let phase = UInt32(truncatingIfNeeded: (start &+ step &* UInt64(truncatingIfNeeded: i)) &>> 32)
                let fromCrest = Float(Int32(bitPattern: phase &- (1 << 30))) * 0x1p-30
                values[first &+ i] = 1 - (fromCrest < 0 ? -fromCrest : fromCrest)
            }
        }
    }

    /// Fills a column frame by frame.
    @_noLocks @_noAllocation
    private mutating func fill(_ column: Int, _ pace: Pace, _ glide: Glide, from first: Int, count: Int) {
        var core = core
        for i in 0..<count {
            let (offset, turns) = offset(column, glide[first &+ i])
            let step = pace.step(first &+ i)
            values[column &* SlowWave.block &+ i] = core.value(
                pace.shape, offset: offset, turns: turns, rounding: pace.rounding(step))
            core.advance(by: step)
        }
    }

    @_noLocks @_noAllocation
    private mutating func advance(by step: UInt64, times: Int) {
        let (high, low) = step.multipliedFullWidth(by: UInt64(truncatingIfNeeded: times))
        let (sum, isNew) = core.phase.addingReportingOverflow(low)
        core.phase = sum
        core.turn &+= high &+ (isNew ? 1 : 0)
    }
}
