import FoundationEssentials
import RenderStack

/// MIDI controllers: from a port, or from a text file for want of one.
final class Controllers: Sendable {
    let input = MIDIInput(name: "controllers")
    /// The messages from the render thread to the code that turns the desk.
    let messages = MessagePort<MIDIMessage>(capacity: 1_024)

    /// Controllers that are turned at a time: a line of the file each, "SECONDS CHANNEL CONTROLLER VALUE".
    static func read(path: String) throws -> [(seconds: Double, message: MIDIMessage)] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw Mistake(description: "\(path) cannot be read; it must be a text file")
        }
        var events: [(seconds: Double, message: MIDIMessage)] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            let numbers = words.compactMap { Double($0) }
            guard words.count == 4, numbers.count == 4, (0...1e6).contains(numbers[0]),
                let channel = UInt8(exactly: numbers[1]), (1...16).contains(channel),
                let controller = UInt8(exactly: numbers[2]), controller < 128,
                let value = UInt8(exactly: numbers[3]), value < 128
            else {
                throw Mistake(
                    description: "\(path), line \(number + 1): it must be \"SECONDS CHANNEL CONTROLLER VALUE\", "
                        + "such as \"2.5 1 7 100\"")
            }
            events.append((numbers[0], .controller(channel: channel - 1, number: controller, value: value)))
        }
        return events.sorted { $0.seconds < $1.seconds }
    }

    /// A line that makes no sense.
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }
}
