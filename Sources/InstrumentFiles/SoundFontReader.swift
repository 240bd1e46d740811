internal import RenderCore

/// Reads SoundFont 2.04: a RIFF file whose list `pdta` describes presets, instruments and samples, and whose list `sdta` has
/// the samples.
struct SoundFontReader {
    private(set) var name = ""
    private(set) var presets: [SoundFont.Preset] = []
    var notices = InstrumentNotices()
    private(set) var memorySize = 0
    var draft = InstrumentDraft()
    private(set) var frames: [SampleFrames] = []
    private(set) var owners: [SampleOwner] = []
    private(set) var disk: SampleDisk?

    private let source: ByteSource
    private let limit: Int
    private var lists: [String: SoundFontList] = [:]
    private var smpl: (position: Int, count: Int)?
    private var sm24: (position: Int, count: Int)?

    init(_ source: ByteSource, limit: Int) {
        self.source = source
        self.limit = limit
    }

    func fault(_ reason: String, at position: Int? = nil) -> InstrumentFileError {
        InstrumentFileError(path: source.path, position: position, reason)
    }

    mutating func read() throws(InstrumentFileError) {
        try readChunks()
        let headers = try list("shdr", size: 46), phdr = try list("phdr", size: 38), inst = try list("inst", size: 22)
        let samples = try readHeaders(headers)
        try load(samples)
        var zones = SoundFontZones(
            presets: SoundFontBags(
                heads: phdr, indexAt: 24, bags: try list("pbag", size: 4), generators: try list("pgen", size: 4),
                modulators: try list("pmod", size: 10)),
            instruments: SoundFontBags(
                heads: inst, indexAt: 20, bags: try list("ibag", size: 4), generators: try list("igen", size: 4),
                modulators: try list("imod", size: 10)),
            samples: samples)
        do throws(SoundFontFault) {
            try zones.check()
            var found: [(preset: SoundFont.Preset, first: Int, count: Int)] = []
            for index in 0..<phdr.count - 1 {
                let first = draft.regions.count
                try zones.flatten(preset: index, into: &draft, &notices)
                let bank = phdr.word(index, at: 22), program = phdr.word(index, at: 20)
                guard program < 128 else {
                    notices.add("Preset \(index) is left out: it is program \(program), and programs are 0…127.")
                    continue
                }
                let preset = SoundFont.Preset(bank: bank, program: program, name: phdr.text(index, at: 0, count: 20))
                found.append((preset, first, draft.regions.count - first))
            }
            found = found.enumerated().sorted { a, b in
                (a.element.preset.bank, a.element.preset.program, a.offset)
                    < (b.element.preset.bank, b.element.preset.program, b.offset)
            }.map(\.element)
            presets = found.map(\.preset)
            draft.presets = found.map { entry in
                InstrumentPreset(
                    bank: Int32(entry.preset.bank), program: Int32(entry.preset.program), first: Int32(entry.first),
                    count: Int32(entry.count))
            }
        } catch {
            throw fault(error.reason, at: error.position)
        }
        guard !presets.isEmpty else { throw fault("it has no preset") }
    }

    // MARK: Chunks

    private mutating func readChunks() throws(InstrumentFileError) {
        let head = SoundFontList(source.read(at: 0, count: 12), position: 0, size: 12)
        guard head.count == 1, head.text(0, at: 0, count: 4) == "RIFF", head.text(0, at: 8, count: 4) == "sfbk" else {
            throw fault("it is not a SoundFont, which begins with “RIFF” and “sfbk”", at: 0)
        }
        try readChunks(from: 12, to: min(source.count, 8 + head.long(0, at: 4)), inside: "")
        guard smpl != nil || lists["shdr"] != nil else { throw fault("it ends before its presets", at: source.count) }
    }

