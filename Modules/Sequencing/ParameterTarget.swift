public import RenderCore
internal import Sharing
internal import SignalBlocks
public import Voices

/// Sets a parameter by the events of a sequencer's track. Run it after the sequencer, and before the module whose parameter it sets.
///
///     let cutoffs = ParameterTarget(filter.cutoff)
///     sequencer.append(Track("cutoff", Pattern("<200 400>*4 1_600"), to: cutoffs))
///     let renderer = try Renderer { context in
///         context.run(sequencer)
///         context.run(cutoffs)                    // pushes and pops nothing
///         context.run(saw)
///         context.run(filter)
///         context.output()
///     }
///
/// At the frame of an event the parameter leaves for the event's value, by its own glide, as if somebody had set it there. It keeps
/// the value when the event ends. A value outside of the range becomes the nearest one inside.
///
/// A value that somebody else sets holds until the next event. With an ``Automation`` of the same parameter, the last to run sets it.
///
/// A module that asks for the parameter's `glide` has the value on its frame. So has one that reads a value once in a slice, since from the
/// second slice on slices begin with the events; an event that a start or an edit brings into the middle of a slice it has with the next.
///
/// Threads: control.
public final class ParameterTarget: Module, NoteTarget {
    /// The number of an event that sets the parameter.
    ///
    /// Threads: any.
    public enum Reading: Sendable, Hashable {
        /// The number of a note: `440`, or 60 for `c4`.
        case number
        /// The velocity of a note, 0…1.
        case velocity
        /// The values of a controller, 0…127, such as a clip has them that was recorded from a knob.
        case controller(Int)
    }

    private let driver: ParameterDriver
    private let reading: Reading
    private let map: ParameterMap
    private let values = CommandQueue<Float>(capacity: 256)
    private let table = RenderState(GlideTable(count: 64))
    private let motion: RenderState<ParameterMotion>

    /// Creates a target.
    ///
    /// - Parameters:
    ///   - parameter: The parameter that it sets.
    ///   - reading: The number that counts.
    ///   - source: The numbers that become `range`; by default all that a velocity or a controller can have. Without it and without a
    ///     `range` the number of a note is the value itself.
    ///   - range: The values that they become, the first for the lower bound; by default the parameter's range. They lie
    ///     evenly, or in even ratios if the parameter glides so.
    public init(
        _ parameter: borrowing Parameter, reading: Reading = .number, from source: ClosedRange<Float>? = nil,
        to range: ClosedRange<Float>? = nil
    ) {
        driver = ParameterDriver(parameter)
        self.reading = reading
        let isPlain = reading == .number && source == nil && range == nil
        var all: ClosedRange<Float> = 0...1
        if case .controller = reading { all = 0...127 }
        map =
            isPlain
            ? ParameterMap()
            : ParameterMap(source ?? all, to: range ?? parameter.range, isExponential: parameter.glide.isExponential)
        motion = RenderState(ParameterMotion(parameter.glide))
    }

    /// Creates a target of a parameter that was found by its name.
    ///
    /// - Parameters:
    ///   - parameter: A reference to the parameter that it sets.
    ///   - reading: The number that counts.
    ///   - source: The numbers that become `range`.
    ///   - range: The values that they become.
    public convenience init(
        _ parameter: ParameterReference, reading: Reading = .number, from source: ClosedRange<Float>? = nil,
        to range: ClosedRange<Float>? = nil
    ) {
        self.init(parameter.itself, reading: reading, from: source, to: range)
    }

    /// The target leaves all buffers as they are.
    public var stackEffect: StackEffect { StackEffect(pops: 0, pushes: 0) }

    /// Makes room for the values of the longest slice.
    public func prepare(_ preparation: Preparation) {
        table.replace(with: GlideTable(count: preparation.maximumFrameCount + AutomationPlayback.ahead + 1))
    }

    // MARK: Events

    /// Returns the number that the word stands for; any word has one where the velocity counts.
    public func number(forWord word: String, _ number: Double?) -> Double? {
        number ?? (reading == .velocity ? 0 : nil)
    }

    /// Takes the value of a note. Returns `false` if it is no number, or if 256 wait.
    ///
    /// Threads: render.
    public func begin(_ note: TargetNote, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        switch reading {
        case .number: set(note.number, frame, context)
        case .velocity: set(note.velocity, frame, context)
        case .controller: true
        }
    }

    /// Takes the value of a controller, if that counts. Returns `false` if 256 wait.
    ///
    /// Threads: render.
    public func send(_ message: MIDIMessage, inFrame frame: Int, _ context: borrowing RenderContext) -> Bool {
        guard case .controller(let wanted) = reading, case .controller(_, let number, let value) = message,
            Int(number) == wanted
        else { return true }
        return set(Float(value), frame, context)
    }

    private func set(_ number: Float, _ frame: Int, _ context: borrowing RenderContext) -> Bool {
        let value = map.value(of: number)
        return !value.isNaN && values.send(value, inFrame: frame, context)
    }

