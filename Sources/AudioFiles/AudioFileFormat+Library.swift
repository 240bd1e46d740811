internal import CSndFile

// The library's numbers.

extension AudioFileFormat {
    /// The numbers of the containers; the first is the one to write.
    private static let containers: [(container: Container, codes: [Int])] = [
        (.wav, [SF_FORMAT_RF64, SF_FORMAT_WAV, SF_FORMAT_WAVEX, SF_FORMAT_W64]), (.aiff, [SF_FORMAT_AIFF]),
        (.caf, [SF_FORMAT_CAF]), (.flac, [SF_FORMAT_FLAC]), (.ogg, [SF_FORMAT_OGG]), (.mpeg, [SF_FORMAT_MPEG]),
    ]

    /// The numbers of the encodings; the first is the one to write.
    private static let encodings: [(encoding: Encoding, codes: [Int])] = [
        (.int8, [SF_FORMAT_PCM_S8, SF_FORMAT_PCM_U8]), (.int16, [SF_FORMAT_PCM_16]), (.int24, [SF_FORMAT_PCM_24]),
        (.int32, [SF_FORMAT_PCM_32]), (.float32, [SF_FORMAT_FLOAT]), (.float64, [SF_FORMAT_DOUBLE]),
        (.vorbis, [SF_FORMAT_VORBIS]), (.opus, [SF_FORMAT_OPUS]), (.mp3, [SF_FORMAT_MPEG_LAYER_III]),
    ]

    /// The number of a format that the library writes; `nil` if there is none.
    var libraryCode: Int32? {
        let written: [Encoding] =
            switch container {
            case .wav, .aiff, .caf: [.int16, .int24, .int32, .float32]
            case .flac: [.int16, .int24]
            case .ogg: [.vorbis, .opus]
            case .mpeg: [.mp3]
            case .other: []
            }
        guard written.contains(encoding), let holder = Self.containers.first(where: { $0.container == container }),
            let content = Self.encodings.first(where: { $0.encoding == encoding })
        else { return nil }
        return Int32(holder.codes[0] | content.codes[0])
    }

    /// Creates the format for a number that the library found in a file.
    init(libraryCode code: Int32) {
        let holder = Int(code) & SF_FORMAT_TYPEMASK, content = Int(code) & SF_FORMAT_SUBMASK
        self.init(
            Self.containers.first { $0.codes.contains(holder) }?.container ?? .other(Self.name(Int32(holder))),
            Self.encodings.first { $0.codes.contains(content) }?.encoding ?? .other(Self.name(Int32(content))))
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
