internal import RenderCore

/// The work of a compressor, an expander or a gate on the buffers of the stack.
struct DynamicsProcessor: ~Copyable, Sendable {
    var computer: GainComputer
    var survey: NoiseSurvey
    private var filter: KeyFilter
    /// The look-ahead in frames, and the way of the sound and of the key if there is one.
    private let delay: Int
    private var line: DelayRing
    private var keyLine: DelayRing
    private let isLinked: Bool
    private let key: KeySignal
    private let limit: Int
    /// Channels of the last buffer and of its key.
    private var channels = 0
    private var keyChannels = 0

    /// The longest hold in seconds.
    static var longestHold: Double { 1 }
    /// The longest look-ahead in seconds.
    static var longestLookAhead: Double { 0.1 }

    /// Demands that a look-ahead is in its range.
    static func check(lookAhead: Double, of module: String) {
        demand(
            lookAhead >= 0 && lookAhead <= longestLookAhead,
            "\(module): a look-ahead of \(lookAhead) s; it must be 0…0.1")
    }

    /// Returns a look-ahead in frames.
    static func frames(lookAhead: Double, _ sampleRate: Double) -> Int {
        Int((max(0, min(lookAhead, longestLookAhead)) * sampleRate.asSampleRate).rounded())
    }

    init(
        channels: Int, frames: Int, sampleRate: Double, detector: LevelDetector, key: KeySignal, isLinked: Bool,
        lookAhead: Double
    ) {
        limit = channels
        self.isLinked = isLinked
        self.key = key
        delay = DynamicsProcessor.frames(lookAhead: lookAhead, sampleRate)
        computer = GainComputer(
            programs: 1, lanes: isLinked ? 1 : channels, channels: channels, frames: frames, sampleRate: sampleRate,
            detector: detector, hold: DynamicsProcessor.longestHold)
        survey = NoiseSurvey(frames: frames, sampleRate: sampleRate, detector: detector)
        filter = KeyFilter(
            channels: key.isFiltered ? channels : 0, frames: key.isFiltered ? frames : 0, sampleRate: sampleRate)
        line = DelayRing(channels: delay > 0 ? channels : 0, frames: delay, atOnce: max(1, frames))
        keyLine = DelayRing(channels: key.isBelow ? line.channelCount : 0, frames: delay, atOnce: max(1, frames))
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    mutating func reset() {
        computer.reset()
        survey.reset()
        filter.reset()
        line.reset()
        keyLine.reset()
        channels = 0
        keyChannels = 0
    }

    /// Changes the top, by the settings that the computer has taken. Returns the answer of a survey that ended, or 0.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, highPass: Glide, lowPass: Glide) -> UInt64 {
        let frames = context.frameCount
        let place = key.isBelow ? 1 : 0
        guard frames <= computer.frameLimit else { return 0 }
        adopt(min(limit, context.channelCount()), min(limit, context.channelCount(at: place)))
        let listens = survey.isListening && channels > 0
        if isLinked {
            if keyChannels == 0 { computer.listenToSilence(frames: frames) }
            listenToAll(context, place, highPass, lowPass)
            if listens { survey.listen(computer, frames: frames, isFirst: true) }
            computer.compute(frames: frames, lane: 0)
        }
        for channel in 0..<channels {
            if !isLinked {
                listenForOne(context, place, channel, highPass, lowPass)
                if listens { survey.listen(computer, frames: frames, isFirst: channel == 0) }
                computer.compute(frames: frames, lane: channel)
            }
            var top = context.top
            var samples = top[channel]
            if delay > 0 { line.delay(&samples, by: delay, count: frames, in: channel) }
            computer.apply(to: &samples)
        }
        line.advance(by: frames)
        if key.isBelow && delay > 0 {
            var below = context.buffer(at: 1)
            for channel in 0..<keyChannels {
                var samples = below[channel]
                keyLine.delay(&samples, by: delay, count: frames, in: channel)
            }
            keyLine.advance(by: frames)
        }
        return listens ? survey.finish(frames: frames) : 0
    }

