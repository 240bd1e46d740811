import Processors
public import RenderCore
public import Tones

/// Moves the sound from left to right and back, over and over, at an even loudness. Edits the top.
///
///     let pan = AutoPan(rate: 0.3)
///     let steps = AutoPan(.randomSteps, beats: 1)                 // another place on each beat
///
/// The place is `position + depth · wave`, from left (-1) to right (1), held to that. Of two channels the gains are
/// `√2 cos` and `√2 sin`, so that their squares sum up to 2 at every place; in the middle both are 1. Mono becomes stereo,
/// with `cos` and `sin`, whose squares sum up to 1. So the power that goes in comes out. A buffer of more than two channels
/// is silenced and counts as a fault, as by a `Pan`. Latency: none.
///
/// Threads: control.
public final class AutoPan: Effect {
    /// The turns of the wave in a second: 0…100 Hz.
    public let rate: Parameter
    /// The time of a turn in beats of `Renderer.tempo`, 0…1024, where turn 0 begins at beat 0; 0: the ``rate`` counts.
    public let beats: Parameter
    /// The distance that the sound goes to either side: 0…1. At 0, with the ``position`` in the middle, two channels stay as they
    /// are, bit for bit.
    public let depth: Parameter
    /// The middle of the way, from left (-1) to right (1).
    public let position: Parameter
    /// The shape of a turn. A jump takes 2 ms, a quarter of a turn at most.
    public let shape: LFOCore.Shape

    private let wave = RenderState(PanWave())

    /// Creates an auto-pan.
    ///
    /// - Parameters:
    ///   - shape: The shape of a turn, for good.
    ///   - rate: In hertz.
    ///   - beats: The time of a turn in beats, instead of a rate.
    ///   - depth: 0…1.
    ///   - position: -1…1.
    public init(
        _ shape: LFOCore.Shape = .sine, rate: Float = 0.5, beats: Float = 0, depth: Float = 1, position: Float = 0
    ) {
        self.shape = shape
        self.rate = .turns(rate, upTo: 100)
        self.beats = .beatsOfATurn(beats)
        self.depth = Parameter(depth, in: 0...1, glide: .smooth(.milliseconds(20)))
        self.position = Parameter(position, in: -1...1, glide: .smooth(.milliseconds(500)))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [rate.named("rate"), beats.named("beats"), depth.named("depth"), position.named("position")]
    }

    /// Weights the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let pace = SlowWave.Pace(context, shape, rate: rate, beats: beats)
        let (depth, position) = (depth.glide(context), position.glide(context))
        let wasMono = context.channelCount() == 1
        guard context.widenTop() else { return }
        wave.withTop(&context) { wave, top in
            wave.waves.begin(pace)
            var done = 0
            while done < top.frameCount {
                let count = min(top.frameCount &- done, SlowWave.block)
                wave.render(pace, depth, position, from: done, count: count, wasMono: wasMono)
                for side in 0..<2 {
                    var samples = top[side]
                    wave.apply(side, to: &samples, from: done, count: count)
                }
                done &+= count
            }
        }
    }

    /// Begins the wave anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { wave.with(&context) { wave, _ in wave.waves.reset() } }
}

/// The gains of an ``AutoPan``.
private struct PanWave: ~Copyable, Sendable {
    var waves = SlowWave(reach: 0)
    /// The gains of a block: those of the left side, then those of the right.
    private var gains = RenderMemory<Float>(repeating: 1, count: 2 * SlowWave.block)

    /// Computes the gains of a block.
    @_noLocks @_noAllocation
    mutating func render(
        _ pace: SlowWave.Pace, _ depth: Glide, _ position: Glide, from first: Int, count: Int, wasMono: Bool
    ) {
        waves.render(pace, spread: Glide(0), from: first, count: count, columns: 1)
        let isFlat = depth.isFlat && position.isFlat
        var i = 0
        while i < count {
            var place = SIMD8<Float>(repeating: position.end) + depth.end * waves.vector8(0, i)
            if !isFlat {
                for k in 0..<8 { place[k] = position[first &+ i &+ k] + depth[first &+ i &+ k] * waves[0, i &+ k] }
            }
            place.replace(with: -1, where: place .< -1)
            place.replace(with: 1, where: place .> 1)
            let turn = (1 + place) * 0.125
            var left = RenderMath.sin(turns: 0.25 - turn)
            var right = RenderMath.sin(turns: turn)
            if !wasMono {
                // In the middle they are 1 and not nearly so.
                left = (left * 1.4142135).replacing(with: 1, where: place .== 0)
                right = (right * 1.4142135).replacing(with: 1, where: place .== 0)
            }
            gains.store(left, at: i)
            gains.store(right, at: SlowWave.block &+ i)
            i &+= 8
        }
    }

    /// Weights a block of a side.
    @_noLocks @_noAllocation
    mutating func apply(_ side: Int, to samples: inout MutableSpan<Float>, from first: Int, count: Int) {
        var i = 0
        while i &+ 8 <= count {
            let gain = gains.vector8(at: side &* SlowWave.block &+ i)
            samples.store(samples.vector8(at: first &+ i) * gain, at: first &+ i)
            i &+= 8
        }
        while i < count {
            samples[first &+ i] *= gains.value(at: side &* SlowWave.block &+ i)
            i &+= 1
        }
    }
}
