// A user's own effect, the whole of it. No unsafe, no flag.
import RenderStack

final class Tremolo: Effect {
    let rate = Parameter(5, in: 0...40, unit: .hertz)
    let depth = Parameter(0.5, in: 0...1)
    private let phase = RenderState<Float>(0)
    var parameters: [ParameterReference] { [rate.named("rate"), depth.named("depth")] }

    init() {}

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let step = rate.current(context) / Float(context.sampleRate)
        let depth = depth.glide(context)
        let start = phase.read(context)
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices {
                let wave = RenderMath.sin(turns: start + step * Float(i))
                samples[i] *= 1 - depth[i] * (0.5 + 0.5 * wave)
            }
        }
        let end = start + step * Float(context.frameCount)
        phase.write(end - Float(Int(end)), context)
    }
}
