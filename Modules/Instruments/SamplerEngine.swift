internal import InstrumentFiles
internal import RenderCore
internal import Voices

/// The voices of a SoundFont player, and what they have in common. It belongs to the render thread.
struct SamplerEngine: ~Copyable, Sendable {
    /// Voices that may sound, those that make room not counted.
    private let limit: Int
    let table: InstrumentTable.Reference
    private let instrument: InstrumentTable
    private let owner: SampleStreams?
    let streams: SampleStreams.Reference?
    var voices: RenderMemory<SamplerVoice>
    var channels: RenderMemory<SamplerChannel>
    private var lanes: SamplerLanes
    private var values = RenderMemory<Float>(repeating: 0, count: 64)
    /// Left, right, reverb, chorus: so many frames each.
    private var output: RenderMemory<Float>
    let capacity: Int
    private let outputs: Int
    let sampleRate: Double
    /// The amplitude of a full scale.
    private let level: Float
    var lastOrder = 0
    /// The pitch of the keys, for notes that begin. Drums have none.
    var tuning = TuningTable()
    private var seed: UInt32 = 22
    /// The number of voices that were stolen, and of frames that the disk did not bring.
    private(set) var stolenCount = 0
    private(set) var missingCount: Int64 = 0
    private(set) var soundingCount = 0

    /// Voices that may be on their way to silence, to make room.
    private static var spare: Int { 32 }
    /// Seconds in which a voice makes room.
    static var fadeTime: Float { @_noLocks @_noAllocation get { 0.005 } }
    /// Seconds in which a voice gives way to another of its class.
    static var classTime: Float { @_noLocks @_noAllocation get { 0.03 } }

    /// - Parameters:
    ///   - instrument: The instrument.
    ///   - limit: The number of voices.
    ///   - isFine: `true` to read between sixteen neighbours.
    ///   - outputs: 2, or 4 with the sends.
    ///   - frames: The most frames of a slice.
    init(
        _ instrument: InstrumentTable, streams: SampleStreams?, voices limit: Int, isFine: Bool, outputs: Int,
        level: Float, sampleRate: Double, frames: Int
    ) {
        self.limit = limit
        self.instrument = instrument
        owner = streams
        self.streams = streams?.reference
        table = instrument.reference
        lanes = SamplerLanes(count: limit + Self.spare, isFine: isFine)
        voices = RenderMemory(repeating: SamplerVoice(), count: lanes.count)
        channels = RenderMemory(repeating: SamplerChannel(isDrums: false), count: 16)
        output = RenderMemory(repeating: 0, count: 4 * max(1, frames))
        capacity = max(1, frames)
        self.outputs = outputs
        self.level = level
        self.sampleRate = sampleRate
        resetChannels()
    }

    @_noLocks @_noAllocation
    private mutating func resetChannels() {
        for index in 0..<16 {
            channels[index] = SamplerChannel(isDrums: index == 9)
            choose(index)
        }
    }

    /// Silence, at once, and channels as at the start.
    @_noLocks @_noAllocation
    mutating func reset() {
        for index in 0..<voices.count {
            free(index)
        }
        resetChannels()
        (lastOrder, seed, soundingCount) = (0, 22, 0)
    }

    /// Finds the preset for the bank and the program of a channel: else that of the program in bank 0, else the first.
    @_noLocks @_noAllocation
    mutating func choose(_ channel: Int) {
        let (bank, program) = (channels[channel].bank, channels[channel].program)
        var (best, rank) = (-1, 0)
        for index in 0..<table.presetCount {
            let preset = table.preset(index)
            let (isBank, isProgram) = (Int(preset.bank) == bank, Int(preset.program) == program)
            let isKind = (preset.bank == 128) == (bank == 128)
            let value =
                isBank && isProgram ? 5 : preset.bank == 0 && isProgram && bank != 128 ? 4 : isBank ? 3 : isKind ? 2 : 1
            if value > rank { (best, rank) = (index, value) }
        }
        channels[channel].preset = best
    }

    // MARK: Sound

