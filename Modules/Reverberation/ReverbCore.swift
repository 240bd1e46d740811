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
    private static var stageCount: Int { @_noLocks @_noAllocation get { 4 } }
    private static var block: Int { @_noLocks @_noAllocation get { 64 } }
    /// The metres that sound goes in a second.
    static var speed: Float { @_noLocks @_noAllocation get { 343 } }

    /// The number of channels that there is memory for.
    let channelCount: Int
    private let sampleRate: Float
    private var network: FeedbackNetwork
    private var past: DelayRing
    private var diffusers: DelayRing
    /// The delay of each stage of each channel, before the network and then for the early reflections, and the shortest of them.
    private var stages: RenderMemory<Int32>
    private let shortestStage: Int
    /// The places of each channel's early reflections against the mean path, and before them those of the sound that goes into the
    /// network.
    private let places: RenderMemory<Float>
    /// These places as taps, at present and at the end of a fade.
    private var taps: DelayTaps
    private var nextTaps: DelayTaps

    private var inputs: RenderMemory<Float>
    private var wet: RenderMemory<Float>
    private var late: RenderMemory<Float>

    /// Frames since the beginning, and the channels since then.
    private var position = 0
    private var channels = 0
    /// That of the sound that goes in.
    private var fadeIn = FadeIn()
    /// Size in metres and pre-delay in seconds: those of the present, and those to which a fade leads.
    private var size: Float = 0
    private var preDelay: Float = 0
    private var nextSize: Float = 0
    private var nextPreDelay: Float = 0
    private var isFading = false
    private var fadeBlock = 0
    private let fadeBlocks: Int

    // The numbers of the present block.
    private var send = Ramp(0)
    private var lastLoss = Float.nan
    private var kept: Float = 0.2
    private var lastShare: Float = 0
    private var lastLevel: Float = 0
    private var lastCrossovers: (Float, Float) = (-1, -1)
    private var tangents: (Float, Float) = (0, 0)
    private var early = Ramp(0)
    private var diffusion = Ramp(0)
    private var width = Ramp(0)
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
        past = DelayRing(
            channels: channels,
            frames: Int((Reverb.Preset.preDelays.upperBound + longest * ReverbCore.furthest) * rate) + 2)
        // A little longer than they were at 44.1 kHz: then a block of 64 frames is never cut.
        let scale = rate < 40_000 ? rate / 48_000 : max(1, rate / 48_000)
        var stages = RenderMemory<Int32>(repeating: 1, count: 2 * channels * ReverbCore.stageCount)
        var (shortest, furthestStage) = (Int32.max, Int32(1))
        for stage in stages.indices {
            // The early reflections of a channel have other filters than what goes into the network.
            let isEarly = stage >= channels * ReverbCore.stageCount
            let place = isEarly ? stage + (2 - channels) * ReverbCore.stageCount : stage
            stages[stage] = max(1, Int32(ReverbCore.stageFrames[place % ReverbCore.stageFrames.count] * scale))
            shortest = min(shortest, stages[stage])
            furthestStage = max(furthestStage, stages[stage])
        }
        diffusers = DelayRing(channels: stages.count, frames: Int(furthestStage))
        self.stages = stages
        shortestStage = Int(shortest)
        inputs = RenderMemory(repeating: 0, count: channels * ReverbCore.block)
        wet = RenderMemory(repeating: 0, count: channels * ReverbCore.block)
        late = RenderMemory(repeating: 0, count: 8 * ReverbCore.block)
        fadeBlocks = max(2, Int(0.085 * min(rate, 1e7)) / ReverbCore.block)
    }

    /// The delays of the all-pass filters at 48 kHz, four for each channel.
    private static let stageFrames: [Float] = [
        67, 83, 113, 139, 71, 89, 107, 149, 73, 79, 127, 151, 69, 97, 103, 157,
        75, 85, 119, 137, 70, 91, 111, 143, 77, 81, 117, 153, 66, 95, 105, 145,
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
        if position == 0 { return }
        position = 0
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
            let first = position & (ReverbCore.block &- 1)
            if first == 0 { begin(settings, at: done) }
            let piece = min(min(frames &- done, ReverbCore.block &- first), min(network.shortest, shortestStage))
            take(&context, settings.freeze, at: done, count: piece)
            reflect(count: piece)
            network.process(inputs, inputCount: channels, outputs: &late, position: position, count: piece)
            add(&context, settings.mix, at: done, first: first, count: piece)
            fadeIn.advance(by: piece)
            position &+= piece
            // Far beyond the longest delay, and far below what a number can hold.
            if position >= 1 << 40 { position &-= 1 << 39 }
            done &+= piece
        }
    }

    // MARK: A block

    /// Looks at the parameters, for a block that begins at a frame of the slice.
    @_noLocks @_noAllocation
    private mutating func begin(_ settings: Settings, at frame: Int) {
        let isNew = position == 0
        move(settings, isNew)
        let open = 1 - settings.freeze[frame]
        let decay = max(settings.decay[frame], 0.01) * sampleRate
        let low = settings.lowCrossover[frame]
        let high = max(settings.highCrossover[frame], low)
        // log2(1000): in the time of decay the amplitude falls to a thousandth.
        let middle = 9.965_784 / decay
        var numbers = FeedbackNetwork.Settings()
        numbers.middle = middle * open
        numbers.low = middle * (1 / settings.lowRatio[frame] - 1) * open
        numbers.high = middle * (1 / settings.highRatio[frame] - 1) * open
        if low != lastCrossovers.0 { tangents.0 = tangent(low) }
        if high != lastCrossovers.1 { tangents.1 = tangent(high) }
        lastCrossovers = (low, high)
        (numbers.lowTangent, numbers.highTangent) = tangents
        numbers.swing = settings.modulation[frame] * 0.16 * open
        numbers.step = min(settings.modulationRate[frame] * Float(ReverbCore.block) / sampleRate, 0.4) * 0x1p32
        let start = isFading ? Float(Int32(truncatingIfNeeded: fadeBlock)) / Float(fadeBlocks) : 0
        let end = isFading ? Float(Int32(truncatingIfNeeded: fadeBlock &+ 1)) / Float(fadeBlocks) : 0
        fade = Ramp(from: ReverbCore.smooth(start), to: ReverbCore.smooth(end))
        if isFading { fadeBlock &+= 1 }
        network.begin(numbers, fade: (start, end))

        // The longer a sound stays, the softer it goes in, so that all decays are as loud.
        let metres = isFading ? size + (nextSize - size) * ReverbCore.smooth(end) : size
        let mean = metres / ReverbCore.speed * sampleRate
        let loss = -2 * middle * mean
        if loss != lastLoss { (lastLoss, kept) = (loss, max(RenderMath.exp2(loss), 0.2)) }
        let share =
            (1 - kept) / kept * Float(Int32(truncatingIfNeeded: network.lineCount))
            / Float(Int32(truncatingIfNeeded: channels))
        if share != lastShare { (lastShare, lastLevel) = (share, Float(RenderMath.pow(Double(share), 0.5))) }
        send.lead(to: lastLevel, isJump: isNew)
        early.lead(to: settings.early[frame], isJump: isNew)
        diffusion.lead(to: settings.diffusion[frame] * 0.775, isJump: isNew)
        width.lead(to: settings.width[frame], isJump: isNew)
    }

    /// A step without corners, from 0 to 1.
    @_noLocks @_noAllocation
    private static func smooth(_ t: Float) -> Float { t * t * (3 - 2 * t) }

    @_noLocks @_noAllocation
    private func tangent(_ frequency: Float) -> Float {
        RenderMath.tan(Float.pi * min(frequency / sampleRate, 0.49))
    }

    /// Ends a fade between two sizes and pre-delays, or begins one.
    @_noLocks @_noAllocation
    private mutating func move(_ settings: Settings, _ isNew: Bool) {
        if isNew {
            (size, preDelay) = (settings.size, settings.preDelay)
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
        if !isFading && (settings.size != size || settings.preDelay != preDelay) {
            (nextSize, nextPreDelay) = (settings.size, settings.preDelay)
            (isFading, fadeBlock) = (true, 0)
            if nextSize != size { network.fade(toMean: nextSize / ReverbCore.speed * sampleRate, position: position) }
            nextTaps.place(
                by: places, channels: channels, reflections: ReverbCore.tapCount, preDelay: nextPreDelay * sampleRate,
                mean: nextSize / ReverbCore.speed * sampleRate)
        }
    }

    /// Puts the taps where they are without a fade.
    @_noLocks @_noAllocation
    private mutating func arrive() {
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
                past.remember(samples, from: start, channel: channel, position: position, count: count)
                continue
            }
            let base = channel &* ReverbCore.block
            for i in 0..<count {
                let share = freeze.isFlat ? freeze.end : freeze[start &+ i]
                inputs.put(samples[start &+ i] * (1 - share) * fadeIn.gain(i), at: base &+ i)
            }
            past.remember(inputs, from: base, channel: channel, position: position, count: count)
        }
    }

    /// Reads early reflections, and what goes into the network.
    @_noLocks @_noAllocation
    private mutating func reflect(count: Int) {
        let away = Ramp(from: 1 - fade.start, to: 1 - fade.value(at: ReverbCore.block))
        let isEarly = early.start != 0 || early.slope != 0
        for channel in 0..<channels {
            let base = channel &* ReverbCore.block
            inputs.clear(from: base, count: count)
            wet.clear(from: base, count: count)
            let tap = channel &* (ReverbCore.tapCount &+ 1)
            past.add(
                taps, from: tap, tapCount: 1, to: &inputs, at: base, gain: isFading ? send.times(away) : send,
                position: position, count: count)
            if isEarly {
                past.add(
                    taps, from: tap &+ 1, tapCount: ReverbCore.tapCount, to: &wet, at: base,
                    gain: isFading ? early.times(away) : early, position: position, count: count)
            }
            if isFading {
                past.add(
                    nextTaps, from: tap, tapCount: 1, to: &inputs, at: base, gain: send.times(fade), position: position,
                    count: count)
                if isEarly {
                    past.add(
                        nextTaps, from: tap &+ 1, tapCount: ReverbCore.tapCount, to: &wet, at: base,
                        gain: early.times(fade), position: position, count: count)
                }
            }
            let line = channel &* ReverbCore.stageCount
            diffusers.diffuse(
                &inputs, at: base, channel: line, stages: ReverbCore.stageCount, delays: stages, gain: diffusion,
                position: position, count: count)
            diffusers.diffuse(
                &wet, at: base, channel: line &+ channelCount &* ReverbCore.stageCount, stages: ReverbCore.stageCount,
                delays: stages, gain: diffusion, position: position, count: count)
        }
    }

    /// Mixes the reverb with the top.
    @_noLocks @_noAllocation
    private mutating func add(_ context: inout RenderContext, _ mix: Glide, at start: Int, first: Int, count: Int) {
        var top = context.top
        var channel = 0
        while channel < channels {
            let base = channel &* ReverbCore.block
            let lane = ReverbCore.lane(channel)
            if channel &+ 1 < channels {
                let (other, otherLane) = (base &+ ReverbCore.block, ReverbCore.lane(channel &+ 1))
                wet.widen(base, other, adding: late, lanes: (lane, otherLane), width: width, first: first, count: count)
                blend(&top, channel, mix, at: start, count: count)
                blend(&top, channel &+ 1, mix, at: start, count: count)
                channel &+= 2
            } else {
                let row = lane &* ReverbCore.block
                for i in 0..<count { wet.put(wet.value(at: base &+ i) + late.value(at: row &+ i), at: base &+ i) }
                blend(&top, channel, mix, at: start, count: count)
                channel &+= 1
            }
        }
    }

    @_noLocks @_noAllocation
    private func blend(_ top: inout AudioBuffer, _ channel: Int, _ mix: Glide, at start: Int, count: Int) {
        var samples = top[channel]
        let base = channel &* ReverbCore.block
        if mix.isFlat {
            wet.blend(from: base, into: &samples, at: start, share: mix.end, rest: 1 - mix.end, count: count)
        } else {
            for i in 0..<count {
                let share = mix[start &+ i]
                samples[start &+ i] = samples[start &+ i] * (1 - share) + wet.value(at: base &+ i) * share
            }
        }
    }

    /// The sum of the network that a channel gets.
    @_noLocks @_noAllocation
    private static func lane(_ channel: Int) -> Int {
        // Eight numbers of four bits each.
        (0x6503_4721 &>> (4 &* channel)) & 7
    }
}
