public import RenderCore

/// A second-order filter, or several in a row, whose settings are parameters on their way: the arithmetic of
/// ``LowPass``, ``Bandpass``, ``ParametricEQ`` and the others. A module of your own holds it in a `RenderState`.
///
///     let settings = FilterSettings(.lowPass, frequency: cutoff.glide(context), width: .q(q.glide(context)))
///     filter.with(&context) { filter, context in filter.process(&context, settings) }
///
/// While a setting moves, each frame gets its own coefficients; at rest they are made when they change. If a stage gets another
/// shape while it plays, it goes there within 20 ms (a cross-fade, where the shapes have the same poles). A change that comes
/// in the meantime waits for the end of that.
///
/// Threads: any.
public struct GlidingFilter: ~Copyable, Sendable {
    /// The settings of the last slice at rest, one for each stage. First, so that a slice at rest reads one cache line.
    private var settled: RenderMemory<Settled>
    private var filter: StateVariableFilter
    /// One for each frame of a part of the slice.
    private var coefficients: RenderMemory<FilterCoefficients>
    /// One for each stage.
    private var shapes: RenderMemory<ShapeGlide>

    /// The settings that coefficients at rest were made from.
    private struct Settled: Sendable, BitwiseCopyable {
        /// The parameters of the last slice.
        var rest = ParametersAtRest.none
        /// Indicates whether they leave the sound as it is.
        var isOff = false
        var shape = FilterShape.bell
        var rate: Double
        var settings: FilterSettings.Values
        var coefficients: FilterCoefficients
    }

    /// Creates a filter at silence.
    ///
    /// - Parameter stages: Filters in a row.
    ///
    /// Threads: control.
    public init(stages: Int = 1) {
        let nothing = FilterCoefficients(.bell, frequency: 1_000, sampleRate: 48_000)
        let values = FilterSettings.Values(frequency: 0, width: 0, decibels: 0)
        // In the order in which a slice reads them.
        settled = RenderMemory(
            repeating: Settled(rate: 0, settings: values, coefficients: nothing), count: stages)
        filter = StateVariableFilter(stages: stages)
        coefficients = RenderMemory(repeating: nothing, count: 16)
        shapes = RenderMemory(repeating: ShapeGlide(), count: stages)
    }

    /// Filters the top as in the slice before, where nothing has changed. `false`: it has, and nothing was done.
    @_noLocks @_noAllocation @inline(__always)
    fileprivate mutating func goOn(_ context: inout RenderContext, stage: Int = 0, _ rest: ParametersAtRest) -> Bool {
        guard settled.indices.contains(stage), rest.isEqual(to: settled[stage].rest) else { return false }
        if settled[stage].isOff { return true }
        return filter.goOn(&context, stage: stage)
    }

    /// Filters the top. If the mix is 0 the samples stay as they are, bit for bit, and this stage forgets the sound before.
    ///
    /// - Parameters:
    ///   - context: The context.
    ///   - stage: The number of the filter in the row, from 0.
    ///   - settings: The settings for this slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public mutating func process(_ context: inout RenderContext, stage: Int = 0, _ settings: FilterSettings) {
        process(&context, stage: stage, settings, .none)
    }

    /// Filters the top, with the parameters that the settings were made from: those with which the next slice may go
    /// on.
    @_noLocks @_noAllocation
    mutating func process(
        _ context: inout RenderContext, stage: Int = 0, _ settings: FilterSettings, _ rest: ParametersAtRest
    ) {
        guard settled.indices.contains(stage) else { return }
        let end = settings.mix.lastFrame(of: context.frameCount)
        if end > 0 { run(&context, stage, settings, frames: end) }
        if end < context.frameCount {
            filter.reset(stage: stage)
            shapes[stage].forget()
        }
        // On its way to another shape a stage does not go on with the coefficients of the slice before.
        settled[stage].rest = shapes[stage].framesLeft > 0 ? .none : rest
        settled[stage].isOff = settings.mix.isFlat && settings.mix.end == 0
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    public mutating func reset() {
        filter.reset()
        for stage in shapes.indices { shapes[stage].forget() }
    }

    @_noLocks @_noAllocation
    private mutating func run(
        _ context: inout RenderContext, _ stage: Int, _ settings: FilterSettings, frames: Int
    ) {
        let rate = context.sampleRate
        var top = context.top
        if settings.isFlat { settle(stage, settings, rate) }
        // What moves comes to rest on its frame, not with the next slice: from there on the frames are computed otherwise.
        var done = 0
        while done < frames {
            shapes[stage].take(settings.shape, rate)
            let change = shapes[stage].framesLeft
            let moving = min(frames, max(settings.framesLeft, done &+ change)) &- done
            if moving <= 0 { break }
            let count = min(min(moving, self.coefficients.count), change > 0 ? change : moving)
            for i in 0..<count {
                let made = coefficients(stage, settings, frame: done &+ i, rate, change: i)
                coefficients[i] = made.mixed(Double(settings.mix[done &+ i]))
            }
            filter.process(&top, from: done, count: count, stage: stage, with: coefficients)
            shapes[stage].advance(by: count)
            done &+= count
        }
        if done < frames {
            settle(stage, settings, rate)
            let coefficients = settled[stage].coefficients.mixed(Double(settings.mix.end))
            filter.process(&top, from: done, count: frames &- done, stage: stage, with: coefficients)
        }
    }

    /// Returns the coefficients of a frame in which something moves.
    ///
    /// - Parameter change: Frames since ``ShapeGlide/advance(by:)``.
    @_noLocks @_noAllocation
    private func coefficients(
        _ stage: Int, _ settings: FilterSettings, frame: Int, _ rate: Double, change: Int
    ) -> FilterCoefficients {
        let values = settings.values(at: frame)
        let change = shapes[stage].framesLeft > 0 ? shapes[stage].part(change) : 1
        if change == 1 {
            return settings.isFlat ? settled[stage].coefficients : settings.coefficients(values, rate)
        }
        // The shape that was asked for last may wait: it is another than the one that the filter goes to.
        var (old, new) = (settings, settings)
        (old.shape, new.shape) = (shapes[stage].before, shapes[stage].now)
        return old.coefficients(values, rate).blended(with: new.coefficients(values, rate), change)
    }

    /// Makes the coefficients of settings at rest, if they are others than those that are there.
    @_noLocks @_noAllocation
    private mutating func settle(_ stage: Int, _ settings: FilterSettings, _ rate: Double) {
        let values = settings.valuesAtRest
        if settled[stage].settings != values || settled[stage].rate != rate || settled[stage].shape != settings.shape {
            settled[stage] = Settled(
                shape: settings.shape, rate: rate, settings: values, coefficients: settings.coefficients(values, rate))
        }
    }
}

