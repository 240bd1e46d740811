@_exported public import RenderStack

/// The session in which a loop file plays. The file's function gets it, and asks it for the modules that go on from one
/// version of the file to the next.
///
///     import RenderStackLive
///
///     func loop(_ live: Live) throws -> RenderLoop {
///         let tone = live.keep("tone") { Oscillator(.saw, frequency: 110, level: 0.3) }
///         let filter = live.keep("filter") { LowPass(cutoff: 800) }
///         return { context in
///             context.run(tone)
///             context.run(filter)
///             context.output()
///         }
///     }
///
/// It serves one call of that function: the loop itself cannot keep it.
///
/// Threads: control.
public final class Live {
    private let keeper: Keeper
    var draft: Keeper.Draft

    /// The time over which the loop before this one fades into it; by default what the command line says.
    public var fade: Duration

    /// The time for which delays and reverbs that this version does not have any more ring out; none by default, unless the
    /// command line says otherwise.
    public var ringOut: Duration

    /// The tempo that the file asks for, in beats per minute; `nil` leaves the tempo as it is.
    public var beatsPerMinute: Double?

    /// Frames per second of the output.
    public let sampleRate: Double

    /// Indicates whether this is the trial, in a process of its own, that each version passes before it is heard.
    public let isTrial: Bool

    package init(_ keeper: Keeper, fade: Duration, ringOut: Duration, sampleRate: Double, isTrial: Bool) {
        self.keeper = keeper
        self.fade = fade
        self.ringOut = ringOut
        self.sampleRate = sampleRate
        self.isTrial = isTrial
        draft = Keeper.Draft()
    }

    /// Returns the module that an earlier version has made under a name, or else a new one.
    ///
    /// The module goes on with its state. `make` is called each time, to see what the file says: a parameter for which the
    /// file has another number than before glides to it. A module of another type or make (another waveform, another
    /// length of its memory) is a new module, which fades in.
    ///
    /// - Parameters:
    ///   - name: The module's name in this file, and the first part of the names of its parameters: `delay.feedback`.
    ///   - make: Makes the module.
    public func keep<M: Module>(_ name: String, _ make: () throws -> M) rethrows -> M {
        let template = try make()
        guard let kept = keeper.entry(name), let module = kept.value as? M,
            kept.shape == ModuleShape(template), draft.entries[name] == nil
        else {
            draft.add(name, Keeper.Entry(template, parameters: template.parameters, shape: ModuleShape(template)))
            return template
        }
        keeper.follow(template.parameters, kept, name)
        draft.add(
            name, Keeper.Entry(module, parameters: module.parameters, shape: kept.shape, wishes: template.parameters))
        draft.goesOn.insert(name)
        return module
    }

    /// Returns a value that is made once under a name and stays as it is, whatever the file says later: a sound that takes
    /// long to read, a recorder whose file must not be made again.
    ///
    /// While a loop fades out or rings out, its closure runs beside the new one. If both trigger the same player, it plays
    /// twice.
    ///
    /// - Parameters:
    ///   - name: The value's name in this file.
    ///   - make: Makes the value.
    public func once<Value: Sendable>(_ name: String, _ make: () throws -> Value) rethrows -> Value {
        let entry = draft.entries[name] ?? keeper.entry(name)
        if let value = entry?.value as? Value, let entry {
            draft.add(name, entry)
            draft.goesOn.insert(name)
            return value
        }
        let value = try make()
        draft.add(name, Keeper.Entry(value, parameters: (value as? any Module)?.parameters ?? [], shape: nil))
        return value
    }

    /// Returns a parameter of the file's own, which goes on under a name: a knob for what the loop does itself.
    ///
    /// - Parameters:
    ///   - name: The parameter's name.
    ///   - value: The value that the file gives it.
    ///   - range: The values that may be set.
    ///   - unit: The unit of the value.
    ///   - glide: The way in which a change arrives.
    public func parameter(
        _ name: String, _ value: Float, in range: ClosedRange<Float>, unit: Parameter.Unit = .none,
        glide: Parameter.Curve = .linear(.milliseconds(10))
    ) -> Parameter {
        let new = Knob(Parameter(value, in: range, unit: unit, glide: glide))
        let wish = [new.parameter.named(name)]
        if let kept = keeper.entry(name), let knob = kept.value as? Knob, knob.parameter.range == range,
            knob.parameter.unit == unit, knob.parameter.glide == glide, draft.entries[name] == nil
        {
            keeper.follow(wish, kept, nil)
            draft.add(name, Keeper.Entry(knob, parameters: [knob.parameter.named(name)], shape: nil, wishes: wish))
            draft.goesOn.insert(name)
            return Parameter(sharing: knob.parameter)
        }
        draft.add(name, Keeper.Entry(new, parameters: wish, shape: nil))
        return Parameter(sharing: new.parameter)
    }
}

/// A parameter that no module owns.
final class Knob: Sendable {
    let parameter: Parameter
    init(_ parameter: consuming Parameter) { self.parameter = parameter }
}
