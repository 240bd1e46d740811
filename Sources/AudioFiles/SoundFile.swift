internal import CSndFile
internal import DiskFiles
internal import Glibc

/// A file open in libsndfile.
@safe struct SoundFile: ~Copyable, @unchecked Sendable {
    // Unchecked because the library's handle and the stream under it have one owner, this value, and the functions that
    // change them are `mutating`. The library keeps nothing that several files share but the text of the last error.
    let handle: OpaquePointer
    let stream: UnsafeMutablePointer<FileStream>
    /// The library's number for the format.
    let code: Int32
    let sampleRate: Double
    let channelCount: Int
    /// Frames, as the file says.
    private(set) var frameCount: Int64

    private init(handle: OpaquePointer, stream: UnsafeMutablePointer<FileStream>, info: SF_INFO) {
        unsafe (self.handle, self.stream) = (handle, stream)
        code = info.format
        sampleRate = Double(info.samplerate)
        channelCount = Int(info.channels)
        frameCount = info.frames
    }

    deinit {
        unsafe sf_close(handle)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// The first `errno` of the system since it was opened or the last read, 0 if there was none.
    var failure: Int32 { unsafe stream.pointee.failure }
    /// Bytes in the file.
    var length: Int64 { unsafe stream.pointee.length }
    /// The byte that the library writes next.
    var position: Int64 { unsafe stream.pointee.position }
    /// Indicates whether the file has no name any more.
    var isDeleted: Bool { unsafe stream.pointee.file.isDeleted }

    /// Writes everything that is left and closes the file.
    ///
    /// - Returns: 0 or an `errno`.
    ///
    /// - Parameters:
    ///   - correction: Bytes that the library gets wrong at the end.
    ///   - surplus: Frames of 48 kHz at the end of an Opus file that are not to be heard.
    consuming func close(correcting correction: (position: Int64, bytes: [UInt8])? = nil, surplus: Int64 = 0) -> Int32 {
        let (handle, stream) = unsafe (handle, stream)
        discard self
        unsafe sf_close(handle)
        let ended = unsafe stream.move()
        if let correction, ended.failure == 0 { ended.patch(correction.bytes, at: correction.position) }
        if surplus > 0 && ended.failure == 0, let page = ended.page?.ending(earlier: surplus) {
            ended.patch(page, at: ended.page?.position ?? 0)
        }
        unsafe stream.deallocate()
        let failure = ended.failure
        let code = ended.close()
        return failure != 0 ? failure : code
    }

    /// Makes a read or write that reaches beyond a byte of the file fail: for tests.
    mutating func fail(from position: Int64, with error: Int32) {
        unsafe stream.pointee.failsFrom = (position, error)
    }
}

// MARK: - Reading

extension SoundFile {
    /// Begins to read an open file.
    init(reading file: consuming FileDescriptor, path: String) throws(AudioFileError) {
        if file.length == 0 {
            throw AudioFileError(
                path: path, reason: .empty, cannot: "read",
                explanation: "it is empty; the program that made it wrote nothing into it")
        }
        let stream = UnsafeMutablePointer<FileStream>.allocate(capacity: 1)
        unsafe stream.initialize(to: FileStream(file, isWriting: false))
        unsafe stream.pointee.allow(0)
        var info = SF_INFO()
        var callbacks = FileStream.callbacks()
        guard let handle = unsafe sf_open_virtual(&callbacks, Int32(SFM_READ), &info, stream) else {
            let error = unsafe SoundFile.openingError(path: path, stream: stream.pointee)
            unsafe stream.deinitialize(count: 1)
            unsafe stream.deallocate()
            throw error
        }
        var opened = unsafe SoundFile(handle: handle, stream: stream, info: info)
        if opened.channelCount < 1 || opened.sampleRate < 1 || opened.frameCount < 0 {
            throw SoundFile.damaged(path, "its header is wrong")
        }
        // A stream that does not say how long it is: from a pipe, or cut off before its end was known. Or one that lies: so
        // many frames are centuries.
        if opened.frameCount > 1 << 50 { try opened.count(path: path) }
        self = opened
    }

    private static func openingError(path: String, stream: borrowing FileStream) -> AudioFileError {
        if stream.failure != 0 { return AudioFileError(path: path, systemError: stream.failure, reading: true) }
        if stream.isExhausted { return damaged(path, "its header leads in circles") }
        return refusal(path: path, number: sf_error(nil))
    }