/// The way of a filter from one shape to another.
struct ShapeGlide: Sendable, BitwiseCopyable {
    private(set) var before = FilterShape.bell
    private(set) var now = FilterShape.bell
    private(set) var framesLeft = 0
    private var length = 0
    /// Indicates whether there was a sound with the shape.
    private var isKnown = false

    /// Takes the shape of the next frame: the first one at once, and another one, if none is on its way, by a glide of 20 ms.
    @_noLocks @_noAllocation
    mutating func take(_ shape: FilterShape, _ sampleRate: Double) {
        if framesLeft > 0 || (isKnown && shape == now) { return }
        if isKnown {
            length = Int(0.02 * sampleRate)
            framesLeft = length
        }
        (before, now, isKnown) = (now, shape, true)
    }

    /// Returns the part of the way that is behind a frame, along a smooth step.
    @_noLocks @_noAllocation
    func part(_ frame: Int) -> Double {
        let t = Double(length &- framesLeft &+ frame) / Double(length)
        return t * t * t * (10 + t * (6 * t - 15))
    }

    @_noLocks @_noAllocation
    mutating func advance(by frames: Int) { framesLeft = max(0, framesLeft &- frames) }

    /// Forgets the shape: the next one is taken at once.
    @_noLocks @_noAllocation
    mutating func forget() { self = ShapeGlide() }
}

extension Parameter {
    /// Returns the frequency of a filter, in hertz: up to 0.49 of the sample rate. A change glides for 20 ms.
    static func frequency(
        _ frequency: Float, from lowest: Float, file: StaticString = #fileID, line: UInt = #line
    ) -> Parameter {
        Parameter(
            frequency, in: lowest...192_000, limit: .fractionOfRate(0.49), unit: .hertz,
            glide: .exponential(.milliseconds(20)), file: file, line: line)
    }
}

extension RenderState<GlidingFilter> {
    /// Filters the top as in the slice before, where no parameter has changed: the shortest way. `false`: there is more to
    /// do, by ``GlidingFilter/process(_:stage:_:_:)``.
    @_noLocks @_noAllocation @inline(__always)
    func goOn(_ context: inout RenderContext, stage: Int = 0, _ rest: ParametersAtRest) -> Bool {
        // Also true if the state is another owner's, which is a fault that has been reported then.
        var isDone = true
        with(&context) { filter, context in isDone = filter.goOn(&context, stage: stage, rest) }
        return isDone
    }

