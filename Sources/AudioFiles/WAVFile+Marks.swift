internal import DiskFiles

// A mark is a cue point in one chunk, and its name a label in another, which names the point by its number.

extension WAVFile {
    /// Returns the chunks for marks.
    static func chunks(of marks: [AudioFileMark]) -> [UInt8] {
        let marks = AudioFileMark.kept(marks)
        if marks.isEmpty { return [] }
        var points: [UInt8] = [], labels: [UInt8] = []
        points.append(text: "cue ")
        points.append(number: Int64(4 + 24 * marks.count), bytes: 4)
        points.append(number: Int64(marks.count), bytes: 4)
        for (index, mark) in marks.enumerated() {
            points.append(number: Int64(index + 1), bytes: 4)
            points.append(number: mark.frame, bytes: 4)
            points.append(text: "data")
            points.append(number: 0, bytes: 8)
            points.append(number: mark.frame, bytes: 4)
            if mark.name.isEmpty { continue }
            labels.append(text: "labl")
            labels.append(number: Int64(4 + mark.name.utf8.count + 1), bytes: 4)
            labels.append(number: Int64(index + 1), bytes: 4)
            labels += mark.name.utf8
            labels.append(0)
            if labels.count % 2 == 1 { labels.append(0) }
        }
        if labels.isEmpty { return points }
        points.append(text: "LIST")
        points.append(number: Int64(4 + labels.count), bytes: 4)
        points.append(text: "adtl")
        return points + labels
    }

    /// Returns the marks of a file. Points that share a number share a name.
    static func marks(of file: borrowing FileDescriptor) -> [AudioFileMark] {
        var frames: [(number: Int64, frame: Int64)] = []
        var names: [Int64: String] = [:]
        eachChunk(of: file) { name, content in
            if name == "cue " {
                for place in stride(from: 4, through: content.count - 24, by: 24) {
                    frames.append((number(content[place..<place + 4]), number(content[(place + 20)..<place + 24])))
                }
            } else if name == "LIST", text(content.prefix(4)) == "adtl" {
                eachPart(of: content, from: 4) { name, part in
                    guard name == "labl", part.count >= 4 else { return }
                    names[number(part.prefix(4))] = string(part.dropFirst(4))
                }
            }
        }
        return frames.map { AudioFileMark(at: $0.frame, name: names[$0.number] ?? "") }.sorted { $0.frame < $1.frame }
    }
}
