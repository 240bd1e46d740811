import RenderStack
import TestSupport
import Testing

/// Lets sound out 5 ms later, at any sample rate.
private final class FiveMilliseconds: Effect {
    private let line = RenderState(Line(frames: 1))
    private struct Line: ~Copyable, Sendable {
        var samples: RenderMemory<Float>
        var position = 0
        init(frames: Int) { samples = RenderMemory(repeating: 0, count: frames) }
    }

    func latency(at sampleRate: Double) -> Int { Int(0.005 * sampleRate) }

    func prepare(_ preparation: Preparation) {
        line.replace(with: Line(frames: latency(at: preparation.sampleRate)))
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        line.with(&context) { line, context in
            var top = context.top
            var samples = top[0]
            for i in samples.indices {
                let old = line.samples[line.position]
                line.samples[line.position] = samples[i]
                samples[i] = old
                line.position = line.position &+ 1 < line.samples.count ? line.position &+ 1 : 0
            }
        }
    }
}

/// A click on the first frame, then silence.
private final class Click: Generator {
    private let isOver = RenderState<Bool>(false)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        if !isOver.read(context) {
            var top = context.top
            var samples = top[0]
            samples[0] = 1
        }
        isOver.write(true, context)
    }
}

/// A renderer of a click and what delays it, at some rate that is not yet the right one.
private func late() throws -> Renderer {
    let (click, effect) = (Click(), FiveMilliseconds())
    return try Renderer(channels: 1) { context in
        context.run(click)
        context.run(effect)
        context.output()
    }
}

private func renderer(_ module: some Generator) throws -> Renderer {
    try Renderer(channels: 1) { context in
        context.run(module)
        context.output()
    }
}

/// Returns the position of the loudest sample.
private func place(in samples: [Float]) -> Int? { samples.indices.max { abs(samples[$0]) < abs(samples[$1]) } }

@Suite("Module.latency(at:)")
struct ModuleLatencyTests {
    @Test("5 ms are 220 frames at 44.1 kHz and 480 at 96, at once after the change, and the sound is as late as that")
    func rates() throws {
        for (rate, frames) in [(44_100.0, 220), (96_000, 480), (8_000, 40)] {
            let renderer = try late()
            renderer.configure(sampleRate: rate)
            #expect(renderer.latency == frames)
            #expect(place(in: render(renderer, frames: 1_000, cycles: [64])[0]) == frames)
        }
    }

    @Test("Renderers inside of others are asked for the rate that they run at", arguments: [44_100.0, 48_000, 96_000])
    func inside(rate: Double) throws {
        let own = Int(0.005 * rate)
        let modules: [(String, any Generator, Int)] = [
            ("SubRenderer", SubRenderer(try late()), own),
            ("Splitter in SubRenderer", SubRenderer(try renderer(try Splitter(SubRenderer(try late())))), own),
            ("Mixer", Mixer(channels: 1, [MixerSource(SubRenderer(try late()))]), own),
            ("Varispeed", Varispeed(try late()), own + 224),
        ]
        for (name, module, frames) in modules {
            let outer = try renderer(module)
            outer.configure(sampleRate: rate)
            #expect(outer.latency == frames, "\(name)")
            #expect(place(in: render(outer, frames: 2_000, cycles: [100])[0]) == frames, "\(name)")
        }
        let branches = Parallel([try late(), try late()], workers: 0)
        let outer = try Renderer(sampleRate: rate, channels: 1) { context in
            context.run(branches)
            context.mix(2)
            context.output()
        }
        #expect(outer.latency == own)
    }

    @Test("A RateConverter counts what is inside at the inner rate, in frames of the outer one")
    func converted() throws {
        // 5 ms at 48 kHz are 240 frames; 61 are the filter's.
        for (inner, outer, filter) in [(44_100.0, 48_000.0, 61), (48_000, 96_000, 112), (96_000, 48_000, 56)] {
            let converter = RateConverter(try late(), sampleRate: inner)
            let renderer = try renderer(converter)
            renderer.configure(sampleRate: outer)
            let inside = Double(Int(0.005 * inner)) * outer / inner
            #expect(renderer.latency == filter + Int(inside.rounded()))
            let found = place(in: render(renderer, frames: 2_000, cycles: [64])[0])
            #expect(found == renderer.latency, "\(inner) in \(outer)")
        }
    }
}
