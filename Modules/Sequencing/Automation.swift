public import RenderCore
import Sharing
internal import Synchronization

/// Sets a parameter by a curve, frame by frame.
///
///     let opening = Automation(of: filter.cutoff, AutomationCurve(in: .beats, [0: 200, 16: 4_000], shape: .exponential))
///
///     let renderer = try Renderer { context in
///         context.run(opening)                    // before the module whose parameter it sets
///         context.run(saw)
///         context.run(filter)
///         context.output()
///     }
///     opening.curve = AutomationCurve(in: .beats, [0: 4_000, 32: 200])        // while it plays
///
/// A module that asks the parameter for its `glide` gets the value of the curve's formula at each frame, the nearest `Float`, and
/// the same bits whatever the length of the cycles. One that reads a value once in a slice gets that of the slice's first frame; from
/// the second slice on, slices begin where the curve jumps, and where it comes to rest or leaves it.
///
/// At a jump of the curve the parameter goes there by its own glide, so that nothing clicks. It does so too where the automation
/// begins to set a parameter that is heard, where the position is moved, and where another curve takes the place of this one.
///
/// Beats are those of `Renderer.tempo`, through all changes of tempo and position. Seconds and frames pass from the first slice in which the
/// automation runs, or from ``start(at:)``. A curve's values stay in the range of the parameter.
///
/// While it sets a parameter, a value that somebody else sets holds up to the next slice, as in a mixing desk whose faders are
/// moved by their automation; ``record(_:)`` keeps it. `parameter.value` shows the value that is heard. An automation that leaves (it
/// does not run, or ``drives`` is off) leaves the parameter at its last value. If several set one parameter, the last to run
/// does. It must run in the render loop in which the parameter's module runs, or in one around it of the same sample rate; a
/// parameter in another one is set once in a slice, and glides there.
///
/// Threads: control.
public final class Automation: Module {
    /// Indicates whether the curve sets the parameter.
    public let drives = Switch(true)

    let driver: ParameterDriver
    /// The knowledge of control code. Its lock is held while the render thread's image of it is exchanged, so that the newest wins.
    let kept: Lock<Kept>
    struct Kept {
        var curve: AutomationCurve
        var version = 1
        var take: AutomationTake?
    }
    private let image: ManagedValue<AutomationImage>
    private let playback: RenderState<AutomationPlayback>
    private let table = RenderState(GlideTable(count: 64))
    private let starts = CommandQueue<Bool>(capacity: AutomationStarts.capacity)
    let taking = ManagedValue(AutomationTake.Shared())
    private let hands = RenderState(AutomationHands())
    /// The position at which the last slice of a passage that is being recorded ended.
    let reached = Atomic<UInt64>(0)
    let releases = Atomic<Int>(0)

    /// Creates an automation.
    ///
    /// - Parameters:
    ///   - parameter: The parameter that it sets.
    ///   - curve: The values.
    public init(of parameter: borrowing Parameter, _ curve: AutomationCurve) {
        driver = ParameterDriver(parameter)
        kept = Lock(Kept(curve: curve), .module)
        image = ManagedValue(AutomationImage(curve, version: 1))
        playback = RenderState(AutomationPlayback(driver.glide))
    }

    /// Creates an automation of a parameter that was found by its name.
    ///
    /// - Parameters:
    ///   - parameter: A reference to the parameter that it sets.
    ///   - curve: The values.
    public convenience init(of parameter: ParameterReference, _ curve: AutomationCurve) {
        self.init(of: parameter.itself, curve)
    }

    /// The values, as they were last set. Another curve takes the place of this one as a whole, with the next slice or
    /// with the transaction that sets it.
    public var curve: AutomationCurve {
        get { kept.withLock { $0.curve } }
        set { kept.withLock { set(newValue, in: &$0) } }
    }

    func set(_ curve: AutomationCurve, in kept: inout Kept) {
        kept.version += 1
        kept.curve = curve
        image.set(AutomationImage(curve, version: kept.version))
    }

    /// Begins the curve anew: at a time, its position is 0. A curve in beats goes by the tempo's position alone.
    ///
    /// - Returns: `false` if as many starts are under way as there is room for; then this one was not taken.
    @discardableResult public func start(at time: RenderTime = .immediately) -> Bool { starts.send(true, at: time) }

    /// The automation leaves all buffers as they are.
    public var stackEffect: StackEffect { StackEffect(pops: 0, pushes: 0) }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [drives.named("drives")] }

    /// Makes room for the values of the longest slice.
    public func prepare(_ preparation: Preparation) {
        table.replace(with: GlideTable(count: preparation.maximumFrameCount + AutomationPlayback.ahead + 1))
    }

    /// Sets the parameter for this slice.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        var starts = AutomationStarts()
        var frame = 0
        while let due = self.starts.next(&context, from: frame) {
            starts.add(due.frame)
            frame = due.frame
        }
        var (unit, isDriven) = (AutomationClock.frames, drives.isOn(context))
        image.with(&context) { image, _ in
            unit = image.unit
            if image.isEmpty { isDriven = false }
        }
        // The closures below capture no `self`, which the compiler would retain for them.
        let wheel = driver.wheel
        var playback = playback.read(context)
        var hands = hands.read(context)
        let released = releases.load(ordering: .relaxed)
        var take = AutomationTake.Reference()
        taking.with(&context) { newest, _ in take = newest.reference }
        let isHeld = hands.hold(wheel, take, &playback, unit, isDriven: isDriven, released: released, context)
        if isHeld { reached.store(hands.reached.bitPattern, ordering: .relaxed) }
        self.hands.write(hands, context)
        if isDriven && !isHeld {
            var places: GlideTable.Places?
            table.with(&context) { table, _ in places = table.places }
            if let places {
                image.with(&context) { image, context in
                    playback.drive(wheel, by: image, places, startingAt: starts, context)
                }
            }
        } else {
            if !isHeld { wheel.leave() }
            playback.pass(unit, startingAt: starts, context)
        }
        self.playback.write(playback, context)
    }

    /// Goes back to the beginning: seconds and frames pass from the next slice on.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        var fresh = playback.read(context)
        fresh.reset()
        playback.write(fresh, context)
    }
}
