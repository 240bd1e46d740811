public import RenderCore
public import Tones

/// Lets the pitch go up and down. Edits the top.
///
///     let vibrato = Vibrato(rate: 5.5, depth: 30)                 // 30 cents
///
/// It is a delay that goes shorter and longer: by `(2^(depth / 1200) - 1) / s` seconds to either side, where s is the
/// steepest slope of the wave, 2π · rate for a sine and 4 · rate for a triangle. So the highest pitch is `depth` cents above
/// the sound's. The delay goes 5 ms to either side at most: at low rates the depth is held to that, to 53 cents for a sine of
/// 1 Hz.
///
/// Latency: 5 ms and 10 frames, always, which is the delay in the middle; with a depth of 0 the sound comes out delayed by
/// it, bit for bit. The even channels are left, the odd ones right. It interpolates as a `DelayLine` does, flat within
/// 0.01 dB up to 0.35 of the sample rate.
///
/// Threads: control.
public final class Vibrato: Effect {
    /// The turns of the wave in a second: 0…20 Hz.
    public let rate: Parameter
    /// The time of a turn in beats of `Renderer.tempo`, 0…1024, where turn 0 begins at beat 0; 0: the ``rate`` counts.
    public let beats: Parameter
    /// The distance that the pitch goes up, in cents: 0…200. A change takes 100 ms.
    public let depth: Parameter
    /// The lead of the right side over the left, in turns: -0.5…0.5.
    public let stereoPhase: Parameter
    /// The shape of the delay: that of the pitch is its slope.
    public let shape: LFOCore.Shape

    private let line: RenderState<VibratoLine>

    /// Creates a vibrato.
    ///
    /// - Parameters:
    ///   - shape: A sine (the pitch goes up and down smoothly), a triangle (between two pitches) or a random curve.
    ///   - rate: In hertz.
    ///   - beats: The time of a turn in beats, instead of a rate.
    ///   - depth: In cents.
    ///   - stereoPhase: In turns, -0.5…0.5.
    /// - Precondition: The shape has no jumps.
    public init(
        _ shape: LFOCore.Shape = .sine, rate: Float = 5.5, beats: Float = 0, depth: Float = 25, stereoPhase: Float = 0
    ) {
        shape.demandNoJumps("Vibrato")
        self.shape = shape
        self.rate = Parameter(rate, in: 0...20, unit: .hertz, glide: .smoothExponential(.milliseconds(500)))
        self.beats = .beatsOfATurn(beats)
        self.depth = Parameter(depth, in: 0...200, unit: .cents, glide: .smooth(.milliseconds(100)))
        self.stereoPhase = Parameter(stereoPhase, in: -0.5...0.5, glide: .smooth(.milliseconds(400)))
        line = RenderState(VibratoLine(channels: 1, sampleRate: 48_000))
    }

    /// Returns 5 ms and 10 frames.
    public func latency(at sampleRate: Double) -> Int { VibratoLine.middle(sampleRate.asSampleRate) }

    /// Makes the memory.
    public func prepare(_ preparation: Preparation) {
        line.replace(
            with: VibratoLine(channels: preparation.maximumChannelCount, sampleRate: preparation.sampleRate))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [rate.named("rate"), beats.named("beats"), depth.named("depth"), stereoPhase.named("stereoPhase")]
    }

    /// Delays the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let pace = SlowWave.Pace(context, shape, rate: rate, beats: beats)
        let (depth, phase) = (depth.glide(context), stereoPhase.glide(context))
        line.withTop(&context) { line, top in line.process(&top, pace, depth: depth, phase: phase) }
    }

    /// Forgets the sound before, and begins the wave anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { line.with(&context) { line, _ in line.reset() } }
}

/// The lines of a ``Vibrato``.
private struct VibratoLine: ~Copyable, Sendable {
    private var wave = SlowWave(reach: 1, movesDelay: true)
    private var kernel = DelayKernel()
    private let middle: Int
    private var ring: DelayRing
    /// The distance that the delay goes, in frames; less than 0 before the first frame.
    private var swing = -1.0
    /// Two numbers that lead the distance to where it goes, without a corner.
    private var leader = 0.0
    private var follower = 0.0

    init(channels: Int, sampleRate: Double) {
        middle = VibratoLine.middle(sampleRate)
        // Sixteen samples in a row are read without a seam.
        ring = DelayRing(channels: channels, length: DelayRing.length(2 * middle + 96, from: 64), behind: 16)
    }

