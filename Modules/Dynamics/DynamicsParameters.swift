internal import RenderCore

// The parameters that compressors, expanders and gates share, with their ranges.
extension Parameter {
    static func threshold(_ value: Float) -> Parameter {
        Parameter(value, in: -80...12, unit: .decibels, glide: .smooth(.milliseconds(200)))
    }
    static func ratio(_ value: Float) -> Parameter {
        Parameter(value, in: 1...100, glide: .smoothExponential(.milliseconds(150)))
    }
    /// A knee in decibels, or the hysteresis of a gate.
    static func knee(_ value: Float) -> Parameter {
        Parameter(value, in: 0...40, unit: .decibels, glide: .smooth(.milliseconds(20)))
    }
    static func reductionRange(_ value: Float) -> Parameter {
        Parameter(value, in: 0...120, unit: .decibels, glide: .smooth(.milliseconds(20)))
    }
    static func attack(_ value: Float) -> Parameter {
        Parameter(value, in: 0.000_02...1, unit: .seconds, glide: .smoothExponential(.milliseconds(20)))
    }
    static func release(_ value: Float) -> Parameter {
        Parameter(value, in: 0.001...10, unit: .seconds, glide: .smoothExponential(.milliseconds(20)))
    }
    static func hold(_ value: Float) -> Parameter {
        Parameter(value, in: 0...Float(DynamicsProcessor.longestHold), unit: .seconds, glide: .none)
    }
    static func makeUp(_ value: Float) -> Parameter {
        Parameter(value, in: -24...24, unit: .decibels, glide: .smooth(.milliseconds(20)))
    }
    static func mix(_ value: Float) -> Parameter { Parameter(value, in: 0...1, glide: .smooth(.milliseconds(20))) }
    /// The cut-off of a filter of a key.
    static func keyFilter(_ frequency: Float) -> Parameter {
        Parameter(
            frequency, in: 10...192_000, limit: .fractionOfRate(0.49), unit: .hertz,
            glide: .smoothExponential(.milliseconds(200)))
    }
}
