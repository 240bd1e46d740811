public import RenderCore
internal import Sharing

/// A slow wave that moves other things: vibrato, tremolo, a filter's sweep. Pushes one mono buffer, or hands its value to
/// a closure a thousand times a second; no latency.
///
///     let vibrato = LFO(.sine, rate: 5.5)
///     context.run(vibrato)                            // a buffer: what a ModulatedOscillator takes, or an effect of yours
///     context.run(tone)
///
///     let wobble = LFO(.triangle, beats: 2)           // a turn of two beats, which begins on a beat
///     wobble.sweep(&context) { value, context in      // a parameter of any module
///         filter.cutoff.value = 800 * RenderMath.exp2(2 * value)
///         context.run(filter)
///     }
///
/// One or the other: an LFO has one phase. Its values lie between -1 and 1 times the depth. It is no tone: at high rates
/// saw and square fold back.
///
/// Threads: control.
public final class LFO: Generator {
    /// The number of turns that it makes in a second, while there is no ``period`` and no ``beats``.
    public let rate: Parameter
    /// The factor of the wave.
    public let depth: Parameter
    /// The offset of the phase, in turns.
    public let phase: Parameter
    /// The shape of a turn.
    public let shape: LFOCore.Shape
    /// The time that a jump takes, so that a parameter that it moves does not click: a quarter of a turn at most.
    public let rounding: Duration

    /// Indicates whether a turn of ``beats`` beats begins where the beats do, turn 0 at beat 0, wherever the position
    /// of the tempo goes; else it begins with the LFO, and only its length is that of the beats.
    public let followsBeats: Bool

    private let turn: ManagedValue<Turn>
    private let roundingSeconds: Double
    private let state: RenderState<State>

    /// The length of a turn, if the rate does not set it; 0 for none.
    private struct Turn: Sendable {
        var seconds = 0.0
        var beats = 0.0
    }

    private struct State: Sendable {
        var kernel: LFOCore
        /// The value that ``LFO/sweep(_:every:_:)`` hands out until its next step.
        var held: Float = 0
        var isHolding = false
    }

    /// Creates a slow wave.
    ///
    /// - Parameters:
    ///   - shape: The shape of a turn, for good.
    ///   - rate: Turns in a second, 0…1000.
    ///   - period: The exact time of a turn, instead of a rate.
    ///   - beats: The time of a turn in beats, instead of both.
    ///   - followsBeats: `true` if a turn of `beats` beats begins where the beats do.
    ///   - depth: -1…1: what the wave is multiplied by.
    ///   - phase: In turns, -1…1: where it begins.
    ///   - rounding: The time that a jump takes.
    ///   - seed: The seed of the random values.
    public init(
        _ shape: LFOCore.Shape = .sine, rate: Float = 1, period: Duration? = nil, beats: Double? = nil,
        followsBeats: Bool = true, depth: Float = 1, phase: Float = 0, rounding: Duration = .milliseconds(2),
        seed: UInt64 = 0
    ) {
        self.shape = shape
        self.rate = Parameter(rate, in: 0...1000, unit: .hertz, glide: .exponential(.milliseconds(10)))
        self.depth = Parameter(depth, in: -1...1)
        self.phase = Parameter(phase, in: -1...1)
        self.rounding = max(rounding, .zero)
        roundingSeconds = self.rounding.inSeconds
        self.followsBeats = followsBeats
        turn = ManagedValue(Self.turn(period, beats))
        state = RenderState(State(kernel: LFOCore(seed: seed)))
    }

    /// The exact time of a turn: over hours it does not drift from the sample clock. `nil`: the ``rate`` counts. A
    /// time that is not above 0 is taken for `nil`. It takes the place of ``beats``.
    public var period: Duration? {
        get {
            let seconds = turn.value.seconds
            return seconds > 0 ? .seconds(seconds) : nil
        }
        set { turn.set(Self.turn(newValue, nil)) }
    }

    /// The number of beats of `Renderer.tempo` that a turn takes, 1/1024…1e6. `nil`: the ``period`` or the ``rate``
    /// counts. A number that is not above 0 is taken for `nil`. It takes the place of the period.
    public var beats: Double? {
        get {
            let beats = turn.value.beats
            return beats > 0 ? beats : nil
        }
        set { turn.set(Self.turn(nil, newValue)) }
    }

    private static func turn(_ period: Duration?, _ beats: Double?) -> Turn {
        if let beats, beats > 0 { return Turn(beats: min(max(beats, 0x1p-10), 1e6)) }
        return Turn(seconds: period.map(\.inSeconds) ?? 0)
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [rate.named("rate"), depth.named("depth"), phase.named("phase")] }

