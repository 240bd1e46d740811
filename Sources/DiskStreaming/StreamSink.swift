package import AudioFiles
package import RenderCore

/// A file that is being recorded, behind a face that tests can put something else behind. It may wait.
package protocol StreamSink: AnyObject {
    /// Writes the first frames of a block.
    func write(_ block: borrowing AudioBlock, frames: Int) throws(AudioFileError)
    /// Closes the file.
    func finish() throws(AudioFileError)
    /// The number of frames that are in the file after a failure, as far as that is known.
    var keptFrameCount: Int64? { get }
}

extension StreamSink {
    package var keptFrameCount: Int64? { nil }
}

/// A file on the disk.
package final class FileSink: StreamSink {
    private var writer: AudioFileWriter

    /// Creates the file, or empties the one that is there.
    package init(
        path: String, format: AudioFileFormat?, sampleRate: Double, channels: Int
    ) throws(AudioFileError) {
        writer = try AudioFileWriter(path: path, format: format, sampleRate: sampleRate, channels: channels)
    }

    package func write(_ block: borrowing AudioBlock, frames: Int) throws(AudioFileError) {
        try writer.write(block, frames: frames)
    }

    package func finish() throws(AudioFileError) { try writer.finish() }

    package var keptFrameCount: Int64? { (try? AudioFileInfo(path: writer.path))?.frameCount }
}
