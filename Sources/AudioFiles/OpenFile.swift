internal import DiskFiles

/// A file that is open to be read: in libsndfile, or in what reads the formats that libsndfile does not know.
struct OpenFile: ~Copyable {
    private var library: SoundFile?
    private let foreign: ForeignFile?

    /// Opens a file, or bytes that are in memory.
    init(path: String, bytes: [UInt8]? = nil) throws(AudioFileError) {
        do {
            library = try SoundFile(reading: try OpenFile.open(path, bytes), path: path)
            foreign = nil
        } catch {
            guard error.reason == .notAudio || error.reason == .damaged,
                let file = ForeignFile(try OpenFile.open(path, bytes))
            else { throw error }
            library = nil
            foreign = file
        }
    }

    private static func open(_ path: String, _ bytes: [UInt8]?) throws(AudioFileError) -> FileDescriptor {
        if let bytes { return FileDescriptor(bytes: bytes) }
        return try onDisk { () throws(DiskFault) in try FileDescriptor(reading: path) }
    }

    /// Returns all information that the file has about itself.
    func info(path: String) throws(AudioFileError) -> AudioFileInfo {
        if let foreign {
            return AudioFileInfo(
                path: path, format: foreign.format, sampleRate: foreign.sampleRate, channelCount: foreign.channelCount,
                frameCount: foreign.frameCount, tags: foreign.tags, marks: [],
                notice: foreign.frameCount == 0 ? "There are no frames in it." : nil)
        }
        switch library {
        case .some(let file): return try file.info(path: path)
        case .none: throw SoundFile.refusal(path: path, number: 0)
        }
    }

    /// Indicates whether its samples are 16-bit integers.
    var hasShorts: Bool {
        switch library {
        case .some(let file): file.hasShorts
        case .none: false
        }
    }
    /// The first `errno` of the system since it was opened or the last read, 0 if there was none.
    var failure: Int32 {
        switch library {
        case .some(let file): file.failure
        case .none: foreign?.failure ?? 0
        }
    }
    /// Bytes in the file.
    var length: Int64 {
        switch library {
        case .some(let file): file.length
        case .none: foreign?.length ?? 0
        }
    }

    /// Reads frames whose channels take turns.
    mutating func read(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int {
        unsafe library?.read(frames, into: room) ?? foreign?.read(frames, into: room) ?? 0
    }

    /// Reads frames as 16-bit integers, if the file has such.
    mutating func read(_ frames: Int, into room: UnsafeMutablePointer<Int16>) -> Int {
        unsafe library?.read(frames, into: room) ?? 0
    }

    /// Goes to a frame. Returns whether it exists.
    mutating func seek(to frame: Int64) -> Bool { library?.seek(to: frame) ?? foreign?.seek(to: frame) ?? false }

    /// Makes reads beyond a byte of the file fail: for tests.
    mutating func fail(from byte: Int64, with error: Int32) {
        library?.fail(from: byte, with: error)
        foreign?.fail(from: byte, with: error)
    }
}