    /// Returns the error for a number with which the library refused to open something.
    static func refusal(path: String, number: Int32) -> AudioFileError {
        switch Int(number) {
        case SF_ERR_UNRECOGNISED_FORMAT:
            return AudioFileError(
                path: path, reason: .notAudio, cannot: "read",
                explanation: "what is in it is not audio that can be read here; "
                    + "convert it to WAV, AIFF, CAF, FLAC, Ogg or MP3")
        case SF_ERR_UNSUPPORTED_ENCODING:
            return AudioFileError(
                path: path, reason: .notAudio, cannot: "read",
                explanation: "its samples are encoded in a way that cannot be read here; convert it to WAV or FLAC")
        default:
            // The number is the library's last, of whichever thread: another one may have cleared it.
            return damaged(path, number == 0 ? "it makes no sense" : text(number))
        }
    }

    private static func damaged(_ path: String, _ why: String) -> AudioFileError {
        AudioFileError(
            path: path, reason: .damaged, cannot: "read", explanation: "it is damaged (\(why)); get another copy of it")
    }

    /// Returns the library's sentence for an error, without its own punctuation.
    private static func text(_ number: Int32) -> String {
        var text = unsafe sf_error_number(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        if text.hasPrefix("Error : ") { text.removeFirst(8) }
        while text.hasSuffix(".") || text.hasSuffix(" ") || text.hasSuffix("\n") { text.removeLast() }
        return text
    }

    /// Decodes all of it to know how long it is.
    private mutating func count(path: String) throws(AudioFileError) {
        let frames = max(1, 65_536 / channelCount)
        var frameCount: Int64 = 0
        let room = UnsafeMutablePointer<Float>.allocate(capacity: frames * channelCount)
        defer { unsafe room.deallocate() }
        while true {
            let read = unsafe read(frames, into: room)
            if failure != 0 { throw AudioFileError(path: path, systemError: failure, reading: true) }
            if read == 0 { break }
            frameCount += Int64(read)
        }
        guard frameCount == 0 || seek(to: 0) else {
            throw SoundFile.damaged(path, "its beginning cannot be found again")
        }
        self.frameCount = frameCount
    }

    /// Reads frames whose channels take turns.
    ///
    /// - Returns: The number of frames: fewer at the end, in a damaged part, or after a failure, which `failure`
    ///   explains.
    mutating func read(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int {
        unsafe stream.pointee.allow(Int64(frames) * Int64(channelCount) * 8)
        return unsafe max(0, Int(sf_readf_float(handle, room, Int64(frames))))
    }

    /// Reads frames as 16-bit integers: a file of such gives them without a detour.
    mutating func read(_ frames: Int, into room: UnsafeMutablePointer<Int16>) -> Int {
        unsafe stream.pointee.allow(Int64(frames) * Int64(channelCount) * 8)
        return unsafe max(0, Int(sf_readf_short(handle, room, Int64(frames))))
    }

    /// Indicates whether its samples are 16-bit integers.
    var hasShorts: Bool { Int(code) & SF_FORMAT_SUBMASK == SF_FORMAT_PCM_16 }

    /// Goes to a frame.
    ///
    /// In Ogg Vorbis the library (1.2.0) is wrong by up to a block after it has gone somewhere, and on the last page, whose
    /// length is not a whole number of blocks, altogether. So it goes to an earlier frame and decodes up to the right one.
    ///
    /// In MP3 it goes at least 512 bytes further back: a frame is made of bits that lie before it, and at low bit rates those
    /// are in the ten frames before, which the library does not decode when it goes somewhere.
    ///
    /// - Returns: `true` if it exists.
    mutating func seek(to frame: Int64) -> Bool {
        if Int(code) & SF_FORMAT_SUBMASK == SF_FORMAT_MPEG_LAYER_III {
            let start = max(0, frame - 32 * 1_152)
            return seekDirectly(to: start) && skip(frame - start)
        }
        if Int(code) & SF_FORMAT_SUBMASK != SF_FORMAT_VORBIS { return seekDirectly(to: frame) }
        // A page has at most 255 packets, and a packet of the usual encoders 1,024 frames.
        let start = max(0, min(frame - 8_192, frameCount - 256 * 1_024))
        if seekDirectly(to: start) && skip(frame - start) { return true }
        return failure == 0 && seekDirectly(to: 0) && skip(frame)
    }

    private mutating func seekDirectly(to frame: Int64) -> Bool {
        unsafe stream.pointee.clearFailure()
        unsafe stream.pointee.allow(1 << 20)
        return unsafe sf_seek(handle, frame, Int32(SEEK_SET)) == frame
    }

    private mutating func skip(_ frames: Int64) -> Bool {
        unsafe passOver(frames, channels: channelCount) { unsafe read($0, into: $1) }
    }

    /// Returns all information that the file has about itself.
    func info(path: String) throws(AudioFileError) -> AudioFileInfo {
        AudioFileInfo(
            path: path, format: AudioFileFormat(libraryCode: code), sampleRate: sampleRate, channelCount: channelCount,
            frameCount: frameCount, tags: tags, marks: marks, notice: notice)
    }

    private var notice: String? {
        if frameCount == 0 { return "There are no frames in it." }
        let promise = unsafe PromisedLength(of: stream.pointee.file, frameCount: frameCount)
        return promise.notice
    }

    /// Returns the texts that the library has found in a file.
    static func tags(of handle: OpaquePointer) -> [AudioFileTag: String] {
        var tags: [AudioFileTag: String] = [:]
        for tag in AudioFileTag.allCases {
            if let text = unsafe sf_get_string(handle, tag.libraryCode) {
                let string = unsafe SoundFile.string(UnsafeRawBufferPointer(start: text, count: strlen(text)))
                if !string.isEmpty { tags[tag] = string }
            }
        }
        return tags
    }

    private var tags: [AudioFileTag: String] {
        var tags = unsafe SoundFile.tags(of: handle)
        // The library leaves out texts for which it has no room.
        if case .wav = AudioFileFormat(libraryCode: code).container {
            unsafe tags.merge(WAVFile.tags(of: stream.pointee.file)) { _, own in own }
        }
        return tags
    }

    /// Returns a text of UTF-8 bytes, or else of Latin-1, in which older tags are written.
    static func string(_ bytes: UnsafeRawBufferPointer) -> String {
        if let text = unsafe String(validating: bytes, as: UTF8.self) { return text }
        return unsafe String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

// MARK: - Writing

extension SoundFile {
    /// Begins to write into an empty file.
    init(
        writing file: consuming FileDescriptor, path: String, format: AudioFileFormat, sampleRate: Double,
        channels: Int, tags: [AudioFileTag: String], marks: [AudioFileMark]
    ) throws(AudioFileError) {
        let stream = UnsafeMutablePointer<FileStream>.allocate(capacity: 1)
        unsafe stream.initialize(to: FileStream(file, isWriting: true))
        var info = SoundFile.settings(
            code: format.libraryCode ?? 0, sampleRate: sampleRate, channels: channels)
        var callbacks = FileStream.callbacks()
        guard let handle = unsafe sf_open_virtual(&callbacks, Int32(SFM_WRITE), &info, stream) else {
            let failure = unsafe stream.pointee.failure
            unsafe stream.deinitialize(count: 1)
            unsafe stream.deallocate()
            if failure != 0 { throw AudioFileError(path: path, systemError: failure) }
            throw AudioFileError(
                path: path, reason: .unsuitableFormat,
                explanation: "\(SoundFile.text(sf_error(nil))); choose another format")
        }
        var opened = unsafe SoundFile(handle: handle, stream: stream, info: info)
        // Peaks come with the time of day: the same samples would not make the same file.
        unsafe sf_command(handle, Int32(SFC_SET_ADD_PEAK_CHUNK), nil, 0)
        if format.encoding == .mp3 {
            // With a bit rate that varies only the header of a finished file says how long it is.
            var mode = Int32(SF_BITRATE_MODE_CONSTANT)
            unsafe sf_command(handle, Int32(SFC_SET_BITRATE_MODE), &mode, Int32(MemoryLayout<Int32>.size))
        }
        if format.encoding == .opus {
            unsafe stream.pointee.page = OggPage()
            // If the program is killed, less than a page is lost; by default the library takes a second for one.
            var latency = 200.0
            unsafe sf_command(
                handle, Int32(SFC_SET_OGG_PAGE_LATENCY_MS), &latency, Int32(MemoryLayout<Double>.size))
        }
        var asked = format.quality
        if format.encoding == .mp3 && (asked != nil || channels == 1 && sampleRate < 32_000) {
            asked = max(asked ?? 0, MPEGFrames.leastQuality(sampleRate: sampleRate, channels: channels))
        }
        if var quality = asked {
            unsafe sf_command(
                handle, Int32(SFC_SET_VBR_ENCODING_QUALITY), &quality, Int32(MemoryLayout<Double>.size))
        }
        // The library (1.2.0) writes longer ones, and then refuses to read the file.
        let longest = format.container == .aiff ? 8_000 : Int.max
        for (tag, text) in tags.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where !text.isEmpty && text.utf8.count <= longest {
            // A format that cannot keep it refuses it; the samples are what matters.
            _ =
                format.encoding == .mp3
                ? unsafe sf_set_string(handle, tag.libraryCode, SoundFile.latin1(text))
                : unsafe sf_set_string(handle, tag.libraryCode, text)
        }
        if format.container == .aiff { unsafe SoundFile.write(marks, handle) }
        if format.hasLivingHeader {
            // The header is shorter now than the one that was written when the file was opened.
            opened.updateHeader()
            opened.truncate(to: opened.position)
        }
        if opened.failure != 0 { throw AudioFileError(path: path, systemError: opened.failure) }
        self = opened
    }

    /// Returns a text in Latin 1, as the MP3 encoder writes it into ID3 tags.
    private static func latin1(_ text: String) -> [CChar] {
        text.unicodeScalars.map { CChar(truncatingIfNeeded: $0.value < 256 ? $0.value : 63) } + [0]
    }

    private static func settings(code: Int32, sampleRate: Double, channels: Int) -> SF_INFO {
        SF_INFO(
            frames: 0, samplerate: Int32(sampleRate), channels: Int32(channels), format: code, sections: 0, seekable: 0)
    }

    /// Asks the library whether it would write such a file, without making one.
    static func refusal(code: Int32, sampleRate: Double, channels: Int) -> String? {
        var info = settings(code: code, sampleRate: sampleRate, channels: channels)
        guard unsafe sf_format_check(&info) != 0 else { return "the library does not write this" }
        var callbacks = unsafe SF_VIRTUAL_IO(
            get_filelen: { unsafe $0!.load(as: Int64.self) },
            seek: { offset, origin, end in
                // A file without end: whatever is written is thrown away, only the position counts.
                let position = unsafe origin == SEEK_SET ? offset : end!.load(as: Int64.self) + offset
                unsafe end!.storeBytes(of: position, as: Int64.self)
                return position
            },
            read: { _, _, _ in 0 },
            write: { _, count, end in
                unsafe end!.storeBytes(of: end!.load(as: Int64.self) + count, as: Int64.self)
                return count
            },
            tell: { unsafe $0!.load(as: Int64.self) })
        var end: Int64 = 0
        guard let handle = unsafe sf_open_virtual(&callbacks, Int32(SFM_WRITE), &info, &end) else {
            return text(sf_error(nil))
        }
        unsafe sf_close(handle)
        return nil
    }

    /// Writes frames whose channels take turns: integers that begin at the highest bit.
    ///
    /// - Returns: The number of frames that the library took. `failure` says whether they reached the file.
    mutating func write(_ frames: Int, from samples: borrowing [Int32]) -> Int {
        Int(unsafe samples.withUnsafeBufferPointer { unsafe sf_writef_int(handle, $0.baseAddress!, Int64(frames)) })
    }

    /// Writes frames whose channels take turns.
    mutating func write(_ frames: Int, from samples: borrowing [Float]) -> Int {
        Int(unsafe samples.withUnsafeBufferPointer { unsafe sf_writef_float(handle, $0.baseAddress!, Int64(frames)) })
    }

    /// Brings the header up to date, if the format has one for which the library must be asked.
    mutating func updateHeader() { unsafe sf_command(handle, Int32(SFC_UPDATE_HEADER_NOW), nil, 0) }

    /// Cuts the file off where the write began that failed, so that it ends with something whole.
    mutating func cutFailedWrite() {
        if failure != 0 { unsafe stream.pointee.truncate(to: stream.pointee.failedAt) }
    }

    /// Cuts the file off.
    mutating func truncate(to length: Int64) { unsafe stream.pointee.truncate(to: length) }

    /// Overwrites bytes near the beginning behind the library's back.
    mutating func patch(_ bytes: [UInt8], at position: Int64) {
        unsafe stream.pointee.patch(bytes, at: position)
    }
}
