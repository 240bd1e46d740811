import RenderCore

/// Delay lines with their feedback: the arithmetic of ``Delay``.
struct DelayLoop: ~Copyable, Sendable {
    /// The way in which a new time is reached.
    struct Change: Sendable, BitwiseCopyable {
        var isCrossfade: Bool
        var seconds: Double
    }

    var line: DelayLine
    /// The output of the lines, a block for each channel, and twice that for the other end of a cross-fade.
    private var wet: RenderMemory<Float>
    private var other: RenderMemory<Float>
    /// The low-pass filters in the loops, one for each channel.
    private var filters: OnePoleFilter
    /// The samples that have passed the filters.
    private var round: RenderMemory<Float>
    /// The coefficient of the last cut-off that was at rest.
    private var settled = (cutoff: Float(-1), rate: 0.0, coefficient: Float(0))
    /// Feedback, coefficient of the filter, mix: for each frame of a block.
    private var numbers: RenderMemory<Float>
    /// Indicates whether these numbers are the same for all frames of a whole block.
    private var isSteady = false
    private var isClear = true
    private var fadeIn = FadeIn()

    // The time in frames: on its way from one to the other, or there.
    private var from = -1.0
    private var to = -1.0
    private var elapsed = 0
    private var duration = 0

    init(channels: Int, frames: Int) {
        line = DelayLine(channels: channels, frames: frames)
        let block = DelayLine.blockLength
        wet = RenderMemory(repeating: 0, count: line.channelCount * block)
        other = RenderMemory(repeating: 0, count: line.channelCount * block)
        round = RenderMemory(repeating: 0, count: line.channelCount * block)
        filters = OnePoleFilter(channels: line.channelCount)
        numbers = RenderMemory(repeating: 0, count: 3 * block)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        fadeIn = FadeIn()
        forget()
    }

    /// Forgets all echoes while none is heard. The sound that comes next fades in on its way into the lines.
    @_noLocks @_noAllocation
    mutating func rest(_ rate: Double) {
        fadeIn.begin(sampleRate: rate)
        forget()
    }

    @_noLocks @_noAllocation
    private mutating func forget() {
        if isClear { return }
        isClear = true
        line.reset()
        filters.reset()
    }

