import RenderCore

/// The work of a ``Reverb``: delays, early reflections and all-pass filters for each channel, the network behind them, and the
/// mix.
///
/// Everything goes in blocks of 64 frames that are counted from the first frame on. At the beginning of each the parameters are
/// looked at, and until its end they are reached.
struct ReverbCore: ~Copyable, Sendable {
    /// The most channels that are worked on.
    static var mostChannels: Int { @_noLocks @_noAllocation get { 8 } }
    static var tapCount: Int { @_noLocks @_noAllocation get { 10 } }
    /// The metres that sound goes in a second.
    static var speed: Float { @_noLocks @_noAllocation get { 343 } }

    /// The number of channels that there is memory for.
    let channelCount: Int
    private let sampleRate: Float
    private var network: FeedbackNetwork
    private var past: BlockRing
    /// The all-pass filters of each channel before the network, and behind them those of the early reflections.
    private var diffuser: Diffuser
    /// The places of each channel's early reflections against the mean path, and before them those of the sound that goes into the
    /// network: while it fades, those to which it leads.
    private var places: RenderMemory<Float>
    /// These places as taps, at present and at the end of a fade.
    private var taps: DelayTaps
    private var nextTaps: DelayTaps

    private var inputs: SampleRows
    private var wet: SampleRows
    private var late = SampleRows(8)

    /// The channels since the beginning.
    private var channels = 0
    /// That of the sound that goes in.
    private var fadeIn = FadeIn()
    /// Size in metres, pre-delay in seconds and the seed of the early reflections: those of the present, and those to which a fade
    /// leads.
    private var size: Float = 0
    private var preDelay: Float = 0
    private var seed: Int32 = 0
    private var nextSize: Float = 0
    private var nextPreDelay: Float = 0
    private var nextSeed: Int32 = 0
    private var isFading = false
    private var fadeBlock = 0
    private let fadeBlocks: Int

    // The numbers of the present block.
    private var send = Ramp(0)
    private var lastCrossovers: (Float, Float) = (-1, -1)
    private var tangents: (Float, Float) = (0, 0)
    private var early = Ramp(0)
    private var diffusion = Ramp(0)
    private var width = Ramp(0)
    private var gain = Ramp(1)
    private var fade = Ramp(0)

    init(lines: Int, channels: Int, sampleRate: Double) {
        let channels = min(max(channels, 1), ReverbCore.mostChannels)
        let rate = Float(sampleRate)
        channelCount = channels
        self.sampleRate = rate
        let longest = Float(Reverb.Preset.sizes.upperBound) / ReverbCore.speed
        network = FeedbackNetwork(lines: lines, longestMean: longest * rate + 1, inputs: channels)
        var places = RenderMemory<Float>(repeating: 0, count: channels * (ReverbCore.tapCount + 1))
        taps = DelayTaps(channels: channels, reflections: ReverbCore.tapCount, places: &places)
        nextTaps = DelayTaps(channels: channels, reflections: ReverbCore.tapCount, places: &places)
        self.places = places
        past = BlockRing(
            channels: channels,
            frames: Int((Reverb.Preset.preDelays.upperBound + longest * ReverbCore.furthest) * rate) + 2)
        // A little longer than they were at 44.1 kHz: then a block of 64 frames is never cut.
        let scale = rate < 40_000 ? rate / 48_000 : max(1, rate / 48_000)
        let stages = ReverbCore.stageFrames.map { $0.map { Int($0 * scale) } }
        // The early reflections of a channel have other filters than what goes into the network.
        diffuser = Diffuser(delays: stages.prefix(channels) + (2..<2 + channels).map { stages[$0 % stages.count] })
        inputs = SampleRows(channels)
        wet = SampleRows(channels)
        fadeBlocks = max(2, Int(0.085 * min(rate, 1e7)) / SampleRows.length)
    }

    /// The delays of the all-pass filters at 48 kHz, for each channel.
    private static let stageFrames: [[Float]] = [
        [67, 83, 113, 139], [71, 89, 107, 149], [73, 79, 127, 151], [69, 97, 103, 157],
        [75, 85, 119, 137], [70, 91, 111, 143], [77, 81, 117, 153], [66, 95, 105, 145],
    ]

    /// A place that no early reflection reaches.
    private static let furthest: Float = 2.3

    /// Forgets all sound, at once.
    @_noLocks @_noAllocation
    mutating func reset() {
        fadeIn = FadeIn()
        forget()
    }

