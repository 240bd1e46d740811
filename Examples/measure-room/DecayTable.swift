import RenderStack

/// The figures of a response, a line for each octave, with the decay as a row of blocks.
enum DecayTable {
    static func lines(_ decays: [RoomDecay]) -> [String] {
        let head = "    octave     EDT     T20     T30     C50     C80   decay, 50 ms a block, 60 dB high"
        return [head]
            + decays.map { decay in
                let name = decay.frequency.map { "\(Int($0)) Hz" } ?? "all"
                let times = [decay.edt, decay.t20, decay.t30].map {
                    right($0.map { "\(rounded($0, 100)) s" } ?? "-", 8)
                }
                let clarity = [decay.c50, decay.c80].map { right($0.map { "\(rounded($0, 10)) dB" } ?? "-", 8) }
                return right(name, 10) + times.joined() + clarity.joined() + "   " + blocks(decay.curve)
            }
    }

    private static func blocks(_ curve: [Float]) -> String {
        let heights = Array(" ▁▂▃▄▅▆▇█")
        return String(
            stride(from: 0, to: min(curve.count, 200), by: 5).map { index in
                heights[max(0, min(8, Int((8 * (1 + curve[index] / 60)).rounded(.up))))]
            })
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }

    private static func rounded(_ number: Double, _ parts: Double) -> Double { (number * parts).rounded() / parts }
}