    /// Filters the top: the whole `process` of a module that is one filter.
    ///
    /// - Parameters:
    ///   - context: The context.
    ///   - shape: The kind of filter.
    ///   - frequency: Cut-off or centre.
    ///   - second: Its other setting.
    ///   - meaning: The meaning of the other setting.
    ///   - mix: The mix, from dry (0) to filtered (1).
    @_noLocks @_noAllocation @inline(__always)
    func process(
        _ context: inout RenderContext, _ shape: FilterShape, frequency: borrowing Parameter,
        _ second: borrowing Parameter, as meaning: FilterSettings.Meaning, mix: borrowing Parameter
    ) {
        if goOn(&context, ParametersAtRest(context, frequency, second, mix)) { return }
        let settings = FilterSettings(
            shape, frequency: frequency.glide(context), second.glide(context), as: meaning, mix: mix.glide(context))
        // They are asked for behind the glides: a parameter that rests then has the value of its glide.
        let rest = ParametersAtRest(context, frequency, second, mix)
        with(&context) { filter, context in filter.process(&context, settings, rest) }
    }

    /// Forgets the sound before: the whole `reset` of such a module.
    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { with(&context) { filter, _ in filter.reset() } }
}

/// The settings of a ``GlidingFilter`` in a slice.
///
/// Threads: any.
public struct FilterSettings: Sendable, BitwiseCopyable {
    /// The ways to give the width of a filter.
    ///
    /// Threads: any.
    public enum Width: Sendable, BitwiseCopyable {
        /// A quality.
        case q(Glide)
        /// A bandwidth in octaves.
        case octaves(Glide)
        /// The level at the cut-off in decibels.
        case resonance(Glide)
    }

    /// The kind of filter.
    public var shape: FilterShape
    /// Cut-off or centre, in hertz.
    public var frequency: Glide
    /// The width of the filter.
    public var width: Width
    /// The gain of a bell or a shelf.
    public var decibels: Glide
    /// From dry (0) to filtered (1).
    public var mix: Glide

    /// Creates settings. By default shelves have the flattest slope, there is no gain, and only the filtered sound is
    /// heard.
    @_noLocks @_noAllocation
    public init(
        _ shape: FilterShape, frequency: Glide, width: Width = .q(Glide(0.70710678)), decibels: Glide = Glide(0),
        mix: Glide = Glide(1)
    ) {
        self.shape = shape
        self.frequency = frequency
        self.width = width
        self.decibels = decibels
        self.mix = mix
    }

    /// The meaning of the second setting of a filter.
    enum Meaning: Sendable, BitwiseCopyable {
        case q, octaves, resonance, decibels
    }

    /// Creates settings by two of them.
    @_noLocks @_noAllocation
    init(_ shape: FilterShape, frequency: Glide, _ second: Glide, as meaning: Meaning, mix: Glide) {
        self.init(shape, frequency: frequency, mix: mix)
        switch meaning {
        case .q: width = .q(second)
        case .octaves: width = .octaves(second)
        case .resonance: width = .resonance(second)
        case .decibels: decibels = second
        }
    }

    /// The settings at one frame.
    struct Values: Sendable, BitwiseCopyable {
        var frequency: Float
        var width: Float
        var decibels: Float

        @_noLocks @_noAllocation
        static func != (a: Values, b: Values) -> Bool {
            a.frequency != b.frequency || a.width != b.width || a.decibels != b.decibels
        }
    }

    private var glideOfWidth: Glide {
        @_noLocks @_noAllocation get {
            switch width {
            case .q(let glide), .octaves(let glide), .resonance(let glide): glide
            }
        }
    }

    /// Indicates whether nothing moves but the mix.
    var isFlat: Bool {
        @_noLocks @_noAllocation get {
            frequency.isFlat && glideOfWidth.isFlat && decibels.isFlat
        }
    }

    /// Indicates whether nothing moves.
    var isAtRest: Bool { @_noLocks @_noAllocation get { isFlat && mix.isFlat } }

    /// Frames until nothing moves any more.
    var framesLeft: Int {
        @_noLocks @_noAllocation get {
            max(max(frequency.framesLeft, glideOfWidth.framesLeft), max(decibels.framesLeft, mix.framesLeft))
        }
    }

    /// The settings when nothing moves any more.
    var valuesAtRest: Values {
        @_noLocks @_noAllocation get {
            Values(frequency: frequency.end, width: glideOfWidth.end, decibels: decibels.end)
        }
    }

    @_noLocks @_noAllocation
    func values(at frame: Int) -> Values {
        Values(frequency: frequency[frame], width: glideOfWidth[frame], decibels: decibels[frame])
    }

    @_noLocks @_noAllocation
    func coefficients(_ values: Values, _ rate: Double) -> FilterCoefficients {
        let frequency = Double(values.frequency)
        let q =
            switch width {
            case .q: Double(values.width)
            case .octaves:
                FilterCoefficients.q(octaves: Double(values.width), frequency: frequency, sampleRate: rate)
            case .resonance: FilterCoefficients.q(resonance: Double(values.width))
            }
        return FilterCoefficients(
            shape, frequency: frequency, q: q, decibels: Double(values.decibels), sampleRate: rate)
    }
}
