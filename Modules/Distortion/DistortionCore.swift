import RenderCore

/// The state of a ``Distortion``, and what it does to the top.
struct DistortionCore: ~Copyable, Sendable {
    let channelCount: Int
    let latency: Int
    private let sampleRate: Double
    var resampler: HalfBandResampler
    var controls: DistortionControls
    private var levelling: LevellingFilter
    var echo: EchoLine
    private let table = TangentTable()
    var filter: OnePoleFilter
    /// The last two samples that went into the curve, and the one that is held, of each channel.
    var past: RenderMemory<Double>
    private var held: RenderMemory<Float>
    /// The sound as it was, for the mix.
    var dry: RenderMemory<Float>
    private var work: RenderMemory<Float>
    /// The sound before the lower rate and fewer bits, where a part of it stays.
    private var spared: RenderMemory<Float>
    var ringPhases = RingTurns()
    private var holdPhase: UInt64 = .max
    private var isClear = true
    /// That of the sound that is shaped.
    private var fadeIn = FadeIn()
    /// The parameters in the last slice, if its last block was a hard clip between two gains at rest: as long as they are the same,
    /// the next slice clips in the same way.
    private var rest = ParametersAtRest.none
    /// How far the ring modulation moves in a frame then, though it is not heard.
    private var ringSteps = RingTurns()

    init(channels: Int, times: Int, sampleRate: Double) {
        channelCount = channels
        self.sampleRate = sampleRate
        latency = DistortionCore.latency(times: times)
        // The curve is one frame late.
        let rest = (HalfBandResampler.latency(times: times) + 1) % times
        resampler = HalfBandResampler(channels: channels, times: times, padding: rest == 0 ? 0 : times - rest)
        controls = DistortionControls(times: times, sampleRate: sampleRate)
        levelling = LevellingFilter(channels: channels, times: times)
        echo = EchoLine(channels: channels, frames: Int(0.5 * sampleRate) + 2)
        filter = OnePoleFilter(channels: channels)
        past = RenderMemory(repeating: 0, count: 2 * channels)
        held = RenderMemory(repeating: 0, count: channels)
        dry = RenderMemory(repeating: 0, count: channels * (latency + HalfBandResampler.room))
        work = RenderMemory(repeating: 0, count: HalfBandResampler.room)
        spared = RenderMemory(repeating: 0, count: HalfBandResampler.room * times)
    }

    /// Returns the delay of everything together, in frames.
    static func latency(times: Int) -> Int {
        (HalfBandResampler.latency(times: times) + 1 + times - 1) / times + LevellingFilter.latency(times: times)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        clear()
        echo.reset()
        fadeIn = FadeIn()
        for i in 0..<dry.count { dry[i] = 0 }
        ringPhases = RingTurns()
    }

