internal import RenderCore

extension StreamFile {
    /// Opens a file, to see what it is.
    ///
    /// - Throws: why it cannot be read, or that there is nothing in it.
    package convenience init(path: String) throws(AudioFileError) {
        let source = try ReaderSource(path)
        let info = source.reader.info
        if info.frameCount == 0 {
            throw AudioFileError(
                path: path, reason: .empty, cannot: "play", explanation: "there is no sound in it; choose another one")
        }
        self.init(
            path: path, sampleRate: info.sampleRate, channelCount: info.channelCount, frameCount: info.frameCount,
            hasPairs: source.reader.isDirect && info.channelCount == 2, source: source,
            open: { () throws(AudioFileError) in try ReaderSource(path) })
    }
}

/// A file behind the face that streams have for it.
private final class ReaderSource: StreamSource {
    var reader: AudioFileReader

    init(_ path: String) throws(AudioFileError) { reader = try AudioFileReader(path: path) }

    var isFloat: Bool { !reader.isDirect }

    func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int {
        try reader.read(into: &block, at: first, frames: frames)
    }

    func readPairs(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int {
        try reader.readPairs(into: &block, at: first, frames: frames)
    }

    func seek(to frame: Int64) throws(AudioFileError) { try reader.seek(to: frame) }
}