    private mutating func readChunks(from first: Int, to end: Int, inside list: String) throws(InstrumentFileError) {
        var position = first
        while position + 8 <= end {
            let head = SoundFontList(source.read(at: position, count: 12), position: position, size: 8)
            guard head.count >= 1 else { throw fault("the file ends in the middle of a chunk", at: position) }
            let (name, count) = (head.text(0, at: 0, count: 4), head.long(0, at: 4))
            let (body, rest) = (position + 8, source.count - position - 8)
            guard count <= rest else {
                throw fault("the chunk “\(name)” of \(count) bytes begins, and the file has \(rest) more", at: position)
            }
            // Else many small lists could each have the rest of the file read and kept.
            guard list.isEmpty || count <= end - body else {
                throw fault("the chunk “\(name)” of \(count) bytes goes beyond the end of its list", at: position)
            }
            switch (list, name) {
            case ("", "LIST"):
                let kind = SoundFontList(source.read(at: body, count: 4), position: body, size: 4)
                let inner = kind.count == 1 ? kind.text(0, at: 0, count: 4) : ""
                // A list without a name would be read as the file itself is, and could hold lists without end.
                guard count >= 4, !inner.isEmpty else { throw fault("a list has no name", at: position) }
                try readChunks(from: body + 4, to: body + count, inside: inner)
            case ("INFO", "ifil"):
                let version = SoundFontList(source.read(at: body, count: 4), position: body, size: 4)
                if version.count == 1, version.word(0, at: 0) != 2 {
                    throw fault("it is of version \(version.word(0, at: 0)); version 2 can be read", at: body)
                }
            case ("INFO", "INAM"):
                let text = SoundFontList(
                    source.read(at: body, count: min(count, 256)), position: body, size: min(count, 256))
                self.name = text.count > 0 ? text.text(0, at: 0, count: min(count, 256)) : ""
            case ("sdta", "smpl"): smpl = (body, count)
            case ("sdta", "sm24"): sm24 = (body, count)
            case ("pdta", _):
                guard count < 64 << 20 else {
                    throw fault("the list “\(name)” has \(count) bytes: too many", at: position)
                }
                lists[name] = SoundFontList(source.read(at: body, count: count), position: body, size: 1)
            default: break
            }
            position = body + count + count % 2
        }
    }

    private func list(_ name: String, size: Int) throws(InstrumentFileError) -> SoundFontList {
        guard let list = lists[name] else { throw fault("the list “\(name)” is missing") }
        guard list.bytes.count % size == 0 else {
            throw fault("the list “\(name)” ends in the middle of an entry", at: list.position + list.bytes.count)
        }
        guard list.bytes.count >= size else { throw fault("the list “\(name)” has no entry", at: list.position) }
        return SoundFontList(list.bytes, position: list.position, size: size)
    }

    // MARK: Samples

    private mutating func readHeaders(_ list: SoundFontList) throws(InstrumentFileError) -> [SoundFontSample] {
        let total = (smpl?.count ?? 0) / 2
        return (0..<max(0, list.count - 1)).map { index in
            var sample = SoundFontSample()
            let name = list.text(index, at: 0, count: 20)
            (sample.start, sample.end) = (list.long(index, at: 20), list.long(index, at: 24))
            (sample.loopStart, sample.loopEnd) = (list.long(index, at: 28), list.long(index, at: 32))
            sample.rate = list.long(index, at: 36)
            let key = Int(list.byte(index, at: 40))
            sample.key = key < 128 ? key : 60
            sample.correction = Int(Int8(bitPattern: list.byte(index, at: 41)))
            let place = "Sample \(index), “\(name)”,"
            if list.word(index, at: 44) & 0x8000 != 0 {
                notices.add("\(place) is left out: it is in the ROM of a sound card.")
            } else if list.word(index, at: 44) & 0x10 != 0 {
                notices.add("\(place) is left out: it is compressed.")
            } else if sample.end > total || sample.start >= sample.end {
                notices.add(
                    "\(place) is left out: it has the frames \(sample.start)…\(sample.end) of \(total) (at byte \(list.place(index)))."
                )
            } else if sample.rate < 400 || sample.rate > 1_000_000 {
                notices.add("\(place) is left out: it has \(sample.rate) Hz (at byte \(list.place(index))).")
            } else {
                sample.isThere = true
            }
            return sample
        }
    }

