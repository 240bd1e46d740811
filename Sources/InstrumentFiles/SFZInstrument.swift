internal import AudioFiles
internal import RenderCore

/// An instrument in a text file of the format SFZ, which names sound files and says for which keys they are.
///
///     let piano = try SFZInstrument(path: "piano.sfz")
///     for opcode in piano.unknownOpcodes { print("line \(opcode.line): \(opcode.name)") }
///     let player = SoundFontPlayer(piano)
///
/// RenderStack knows a part of the format: the article “Instruments” lists its opcodes. The others change nothing, and
/// ``unknownOpcodes`` has each with its line. All samples are in memory.
///
/// Threads: control.
public struct SFZInstrument: Sendable {
    /// An opcode that RenderStack does not know, or whose value it does not know.
    ///
    /// Threads: control.
    public struct Opcode: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// Its value.
        public let value: String
        /// The file in which it stands: an included one, or the instrument's.
        public let file: String
        /// The line in that file, from 1.
        public let line: Int
    }

    /// The opcodes that change nothing because they are not known, in their order; of each name and value the first.
    public let unknownOpcodes: [Opcode]
    /// The sentences about parts of the file that are left out: sound files that cannot be read.
    public let notices: [String]
    /// The number of regions: samples with the keys and velocities that they sound for. A stereo sample makes two.
    public let regionCount: Int
    /// The number of bytes of samples that are in memory.
    public let memorySize: Int
    package let table: InstrumentTable

    /// The default limit: the samples of an instrument may have 2 GB.
    public static let usualLimit = 2 << 30

    /// Reads a file, and the sound files that it names.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limit: Bytes of samples that it may have.
    /// - Throws: An error if the file cannot be read or makes no sense, with the line; or if its samples are beyond the limit.
    public init(path: String, limit: Int = usualLimit) throws(InstrumentFileError) {
        let source = try ByteSource(path: path)
        guard source.count <= SFZText.largest else {
            throw InstrumentFileError(path: path, "it has more than \(SFZText.largest >> 20) MB, which no SFZ file has")
        }
        let text = String(decoding: source.read(at: 0, count: source.count), as: UTF8.self)
        try self.init(text: text, path: path, limit: limit)
    }

    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - folder: The folder in which its sound files are.
    ///   - limit: Bytes of samples that it may have.
    /// - Throws: An error if the text makes no sense, with the line; or if its samples are beyond the limit.
    public init(text: String, folder: String, limit: Int = usualLimit) throws(InstrumentFileError) {
        try self.init(text: text, path: folder + "/", limit: limit)
    }

    private init(text: String, path: String, limit: Int) throws(InstrumentFileError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        let parts = try SFZText(text, path: path) { (name: String) throws(InstrumentFileError) -> String? in
            let place = name.hasPrefix("/") ? name : folder + name
            guard let source = try? ByteSource(path: place), source.count <= SFZText.largest else { return nil }
            return String(decoding: source.read(at: 0, count: source.count), as: UTF8.self)
        }
        var reader = SFZReader(path: path, folder: folder, limit: limit)
        try reader.read(parts)
        unknownOpcodes = reader.unknown
        notices = reader.notices.list
        regionCount = reader.draft.regions.count
        memorySize = reader.memorySize
        table = InstrumentTable(reader.draft, samples: reader.frames, owners: reader.owners, disk: nil)
    }
}
