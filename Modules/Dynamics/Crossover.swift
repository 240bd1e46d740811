internal import RenderCore

/// Splits sound into bands by Linkwitz–Riley filters of fourth order, whose sum is an all-pass: every frequency has the level
/// that it had. A module holds it in a `RenderState`.
///
/// Each crossover is two Butterworth filters of second order in a row, a low-pass and a high-pass, both at -6 dB where they
/// meet. The bands below go through the all-passes that the crossovers above are, so that all bands have one phase:
///
///     x ── split 1 ─ high ── split 2 ─ high ─────────── band 3
///             │                 └───── low ──────────── band 2
///             └───── low ── all-pass 2 ──────────────── band 1
///
/// With the same coefficients for a pair of channels, both are computed at once, in double precision.
struct Crossover: ~Copyable, Sendable {
    /// The number of bands.
    let bandCount: Int
    /// The number of channels that there is a memory for.
    let channelCount: Int
    /// The longest run of frames.
    let frameLimit: Int

    /// The filters of a pair of channels: three for each crossover, then the all-passes.
    private var memory: RenderMemory<CrossoverPair>
    /// In each channel band after band.
    private var bands: AudioBlock
    /// One for each crossover at rest, and one for each frame of a crossover that moves.
    private var resting: RenderMemory<CrossoverNumbers>
    private var moving: RenderMemory<CrossoverNumbers>
    private var restingFrequencies: RenderMemory<Float>
    private let filterCount: Int
    private let rate: Double

    /// Creates a splitter at silence.
    ///
    /// - Parameters:
    ///   - bands: 2…16.
    ///   - channels: The largest number of channels, 1 or more.
    ///   - frames: The longest run of frames.
    ///   - sampleRate: Frames per second.
    init(bands: Int, channels: Int, frames: Int, sampleRate: Double) {
        demand(
            (2...16).contains(bands) && channels > 0 && frames >= 0,
            "Crossover: \(bands) bands of \(channels) channels and \(frames) frames; it must be 2…16, 1… and 0…")
        bandCount = bands
        channelCount = channels
        frameLimit = frames
        rate = sampleRate
        let crossovers = bands - 1
        filterCount = 3 * crossovers + crossovers * (crossovers - 1) / 2
        let nothing = CrossoverNumbers(frequency: 1_000, sampleRate: sampleRate)
        memory = RenderMemory(repeating: CrossoverPair(), count: (channels + 1) / 2 * filterCount)
        self.bands = AudioBlock(channels: channels, frames: bands * frames)
        resting = RenderMemory(repeating: nothing, count: crossovers)
        moving = RenderMemory(repeating: nothing, count: frames)
        restingFrequencies = RenderMemory(repeating: -1, count: crossovers)
    }

    /// Forgets the sound.
    @_noLocks @_noAllocation
    mutating func reset() { for i in 0..<memory.count { memory[i] = CrossoverPair() } }

    /// Forgets the sound of one channel.
    @_noLocks @_noAllocation
    mutating func reset(channel: Int) {
        guard channel >= 0 && channel < channelCount else { return }
        let first = channel / 2 &* filterCount
        for i in first..<first &+ filterCount {
            memory[i].u[channel & 1] = 0
            memory[i].w[channel & 1] = 0
        }
    }

    /// Takes a channel, which is split by ``split(_:frames:channels:at:)`` then.
    @_noLocks @_noAllocation
    mutating func take(_ sound: borrowing Samples, channel: Int) {
        guard channel >= 0 && channel < channelCount && sound.count <= frameLimit else { return }
        for i in sound.indices { bands[channel, i] = sound[i] }
    }

    /// Splits the channels that were taken at one crossover: 0 first, then 1, and so on.
    ///
    /// - Parameters:
    ///   - crossover: Its number, from 0.
    ///   - frames: The number of frames.
    ///   - channels: The number of channels.
    ///   - frequency: The frequency in hertz at which the bands meet.
    @_noLocks @_noAllocation
    mutating func split(_ crossover: Int, frames: Int, channels: Int, at frequency: Glide) {
        guard crossover >= 0 && crossover < bandCount &- 1, frames <= frameLimit, channels <= channelCount else {
            return
        }
        if frequency.isFlat {
            if frequency.end != restingFrequencies[crossover] {
                restingFrequencies[crossover] = frequency.end
                resting[crossover] = CrossoverNumbers(frequency: frequency.end, sampleRate: rate)
            }
        } else {
            for i in 0..<frames { moving[i] = CrossoverNumbers(frequency: frequency[i], sampleRate: rate) }
        }
        let numbers = resting[crossover]
        var channel = 0
        while channel < channels {
            let first = channel / 2 &* filterCount
            let lane = Lane(
                first: channel, second: channel &+ 1 < channels ? channel &+ 1 : channel, start: 0, frames: frames,
                isMoving: !frequency.isFlat)
            let own = first &+ 3 &* crossover
            Crossover.split(
                lane.moved(by: crossover &* frameLimit), frameLimit, numbers, moving, &memory, own, &bands)
            // The bands below turn their phases as this split does.
            for band in 0..<crossover {
                let pass = 3 &* (bandCount &- 1) &+ crossover &* (crossover &- 1) / 2 &+ band
                Crossover.turn(lane.moved(by: band &* frameLimit), numbers, moving, &memory, first &+ pass, &bands)
            }
            channel &+= 2
        }
    }