    /// Forgets the distorted sound.
    @_noLocks @_noAllocation
    private mutating func clear() {
        resampler.reset()
        levelling.reset()
        filter.reset()
        for i in 0..<past.count { past[i] = 0 }
        for i in 0..<held.count { held[i] = 0 }
        holdPhase = .max
        isClear = true
        rest = .none
    }

    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, _ settings: Settings, _ rest: ParametersAtRest) {
        let frames = context.frameCount
        // Blocks end where something comes to rest, so that the length of the slices changes nothing.
        let (wet, echoes) = (settings.mix.lastFrame(of: frames), settings.echoLevel.lastFrame(of: frames))
        let toneMoves = min(settings.tone.framesLeft, frames)
        self.rest = .none
        var (first, clips) = (0, false)
        while first < frames {
            var count = min(frames &- first, HalfBandResampler.room)
            if first < wet { count = min(count, wet &- first) }
            if first < echoes { count = min(count, echoes &- first) }
            if first < toneMoves { count = min(count, toneMoves &- first) }
            if first < wet {
                isClear = false
                let stages = controls.take(settings, first, count)
                clips = settings.shape == 1 && first >= echoes && fadeIn.isOver && clipsAlone(stages)
                for channel in 0..<min(context.channelCount(), channelCount) {
                    if clips {
                        clip(&context, channel, first, count)
                    } else {
                        distort(&context, channel, settings, stages, first, count, echoes: first < echoes)
                    }
                }
                fadeIn.advance(by: count)
                advance(settings, first, count, stages)
                if first < echoes { echo.advance(by: count) } else { echo.rest(sampleRate) }
            } else {
                clips = false
                if !isClear { clear() }
                echo.rest(sampleRate)
                fadeIn.begin(sampleRate: sampleRate)
                for channel in 0..<min(context.channelCount(), channelCount) {
                    let start = delay(&context, channel, first, count)
                    var top = context.top
                    var samples = top[channel]
                    for i in 0..<count { samples[first &+ i] = dry[start &+ i] }
                    dry.copy(from: start &+ count, to: start, count: latency)
                }
                let times = UInt64(truncatingIfNeeded: resampler.times)
                for i in 0..<count { ringPhases.move(by: controls.ringSteps(settings, first &+ i), times: times) }
            }
            first &+= count
        }
        if clips && settings.isAtRest {
            self.rest = rest
            ringSteps = controls.ringSteps(settings, frames)
        }
    }

    /// Clips the top as the slice before did. `false`: something has changed since then, and nothing was done.
    @_noLocks @_noAllocation
    mutating func goOn(_ context: inout RenderContext, _ rest: ParametersAtRest) -> Bool {
        guard rest.isEqual(to: self.rest) else { return false }
        let frames = context.frameCount
        if frames == 0 { return true }
        var channel = 0
        let channels = min(context.channelCount(), channelCount)
        while channel < channels {
            clip(&context, channel, 0, frames)
            channel &+= 1
        }
        ringPhases.move(by: ringSteps, times: UInt64(truncatingIfNeeded: frames))
        return true
    }

    /// Clips frames of one channel where they are: what ``distort(_:_:_:_:_:_:echoes:)`` does, without its copies.
    @_noLocks @_noAllocation
    private mutating func clip(_ context: inout RenderContext, _ channel: Int, _ first: Int, _ count: Int) {
        let last = first &+ count &- 1
        var top = context.top
        var samples = top[channel]
        // The latency is one frame here, and all of the dry sound that is not heard yet.
        dry[channel &* (latency &+ HalfBandResampler.room)] = samples[last]
        Signal.hardClip(&samples, from: first, count: count, gain: controls.drive[0], past: &past, at: 2 &* channel)
        filter.pass(samples[last], channel: channel)
        let level = controls.level[0]
        if level != 1 { for i in first...last { samples[i] *= level } }
    }

    /// Writes frames of the top behind those of the dry sound that are not heard yet, and returns the place of the oldest.
    @_noLocks @_noAllocation
    private mutating func delay(_ context: inout RenderContext, _ channel: Int, _ first: Int, _ count: Int) -> Int {
        let start = channel &* (latency &+ HalfBandResampler.room)
        dry.copy(context.samples(channel), from: first, to: start &+ latency, count: count)
        return start
    }

    /// Indicates whether a hard clip between two gains at rest is all there is to be done, at the rate itself.
    @_noLocks @_noAllocation
    private func clipsAlone(_ stages: DistortionStages) -> Bool {
        if resampler.times != 1 || stages.hasBias || stages.rings || stages.bends { return false }
        if stages.holds || stages.crushes || stages.toneMoves || controls.tone[0] < 1 { return false }
        // The drive, the level and the mix: what has been filled in is not a number while it moves.
        return !controls.filled[0].isNaN && !controls.filled[2].isNaN && controls.filled[3] == 1
    }

    /// Distorts frames of one channel.
    @_noLocks @_noAllocation
    private mutating func distort(
        _ context: inout RenderContext, _ channel: Int, _ settings: Settings, _ stages: DistortionStages, _ first: Int,
        _ count: Int, echoes: Bool
    ) {
        let start = delay(&context, channel, first, count)
        if echoes {
            work.copy(context.samples(channel), from: first, to: 0, count: count)
            echo.process(
                &work, channel, count, first, rate: sampleRate, time: settings.echoTime,
                feedback: settings.echoFeedback, level: settings.echoLevel)
            for i in 0..<count { resampler.low[i] = work[i] * controls.drive[i] }
        } else {
            resampler.low.multiply(context.samples(channel), from: first, by: controls.drive, count: count)
        }
        if !fadeIn.isOver { for i in 0..<count { resampler.low[i] *= fadeIn.gain(i) } }
        resampler.raise(channel, frames: count)
        if stages.rings { ring(count) }
        if stages.bends { bend(count) }
        shape(channel, settings.shape, stages.hasBias, count)
        if stages.sparesSome { for i in 0..<count &* resampler.times { spared[i] = resampler.high[i] } }
        if stages.holds { hold(channel, count) }
        if stages.crushes { crush(count) }
        if stages.sparesSome { spare(count) }
        resampler.lower(channel, frames: count)
        levelling.process(&resampler.low, channel, count, isOn: settings.shape != 0)
        if stages.toneMoves {
            for i in 0..<count { resampler.low[i] = filter.next(resampler.low[i], controls.tone[i], channel: channel) }
        } else if controls.tone[0] >= 1 {
            filter.pass(resampler.low[count &- 1], channel: channel)
        } else {
            filter.process(resampler.low, into: &work, from: 0, count: count, controls.tone[0], channel: channel)
            for i in 0..<count { resampler.low[i] = work[i] }
        }
        var top = context.top
        var samples = top[channel]
        if controls.filled[3] == 1 {
            for i in 0..<count { samples[first &+ i] = resampler.low[i] * controls.level[i] }
        } else {
            for i in 0..<count {
                let (wet, mix) = (resampler.low[i] * controls.level[i], controls.mix[i])
                samples[first &+ i] = (1 - mix) * dry[start &+ i] + mix * wet
            }
        }
        dry.copy(from: start &+ count, to: start, count: latency)
    }

    /// Multiplies by two sines.
    @_noLocks @_noAllocation
    private mutating func ring(_ count: Int) {
        let times = resampler.times
        var phases = ringPhases
        for i in 0..<count {
            let (amount, balance, steps) = (controls.ringAmount[i], controls.ringBalance[i], controls.ringSteps[i])
            for j in i &* times..<i &* times &+ times {
                var sine = RenderMath.sin(phase: UInt32(truncatingIfNeeded: phases.first &>> 32))
                if balance > 0 {
                    let other = RenderMath.sin(phase: UInt32(truncatingIfNeeded: phases.second &>> 32))
                    sine = (1 - balance) * sine + balance * other
                }
                resampler.high[j] *= 1 - amount + amount * sine
                phases.move(by: steps)
            }
        }
    }

    /// Sends the frames of the higher rate through the polynomial.
    @_noLocks @_noAllocation
    private mutating func bend(_ count: Int) {
        let times = resampler.times
        // Twenty times the cube of this is a number.
        let limit: Float = 1e6
        for i in 0..<count {
            let (linear, squared, cubic) = (controls.linear[i], controls.squared[i], controls.cubic[i])
            // The polynomial is x: in a block of its own the stage would be off.
            if linear == 1 && squared == 0 && cubic == 0 { continue }
            for j in i &* times..<i &* times &+ times {
                let sample = resampler.high[j]
                let x = sample > limit ? limit : (sample < -limit ? -limit : sample)
                // A sample that is not finite makes one that is not a number; another adds 0 here.
                resampler.high[j] = x * (linear + x * (squared + x * cubic)) + (sample - sample)
            }
        }
    }

    /// Mixes the sound of a lower rate and fewer bits with what it was before.
    @_noLocks @_noAllocation
    private mutating func spare(_ count: Int) {
        let times = resampler.times
        for i in 0..<count {
            let mix = controls.decimationMix[i]
            // A sample that is as before stays so, as it does where both stages are off.
            for j in i &* times..<i &* times &+ times where spared[j] != resampler.high[j] {
                resampler.high[j] = (1 - mix) * spared[j] + mix * resampler.high[j]
            }
        }
    }

    /// Takes a sample from time to time, and holds it.
    @_noLocks @_noAllocation
    private mutating func hold(_ channel: Int, _ count: Int) {
        let times = resampler.times
        var (phase, kept) = (holdPhase, held[channel])
        for i in 0..<count {
            let step = controls.holdStep[i]
            for j in i &* times..<i &* times &+ times {
                if step == 0 {
                    phase = .max
                    continue
                }
                let next = phase &+ step
                if next < phase { kept = resampler.high[j] }
                phase = next
                resampler.high[j] = kept
            }
        }
        held[channel] = kept
    }

    /// Rounds to steps.
    @_noLocks @_noAllocation
    private mutating func crush(_ count: Int) {
        let times = resampler.times
        for i in 0..<count {
            let step = controls.bitStep[i]
            if step == 0 { continue }
            for j in i &* times..<i &* times &+ times {
                let steps = Double(resampler.high[j]) / step
                // The sum has no room for what is behind the point.
                resampler.high[j] = Float((steps + 0x1.8p52 - 0x1.8p52) * step)
            }
        }
    }

    /// Moves the phases on by the frames of a block.
    @_noLocks @_noAllocation
    private mutating func advance(_ settings: Settings, _ first: Int, _ count: Int, _ stages: DistortionStages) {
        let times = UInt64(truncatingIfNeeded: resampler.times)
        if stages.ringMoves {
            for i in 0..<count { ringPhases.move(by: controls.ringSteps[i], times: times) }
        } else {
            ringPhases.move(
                by: controls.ringSteps(settings, first), times: times &* UInt64(truncatingIfNeeded: count))
        }
        if !stages.holds {
            holdPhase = .max
        } else {
            for i in 0..<count {
                let step = controls.holdStep[i]
                holdPhase = step == 0 ? .max : holdPhase &+ step &* times
            }
        }
    }

    /// Sends the frames of the higher rate through the curve.
    @_noLocks @_noAllocation
    private mutating func shape(_ channel: Int, _ shape: Int, _ hasBias: Bool, _ count: Int) {
        let times = resampler.times
        if shape == 1 && !hasBias {
            DistortionCore.clip(&resampler.high, count &* times, &past, 2 &* channel)
            return
        }
        let limit = ShapedWindow.limit
        var (last, before) = (past[2 &* channel], past[2 &* channel &+ 1])
        for i in 0..<count {
            let bias = hasBias ? Double(controls.bias[i]) : 0
            let rest = hasBias ? value(ShapedWindow(bias, bias, bias), shape, 0) : 0
            for j in i &* times..<i &* times &+ times {
                let sample = Double(resampler.high[j])
                let held = sample < limit ? (sample > -limit ? sample : -limit) : limit
                let shaped = value(ShapedWindow(before + bias, last + bias, held + bias), shape, last) - rest
                // A sample that is not a number stays one; a finite sample adds 0 here.
                resampler.high[j] = Float(shaped + (sample - sample))
                (before, last) = (last, held)
            }
        }
        (past[2 &* channel], past[2 &* channel &+ 1]) = (last, before)
    }

    @_noLocks @_noAllocation
    private static func clip(
        _ high: inout RenderMemory<Float>, _ count: Int, _ past: inout RenderMemory<Double>, _ place: Int
    ) {
        var samples = high.span
        Signal.hardClip(&samples, from: 0, count: count, past: &past, at: place)
    }

    @_noLocks @_noAllocation @inline(__always)
    private func value(_ window: ShapedWindow, _ shape: Int, _ middle: Double) -> Double {
        switch shape {
        case 1: window.hardClipped
        case 2: window.softClipped
        case 3: window.tangent(table)
        case 4: window.folded
        default: middle
        }
    }
}