    /// Pushes a slice of the wave.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let depth = depth.glide(context)
        let pace = pace(&context)
        let shape = shape
        var kernel = state.read(context).kernel
        pace.begin(&kernel)
        var top = context.top
        var samples = top[0]
        if pace.isFlat {
            let (offset, turns) = pace.offset(0)
            let (step, rounding) = (pace.step(0), pace.rounding(0))
            for i in samples.indices {
                samples[i] = kernel.value(shape, offset: offset, turns: turns, rounding: rounding) * depth[i]
                kernel.advance(by: step)
            }
        } else {
            for i in samples.indices {
                let (offset, turns) = pace.offset(i)
                let value = kernel.value(shape, offset: offset, turns: turns, rounding: pace.rounding(i))
                samples[i] = value * depth[i]
                kernel.advance(by: pace.step(i))
            }
        }
        state.write(State(kernel: kernel), context)
    }

    /// Runs a closure for each part of the slice, with the value at which the part begins.
    ///
    /// A part begins wherever the renderer's clock is a multiple of `frames`, and with the slice. If the closure sets a
    /// parameter, the parameter glides to that value as always; the slices make no difference. In the render loop;
    /// not in a module, where the buffer that ``process(_:)`` pushes is the way.
    ///
    /// - Parameters:
    ///   - context: The context of the render loop.
    ///   - frames: The distance of the steps in frames: 1 or more.
    ///   - body: The closure that renders the part. It leaves the stack as deep as it was.
    ///
    /// Threads: render.
    public func sweep(
        _ context: inout RenderContext, every frames: Int = 32, _ body: (Float, inout RenderContext) -> Void
    ) {
        let depth = depth.glide(context)
        let pace = pace(&context)
        var state = state.read(context)
        pace.begin(&state.kernel)
        let grid = Int64(max(frames, 1))
        let count = context.frameCount
        let start = context.sampleTime
        var frame = 0
        while frame < count {
            let past = Int((start &+ Int64(frame)) % grid)
            let length = min(Int(grid) - past, count - frame)
            if past == 0 || !state.isHolding {
                let (offset, turns) = pace.offset(frame)
                let value = state.kernel.value(
                    shape, offset: offset, turns: turns, rounding: pace.rounding(frame))
                state.held = value * depth[frame]
                state.isHolding = true
            }
            for i in frame..<(frame + length) { state.kernel.advance(by: pace.step(i)) }
            let value = state.held
            context.subBlock(offset: frame, length: length) { context in body(value, &context) }
            frame += length
        }
        self.state.write(state, context)
    }

    /// Begins anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var fresh = state.read(context)
        fresh.kernel = LFOCore(seed: fresh.kernel.seed)
        fresh.isHolding = false
        state.write(fresh, context)
    }

    /// The pace of the wave in a slice.
    private struct Pace {
        var rate: Glide
        var phase: Glide
        var sampleRate: Double
        /// 0 while the rate counts.
        var exactStep: UInt64
        /// The turn and phase at which the slice begins, if beats set them.
        var start: (turn: UInt64, phase: UInt64)?
        var roundingSeconds: Double

        var isFlat: Bool { @_noLocks @_noAllocation get { phase.isFlat && (rate.isFlat || exactStep > 0) } }

        @_noLocks @_noAllocation
        func begin(_ kernel: inout LFOCore) {
            guard let start else { return }
            kernel.turn = start.turn
            kernel.phase = start.phase
        }

        /// Returns the phase as a part of a turn and whole turns: a random curve goes another way in each turn.
        @_noLocks @_noAllocation
        func offset(_ frame: Int) -> (phase: UInt64, turns: Int) {
            let turns = phase[frame]
            return (ToneCore.phase(turns: turns), turns < 0 ? -1 : turns < 1 ? 0 : 1)
        }

        @_noLocks @_noAllocation
        func step(_ frame: Int) -> UInt64 {
            exactStep > 0 ? exactStep : LFOCore.step(frequency: Double(rate[frame]), sampleRate: sampleRate)
        }

        /// Returns the part of a turn that a jump takes.
        @_noLocks @_noAllocation
        func rounding(_ frame: Int) -> Float {
            let turns = Double(step(frame)) * 0x1p-64 * sampleRate * roundingSeconds
            return turns < 0.25 ? Float(turns) : 0.25
        }
    }

    @_noLocks @_noAllocation
    private func pace(_ context: inout RenderContext) -> Pace {
        var length = Turn()
        turn.with(&context) { turn, _ in length = turn }
        var pace = Pace(
            rate: rate.glide(context), phase: phase.glide(context), sampleRate: context.sampleRate, exactStep: 0,
            start: nil, roundingSeconds: roundingSeconds)
        if length.beats > 0 {
            let turn = context.turn(ofBeats: length.beats)
            pace.exactStep = turn.step
            if followsBeats { pace.start = (turn.number, turn.phase) }
        } else if length.seconds > 0 {
            pace.exactStep = LFOCore.step(frequency: 1 / length.seconds, sampleRate: context.sampleRate)
        }
        return pace
    }
}
