internal import CPluginHost
public import RenderCore

/// A control port of a plug-in, as its description has it.
///
///     for control in plugin.description.controls { print(control) }        // gain: "Gain" = 0 dB, -90…24
///
/// A plug-in has a `ParameterReference` of the same ``symbol`` for each that is an input.
///
/// Threads: control.
public struct LV2Control: Sendable, Hashable, CustomStringConvertible {
    /// The kind of value that a control has.
    ///
    /// Threads: any.
    public enum Kind: Sendable, Hashable {
        /// Any number of the range.
        case number
        /// A whole number.
        case integer
        /// On (1) or off (0).
        case toggle
        /// On for a moment.
        case trigger
        /// One of the ``LV2Control/points``.
        case choice
    }

    /// A value that has a name.
    ///
    /// Threads: control.
    public struct Point: Sendable, Hashable {
        /// The value.
        public let value: Float
        /// The name.
        public let label: String
    }

    /// The name for programs, which no other port of the plug-in has.
    public let symbol: String
    /// The name for people.
    public let name: String
    /// The name of the group of controls that it belongs to, or nothing.
    public let group: String
    /// The unit, as far as it is one that a parameter can have.
    public let unit: Parameter.Unit
    /// The last part of the unit's URI, such as `hz`, or nothing.
    public let unitName: String
    /// The kind of value.
    public let kind: Kind
    /// The value at first.
    public let initialValue: Float
    /// The values that may be set.
    public let range: ClosedRange<Float>
    /// Values that have a name, from the least to the greatest.
    public let points: [Point]
    /// Indicates whether equal steps of a knob should be equal ratios.
    public let isLogarithmic: Bool
    /// Indicates whether the numbers are parts of the sample rate.
    public let isPartOfRate: Bool
    /// Indicates whether the plug-in writes it: a meter.
    public let isOutput: Bool
    /// The port's number.
    let port: Int

    init(_ port: clv2_port, number: Int) {
        self.port = number
        symbol = unsafe String(cString: port.symbol)
        name = unsafe String(cString: port.name)
        group = unsafe String(cString: port.group)
        unitName = unsafe String(cString: port.unit)
        unit = LV2Control.unit(unitName)
        kind =
            unsafe port.is_toggle
            ? .toggle
            : port.is_trigger ? .trigger : port.is_enumeration ? .choice : port.is_integer ? .integer : .number
        isLogarithmic = unsafe port.is_logarithmic
        isPartOfRate = unsafe port.scales_with_rate
        isOutput = unsafe !port.is_input
        var points: [Point] = []
        for index in unsafe 0..<Int(port.point_count) {
            guard let all = unsafe port.points else { break }
            points.append(unsafe Point(value: all[index].value, label: String(cString: all[index].label)))
        }
        self.points = points
        let initial = unsafe port.initial.isFinite ? port.initial : 0
        // Descriptions need not give a range, and some give one without the initial value in it.
        var low = unsafe port.minimum.isFinite ? port.minimum : min(initial, port.is_toggle ? 0 : -1e6)
        var high = unsafe port.maximum.isFinite ? port.maximum : max(initial, port.is_toggle ? 1 : 1e6)
        if low > high { (low, high) = (high, low) }
        initialValue = initial
        range = min(low, initial)...max(high, initial)
    }

    /// Returns a parameter for the port.
    func parameter() -> Parameter {
        if isPartOfRate {
            // The least rate for the lower end and the greatest for the upper one; the limit is the rate's own.
            func frequency(_ part: Float, _ rate: Float) -> Float { min(max(part, -1e30), 1e30) * rate }
            let low = min(frequency(range.lowerBound, 8_000), frequency(range.lowerBound, 192_000))
            return Parameter(
                frequency(initialValue, 48_000), in: low...max(low, frequency(range.upperBound, 192_000)),
                limit: .fractionOfRate(max(range.upperBound, 1e-6)), unit: unit, glide: .none)
        }
        return Parameter(initialValue, in: range, unit: unit, glide: .none)
    }

    private static func unit(_ name: String) -> Parameter.Unit {
        switch name {
        case "hz", "Hz": .hertz
        case "db", "dB": .decibels
        case "s": .seconds
        case "ms": .milliseconds
        case "oct": .octaves
        case "cent": .cents
        case "semitone12TET": .semitones
        case "pc", "%": .percent
        case "bpm": .beatsPerMinute
        case "beat": .beats
        case "frame": .frames
        default: .none
        }
    }

    /// A text with the symbol, name, value at first and range.
    public var description: String {
        let unit = unitName.isEmpty ? "" : unit == .none ? " " + unitName : " " + unit.rawValue
        let values =
            isOutput ? "written by the plug-in" : "\(initialValue)\(unit), \(range.lowerBound)…\(range.upperBound)"
        return "\(symbol): \"\(name)\" = \(values)"
    }
}