    /// Forgets all sound while nothing of it is heard. The sound that comes next fades in.
    @_noLocks @_noAllocation
    mutating func rest() {
        fadeIn.begin(sampleRate: Double(sampleRate))
        forget()
    }

    @_noLocks @_noAllocation
    private mutating func forget() {
        if network.position == 0 { return }
        past.reset()
        diffuser.reset()
        network.reset()
    }

    /// Adds the reverb to the first frames of the top.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, _ settings: Settings, frames: Int) {
        let count = min(context.channelCount(), channelCount)
        if count != channels { forget() }
        channels = count
        var done = 0
        while done < frames {
            let first = network.frame
            if first == 0 { begin(settings, at: done) }
            let piece = min(frames &- done, min(network.room, diffuser.room))
            take(&context, settings.freeze, at: done, count: piece)
            reflect(count: piece)
            network.process(inputs, inputCount: channels, outputs: &late, count: piece)
            add(&context, settings.mix, at: done, first: first, count: piece)
            fadeIn.advance(by: piece)
            past.advance(by: piece)
            diffuser.advance(by: piece)
            done &+= piece
        }
    }

    // MARK: A block

    /// Looks at the parameters, for a block that begins at a frame of the slice.
    @_noLocks @_noAllocation
    private mutating func begin(_ settings: Settings, at frame: Int) {
        let isNew = network.position == 0
        move(settings, isNew)
        let open = 1 - settings.freeze[frame]
        let decay = max(settings.decay[frame], 0.01) * sampleRate
        let low = settings.lowCrossover[frame]
        let high = max(settings.highCrossover[frame], low)
        var numbers = FeedbackNetwork.Settings()
        numbers.lose(in: decay, lowRatio: settings.lowRatio[frame], highRatio: settings.highRatio[frame])
        // The longer a sound stays, the softer it goes in, so that all decays are as loud.
        let metres = isFading ? size + (nextSize - size) * ReverbCore.smooth(part(1)) : size
        let level = network.level(numbers, mean: metres / ReverbCore.speed * sampleRate, inputs: channels)
        (numbers.middle, numbers.low, numbers.high) = (numbers.middle * open, numbers.low * open, numbers.high * open)
        if low != lastCrossovers.0 { tangents.0 = FeedbackNetwork.Settings.tangent(low, sampleRate) }
        if high != lastCrossovers.1 { tangents.1 = FeedbackNetwork.Settings.tangent(high, sampleRate) }
        lastCrossovers = (low, high)
        (numbers.lowTangent, numbers.highTangent) = tangents
        numbers.swing = settings.modulation[frame] * 0.16 * open
        numbers.step = min(settings.modulationRate[frame] * Float(SampleRows.length) / sampleRate, 0.4) * 0x1p32
        let (start, end) = (part(0), part(1))
        fade = Ramp(from: ReverbCore.smooth(start), to: ReverbCore.smooth(end))
        if isFading { fadeBlock &+= 1 }
        network.begin(numbers, fade: (start, end))

        send.lead(to: level, isJump: isNew)
        early.lead(to: settings.early[frame], isJump: isNew)
        diffusion.lead(to: settings.diffusion[frame] * 0.775, isJump: isNew)
        width.lead(to: settings.width[frame], isJump: isNew)
        gain.lead(to: RenderMath.amplitude(decibels: settings.gain[frame]), isJump: isNew)
    }

    /// The part of a fade that is over when some more blocks are; 0 if there is none.
    @_noLocks @_noAllocation
    private func part(_ blocks: Int) -> Float {
        isFading ? Float(Int32(truncatingIfNeeded: fadeBlock &+ blocks)) / Float(fadeBlocks) : 0
    }

    /// A step without corners, from 0 to 1.
    @_noLocks @_noAllocation
    private static func smooth(_ t: Float) -> Float { t * t * (3 - 2 * t) }

    /// Ends a fade between two sizes and pre-delays, or begins one.
    @_noLocks @_noAllocation
    private mutating func move(_ settings: Settings, _ isNew: Bool) {
        if isNew {
            (size, preDelay, nextSeed) = (settings.size, settings.preDelay, settings.seed)
            (isFading, fadeBlock) = (false, 0)
            network.jump(toMean: size / ReverbCore.speed * sampleRate)
            arrive()
            return
        }
        if isFading && fadeBlock >= fadeBlocks {
            (size, preDelay) = (nextSize, nextPreDelay)
            isFading = false
            network.endFade()
            arrive()
        }
        if !isFading && (settings.size != size || settings.preDelay != preDelay || settings.seed != seed) {
            (nextSize, nextPreDelay, nextSeed) = (settings.size, settings.preDelay, settings.seed)
            nextTaps.scatter(seed: nextSeed, reflections: ReverbCore.tapCount, places: &places)
            (isFading, fadeBlock) = (true, 0)
            if nextSize != size { network.fade(toMean: nextSize / ReverbCore.speed * sampleRate) }
            nextTaps.place(
                by: places, channels: channels, reflections: ReverbCore.tapCount, preDelay: nextPreDelay * sampleRate,
                mean: nextSize / ReverbCore.speed * sampleRate)
        }
    }

    /// Puts the taps where they are without a fade.
    @_noLocks @_noAllocation
    private mutating func arrive() {
        seed = nextSeed
        taps.scatter(seed: seed, reflections: ReverbCore.tapCount, places: &places)
        taps.place(
            by: places, channels: channels, reflections: ReverbCore.tapCount, preDelay: preDelay * sampleRate,
            mean: size / ReverbCore.speed * sampleRate)
    }

    // MARK: Pieces of a block

    /// Writes the top into the ring.
    @_noLocks @_noAllocation
    private mutating func take(_ context: inout RenderContext, _ freeze: Glide, at start: Int, count: Int) {
        for channel in 0..<channels {
            let samples = context.samples(channel)
            if freeze.isFlat && freeze.end == 0 && fadeIn.isOver {
                past.remember(samples, from: start, channel: channel, count: count)
                continue
            }
            for i in 0..<count {
                let share = freeze.isFlat ? freeze.end : freeze[start &+ i]
                inputs[channel, i] = samples[start &+ i] * (1 - share) * fadeIn.gain(i)
            }
            past.remember(inputs, row: channel, channel: channel, count: count)
        }
    }

    /// Reads early reflections, and what goes into the network.
    @_noLocks @_noAllocation
    private mutating func reflect(count: Int) {
        let away = Ramp(from: 1 - fade.start, to: 1 - fade.value(at: SampleRows.length))
        let isEarly = early.start != 0 || early.slope != 0
        for channel in 0..<channels {
            inputs.clear(channel, count: count)
            wet.clear(channel, count: count)
            let tap = channel &* (ReverbCore.tapCount &+ 1)
            past.add(
                taps, from: tap, tapCount: 1, to: &inputs, row: channel, gain: isFading ? send.times(away) : send,
                count: count)
            if isEarly {
                past.add(
                    taps, from: tap &+ 1, tapCount: ReverbCore.tapCount, to: &wet, row: channel,
                    gain: isFading ? early.times(away) : early, count: count)
            }
            if isFading {
                past.add(
                    nextTaps, from: tap, tapCount: 1, to: &inputs, row: channel, gain: send.times(fade), count: count)
                if isEarly {
                    past.add(
                        nextTaps, from: tap &+ 1, tapCount: ReverbCore.tapCount, to: &wet, row: channel,
                        gain: early.times(fade), count: count)
                }
            }
            diffuser.process(&inputs, row: channel, channel: channel, gain: diffusion, count: count)
            diffuser.process(&wet, row: channel, channel: channelCount &+ channel, gain: diffusion, count: count)
        }
    }

    /// Mixes the reverb with the top.
    @_noLocks @_noAllocation
    private mutating func add(_ context: inout RenderContext, _ mix: Glide, at start: Int, first: Int, count: Int) {
        var channel = 0
        while channel < channels {
            let lane = ReverbCore.lane(channel)
            if channel &+ 1 < channels {
                let lanes = (lane, ReverbCore.lane(channel &+ 1))
                wet.widen(channel, adding: late, lanes: lanes, width: width, frame: first, count: count)
                channel &+= 2
            } else {
                wet.add(late, row: lane, to: channel, count: count)
                channel &+= 1
            }
        }
        var top = context.top
        for channel in 0..<channels {
            var samples = top[channel]
            wet.scale(channel, by: gain, frame: first, count: count)
            wet.blend(channel, into: &samples, at: start, share: mix, count: count)
        }
    }

    /// The sum of the network that a channel gets.
    @_noLocks @_noAllocation
    private static func lane(_ channel: Int) -> Int {
        // Eight numbers of four bits each.
        (0x6503_4721 &>> (4 &* channel)) & 7
    }
}
