internal import AudioFiles
internal import RenderCore

/// Makes regions out of the sections of an SFZ file.
struct SFZReader {
    var draft = InstrumentDraft()
    var notices = InstrumentNotices()
    private(set) var unknown: [SFZInstrument.Opcode] = []
    private(set) var frames: [SampleFrames] = []
    private(set) var owners: [SampleOwner] = []
    private(set) var memorySize = 0

    private let path: String
    private let folder: String
    private let limit: Int
    private var known: Set<String> = []
    /// The samples that were read: the number of the first channel, and how many there are.
    private var samples: [String: (first: Int, channels: Int, rate: Double, count: Int)?] = [:]

    /// The opcodes that regions have taken, those of the headers above them for each region anew.
    private var takenCount = 0

    /// The most regions of an instrument, and the most opcodes that all of them together take.
    private static let mostRegions = 100_000
    private static let mostTaken = 1 << 25

    init(path: String, folder: String, limit: Int) {
        self.path = path
        self.folder = folder
        self.limit = limit
    }

    private func fault(_ line: Int, _ reason: String) -> InstrumentFileError {
        InstrumentFileError(path: path, line: line, reason)
    }

    mutating func read(_ text: SFZText) throws(InstrumentFileError) {
        var levels: [[SFZOpcode]] = [[], [], []]
        var control = SFZControl()
        var lastLine = 1
        for section in text.sections {
            lastLine = section.line
            switch section.header {
            case "control":
                for opcode in section.opcodes where !control.take(opcode) { note(opcode) }
            case "global": levels = [section.opcodes, [], []]
            case "master": levels = [levels[0], section.opcodes, []]
            case "group": levels[2] = section.opcodes
            case "region":
                takenCount += levels.reduce(section.opcodes.count) { $0 + $1.count }
                guard takenCount <= Self.mostTaken else {
                    throw fault(section.line, "its headers give its regions too many opcodes")
                }
                var settings = SFZRegion()
                for opcode in levels.joined() where !settings.take(opcode, control) { note(opcode) }
                for opcode in section.opcodes where !settings.take(opcode, control) { note(opcode) }
                try add(settings, line: section.line)
            default:
                for opcode in section.opcodes { note(opcode, as: "<\(section.header)> \(opcode.name)") }
                if section.opcodes.isEmpty {
                    notices.add("Line \(section.line): the header <\(section.header)> is not known.")
                }
            }
        }
        guard !draft.regions.isEmpty else {
            throw fault(
                lastLine, notices.list.first.map { "it has no region that sounds. \($0)".dropDot } ?? "it has no region"
            )
        }
        draft.presets = [InstrumentPreset(bank: 0, program: 0, first: 0, count: Int32(draft.regions.count))]
    }

    private mutating func note(_ opcode: SFZOpcode, as name: String? = nil) {
        let name = name ?? opcode.name
        guard unknown.count < 10_000, known.insert("\(name)=\(opcode.value)").inserted else { return }
        unknown.append(.init(name: name, value: opcode.value, file: opcode.file, line: opcode.line))
    }

    private mutating func add(_ settings: SFZRegion, line: Int) throws(InstrumentFileError) {
        guard let name = settings.sample else {
            notices.add("Line \(line): a region without a sample is left out.")
            return
        }
        guard settings.isWanted else { return }
        guard let sample = try load(name, line: line) else { return }
        for channel in 0..<min(2, sample.channels) {
            guard draft.regions.count < Self.mostRegions else {
                throw fault(line, "it has more than \(Self.mostRegions) regions")
            }
            var region = settings.region(count: sample.count)
            guard region.start < region.end else {
                notices.add("Line \(line): a region is left out: it begins behind the end of its sample.")
                return
            }
            region.sample = Int32(sample.first + channel)
            region.sampleRate = sample.rate
            let side = sample.channels > 1 ? (channel == 0 ? -500 : 500) : 0
            draft.add(region, settings.generators(side: side), settings.links)
        }
    }

    /// Reads a sound file, once.
    private mutating func load(
        _ name: String, line: Int
    ) throws(InstrumentFileError) -> (first: Int, channels: Int, rate: Double, count: Int)? {
        if let found = samples[name] { return found }
        samples[name] = .some(nil)
        if name.hasPrefix("*") {
            notices.add("Line \(line): the generator “\(name)” is left out; samples are files.")
            return nil
        }
        let place = name.hasPrefix("/") ? name : folder + name
        do {
            var reader = try AudioFileReader(path: place)
            let channels = reader.info.channelCount, rate = reader.info.sampleRate
            guard channels <= 2, rate >= 400, rate <= 1_000_000 else {
                notices.add("Line \(line): “\(name)” is left out: it has \(channels) channels at \(rate) Hz.")
                return nil
            }
            // A header may promise more than there is: the memory is taken as the frames come.
            var floats = [[Float]](repeating: [], count: channels)
            var block = AudioBlock(channels: channels, frames: 16_384)
            while true {
                let got = try reader.read(into: &block)
                if got == 0 { break }
                memorySize += 4 * got * channels
                guard memorySize <= limit, floats[0].count < 1 << 30 else {
                    throw fault(line, "its samples need more than \(limit >> 20) MB")
                }
                for channel in 0..<channels {
                    let samples = block.samples(channel)
                    for i in 0..<got { floats[channel].append(samples[i].isFinite ? samples[i] : 0) }
                }
            }
            guard !floats[0].isEmpty else {
                notices.add("Line \(line): “\(name)” is left out: it is empty.")
                return nil
            }
            let entry = (first: frames.count, channels: channels, rate: rate, count: floats[0].count)
            for channel in floats {
                let owner = FloatSamples(AlignedMemory(channel))
                owners.append(owner)
                frames.append(unsafe SampleFrames(floats: owner.floats.base, count: channel.count))
            }
            samples[name] = .some(entry)
            return entry
        } catch let error as InstrumentFileError {
            throw error
        } catch {
            notices.add("Line \(line): \(error)")
            return nil
        }
    }
}

extension String {
    /// The text without a dot at its end.
    fileprivate var dropDot: String { hasSuffix(".") ? String(dropLast()) : self }
}
