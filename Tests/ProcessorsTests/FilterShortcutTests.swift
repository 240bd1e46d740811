import RenderStack
import TestSupport
import Testing

/// A filter with settings that have not changed goes on after a few comparisons. Its sound must be the same.
@Suite struct FilterShortcutTests {
    /// A band-pass that asks for everything in every slice.
    final class Asking: Effect {
        let center = Parameter(1_000, in: 20...20_000, unit: .hertz, glide: .exponential(.milliseconds(20)))
        let octaves = Parameter(1, in: 1 / 12...10, unit: .octaves, glide: .linear(.milliseconds(20)))
        let mix = Parameter(1, in: 0...1)
        private let filter = RenderState(GlidingFilter())

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let settings = FilterSettings(
                .bandpass, frequency: center.glide(context), width: .octaves(octaves.glide(context)),
                mix: mix.glide(context))
            filter.with(&context) { filter, context in filter.process(&context, settings) }
        }

        @_noLocks @_noAllocation
        func reset(_ context: inout RenderContext) { filter.with(&context) { filter, _ in filter.reset() } }
    }

    /// The signal for both filters, and the changes of their settings.
    struct Setting: Sendable {
        var channels = 1
        var isInside = false
        var resets = false
    }

    /// Shared by both renderers, which render one after the other.
    final class Feed: Sendable {
        let setting = ManagedValue(Setting())
    }

    private static func renderer(_ effect: some Effect, _ feed: Feed) throws -> Renderer {
        try Renderer(channels: 3, layout: StackLayout(slots: 4, channels: 3, frames: 512)) { context in
            feed.setting.with(&context) { setting, context in
                context.push(channels: setting.channels)
                let now = context.sampleTime
                var top = context.top
                for channel in 0..<top.channelCount {
                    var samples = top[channel]
                    for i in samples.indices { samples[i] = FrameCounter.sample((now + Int64(i)) * 7_919, channel) }
                }
                if setting.resets { context.reset(effect) }
                if setting.isInside {
                    let half = context.frameCount / 2
                    context.subBlock(offset: 0, length: half) { context in context.run(effect) }
                    context.subBlock(offset: half, length: context.frameCount - half) { $0.run(effect) }
                } else {
                    context.run(effect)
                }
                context.output()
            }
        }
    }

    @Test("However its parameters move, the filter has the bits of one that asks for every value", arguments: 1...6)
    func random(seed: UInt64) throws {
        var state = seed
        func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state &>> 33) % count
        }
        let (quick, asking) = (Bandpass(center: 1_000, octaves: 1), Asking())
        let feed = Feed()
        let renderers = try (Self.renderer(quick, feed), Self.renderer(asking, feed))
        for round in 0..<150 {
            switch next(10) {
            case 0:
                let value = 20 + Float(next(10_000))
                (quick.center.value, asking.center.value) = (value, value)
            case 1:
                let value = 0.5 + Float(next(100)) / 50
                (quick.octaves.value, asking.octaves.value) = (value, value)
            case 2:
                let value = [0, 0.25, 1][next(3)] as Float
                (quick.mix.value, asking.mix.value) = (value, value)
            case 3, 4:
                let setting = Setting(
                    channels: next(3) + 1, isInside: next(4) == 0, resets: next(4) == 0)
                feed.setting.set(setting)
            default: break
            }
            let frames = [1, 5, 8, 64, 100, 512][next(6)] * (next(3) == 0 ? 20 : 1)
            let cycle = frames % 3 == 0 ? 64 : 512
            let a = render(renderers.0, frames: frames, cycles: [cycle])
            let b = render(renderers.1, frames: frames, cycles: [cycle])
            if a != b {
                Issue.record("round \(round)")
                return
            }
        }
        #expect(renderers.0.faultCount == 0 && renderers.1.faultCount == 0)
    }

    @Test("At another sample rate the coefficients are those of that rate")
    func otherRate() throws {
        let filter = Bandpass(center: 1_000, octaves: 1)
        for rate in [48_000.0, 96_000, 44_100] {
            func renderer(_ filter: Bandpass) throws -> Renderer {
                let tone = Oscillator(frequency: 1_500)
                return try Renderer(sampleRate: rate, channels: 1) { context in
                    context.run(tone)
                    context.run(filter)
                    context.output()
                }
            }
            let old = try renderer(filter)
            let new = try renderer(Bandpass(center: 1_000, octaves: 1))
            // The old filter's sound at the rate before fades within this time.
            let a = render(old, frames: 49_152, cycles: [64])[0].suffix(4_096)
            let b = render(new, frames: 49_152, cycles: [64])[0].suffix(4_096)
            #expect(a == b)
            #expect(b.contains { abs($0) > 0.1 })
        }
    }
}