    /// Renders frames of a slice into the memory of the outputs.
    ///
    /// - Parameter clock: The sample time of the slice's first frame.
    @_noLocks @_noAllocation
    mutating func render(from first: Int, to end: Int, clock: Int64) {
        var frame = first
        while frame < end {
            // Chunks lie on the sample clock: numbers are made anew in each, however the cycles are cut.
            let now = clock &+ Int64(frame)
            let place = Int(now & Int64(SamplerLanes.frames &- 1))
            let chunk = SamplerLanes.frames &- place
            let count = chunk < end &- frame ? chunk : end &- frame
            lanes.clear(outputs: outputs, frames: count)
            let groups = voices.count / SamplerLanes.width
            var sounding = 0
            for group in 0..<groups {
                sounding &+= render(group, now: now, isNew: place == 0, chunk: chunk, count: count)
            }
            soundingCount = sounding
            Self.sum(&lanes, sounding > 0, into: &output, outputs, capacity, frame, count)
            frame &+= count
        }
    }

    /// Puts the sums into the memory of the outputs.
    @_noLocks @_noAllocation
    private static func sum(
        _ lanes: inout SamplerLanes, _ isSounding: Bool, into output: inout RenderMemory<Float>, _ outputs: Int,
        _ capacity: Int, _ frame: Int, _ count: Int
    ) {
        var samples = output.span
        for index in 0..<outputs {
            if isSounding {
                lanes.sum(index, into: &samples, at: index &* capacity &+ frame, count: count)
            } else {
                for i in 0..<count { samples[index &* capacity &+ frame &+ i] = 0 }
            }
        }
    }

    /// Adds the voices of a group to the sums; returns how many sound.
    @_noLocks @_noAllocation
    private mutating func render(_ group: Int, now: Int64, isNew: Bool, chunk: Int, count: Int) -> Int {
        let first = group &* SamplerLanes.width
        var (sounding, sweeps) = (0, false)
        for index in first..<first &+ SamplerLanes.width where !voices[index].isFree {
            if isNew || voices[index].isLate || voices[index].isStale { advance(index, to: now, chunk: chunk) }
            if voices[index].isFree { continue }
            sounding &+= 1
            sweeps = sweeps || voices[index].sweeps
        }
        if sounding == 0 { return 0 }
        for index in first..<first &+ SamplerLanes.width {
            if voices[index].isFree { lanes.rest(index, count: count) } else { read(index, count: count) }
        }
        lanes.mix(group: group, outputs: outputs, sweeps: sweeps, count: count)
        for index in first..<first &+ SamplerLanes.width where voices[index].order == Self.ended { free(index) }
        return sounding
    }

    /// The order of a voice whose sample has ended within this part.
    private static var ended: Int { @_noLocks @_noAllocation get { .max } }

    @_noLocks @_noAllocation
    private mutating func read(_ index: Int, count: Int) {
        var (place, frames) = (voices[index].place, voices[index].frames)
        if let streams, voices[index].isStreamed {
            streams.supply(index, &frames, at: place.frame, resident: voices[index].resident)
        }
        let before = place.missing
        let lasts = lanes.read(index, frames, &place, count: count)
        voices[index].place = place
        missingCount &+= place.missing &- before
        if lasts < count { voices[index].order = Self.ended }
    }

    /// Brings a voice up to date, and has its gains and its filter move to what they are at the end of the chunk.
    @_noLocks @_noAllocation
    private mutating func advance(_ index: Int, to now: Int64, chunk: Int) {
        if voices[index].isStale {
            var voice = voices[index]
            voice.derive(table, channels[voice.channel], &values, level: level, sampleRate: sampleRate)
            voices[index] = voice
        }
        let isFirst = voices[index].time == .min
        if isFirst { voices[index].time = now }
        let rate = sampleRate
        var span = voices.span
        let gains = span[index].advance(to: now, chunk: Float(chunk), sampleRate: rate)
        if voices[index].isOver { return free(index) }
        let (g, k) = (voices[index].g, voices[index].damping)
        if isFirst { lanes.begin(index, g: g, k: k) }
        lanes.aim(index, g: g, k: k, gains, frames: chunk)
    }

    /// Copies frames of an output into samples.
    @_noLocks @_noAllocation
    func copy(_ output: Int, frames: Int, into samples: inout MutableSpan<Float>) {
        for i in 0..<frames { samples[i] = self.output[output &* capacity &+ i] }
    }

    // MARK: Notes

