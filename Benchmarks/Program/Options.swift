import Foundation

/// The request of the command line: a command, a workload, and named values.
struct Options: Sendable {
    /// Those of this process.
    static let given = Options(Array(CommandLine.arguments.dropFirst()))

    let words: [String]
    private var values: [String: String] = [:]

    init(_ arguments: [String]) {
        var words: [String] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            if word.hasPrefix("--") {
                values[String(word.dropFirst(2))] = rest.popFirst() ?? ""
            } else {
                words.append(word)
            }
        }
        self.words = words
    }

    func number(_ name: String, _ other: Int) -> Int { values[name].flatMap { Int($0) } ?? other }
    func seconds(_ other: Double) -> Double { values["seconds"].flatMap { Double($0) } ?? other }
    func text(_ name: String) -> String? { values[name] }
    /// Several, with commas between them.
    func list(_ name: String) -> [String] { values[name]?.split(separator: ",").map(String.init) ?? [] }
}

/// Ends the program with a sentence.
func stop(_ sentence: String) -> Never {
    FileHandle.standardError.write(Data("bench: \(sentence)\n".utf8))
    exit(1)
}

/// A line of a table for programs: its fields with tabs between them.
func tell(_ fields: Any...) { print(fields.map { "\($0)" }.joined(separator: "\t")) }

/// Samples as 32-bit floats, the channels interleaved.
func write(_ channels: [[Float]], to path: String) throws {
    var data = Data(capacity: channels.count * (channels.first?.count ?? 0) * 4)
    for frame in 0..<(channels.first?.count ?? 0) {
        for channel in channels {
            let bits = channel[frame].bitPattern.littleEndian
            data.append(contentsOf: [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)])
            data.append(contentsOf: [UInt8(truncatingIfNeeded: bits >> 16), UInt8(truncatingIfNeeded: bits >> 24)])
        }
    }
    try data.write(to: URL(fileURLWithPath: path))
}

/// Reads a file of samples, the reverse of `write`.
func read(_ path: String, channels: Int) throws -> [[Float]] {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let frames = bytes.count / 4 / channels
    return (0..<channels).map { channel in
        (0..<frames).map { frame in
            let at = (frame * channels + channel) * 4
            let bits =
                UInt32(bytes[at]) | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2]) << 16
                | UInt32(bytes[at + 3]) << 24
            return Float(bitPattern: bits)
        }
    }
}
