import RenderCore
import Tones

// These parameters and checks are common to the modules of this target.

extension Parameter {
    /// Returns the rate of a slow wave in hertz.
    static func turns(
        _ rate: Float, upTo highest: Float, file: StaticString = #fileID, line: UInt = #line
    ) -> Parameter {
        Parameter(
            rate, in: 0...highest, unit: .hertz, glide: .smoothExponential(.milliseconds(10)), file: file, line: line)
    }

    /// Returns the time of a turn in beats: at 0 the rate counts.
    static func beatsOfATurn(_ beats: Float, file: StaticString = #fileID, line: UInt = #line) -> Parameter {
        Parameter(beats, in: 0...1_024, unit: .beats, glide: .none, file: file, line: line)
    }
}

extension LFOCore.Shape {
    /// Demands a shape without jumps, for what would change its pitch beyond all measure in them.
    func demandNoJumps(_ module: String) {
        demand(
            self == .sine || self == .triangle || self == .randomCurve,
            "\(module): the shape \(self); it must be a sine, a triangle or a random curve")
    }
}
