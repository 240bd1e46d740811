import Processors
public import RenderCore
public import Tones

/// Makes the sound louder and softer, over and over. Edits the top.
///
///     let tremolo = Tremolo(rate: 5, depth: 0.6)
///     let gate = Tremolo(.square, beats: 0.5, depth: 1)           // on and off, two times a beat
///
/// The gain is `1 - depth · (1 - wave) / 2`: it goes from 1 down to `1 - depth` and is never above 1. The even channels are
/// left, the odd ones right. Latency: none.
///
/// Threads: control.
public final class Tremolo: Effect {
    /// The turns of the wave in a second: 0…100 Hz.
    public let rate: Parameter
    /// The time of a turn in beats of `Renderer.tempo`, 0…1024, where turn 0 begins at beat 0; 0: the ``rate`` counts.
    public let beats: Parameter
    /// The distance that the gain goes down: 0…1. At 0 the sound stays as it is, bit for bit.
    public let depth: Parameter
    /// The lead of the right side over the left, in turns: -0.5…0.5. At ½ one side is loud while the other is soft.
    public let stereoPhase: Parameter
    /// The shape of a turn. A jump takes 2 ms, a quarter of a turn at most.
    public let shape: LFOCore.Shape

    private let wave = RenderState(SlowWave(reach: 1))

    /// Creates a tremolo.
    ///
    /// - Parameters:
    ///   - shape: The shape of a turn, for good.
    ///   - rate: In hertz.
    ///   - beats: The time of a turn in beats, instead of a rate.
    ///   - depth: 0…1.
    ///   - stereoPhase: In turns, -0.5…0.5.
    public init(
        _ shape: LFOCore.Shape = .sine, rate: Float = 5, beats: Float = 0, depth: Float = 0.5, stereoPhase: Float = 0
    ) {
        self.shape = shape
        self.rate = .turns(rate, upTo: 100)
        self.beats = .beatsOfATurn(beats)
        self.depth = Parameter(depth, in: 0...1, glide: .smooth(.milliseconds(20)))
        self.stereoPhase = Parameter(stereoPhase, in: -0.5...0.5, glide: .smooth(.milliseconds(50)))
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [rate.named("rate"), beats.named("beats"), depth.named("depth"), stereoPhase.named("stereoPhase")]
    }

    /// Weights the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let pace = SlowWave.Pace(context, shape, rate: rate, beats: beats)
        let (depth, phase) = (depth.glide(context), stereoPhase.glide(context))
        let frames = depth.lastFrame(of: context.frameCount)
        wave.withTop(&context) { wave, top in
            wave.begin(pace)
            let isAlike = top.channelCount < 2 || (phase.isFlat && phase.end == 0)
            var done = 0
            while done < frames {
                let count = min(frames &- done, SlowWave.block)
                wave.render(pace, spread: phase, from: done, count: count, columns: isAlike ? 1 : 2)
                for channel in 0..<top.channelCount {
                    var samples = top[channel]
                    let column = isAlike ? 0 : channel & 1
                    var i = 0
                    if depth.isFlat {
                        while i &+ 8 <= count {
                            let gain = 1 - depth.end * (0.5 - 0.5 * wave.vector8(column, i))
                            samples.store(samples.vector8(at: done &+ i) * gain, at: done &+ i)
                            i &+= 8
                        }
                    }
                    while i < count {
                        samples[done &+ i] *= 1 - depth[done &+ i] * (0.5 - 0.5 * wave[column, i])
                        i &+= 1
                    }
                }
                done &+= count
            }
            wave.skip(pace, from: done, count: top.frameCount &- done)
        }
    }

    /// Begins the wave anew.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) { wave.with(&context) { wave, _ in wave.reset() } }
}