    private mutating func load(_ samples: [SoundFontSample]) throws(InstrumentFileError) {
        let (position, bytes) = smpl ?? (0, 0)
        let count = bytes / 2
        if bytes > limit {
            return loadBeginnings(samples, position: position)
        }
        let words = AlignedMemory<Int16>(count: count)
        let got = unsafe source.read(at: position, count: 2 * count, into: UnsafeMutableRawPointer(words.base))
        guard got == 2 * count else { throw fault("the samples could not be read", at: position + got) }
        for i in 0..<count where Int16(littleEndian: 1) != 1 {
            unsafe words.base[i] = Int16(littleEndian: words.base[i])
        }
        memorySize = 2 * count
        let owner: WordSamples
        if let sm24, sm24.count >= count, count > 0 {
            let low = AlignedMemory<UInt8>(count: count)
            let got = unsafe source.read(at: sm24.position, count: count, into: UnsafeMutableRawPointer(low.base))
            guard got == count else { throw fault("the samples could not be read", at: sm24.position + got) }
            memorySize += count
            owner = WordSamples(words, low: low)
        } else {
            owner = WordSamples(words, low: nil)
        }
        owners = [owner]
        frames = samples.map { $0.isThere ? owner.frames(from: $0.start, count: $0.end - $0.start) : SampleFrames() }
    }

    /// Loads the beginnings of the samples: the rest stays on the disk.
    private mutating func loadBeginnings(_ samples: [SoundFontSample], position: Int) {
        let disk = SampleDisk(source, position: position, starts: samples.map(\.start), residentCount: 32_768)
        for (index, sample) in samples.enumerated() {
            guard sample.isThere else {
                frames.append(SampleFrames())
                continue
            }
            let all = sample.end - sample.start
            let count = min(all, disk.residentCount)
            let words = AlignedMemory<Int16>(count: count)
            unsafe disk.read(index, from: 0, count: count, into: words.base)
            let owner = WordSamples(words, low: nil)
            owners.append(owner)
            frames.append(owner.frames(from: 0, count: all))
            memorySize += 2 * count
        }
        self.disk = disk
    }
}

extension WordSamples {
    /// Returns frames of the memory.
    func frames(from first: Int, count: Int) -> SampleFrames {
        let rest: UnsafePointer<UInt8>?
        switch low {
        case .some(let low): unsafe rest = UnsafePointer(low.base + first)
        case .none: unsafe rest = nil
        }
        return unsafe SampleFrames(words: words.base + first, low: rest, count: count)
    }
}

/// A sample's header.
struct SoundFontSample {
    var start = 0
    var end = 0
    var loopStart = 0
    var loopEnd = 0
    var rate = 44_100
    var key = 60
    var correction = 0
    var isThere = false
}

/// A reason to refuse a file, with its place.
struct SoundFontFault: Error {
    let reason: String
    let position: Int?
}

/// A chunk of the file as entries of a size.
struct SoundFontList {
    let bytes: [UInt8]
    /// The place of the first byte in the file.
    let position: Int
    private let size: Int
    /// The number of whole entries.
    let count: Int

    init(_ bytes: [UInt8], position: Int, size: Int) {
        self.bytes = bytes
        self.position = position
        self.size = max(1, size)
        count = bytes.count / self.size
    }

    func place(_ index: Int) -> Int { position + index * size }
    func byte(_ index: Int, at offset: Int) -> UInt8 { bytes[index * size + offset] }
    func word(_ index: Int, at offset: Int) -> Int {
        let i = index * size + offset
        return Int(bytes[i]) | Int(bytes[i + 1]) << 8
    }
    func long(_ index: Int, at offset: Int) -> Int { word(index, at: offset) | word(index, at: offset + 2) << 16 }
    func text(_ index: Int, at offset: Int, count: Int) -> String {
        let i = index * size + offset
        let end = min(bytes.count, i + count)
        return String(decoding: bytes[min(i, end)..<end].prefix { $0 != 0 }, as: UTF8.self)
    }
}
