import RenderStack

/// The line that the terminal shows of the strip: the level that comes in, three gain reductions, and the level that goes out.
enum StripDisplay {
    static func line(
        _ before: LevelMeter, _ gate: Gate, _ compressor: Compressor, _ limiter: Limiter, _ after: LevelMeter
    ) -> String {
        let reductions = [
            ("gate", gate.gainReduction), ("comp", compressor.gainReduction), ("limit", limiter.gainReduction),
        ]
        .map { name, reduction in "\(name) \(bar(reduction)) \(number(-reduction))" }
        return
            "in \(number(before.combined.peak))  \(reductions.joined(separator: "  "))  out \(number(after.combined.peak))"
    }

    /// A block for each 4 dB, eight at most.
    private static func bar(_ reduction: Float) -> String {
        let blocks = Int(min(max(reduction / 4, 0), 8).rounded(.up))
        return String(repeating: "█", count: blocks) + String(repeating: "·", count: 8 - blocks)
    }

    /// Decibels in five characters.
    private static func number(_ decibels: Float) -> String {
        let text = decibels > -99 ? "\((decibels * 10).rounded() / 10)" : "-inf"
        return String(repeating: " ", count: max(0, 5 - text.count)) + text
    }
}
