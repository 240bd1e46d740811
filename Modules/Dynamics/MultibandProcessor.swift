internal import RenderCore

/// The work of a multiband compressor: bands, and a gain for each.
struct MultibandProcessor: ~Copyable, Sendable {
    private var crossover: Crossover
    /// It has a program for each band.
    var computer: GainComputer
    /// The look-ahead in frames.
    private let delay: Int
    private var line: DelayRing
    private let isLinked: Bool
    private let limit: Int
    private var channels = 0

    init(
        bands: Int, channels: Int, frames: Int, sampleRate: Double, detector: LevelDetector, isLinked: Bool,
        lookAhead: Double
    ) {
        limit = channels
        self.isLinked = isLinked
        crossover = Crossover(bands: bands, channels: channels, frames: frames, sampleRate: sampleRate)
        computer = GainComputer(
            programs: bands, lanes: bands * (isLinked ? 1 : channels), channels: bands * channels, frames: frames,
            sampleRate: sampleRate, detector: detector, hold: DynamicsProcessor.longestHold)
        delay = DynamicsProcessor.frames(lookAhead: lookAhead, sampleRate)
        line = DelayRing(channels: delay > 0 ? bands * channels : 0, frames: delay, atOnce: max(1, frames))
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    mutating func reset() {
        crossover.reset()
        computer.reset()
        line.reset()
        channels = 0
    }

    /// Takes the channels of the top.
    @_noLocks @_noAllocation
    mutating func take(_ context: borrowing RenderContext) {
        let wanted = min(limit, context.channelCount())
        if wanted > channels {
            for channel in channels..<wanted {
                crossover.reset(channel: channel)
                for band in 0..<crossover.bandCount {
                    computer.reset(channel: band &* limit &+ channel)
                    if delay > 0 { line.clear(band &* limit &+ channel) }
                    if !isLinked { computer.reset(lane: band &* limit &+ channel) }
                }
            }
        }
        channels = wanted
        for channel in 0..<channels { crossover.take(context.samples(channel), channel: channel) }
    }

    /// Splits the channels at a crossover.
    @_noLocks @_noAllocation
    mutating func split(_ number: Int, _ context: borrowing RenderContext, at frequency: Glide) {
        crossover.split(number, frames: context.frameCount, channels: channels, at: frequency)
    }

    /// Puts a band with its gain on the top, in the place of what was there or added to it.
    @_noLocks @_noAllocation
    mutating func add(_ context: inout RenderContext, band: Int) {
        let frames = context.frameCount
        guard frames <= computer.frameLimit else { return }
        if isLinked {
            for channel in 0..<channels {
                listen(band, channel, frames, isFirst: channel == 0)
            }
            computer.compute(program: band, frames: frames, lane: band)
        }
        for channel in 0..<channels {
            if !isLinked {
                listen(band, channel, frames, isFirst: true)
                computer.compute(program: band, frames: frames, lane: band &* limit &+ channel)
            }
            var top = context.top
            var samples = top[channel]
            if delay > 0 {
                crossover.delay(
                    &line, delay, band: band, channel: channel, frames: frames, ring: band &* limit &+ channel)
            }
            MultibandProcessor.add(crossover, computer, band, channel, to: &samples)
        }
        if band &+ 1 == crossover.bandCount { line.advance(by: frames) }
    }

    /// Returns the largest reduction of a band.
    @_noLocks @_noAllocation
    func reduction(_ band: Int) -> Float {
        if isLinked { return computer.reduction(band) }
        var largest: Float = 0
        for channel in 0..<channels {
            let one = computer.reduction(band &* limit &+ channel)
            largest = one > largest ? one : largest
        }
        return largest
    }

    @_noLocks @_noAllocation
    private mutating func listen(_ band: Int, _ channel: Int, _ frames: Int, isFirst: Bool) {
        MultibandProcessor.listen(crossover, &computer, band, channel, frames, band &* limit &+ channel, isFirst)
    }

    @_noLocks @_noAllocation
    private static func listen(
        _ crossover: borrowing Crossover, _ computer: inout GainComputer, _ band: Int, _ channel: Int, _ frames: Int,
        _ memory: Int, _ isFirst: Bool
    ) {
        computer.listen(
            crossover.samples(band: band, channel: channel, frames: frames), frames: frames, channel: memory,
            isFirst: isFirst)
    }

    @_noLocks @_noAllocation
    private static func add(
        _ crossover: borrowing Crossover, _ computer: borrowing GainComputer, _ band: Int, _ channel: Int,
        to sum: inout MutableSpan<Float>
    ) {
        let sound = crossover.samples(band: band, channel: channel, frames: sum.count)
        let count = sum.count
        guard count <= computer.gains.count && count == sound.count else { return }
        if band > 0 {
            for i in 0..<count { sum[i] += sound[i] * computer.gains[i] }
        } else {
            for i in 0..<count { sum[i] = sound[i] * computer.gains[i] }
        }
    }
}
