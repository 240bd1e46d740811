internal import DiskFiles
internal import RenderCore

/// A file of a format that libsndfile does not know, decoded by FFmpeg where the trait for it is on.
@safe final class ForeignFile: @unchecked Sendable {
    // Unchecked because it has one owner, an `OpenFile`, whose functions that change it are `mutating`.
    private let stream: UnsafeMutablePointer<FileStream>
    /// Frames in the file.
    let frameCount: Int64
    #if FFmpeg
        private let decoder: FFmpegDecoder
    #endif

    /// Opens a file; `nil` if it is of no such format, or the trait is off.
    init?(_ file: consuming FileDescriptor) {
        #if FFmpeg
            let stream = UnsafeMutablePointer<FileStream>.allocate(capacity: 1)
            unsafe stream.initialize(to: FileStream(file, isWriting: false))
            let input = unsafe FFmpegInput(isSeekable: true) {
                unsafe stream.pointee.read(into: $0)
            } seek: { offset, origin in
                // 65,536 asks for the length.
                unsafe origin & 65_536 != 0 ? stream.pointee.length : stream.pointee.seek(by: offset, from: origin & 3)
            }
            unsafe stream.pointee.allow(0)
            guard let decoder = FFmpegDecoder(input), let count = decoder.count(),
                (1...64).contains(decoder.channelCount)
            else {
                unsafe stream.deinitialize(count: 1)
                unsafe stream.deallocate()
                return nil
            }
            unsafe (self.stream, self.decoder, frameCount) = (stream, decoder, count)
        #else
            return nil
        #endif
    }

    deinit {
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    #if FFmpeg
        var sampleRate: Double { Double(decoder.sampleRate) }
        var channelCount: Int { decoder.channelCount }
        var format: AudioFileFormat { AudioFileFormat(.other(decoder.container), .other(decoder.encoding)) }
        var tags: [AudioFileTag: String] { decoder.tags }
    #else
        let (sampleRate, channelCount, format) = (1.0, 1, AudioFileFormat.wav())
        let tags: [AudioFileTag: String] = [:]
    #endif

    var failure: Int32 { unsafe stream.pointee.failure }
    var length: Int64 { unsafe stream.pointee.length }
    func fail(from position: Int64, with error: Int32) { unsafe stream.pointee.failsFrom = (position, error) }

    func read(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int {
        #if FFmpeg
            unsafe stream.pointee.allow(Int64(frames) * Int64(channelCount) * 8)
            return unsafe decoder.read(frames, into: room)
        #else
            return 0
        #endif
    }

    func seek(to frame: Int64) -> Bool {
        #if FFmpeg
            unsafe stream.pointee.clearFailure()
            unsafe stream.pointee.allow(1 << 20)
            return decoder.seek(to: frame)
        #else
            return false
        #endif
    }
}

#if FFmpeg
    /// A stream that FFmpeg decodes.
    final class ForeignStream: StreamDecoder {
        private let decoder: FFmpegDecoder
        let info: AudioStreamInfo

        /// Opens a stream; `nil` if it is of no such format.
        init?(_ input: StreamInput) {
            input.isPatient = false
            let feed = unsafe FFmpegInput(isSeekable: false) {
                unsafe input.read(into: $0)
            } seek: { _, _ in
                -1
            }
            guard let decoder = FFmpegDecoder(feed) else { return nil }
            self.decoder = decoder
            info = AudioStreamInfo(
                name: input.name, format: AudioFileFormat(.other(decoder.container), .other(decoder.encoding)),
                sampleRate: Double(decoder.sampleRate), channelCount: decoder.channelCount, tags: decoder.tags)
        }

        func read(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int {
            unsafe decoder.read(frames, into: room)
        }
        func goOn() -> Bool { false }
    }
#endif