    /// Delays the first frames of the top.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, _ settings: Settings, frames: Int) {
        isClear = false
        let rate = context.sampleRate
        let target = line.clamp(settings.frames)
        let channels = min(context.channelCount(), line.channelCount)
        var top = context.top
        var done = 0
        while done < frames {
            aim(at: target, settings.change, rate)
            var place = -1
            var count = 0
            if !settings.isPingPong && isOpen(settings, rate) && elapsed >= duration && fadeIn.isOver {
                count = min(frames &- done, line.reach(to))
                place = line.place(to, count: count)
            }
            if place < 0 { count = read(channels, settings.change.isCrossfade, atMost: frames &- done) }
            if !isPrepared(settings, rate) { prepare(settings, rate, first: done, count: count) }
            var channel = 0
            while channel < channels {
                if settings.isPingPong && channel &+ 1 < channels {
                    bounce(&top, channel, first: done, count: count)
                    channel &+= 2
                } else if place >= 0 {
                    repeatEcho(&top, channel, at: place, first: done, count: count)
                    channel &+= 1
                } else {
                    turn(&top, channel, settings, first: done, count: count)
                    channel &+= 1
                }
            }
            line.advance(by: count)
            fadeIn.advance(by: count)
            elapsed = min(elapsed &+ count, duration)
            done &+= count
        }
    }

    /// Returns seconds as frames. A time that a `Float` cannot tell from a whole frame is one.
    @_noLocks @_noAllocation
    static func frames(_ seconds: Float, _ rate: Double) -> Double {
        let exact = Double(seconds) * rate
        let whole = wholeFrames(exact)
        return abs(exact - whole) <= exact * 0x1p-23 ? whole : exact
    }

    /// Returns the nearest whole number of frames.
    @_noLocks @_noAllocation
    static func wholeFrames(_ exact: Double) -> Double { Double(Int(min(exact, 1e15) + 0.5)) }

    // MARK: Time

    /// Sets out for another time: from wherever a glide is, but only after the end of a cross-fade.
    @_noLocks @_noAllocation
    private mutating func aim(at target: Double, _ change: Change, _ rate: Double) {
        if to < 0 {
            (from, to) = (target, target)
            return
        }
        if target == to || (change.isCrossfade && elapsed < duration) { return }
        from = change.isCrossfade ? to : delay(at: 0)
        to = target
        elapsed = 0
        duration = Int(min(change.seconds * rate, 1e9))
    }

    /// Returns the delay on a glide, some frames from now.
    @_noLocks @_noAllocation
    private func delay(at frame: Int) -> Double {
        let passed = elapsed &+ frame
        if passed >= duration { return to }
        return from + (to - from) * (Double(passed) / Double(duration))
    }

    // MARK: Reading

    /// Reads a block of all channels: as many frames as can be read before one must be written.
    @_noLocks @_noAllocation
    private mutating func read(_ channels: Int, _ isCrossfade: Bool, atMost limit: Int) -> Int {
        let block = DelayLine.blockLength
        if elapsed >= duration {
            let count = min(limit, line.reach(to))
            for channel in 0..<channels {
                line.read(channel, delay: to, count: count, into: &wet, at: channel &* block)
            }
            return count
        }
        let left = min(limit, min(duration &- elapsed, block))
        if isCrossfade {
            let count = min(left, min(line.reach(from), line.reach(to)))
            for channel in 0..<channels {
                line.read(channel, delay: from, count: count, into: &wet, at: channel &* block)
                line.read(channel, delay: to, count: count, into: &other, at: channel &* block)
                for i in 0..<count {
                    // A smooth step: both gains add up to 1 and begin and end without a bend.
                    let t = Float(elapsed &+ i) / Float(duration)
                    let part = t * t * (3 - 2 * t)
                    let index = channel &* block &+ i
                    wet[index] = wet[index] * (1 - part) + other[index] * part
                }
            }
            return count
        }
        var count = 0
        while count < left {
            let delay = delay(at: count)
            // A shorter delay may reach further: it is read over fewer samples.
            if count >= line.reach(delay) { break }
            let aim = line.aim(delay)
            for channel in 0..<channels { wet[channel &* block &+ count] = line.read(channel, aim, frame: count) }
            count &+= 1
        }
        return count
    }

    // MARK: The loop

    /// Indicates whether these numbers are those of the last slice, and the same for all frames.
    @_noLocks @_noAllocation
    private func isPrepared(_ settings: Settings, _ rate: Double) -> Bool {
        isSteady && settings.feedback.isFlat && settings.cutoff.isFlat && settings.mix.isFlat
            && settings.cutoff.end == settled.cutoff && rate == settled.rate && settings.feedback.end == numbers[0]
            && settings.mix.end == numbers[2 &* DelayLine.blockLength]
    }

    /// Computes the numbers that are the same for all channels.
    @_noLocks @_noAllocation
    private mutating func prepare(_ settings: Settings, _ rate: Double, first: Int, count: Int) {
        let block = DelayLine.blockLength
        let isFlat = settings.feedback.isFlat && settings.cutoff.isFlat && settings.mix.isFlat
        if isFlat {
            let coefficient = settle(settings.cutoff, rate, first: first)
            for i in 0..<block {
                numbers[i] = settings.feedback.end
                numbers[block &+ i] = coefficient
                numbers[2 &* block &+ i] = settings.mix.end
            }
            isSteady = true
            return
        }
        isSteady = false
        var coefficient = settle(settings.cutoff, rate, first: first)
        for i in 0..<count {
            numbers[i] = settings.feedback[first &+ i]
            if !settings.cutoff.isFlat { coefficient = DelayLoop.coefficient(settings.cutoff[first &+ i], rate) }
            numbers[block &+ i] = coefficient
            numbers[2 &* block &+ i] = settings.mix[first &+ i]
        }
    }

    /// Returns the coefficient of one pole whose level is at -3 dB at the cut-off, also if the cut-off is near half of
    /// the rate: with s = sin ω/2 the equation |a / (1 - (1 - a) z⁻¹)|² = 1/2 has the root a = 2s (√(1 + s²) - s). From
    /// 0.45 of the rate on it opens, and at half of it nothing is filtered.
    @_noLocks @_noAllocation
    static func coefficient(_ cutoff: Float, _ rate: Double) -> Float {
        let turns = min(max(Double(cutoff) / rate, 0), 0.5)
        let sine = RenderMath.sin(.pi * min(turns, 0.45))
        let root = RenderMath.exp(0.5 * RenderMath.log(1 + sine * sine))
        let a = 2 * sine * (root - sine)
        return Float(turns <= 0.45 ? a : a + (1 - a) * ((turns - 0.45) / 0.05))
    }

    /// Returns the coefficient at a frame. At rest it is made when the cut-off changes.
    @_noLocks @_noAllocation
    private mutating func settle(_ cutoff: Glide, _ rate: Double, first: Int) -> Float {
        if !cutoff.isFlat { return DelayLoop.coefficient(cutoff[first], rate) }
        if settled.cutoff != cutoff.end || settled.rate != rate {
            settled = (cutoff.end, rate, DelayLoop.coefficient(cutoff.end, rate))
        }
        return settled.coefficient
    }

    /// Indicates whether the filter of the loop is open, and has been since the slice before: then echoes that come out of a
    /// line go into it again as they are.
    @_noLocks @_noAllocation
    private func isOpen(_ settings: Settings, _ rate: Double) -> Bool {
        settings.cutoff.isFlat && settings.cutoff.end == settled.cutoff && rate == settled.rate
            && settled.coefficient >= 1
    }

    /// Renders a channel whose echoes lie in its line from a place on, and pass no filter.
    @_noLocks @_noAllocation
    private mutating func repeatEcho(
        _ top: inout AudioBuffer, _ channel: Int, at place: Int, first: Int, count: Int
    ) {
        filters.pass(line.sample(channel, at: place &+ count &- 1), channel: channel)
        var samples = top[channel]
        line.feed(
            channel, echoAt: place, numbers: numbers, mixes: 2 &* DelayLine.blockLength, &samples, from: first,
            count: count)
    }

    /// Writes into a line.
    @_noLocks @_noAllocation
    private mutating func write(_ sample: Float, _ channel: Int, _ i: Int) {
        line.write(Kernel.keptInLoop(sample), channel: channel, frame: i)
    }

    /// Renders a channel with its own line.
    @_noLocks @_noAllocation
    private mutating func turn(
        _ top: inout AudioBuffer, _ channel: Int, _ settings: Settings, first: Int, count: Int
    ) {
        let block = DelayLine.blockLength
        let last = numbers[block &+ count &- 1]
        let isOpen = last >= 1 && settings.cutoff.framesLeft <= first
        if isOpen {
            filters.pass(wet[channel &* block &+ count &- 1], channel: channel)
        } else {
            filter(channel, settings, first: first, count: count)
        }
        var samples = top[channel]
        if !fadeIn.isOver { return feedSoftly(&samples, channel, isOpen, first: first, count: count) }
        line.feed(
            channel, echo: wet, round: round, isOpen: isOpen, at: channel &* block, numbers: numbers,
            mixes: 2 &* block, &samples, from: first, count: count)
    }

    /// Feeds frames into a channel's line as `DelayLine.feed` does, while the sound that goes in fades in.
    @_noLocks @_noAllocation
    private mutating func feedSoftly(
        _ samples: inout MutableSpan<Float>, _ channel: Int, _ isOpen: Bool, first: Int, count: Int
    ) {
        let block = DelayLine.blockLength
        for i in 0..<count {
            let (dry, echo, mix) = (samples[first &+ i], wet[channel &* block &+ i], numbers[2 &* block &+ i])
            let held = Kernel.heldInLoop(isOpen ? echo : round[channel &* block &+ i])
            write(dry * fadeIn.gain(i) + numbers[i] * held, channel, i)
            samples[first &+ i] = dry * (1 - mix) + echo * mix
        }
    }

    /// Lets a channel's block pass the filter of the loop. A cut-off on its way comes to rest on its frame.
    @_noLocks @_noAllocation
    private mutating func filter(_ channel: Int, _ settings: Settings, first: Int, count: Int) {
        let block = DelayLine.blockLength
        let start = channel &* block
        let moving = max(0, min(settings.cutoff.framesLeft &- first, count))
        for i in 0..<moving {
            round[start &+ i] = filters.next(wet[start &+ i], numbers[block &+ i], channel: channel)
        }
        if moving == count { return }
        let coefficient = numbers[block &+ count &- 1]
        filters.process(
            wet, into: &round, from: start &+ moving, count: count &- moving, coefficient, channel: channel)
    }

    /// Renders two channels whose lines feed each other; the input enters the first.
    @_noLocks @_noAllocation
    private mutating func bounce(_ top: inout AudioBuffer, _ left: Int, first: Int, count: Int) {
        let block = DelayLine.blockLength
        let right = left &+ 1
        let fades = !fadeIn.isOver
        for i in 0..<count {
            let (mix, coefficient) = (numbers[2 &* block &+ i], numbers[block &+ i])
            let (echo, answer) = (wet[left &* block &+ i], wet[right &* block &+ i])
            let there = Kernel.heldInLoop(filters.next(echo, coefficient, channel: left))
            let here = Kernel.heldInLoop(filters.next(answer, coefficient, channel: right))
            var samples = top[left]
            let one = samples[first &+ i]
            samples[first &+ i] = one * (1 - mix) + echo * mix
            samples = top[right]
            let two = samples[first &+ i]
            samples[first &+ i] = two * (1 - mix) + answer * mix
            var input = 0.5 * (one + two)
            if fades { input *= fadeIn.gain(i) }
            write(input + numbers[i] * here, left, i)
            write(numbers[i] * there, right, i)
        }
    }
}
