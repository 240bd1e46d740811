internal import CMPG123
internal import Glibc
internal import RenderCore

/// A stream of MPEG layer III, which libmpg123 decodes: it is fed with what has come, and finds its way behind damaged bytes.
@safe final class MPEGStream: StreamDecoder {
    private let input: StreamInput
    private let handle: OpaquePointer
    private(set) var info: AudioStreamInfo
    /// Indicates whether frames of another rate or number of channels follow.
    private var isOther = false
    private var bytes = [UInt8](repeating: 0, count: 4_096)

    init(_ input: StreamInput) throws(AudioFileError) {
        mpg123_init()
        guard let handle = unsafe mpg123_new(nil, nil) else {
            throw AudioFileError(
                path: input.name, reason: .unavailable, cannot: "read",
                explanation: "the library for MP3 cannot be used on this machine")
        }
        unsafe self.handle = handle
        self.input = input
        input.isPatient = false
        info = AudioStreamInfo(name: input.name, format: .mp3(), sampleRate: 0, channelCount: 0, tags: [:])
        let flags = Int(MPG123_FORCE_FLOAT.rawValue | MPG123_QUIET.rawValue | MPG123_GAPLESS.rawValue)
        unsafe mpg123_param(handle, MPG123_FLAGS, flags, 0)
        // However long the damaged part is, it goes on behind it.
        unsafe mpg123_param(handle, MPG123_RESYNC_LIMIT, -1, 0)
        unsafe mpg123_open_feed(handle)
        var none: Float = 0
        while !isOther {
            if unsafe decode(1, into: &none) > 0 || isOther { continue }
            throw input.failure
                ?? AudioFileError(
                    path: input.name, reason: .damaged, cannot: "read",
                    explanation: "it is damaged (no frame of it is whole); get another copy of it")
        }
        isOther = false
        learn()
        // A tag that comes later may be as long as it likes.
        unsafe mpg123_param(handle, MPG123_ADD_FLAGS, Int(MPG123_SKIP_ID3V2.rawValue), 0)
    }

    deinit { unsafe mpg123_delete(handle) }

    func read(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int {
        isOther ? 0 : unsafe decode(frames, into: room)
    }

    func goOn() -> Bool {
        guard isOther else { return false }
        isOther = false
        learn()
        return true
    }

    private func decode(_ frames: Int, into room: UnsafeMutablePointer<Float>) -> Int {
        let size = max(1, info.channelCount) * MemoryLayout<Float>.size
        while true {
            var done = 0
            let outcome = unsafe mpg123_read(handle, room, info.channelCount == 0 ? 0 : frames * size, &done)
            if outcome == MPG123_NEW_FORMAT.rawValue { isOther = true }
            if done > 0 || isOther { return done / size }
            if outcome == MPG123_DONE.rawValue { return 0 }
            // It has taken all that was there, or is lost: both end with more bytes.
            let count = unsafe bytes.withUnsafeMutableBytes { unsafe input.read(into: $0) }
            if count == 0 { return 0 }
            _ = unsafe bytes.withUnsafeBufferPointer { unsafe mpg123_feed(handle, $0.baseAddress, count) }
        }
    }

    /// Looks at the format of the frames that follow.
    private func learn() {
        var (rate, channels, encoding) = (0, Int32(0), Int32(0))
        unsafe mpg123_getformat(handle, &rate, &channels, &encoding)
        info = AudioStreamInfo(
            name: input.name, format: .mp3(), sampleRate: Double(rate), channelCount: Int(channels), tags: tags)
    }

    private var tags: [AudioFileTag: String] {
        var old: UnsafeMutablePointer<mpg123_id3v1>?
        var new: UnsafeMutablePointer<mpg123_id3v2>?
        guard unsafe mpg123_id3(handle, &old, &new) == MPG123_OK.rawValue, let tag = unsafe new?.pointee else {
            return [:]
        }
        let texts: [(AudioFileTag, UnsafeMutablePointer<mpg123_string>?)] = unsafe [
            (.title, tag.title), (.artist, tag.artist), (.album, tag.album), (.genre, tag.genre), (.date, tag.year),
            (.comment, tag.comment),
        ]
        var tags: [AudioFileTag: String] = [:]
        for index in unsafe texts.indices {
            let (tag, text) = unsafe texts[index]
            guard let text = unsafe text?.pointee, let start = unsafe text.p, unsafe text.fill > 1 else { continue }
            tags[tag] = unsafe SoundFile.string(UnsafeRawBufferPointer(start: start, count: strlen(start)))
        }
        return tags.filter { !$0.value.isEmpty }
    }
}
