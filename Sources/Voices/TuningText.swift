internal import DiskFiles
internal import RenderCore

/// The lines of a Scala file that are no comments.
struct TuningText: Sendable {
    struct Line: Sendable {
        var number: Int
        var text: String
        /// The first word; behind it may be anything.
        var word: Substring
    }

    let path: String?
    let lines: [Line]
    /// The number of the last line.
    let end: Int

    /// The largest file that is read.
    static var largestSize: Int { 1 << 22 }

    init(_ text: String, path: String?) {
        self.path = path
        var lines: [Line] = []
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            if line.first == "!" { continue }
            let words = line.split(maxSplits: 1, whereSeparator: \.isWhitespace)
            var plain = line.drop(while: \.isWhitespace)
            while plain.last?.isWhitespace == true { plain.removeLast() }
            lines.append(Line(number: number, text: String(plain), word: words.first ?? ""))
        }
        // The end of the last line is no line.
        while lines.count > 1, lines.last?.text.isEmpty == true { lines.removeLast() }
        self.lines = lines.count == 1 && lines[0].text.isEmpty ? [] : lines
        end = number
    }

    static func read(_ path: String) throws(TuningError) -> String {
        let (bytes, error): ([UInt8], Int32)
        do throws(DiskFault) {
            (bytes, error) = try FileDescriptor(reading: path).read(largestSize + 1, at: 0)
        } catch {
            throw TuningError(
                path: path, line: nil, description: "\"\(path.shown)\" cannot be read: \(error.explanation).")
        }
        if error != 0 {
            let fault = DiskFault(path: path, code: error, reading: true)
            throw TuningError(
                path: path, line: nil, description: "\"\(path.shown)\" cannot be read: \(fault.explanation).")
        }
        if bytes.count > largestSize {
            throw TuningError(
                path: path, line: nil,
                description: "\"\(path.shown)\" cannot be read: it has more than 4 MB, as no scale has.")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func error(_ line: Int, _ reason: String) -> TuningError {
        let name = path.map { "\"\($0.shown)\"" } ?? "The text"
        return TuningError(path: path, line: line, description: "\(name) is no tuning: in line \(line), \(reason).")
    }

    static func shown(_ word: Substring?) -> String {
        guard let word, !word.isEmpty else { return "nothing" }
        return word.count > 40 ? "\"\(word.prefix(40))…\"" : "\"\(word)\""
    }
}
