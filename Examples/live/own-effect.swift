// A module of the file's own. A class of the file is another class in each version, so it begins anew with each save; one in
// a library target of your package goes on like any other module.

import RenderStackLive

final class Trembler: Effect {
    let rate = Parameter(5, in: 0...40, unit: .hertz)
    let depth = Parameter(0.8, in: 0...1)
    private let phase = RenderState<Float>(0)
    var parameters: [ParameterReference] { [rate.named("rate"), depth.named("depth")] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let step = rate.current(context) / Float(context.sampleRate)
        let depth = depth.glide(context)
        let start = phase.read(context)
        var top = context.top
        top.change { sample, frame, channel in
            let turns = start + step * Float(frame)
            return sample * (1 - depth[frame] * (0.5 - 0.5 * RenderMath.cos(turns: turns)))
        }
        let end = start + step * Float(context.frameCount)
        phase.write(end - Float(Int(end)), context)
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { phase.write(0, context) }
}

func loop(_ live: Live) throws -> RenderLoop {
    let tone = live.keep("tone") { Oscillator(.square, frequency: 165, level: 0.2) }
    let trembler = Trembler()

    return { context in
        context.run(tone)
        context.run(trembler)
        context.output()
    }
}