    @_noLocks @_noAllocation
    static func middle(_ sampleRate: Double) -> Int { Int(0.005 * sampleRate) &+ 10 }

    @_noLocks @_noAllocation
    mutating func reset() {
        wave.reset()
        ring.reset()
        swing = -1
    }

    /// Takes the swing nearer to what is wanted, in three steps, so that its way has no corners.
    @_noLocks @_noAllocation
    private mutating func follow(_ wanted: Double, _ share: Double, leader lead: Double) {
        leader += lead * (wanted - leader)
        follower += share * (leader - follower)
        swing += share * (follower - swing)
        if abs(wanted - swing) < 1e-9 && abs(wanted - leader) < 1e-9 && abs(wanted - follower) < 1e-9 {
            (leader, follower, swing) = (wanted, wanted, wanted)
        }
    }

    /// Returns how far the delay goes to either side, in frames.
    @_noLocks @_noAllocation
    private func swing(_ cents: Float, _ pace: SlowWave.Pace, _ frame: Int, crossing: Double = 0) -> Double {
        if cents <= 0 { return 0 }
        let slope: Double =
            switch pace.shape {
            case .sine: 2 * .pi
            case .triangle: 4
            // From -1 to 1, along a smooth step.
            default: 3
            }
        let own = pace.isLed ? Double(pace.exactStep) * 0x1p-64 : Double(pace.rate[frame]) / pace.sampleRate
        // Of two waves the faster one says how far it may go.
        let turns = max(own, crossing)
        let speed = Double(RenderMath.exp2(cents * (1 / 1_200))) - 1
        let most = Double(middle &- 10)
        return speed < most * (slope * turns) ? speed / (slope * turns) : most
    }

    @_noLocks @_noAllocation
    mutating func process(_ top: inout AudioBuffer, _ pace: SlowWave.Pace, depth: Glide, phase: Glide) {
        wave.begin(pace)
        let channels = min(top.channelCount, ring.channelCount)
        ring.use(channels)
        let isAlike = channels < 2 || (phase.isFlat && phase.end == 0)
        let sides = isAlike ? 1 : 2
        let isFlat = depth.isFlat && pace.isFlat
        let goal = swing(depth.end, pace, 0)
        if swing < 0 {
            swing = swing(depth.start, pace, 0)
            (leader, follower) = (swing, swing)
        }
        // A tempo that leaps takes the swing with it in some 50 ms, or in half a second if it gets slower.
        let share = min(1, 1 / (0.01 * pace.sampleRate))
        var done = 0
        while done < top.frameCount {
            let count = min(top.frameCount &- done, SlowWave.block)
            wave.render(pace, spread: phase, from: done, count: count, columns: sides)
            for channel in 0..<channels { ring.write(top.samples(channel), from: done, count: count, in: channel) }
            for channel in channels..<ring.used { ring.writeSilence(count: count, in: channel) }
            for i in 0..<count {
                let crossing = wave.turnsWhileCrossing(i)
                let wanted =
                    isFlat && crossing == 0 ? goal : swing(depth[done &+ i], pace, done &+ i, crossing: crossing)
                // Up it may take its time, because a slow wave that goes far is no less in tune; down it must be at once.
                if swing != wanted { follow(wanted, share, leader: wanted > leader ? 0.1 * share : share) }
                for side in 0..<sides {
                    let aim = kernel.aim(Double(middle) + swing * Double(wave[side, i]))
                    // The newest sample has the first weight.
                    let (newer, older) = (aim.weights.lowHalf.reversed, aim.weights.highHalf.reversed)
                    var channel = side
                    while channel < channels {
                        let first = ring.place(channel, i &- aim.whole &- 8)
                        let sums =
                            ring.samples.vector8(at: first) * older + ring.samples.vector8(at: first &+ 8) * newer
                        let four = sums.lowHalf + sums.highHalf
                        var output = top[channel]
                        output[done &+ i] = (four[0] + four[1]) + (four[2] + four[3])
                        channel &+= sides
                    }
                }
            }
            ring.advance(by: count)
            done &+= count
        }
    }
}

extension SIMD8<Float> {
    /// The lanes from the last to the first.
    fileprivate var reversed: SIMD8 {
        @_noLocks @_noAllocation @inline(__always) get {
            SIMD8(self[7], self[6], self[5], self[4], self[3], self[2], self[1], self[0])
        }
    }
}