    /// Returns a channel of a band.
    @_lifetime(borrow self)
    @_noLocks @_noAllocation
    func samples(band: Int, channel: Int, frames: Int) -> Samples {
        bands.samples(channel, from: band &* frameLimit, frames: frames)
    }

    /// Delays a channel of a band.
    @_noLocks @_noAllocation
    mutating func delay(_ line: inout DelayRing, _ delay: Int, band: Int, channel: Int, frames: Int, ring: Int) {
        let first = band &* frameLimit
        var samples = bands[channel]
        line.delay(&samples, by: delay, from: first, count: frames, in: ring)
    }

    /// The places of a pair of channels. The second of one channel is that channel again.
    private struct Lane: BitwiseCopyable {
        var first: Int
        var second: Int
        /// The first frame of the band.
        var start: Int
        var frames: Int
        var isMoving: Bool

        @_noLocks @_noAllocation @inline(__always)
        func moved(by offset: Int) -> Lane {
            Lane(first: first, second: second, start: start &+ offset, frames: frames, isMoving: isMoving)
        }
    }

    /// 1 / Q of Butterworth's filter.
    private static var root: Double { @_noLocks @_noAllocation @inline(__always) get { 1.4142135623730951 } }

    @_noLocks @_noAllocation
    private static func split(
        _ lane: Lane, _ bandLength: Int, _ resting: CrossoverNumbers,
        _ moving: borrowing RenderMemory<CrossoverNumbers>,
        _ memory: inout RenderMemory<CrossoverPair>, _ place: Int, _ bands: inout AudioBlock
    ) {
        var (both, lows, highs) = (memory[place], memory[place &+ 1], memory[place &+ 2])
        var numbers = resting
        for i in 0..<lane.frames {
            if lane.isMoving { numbers = moving[i] }
            let x = SIMD2(Double(bands[lane.first, lane.start &+ i]), Double(bands[lane.second, lane.start &+ i]))
            let (band, low) = numbers.next(x, &both)
            let lower = numbers.next(low, &lows).low
            let high = x - root * band - low
            let (upperBand, upperLow) = numbers.next(high, &highs)
            let upper = high - root * upperBand - upperLow
            bands[lane.first, lane.start &+ i] = Float(lower[0])
            bands[lane.second, lane.start &+ i] = Float(lower[1])
            bands[lane.first, lane.start &+ bandLength &+ i] = Float(upper[0])
            bands[lane.second, lane.start &+ bandLength &+ i] = Float(upper[1])
        }
        (memory[place], memory[place &+ 1], memory[place &+ 2]) = (ended(both), ended(lows), ended(highs))
    }

    @_noLocks @_noAllocation
    private static func turn(
        _ lane: Lane, _ resting: CrossoverNumbers, _ moving: borrowing RenderMemory<CrossoverNumbers>,
        _ memory: inout RenderMemory<CrossoverPair>, _ place: Int, _ bands: inout AudioBlock
    ) {
        var pair = memory[place]
        var numbers = resting
        for i in 0..<lane.frames {
            if lane.isMoving { numbers = moving[i] }
            let x = SIMD2(Double(bands[lane.first, lane.start &+ i]), Double(bands[lane.second, lane.start &+ i]))
            let turned = x - 2 * root * numbers.next(x, &pair).band
            bands[lane.first, lane.start &+ i] = Float(turned[0])
            bands[lane.second, lane.start &+ i] = Float(turned[1])
        }
        memory[place] = ended(pair)
    }

    /// Returns the memory with zeros for what has faded so far that no `Float` shows it.
    @_noLocks @_noAllocation
    private static func ended(_ value: Double) -> Double { abs(value) < 1e-60 ? 0 : value }

    @_noLocks @_noAllocation
    private static func ended(_ pair: CrossoverPair) -> CrossoverPair {
        var pair = pair
        for lane in 0..<2 {
            pair.u[lane] = ended(pair.u[lane])
            pair.w[lane] = ended(pair.w[lane])
        }
        return pair
    }
}

/// Two integrators for each of two channels.
struct CrossoverPair: Sendable, BitwiseCopyable {
    var u = SIMD2<Double>(repeating: 0)
    var w = SIMD2<Double>(repeating: 0)
}

/// The coefficients of a crossover: all of its filters have the same.
struct CrossoverNumbers: Sendable, BitwiseCopyable {
    var drive: Double
    var damping: Double
    var rise: Double
    var turn: Double

    @_noLocks @_noAllocation
    init(frequency: Float, sampleRate: Double) {
        // The coefficients are those of FilterCoefficients, with Butterworth's Q.
        let turns = Double(frequency) / sampleRate
        let g = RenderMath.tan(.pi * (turns > 1e-9 ? (turns < 0.49 ? turns : 0.49) : 1e-9))
        let k = 1.4142135623730951
        drive = 2 * g / (1 + g * (g + k))
        damping = drive * (g + k)
        rise = g * drive
        turn = g * (2 - damping)
    }

    /// Goes on by a frame. Returns the band and the low output.
    @_noLocks @_noAllocation @inline(__always)
    func next(_ x: SIMD2<Double>, _ pair: inout CrossoverPair) -> (band: SIMD2<Double>, low: SIMD2<Double>) {
        let push = x - pair.w
        let u = (pair.u - damping * pair.u) + drive * push
        let w = (pair.w + turn * pair.u) + rise * push
        let outputs = (band: 0.5 * (pair.u + u), low: 0.5 * (pair.w + w))
        (pair.u, pair.w) = (u, w)
        return outputs
    }
}