    // MARK: Render thread

    /// Sets the parameter for this slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        if context.isDryRun { return }
        let wheel = driver.wheel
        var motion = motion.read(context)
        var due = values.next(&context)
        // A module that runs twice in a slice has set the parameter for it.
        guard motion.isDriving || due != nil, motion.begin(context.sampleTime) else { return }
        let (now, count) = (context.sampleTime, context.frameCount)
        var places: GlideTable.Places?
        table.with(&context) { table, _ in places = table.places }
        if due == nil && motion.isAtRest(wheel, at: now) {
            wheel.leave()
            motion.leave()
        } else if let places {
            motion.arrive(wheel, context)
            let last = count &+ AutomationPlayback.ahead
            var frame = 0
            while frame <= last {
                while let value = due, value.frame <= frame {
                    motion.go(to: value.command, at: now &+ Int64(frame))
                    due = values.next(&context, from: frame)
                }
                places.set(frame, motion.value(at: now &+ Int64(frame)))
                frame &+= 1
            }
            wheel.drive(context, places, count: last &+ 1)
        }
        self.motion.write(motion, context)
    }

    /// Leaves the parameter where it is.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var motion = motion.read(context)
        driver.wheel.leave()
        motion.leave()
        self.motion.write(motion, context)
    }
}

/// The values of a parameter that numbers stand for.
struct ParameterMap: BitwiseCopyable, Sendable {
    private let isPlain: Bool
    private var isExponential = false
    private var (low, high): (Float, Float) = (0, 1)
    private var (first, last): (Float, Float) = (0, 1)

    /// Numbers that are the values.
    init() { isPlain = true }

    /// Numbers of a range, which become another.
    init(_ source: ClosedRange<Float>, to range: ClosedRange<Float>, isExponential: Bool) {
        isPlain = false
        let isWhole = source.lowerBound.isFinite && source.upperBound.isFinite
        (low, high) = isWhole ? (source.lowerBound, source.upperBound) : (0, 1)
        (first, last) = (
            max(range.lowerBound, -.greatestFiniteMagnitude), min(range.upperBound, .greatestFiniteMagnitude)
        )
        self.isExponential = isExponential && first > 0
    }

    /// Returns the value of a number, whose nearest one in the range counts; no number for no number.
    @_noLocks @_noAllocation
    func value(of number: Float) -> Float {
        if isPlain || number.isNaN { return number }
        if number <= low { return first }
        if number >= high { return last }
        let part = (Double(number) - Double(low)) / (Double(high) - Double(low))
        let (first, last) = (Double(first), Double(last))
        return Float(
            isExponential
                ? first * RenderMath.exp2(part * RenderMath.log2(last / first)) : first + part * (last - first))
    }
}

/// The state by which a ``ParameterTarget`` fills a slice: where the parameter goes.
struct ParameterMotion: BitwiseCopyable, Sendable {
    private var glide: AutomationGlide
    private var target: Float = 0
    private var (low, high): (Float, Float) = (0, 0)
    /// Indicates whether the slice before was driven.
    private(set) var isDriving = false
    /// Indicates that nothing was heard of the parameter so far: then it takes a value without a glide.
    private var isFirst = false
    private var first = Int64.min

    init(_ curve: Parameter.Curve) { glide = AutomationGlide(curve) }

    /// Returns whether there is nothing more to do from a frame on, since the value has arrived or somebody else has set another.
    @_noLocks @_noAllocation
    func isAtRest(_ wheel: ParameterWheel, at frame: Int64) -> Bool { glide.isOver(at: frame) || wheel.isMoved }

    /// Leaves the parameter to others.
    @_noLocks @_noAllocation
    mutating func leave() {
        (isDriving, first) = (false, .min)
        glide.stop()
    }

    /// Begins a slice. Returns `false` if it is not the first time.
    @_noLocks @_noAllocation
    mutating func begin(_ time: Int64) -> Bool {
        let isNew = time != first
        first = time
        return isNew
    }

    /// Begins to drive a slice, from the value that is heard.
    @_noLocks @_noAllocation
    mutating func arrive(_ wheel: ParameterWheel, _ context: borrowing RenderContext) {
        (low, high) = wheel.limits(context.sampleRate)
        glide.length = wheel.glideFrames(context.sampleRate)
        isFirst = false
        if isDriving && !wheel.isMoved { return }
        let heard = wheel.heard(context)
        isFirst = heard == nil
        target = heard?.now ?? wheel.current(context)
        glide.stop()
        isDriving = true
    }

    /// Leaves for a value.
    @_noLocks @_noAllocation
    mutating func go(to value: Float, at frame: Int64) {
        let from = self.value(at: frame)
        target = value > low ? (value < high ? value : high) : low
        let isHeard = !isFirst || frame != first
        if isHeard && from != target { glide.begin(from: from, at: frame) } else { glide.stop() }
    }

    @_noLocks @_noAllocation
    func value(at frame: Int64) -> Float { glide.value(at: frame, to: target) }
}
