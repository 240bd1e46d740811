// Modules made of modules, with the compiler's proof.
import RenderStack

final class Strip: Effect {
    let filter = Member(LowPass(cutoff: 800))
    let echo = Member(Delay(time: 0.25))
    let isOpen = Switch()
    private let peak = RenderState<Float>(0)

    var members: [any Module] { [filter.module, echo.module] }
    var parameters: [ParameterReference] { filter.module.parameters + [isOpen.named("open")] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        if !isOpen.isOn(context) { context.run(filter) }
        context.run(echo)
        peak.withTop(&context) { peak, top in
            let samples = top.samples(0)
            for i in samples.indices { peak = max(peak, abs(samples[i])) }
        }
    }
}

final class Voice: Generator {
    private let tone = Member(Oscillator(.saw, frequency: 110))
    private let noise: Member<Noise>
    private let strip = Member(Strip())
    private let count = RenderState(0)

    init(noise: Noise) { self.noise = Member(noise) }

    var members: [any Module] { [tone.module, noise.module, strip.module] }
    func latency(at sampleRate: Double) -> Int { strip.module.latency(at: sampleRate) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.run(tone)
        if noise.isActive(context) {
            context.run(noise)
            context.mix(2)
        }
        let slices = count.read(context) + 1
        count.write(slices, context)
        if slices == 100 { context.reset(tone) }
        context.run(strip)
    }

    @_noLocks @_noAllocation
    func isActive(_ context: borrowing RenderContext) -> Bool { tone.isActive(context) }
}

func program() throws {
    let dry = AudioInput(channels: 1)
    let strip = Strip()
    let chain = try Renderer { context in
        context.run(dry)
        context.run(strip)
        context.output()
    }
    let voice = Voice(noise: Noise(.pink)), insert = Insert(chain, input: dry)
    let renderer = try Renderer { context in
        context.run(voice)
        context.run(insert)
        context.output()
    }
    strip.filter.module.cutoff.value = 3_000
    try renderer.messages.send { context in context.reset(voice) }
}
