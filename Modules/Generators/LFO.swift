public import RenderCore

/// A slow wave that moves other things: vibrato, tremolo, a filter's sweep. Pushes one mono buffer, or hands its value to
/// a closure a thousand times a second; no latency.
///
///     let vibrato = LFO(.sine, rate: 5.5)
///     context.run(vibrato)                            // a buffer: what a ModulatedOscillator takes, or an effect of yours
///     context.run(tone)
///
///     let wobble = LFO(.triangle, rate: 0.5)
///     wobble.sweep(&context) { value, context in      // a parameter of any module
///         filter.cutoff.value = 800 * RenderMath.exp2(2 * value)
///         context.run(filter)
///     }
///
/// One or the other: an LFO has one phase. Its values lie between -1 and 1 times the depth. It is no tone: at high rates
/// saw and square fold back.
public final class LFO: Generator {
    /// How many turns it makes in a second, while there is no ``period``.
    public let rate: Parameter
    /// What the wave is multiplied by.
    public let depth: Parameter
    /// What is added to the phase, in turns.
    public let phase: Parameter
    /// The course of a turn.
    public let shape: LFOKernel.Shape
    /// How long a jump takes, so that what it moves does not click: a quarter of a turn at most.
    public let rounding: Duration

    private let seconds: ManagedValue<Double>
    private let roundingSeconds: Double
    private let state: RenderState<State>

    private struct State: Sendable {
        var kernel: LFOKernel
        /// The value that ``LFO/sweep(_:every:_:)`` hands out until its next step.
        var held: Float = 0
        var isHolding = false
    }

    /// A slow wave.
    ///
    /// - Parameters:
    ///   - shape: the course of a turn, for good.
    ///   - rate: turns in a second, 0…1000.
    ///   - period: the exact time of a turn, instead of a rate.
    ///   - depth: -1…1: what the wave is multiplied by.
    ///   - phase: in turns, -1…1: where it begins.
    ///   - rounding: how long a jump takes.
    ///   - seed: which random values there are.
    public init(
        _ shape: LFOKernel.Shape = .sine, rate: Float = 1, period: Duration? = nil, depth: Float = 1, phase: Float = 0,
        rounding: Duration = .milliseconds(2), seed: UInt64 = 0
    ) {
        self.shape = shape
        self.rate = Parameter(rate, in: 0...1000, unit: .hertz, glide: .exponential(.milliseconds(10)))
        self.depth = Parameter(depth, in: -1...1)
        self.phase = Parameter(phase, in: -1...1)
        self.rounding = max(rounding, .zero)
        roundingSeconds = Self.seconds(self.rounding)
        seconds = ManagedValue(period.map(Self.seconds) ?? 0)
        state = RenderState(State(kernel: LFOKernel(seed: seed)))
    }

    /// The exact time of a turn: over hours it does not drift from the sample clock. `nil`: the ``rate`` counts. From any
    /// thread; what is not above 0 is taken for `nil`.
    public var period: Duration? {
        get {
            let seconds = seconds.value
            return seconds > 0 ? .seconds(seconds) : nil
        }
        set { seconds.set(newValue.map(Self.seconds) ?? 0) }
    }

    /// Pushes a slice of the wave.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let depth = depth.glide(context)
        let course = course(&context)
        let shape = shape
        var kernel = state.read(context).kernel
        var top = context.top
        var samples = top[0]
        if course.isFlat {
            let (offset, step, rounding) = (course.offset(0), course.step(0), course.rounding(0))
            for i in samples.indices {
                samples[i] = kernel.value(shape, offset: offset, rounding: rounding) * depth[i]
                kernel.advance(by: step)
            }
        } else {
            for i in samples.indices {
                let value = kernel.value(shape, offset: course.offset(i), rounding: course.rounding(i))
                samples[i] = value * depth[i]
                kernel.advance(by: course.step(i))
            }
        }
        state.write(State(kernel: kernel), context)
    }

    /// Runs a closure for each part of the slice, with the value at which the part begins.
    ///
    /// A part begins wherever the renderer's clock is a multiple of `frames`, and with the slice. What the closure sets a
    /// parameter to, the parameter glides to as always; the slices make no difference. In the render closure; not in a
    /// module, where the buffer that ``process(_:)`` pushes is the way.
    ///
    /// - Parameters:
    ///   - context: that of the render closure.
    ///   - frames: how far apart the steps are: 1 or more.
    ///   - body: renders the part. It leaves the stack as deep as it was.
    public func sweep(
        _ context: inout RenderContext, every frames: Int = 32, _ body: (Float, inout RenderContext) -> Void
    ) {
        let depth = depth.glide(context)
        let course = course(&context)
        var state = state.read(context)
        let grid = Int64(max(frames, 1))
        let count = context.frameCount
        let start = context.sampleTime
        var frame = 0
        while frame < count {
            let past = Int((start + Int64(frame)) % grid)
            let length = min(Int(grid) - past, count - frame)
            if past == 0 || !state.isHolding {
                let value = state.kernel.value(
                    shape, offset: course.offset(frame), rounding: course.rounding(frame))
                state.held = value * depth[frame]
                state.isHolding = true
            }
            for i in frame..<(frame + length) { state.kernel.advance(by: course.step(i)) }
            let value = state.held
            context.subBlock(offset: frame, length: length) { context in body(value, &context) }
            frame += length
        }
        self.state.write(state, context)
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var fresh = state.read(context)
        fresh.kernel = LFOKernel(seed: fresh.kernel.seed)
        fresh.isHolding = false
        state.write(fresh, context)
    }

    /// How the wave goes on in a slice.
    private struct Course {
        var rate: Glide
        var phase: Glide
        var sampleRate: Double
        /// 0 while the rate counts.
        var exactStep: UInt64
        var roundingSeconds: Double

        var isFlat: Bool { @_noLocks @_noAllocation get { phase.isFlat && (rate.isFlat || exactStep > 0) } }

        @_noLocks @_noAllocation
        func offset(_ frame: Int) -> UInt64 { ToneKernel.phase(turns: phase[frame]) }

        @_noLocks @_noAllocation
        func step(_ frame: Int) -> UInt64 {
            exactStep > 0 ? exactStep : LFOKernel.step(frequency: Double(rate[frame]), sampleRate: sampleRate)
        }

        /// The part of a turn that a jump takes.
        @_noLocks @_noAllocation
        func rounding(_ frame: Int) -> Float {
            let turns = Double(step(frame)) * 0x1p-64 * sampleRate * roundingSeconds
            return turns < 0.25 ? Float(turns) : 0.25
        }
    }

    @_noLocks @_noAllocation
    private func course(_ context: inout RenderContext) -> Course {
        var period = 0.0
        seconds.with(&context) { seconds, _ in period = seconds }
        return Course(
            rate: rate.glide(context), phase: phase.glide(context), sampleRate: context.sampleRate,
            exactStep: period > 0 ? LFOKernel.step(frequency: 1 / period, sampleRate: context.sampleRate) : 0,
            roundingSeconds: roundingSeconds)
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }
}