    @_noLocks @_noAllocation
    private mutating func free(_ index: Int) {
        if let streams, voices[index].isStreamed { streams.end(index) }
        voices[index].isStreamed = false
        voices[index].order = 0
        // A free lane goes on being computed with its group: it must have nothing that moves.
        lanes.begin(index, g: 1, k: 1)
    }

    /// Has a key begin, or its release.
    @_noLocks @_noAllocation
    mutating func begin(_ channel: Int, _ key: UInt8, _ velocity: UInt8, onRelease: Bool) {
        let place = channels[channel].preset
        if place < 0 { return }
        let tuned = channels[channel].isDrums ? 0 : tuning.note(ofKey: Float(key)) - Float(key)
        // A key that is silent in the tuning.
        if tuned.isNaN { return }
        if !onRelease { channels[channel].noteCount &+= 1 }
        let turn = channels[channel].noteCount &- 1
        seed = seed &* 1_664_525 &+ 1_013_904_223
        let chance = Float(Int32(truncatingIfNeeded: seed &>> 8)) * 0x1p-24
        let preset = table.preset(place)
        lastOrder &+= 1
        let order = lastOrder
        for number in Int(preset.first)..<Int(preset.first &+ preset.count)
        where table.region(number, has: key, velocity) {
            let region = table.region(number)
            if region.beginsOnRelease != onRelease { continue }
            if chance < region.random.low || (chance >= region.random.high && region.random.high < 1) { continue }
            if region.turns > 1 && turn % region.turns != region.turn &- 1 { continue }
            begin(number, region, channel, key, tuned, velocity, order)
        }
    }

    @_noLocks @_noAllocation
    private mutating func begin(
        _ number: Int, _ region: InstrumentRegion, _ channel: Int, _ key: UInt8, _ tuned: Float, _ velocity: UInt8,
        _ order: Int
    ) {
        if region.exclusiveClass != 0 {
            let frames = Self.classTime * Float(sampleRate)
            var span = voices.span
            for index in 0..<span.count where span[index].order != 0 && span[index].channel == channel {
                // Voices of the same note belong together.
                if span[index].endingClass == region.exclusiveClass && abs(span[index].order) != order {
                    span[index].leave(in: frames)
                }
            }
        }
        let index = takeVoice()
        free(index)
        var voice = SamplerVoice()
        // Negative until the first chunk.
        voice.order = 0 &- order
        (voice.channel, voice.key, voice.velocity, voice.region) = (channel, key, velocity, number)
        voice.tuned = tuned
        voice.isDown = !region.beginsOnRelease
        voice.isOneShot = region.isOneShot
        voice.endingClass = region.endingClass
        voice.loopsUntilRelease = region.loopsUntilRelease
        voice.time = .min
        voice.frames = table.frames(Int(region.sample))
        voice.place.loops = region.loops
        if let streams, Int(region.end) > streams.residentCount {
            voice.isStreamed = true
            voice.resident = streams.residentCount &- Int(region.start)
            streams.begin(index, region: number, resident: voice.resident)
            if region.loops && Int(region.loopEnd) > streams.residentCount {
                // The stream brings the frames as the voice goes through them.
                voice.place.loops = false
                voice.loopsUntilRelease = false
                voice.frames.cut(from: Int(region.start), to: 1 &<< 31 &- 1, loopStart: 0, loopEnd: 0)
                voices[index] = voice
                return
            }
        }
        voice.frames.cut(
            from: Int(region.start), to: Int(region.end), loopStart: Int(region.loopStart), loopEnd: Int(region.loopEnd)
        )
        voices[index] = voice
    }

    /// Returns a free voice, after it has one fade out if too many sound: one that dies away, else the oldest. If none is
    /// free because so many fade out, it returns the one that is the first to end its fade.
    @_noLocks @_noAllocation
    private mutating func takeVoice() -> Int {
        var choice = VoiceChoice()
        let (limit, fade) = (limit, Self.fadeTime * Float(sampleRate))
        var span = voices.span
        for index in 0..<span.count {
            choice.show(
                index, order: abs(span[index].order), fadeLeft: span[index].fade.left, diesAway: span[index].isReleased)
        }
        let oldest = choice.stolen(limit: limit)
        if oldest >= 0 {
            span[oldest].leave(in: fade)
            stolenCount &+= 1
        }
        return choice.taken
    }
}
