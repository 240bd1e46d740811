internal import RenderCore

/// A SoundFont: instruments of General MIDI, or others, in a file of the format SoundFont 2.04 (`.sf2`).
///
///     let font = try SoundFont(path: "/usr/share/sounds/sf2/TimGM6mb.sf2")
///     for preset in font.presets { print(preset.bank, preset.program, preset.name) }
///     let player = SoundFontPlayer(font)
///
/// Reading waits for the disk. A font is shared by as many players as you like; its samples are in memory once.
///
/// If the samples of a file take more than ``SoundFont/usualLimit`` bytes, only the first 0.7 s of each are in memory. A player
/// reads the rest from the disk while it plays, and counts frames that did not come in time (`SoundFontPlayer.missingFrameCount`).
///
/// Threads: control.
public struct SoundFont: Sendable {
    /// An instrument of the font.
    ///
    /// Threads: control.
    public struct Preset: Sendable, Hashable {
        /// The bank, 0…128; 128 has drums.
        public let bank: Int
        /// The program, 0…127.
        public let program: Int
        /// The name that the font gives it.
        public let name: String
    }

    /// The name of the font.
    public let name: String
    /// The instruments, in the order of bank and program.
    public let presets: [Preset]
    /// The sentences about parts of the file that are left out: samples in a ROM, linked modulators, references to nothing.
    public let notices: [String]
    /// The number of bytes of samples that are in memory.
    public let memorySize: Int
    /// The number of regions: samples with the keys and velocities that they sound for.
    public let regionCount: Int
    package let table: InstrumentTable

    /// The default limit: the samples of a font may have 256 MB in memory.
    public static let usualLimit = 256 << 20
    /// The most zones of instruments that all presets together may use.
    public static let largestZoneCount = 1 << 18

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limit: The bytes of samples, 0 or more, above which only the beginning of each sample is in memory.
    /// - Throws: An error if the file cannot be read, or is damaged: a sentence with the place in the file.
    public init(path: String, streamingAbove limit: Int = usualLimit) throws(InstrumentFileError) {
        try self.init(ByteSource(path: path), limit: limit)
    }

    /// Reads the bytes of a file.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - limit: The bytes of samples above which a player copies only the beginning of each.
    /// - Throws: An error if they are damaged.
    public init(bytes: [UInt8], streamingAbove limit: Int = usualLimit) throws(InstrumentFileError) {
        try self.init(ByteSource(bytes: bytes), limit: limit)
    }

    private init(_ source: ByteSource, limit: Int) throws(InstrumentFileError) {
        var reader = SoundFontReader(source, limit: max(0, limit))
        try reader.read()
        name = reader.name
        notices = reader.notices.list
        memorySize = reader.memorySize
        regionCount = reader.draft.regions.count
        presets = reader.presets
        table = InstrumentTable(reader.draft, samples: reader.frames, owners: reader.owners, disk: reader.disk)
    }
}

/// Sentences about what is left out, each once, and not without end.
struct InstrumentNotices {
    private(set) var list: [String] = []
    private var known: Set<String> = []

    mutating func add(_ sentence: String) {
        guard list.count < 100, known.insert(sentence).inserted else { return }
        list.append(list.count < 99 ? sentence : "More is left out, which is not listed.")
    }
}