    /// The lanes that are in use.
    var laneCount: Int { @_noLocks @_noAllocation get { isLinked ? min(1, channels) : channels } }

    /// Returns the reduction at the end of the slice, in dB.
    @_noLocks @_noAllocation
    func reduction(_ lane: Int) -> Float { computer.reduction(lane) }

    /// Takes the key of one channel: mono is that of all, all are that of mono, and else a channel has its own or none.
    @_noLocks @_noAllocation
    private mutating func listenForOne(
        _ context: borrowing RenderContext, _ place: Int, _ channel: Int, _ highPass: Glide, _ lowPass: Glide
    ) {
        if channels == 1 && keyChannels > 1 {
            listenToAll(context, place, highPass, lowPass)
        } else if keyChannels == 1 && channel > 0 {
            // A memory of its own, so that one key is not heard twice.
            listen(context, place, 0, isFirst: true, highPass, lowPass, memory: channel)
        } else if channel < keyChannels {
            listen(context, place, channel, isFirst: true, highPass, lowPass, memory: channel)
        } else {
            computer.listenToSilence(frames: context.frameCount)
        }
    }

    /// Takes the loudest channel of the key: two at a time, which takes little longer than one.
    @_noLocks @_noAllocation
    private mutating func listenToAll(
        _ context: borrowing RenderContext, _ place: Int, _ highPass: Glide, _ lowPass: Glide
    ) {
        let frames = context.frameCount
        var channel = 0
        while channel &+ 1 < keyChannels {
            let first = context.samples(channel, at: place)
            let second = context.samples(channel &+ 1, at: place)
            if !key.isFiltered {
                computer.listen(first, second, frames: frames, channel: channel, isFirst: channel == 0)
            } else if filter.process(
                first, second, frames: frames, channel: channel, highPass: highPass, lowPass: lowPass)
            {
                filter.tellBoth(&computer, frames: frames, channel: channel, isFirst: channel == 0)
            } else {
                listen(context, place, channel, isFirst: channel == 0, highPass, lowPass, memory: channel)
                listen(context, place, channel &+ 1, isFirst: false, highPass, lowPass, memory: channel &+ 1)
            }
            channel &+= 2
        }
        if channel < keyChannels {
            listen(context, place, channel, isFirst: channel == 0, highPass, lowPass, memory: channel)
        }
    }

    @_noLocks @_noAllocation
    private mutating func listen(
        _ context: borrowing RenderContext, _ place: Int, _ channel: Int, isFirst: Bool, _ highPass: Glide,
        _ lowPass: Glide, memory: Int
    ) {
        let frames = context.frameCount
        let sound = context.samples(channel, at: place)
        if key.isFiltered {
            filter.process(sound, frames: frames, channel: memory, highPass: highPass, lowPass: lowPass)
            filter.tell(&computer, frames: frames, channel: memory, isFirst: isFirst)
        } else {
            computer.listen(sound, frames: frames, channel: memory, isFirst: isFirst)
        }
    }

    /// Takes another number of channels: those that are new begin in silence.
    @_noLocks @_noAllocation
    private mutating func adopt(_ wanted: Int, _ wantedKeys: Int) {
        if wanted > channels {
            for channel in channels..<wanted {
                if delay > 0 { line.clear(channel) }
                // The lane of linked channels goes on.
                if !isLinked {
                    computer.reset(lane: channel)
                    computer.reset(channel: channel)
                    filter.reset(channel: channel)
                }
            }
        }
        if wantedKeys > keyChannels {
            for channel in keyChannels..<wantedKeys {
                if channel < keyLine.channelCount { keyLine.clear(channel) }
                filter.reset(channel: channel)
                computer.reset(channel: channel)
            }
        }
        channels = wanted
        keyChannels = wantedKeys
    }
}
