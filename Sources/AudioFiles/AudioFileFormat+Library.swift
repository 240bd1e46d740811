internal import CSndFile

// The library's numbers.

extension AudioFileFormat {
    /// The number of a format that the library writes; `nil` if there is none.
    var libraryCode: Int32? {
        let holder: Int, content: Int
        switch (container, encoding) {
        case (.wav, .int16), (.wav, .int24), (.wav, .int32), (.wav, .float32): holder = SF_FORMAT_RF64
        case (.aiff, .int16), (.aiff, .int24), (.aiff, .int32), (.aiff, .float32): holder = SF_FORMAT_AIFF
        case (.caf, .int16), (.caf, .int24), (.caf, .int32), (.caf, .float32): holder = SF_FORMAT_CAF
        case (.flac, .int16), (.flac, .int24): holder = SF_FORMAT_FLAC
        case (.ogg, .vorbis), (.ogg, .opus): holder = SF_FORMAT_OGG
        case (.mpeg, .mp3): holder = SF_FORMAT_MPEG
        default: return nil
        }
        switch encoding {
        case .int16: content = SF_FORMAT_PCM_16
        case .int24: content = SF_FORMAT_PCM_24
        case .int32: content = SF_FORMAT_PCM_32
        case .float32: content = SF_FORMAT_FLOAT
        case .vorbis: content = SF_FORMAT_VORBIS
        case .opus: content = SF_FORMAT_OPUS
        case .mp3: content = SF_FORMAT_MPEG_LAYER_III
        default: return nil
        }
        return Int32(holder | content)
    }

    /// Creates the format for a number that the library found in a file.
    init(libraryCode code: Int32) {
        let holder = Int(code) & SF_FORMAT_TYPEMASK, content = Int(code) & SF_FORMAT_SUBMASK
        let container: Container =
            switch holder {
            case SF_FORMAT_WAV, SF_FORMAT_WAVEX, SF_FORMAT_RF64, SF_FORMAT_W64: .wav
            case SF_FORMAT_AIFF: .aiff
            case SF_FORMAT_CAF: .caf
            case SF_FORMAT_FLAC: .flac
            case SF_FORMAT_OGG: .ogg
            case SF_FORMAT_MPEG: .mpeg
            default: .other(AudioFileFormat.name(Int32(holder)))
            }
        let encoding: Encoding =
            switch content {
            case SF_FORMAT_PCM_S8, SF_FORMAT_PCM_U8: .int8
            case SF_FORMAT_PCM_16: .int16
            case SF_FORMAT_PCM_24: .int24
            case SF_FORMAT_PCM_32: .int32
            case SF_FORMAT_FLOAT: .float32
            case SF_FORMAT_DOUBLE: .float64
            case SF_FORMAT_VORBIS: .vorbis
            case SF_FORMAT_OPUS: .opus
            case SF_FORMAT_MPEG_LAYER_III: .mp3
            default: .other(AudioFileFormat.name(Int32(content)))
            }
        self.init(container, encoding)
    }

    private static func name(_ code: Int32) -> String {
        var info = unsafe SF_FORMAT_INFO(format: code, name: nil, extension: nil)
        unsafe sf_command(nil, Int32(SFC_GET_FORMAT_INFO), &info, Int32(MemoryLayout<SF_FORMAT_INFO>.size))
        return unsafe info.name.map { unsafe String(cString: $0) } ?? "format \(code)"
    }
}

extension AudioFileTag {
    /// The library's number.
    var libraryCode: Int32 {
        switch self {
        case .title: Int32(SF_STR_TITLE)
        case .artist: Int32(SF_STR_ARTIST)
        case .album: Int32(SF_STR_ALBUM)
        case .trackNumber: Int32(SF_STR_TRACKNUMBER)
        case .genre: Int32(SF_STR_GENRE)
        case .date: Int32(SF_STR_DATE)
        case .comment: Int32(SF_STR_COMMENT)
        case .copyright: Int32(SF_STR_COPYRIGHT)
        case .license: Int32(SF_STR_LICENSE)
        case .software: Int32(SF_STR_SOFTWARE)
        }
    }
}
