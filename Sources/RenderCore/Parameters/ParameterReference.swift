/// A parameter by its name, for code that does not know the module's type, such as a panel of knobs, a MIDI map, a
/// preset.
///
///     for parameter in renderer.parameters { print(parameter) }      // LowPass.cutoff = 800 Hz, 20…192000
///     renderer.parameters["LowPass.cutoff"]?.value = 1_200
///
/// It can be copied and kept, and shares its value with the ``Parameter`` that it was made from, whose module need not
/// exist any more. A ``Module`` lists its own in ``Module/parameters``.
///
/// Threads: control.
public struct ParameterReference: Sendable, CustomStringConvertible {
    /// The parameter's name: `cutoff`, or with its module's name before it `LowPass.cutoff`.
    public let name: String
    private let parameter: Shared

    /// The parameter, on the heap: a `Parameter` itself cannot be copied.
    private final class Shared: Sendable {
        let parameter: Parameter
        init(_ parameter: borrowing Parameter) { self.parameter = Parameter(sharing: parameter) }
    }

    fileprivate init(_ name: String, _ parameter: borrowing Parameter) {
        self.name = name
        self.parameter = Shared(parameter)
    }

    private init(_ name: String, _ other: ParameterReference) {
        self.name = name
        parameter = other.parameter
    }

    /// The parameter that has the name: another reference to it.
    package var itself: Parameter { Parameter(sharing: parameter.parameter) }

    /// Returns a reference to the same parameter with a name before its own and a full stop between: `LowPass.cutoff`.
    public func inside(_ outer: String) -> ParameterReference { ParameterReference("\(outer).\(name)", self) }

    /// The value, as in ``Parameter/value``: clamped to the range, and part of an open transaction.
    public var value: Float {
        get { parameter.parameter.value }
        nonmutating set { parameter.parameter.value = newValue }
    }

    /// The value that the parameter was made with.
    public var initialValue: Float { parameter.parameter.initialValue }
    /// The least and greatest value that may be set.
    public var range: ClosedRange<Float> { parameter.parameter.range }
    /// The unit of the value.
    public var unit: Parameter.Unit { parameter.parameter.unit }
    /// The way in which a change arrives.
    public var glide: Parameter.Curve { parameter.parameter.glide }
    /// The greatest value by the sample rate, if there is one.
    public var limit: Parameter.RateLimit? { parameter.parameter.limit }

    /// Has the parameter's changes counted.
    func join(_ count: borrowing ChangeCount) {
        unsafe ParameterHandle(cell: parameter.parameter.cell).count(in: count)
    }

    /// Sets the parameter to its initial value.
    public func reset() { parameter.parameter.reset() }

    /// A text with name, value, unit and range.
    public var description: String {
        let unit = unit.rawValue.isEmpty ? "" : " " + unit.rawValue
        return "\(name) = \(value)\(unit), \(range.lowerBound)…\(range.upperBound)"
    }
}

extension Parameter {
    /// Returns a reference to the parameter with a name, for ``Module/parameters``. Give it the name of the property.
    public borrowing func named(_ name: String) -> ParameterReference { ParameterReference(name, self) }
}

extension [ParameterReference] {
    /// The first parameter with a name; `nil` if none has it.
    ///
    /// Threads: control.
    public subscript(_ name: String) -> ParameterReference? { first { $0.name == name } }

    /// Returns all references with a name before their own: see ``ParameterReference/inside(_:)``.
    ///
    /// Threads: control.
    public func inside(_ outer: String) -> [ParameterReference] { map { $0.inside(outer) } }
}
