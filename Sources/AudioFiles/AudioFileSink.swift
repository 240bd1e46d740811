internal import DiskFiles

/// The two ways of writing: one of them is in use, and neither after the end.
struct AudioFileSink: ~Copyable, Sendable {
    var wav: WAVFile?
    var library: SoundFile?

    /// The byte at which the samples begin in a file of the library's.
    let dataStart: Int64

    private init(_ wav: consuming WAVFile) {
        self.wav = consume wav
        library = nil
        dataStart = 0
    }

    private init(_ library: consuming SoundFile) {
        dataStart = library.position
        self.library = consume library
        wav = nil
    }

    static func begin(
        _ file: consuming FileDescriptor, path: String, format: AudioFileFormat, sampleRate: Double, channels: Int,
        tags: [AudioFileTag: String], marks: [AudioFileMark]
    ) throws(AudioFileError) -> AudioFileSink {
        if format.container == .wav {
            return AudioFileSink(
                try WAVFile.begin(
                    file, path: path, format: format, sampleRate: sampleRate, channels: channels, tags: tags,
                    marks: marks))
        }
        return AudioFileSink(
            try SoundFile(
                writing: file, path: path, format: format, sampleRate: sampleRate, channels: channels, tags: tags,
                marks: marks))
    }
}
