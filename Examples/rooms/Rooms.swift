import ExampleSupport
import FoundationEssentials
import RenderStack

/// The rooms by name, and those in text files.
enum Rooms {
    /// A room that is not there.
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns a preset by its name, or the one in a text file.
    static func find(_ name: String) throws -> Reverb.Preset {
        if let preset = Reverb.Preset.all.first(where: { $0.name == name }) { return preset }
        guard let text = try? String(contentsOfFile: name, encoding: .utf8) else {
            throw Missing(
                description: "there is no room \(name), and no text file of that name. There are "
                    + Reverb.Preset.all.map(\.name).joined(separator: ", ") + ".")
        }
        return try Reverb.Preset(text: text)
    }

    /// Writes a room into a text file.
    static func write(_ room: Reverb.Preset, to path: String) throws {
        try WholeFile.write(room.text, to: path)
        print("\(path): the room \(room.name)")
    }
}
