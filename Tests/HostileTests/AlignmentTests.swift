import RenderStack
import TestSupport
import Testing

/// Branches that are differently late, and sound at the same time.
@Suite struct AlignmentTests {
    private func impulse(at frame: Int, _ value: Float, of frames: Int) -> [Float] {
        (0..<frames).map { $0 == frame ? value : 0 }
    }

    private func isFinite(_ samples: [Float]) -> Bool { samples.allSatisfy { $0.isFinite } }

    @Test("An impulse through a branch with no latency and one with 64 frames is one impulse", arguments: cycleLengths)
    func impulse(cycles: [Int]) throws {
        let (click, late, mix) = (Click(at: 10), Late(64), AlignedMix(2))
        let renderer = try Renderer(channels: 1) { context in
            context.run(click)
            context.duplicate()
            context.run(late)
            context.run(mix)
            context.output()
        }
        #expect(render(renderer, frames: 1_000, cycles: cycles)[0] == impulse(at: 74, 2, of: 1_000))
        #expect(renderer.latency == 64 && mix.heldBack == [64, 0] && renderer.faultCount == 0)
    }

    @Test("Three branches, buffers of two channels, a mix in a mix, and a plain mix before it")
    func several() throws {
        let (click, a, b, c) = (Click(), Late(7), Late(100), Late(30))
        let (inner, outer) = (AlignedMix(3), AlignedMix(2))
        let renderer = try Renderer { context in
            context.run(click)
            context.duplicate()
            context.run(a)
            context.duplicate()
            context.run(b)
            context.run(inner)
            context.run(c)
            context.run(click)
            context.run(outer)
            context.output()
        }
        // The third branch is a copy of the second: both are 7 frames late when it is made.
        #expect(renderer.latency == 137)
        #expect(inner.heldBack == [107, 100, 0] && outer.heldBack == [0, 137])
    }

    @Test("A mixer that aligns its sources, in a mixer that aligns them", arguments: cycleLengths)
    func mixers(cycles: [Int]) throws {
        let inner = Mixer(
            channels: 1, alignsLatencies: true, [MixerSource(LateClick(0)), MixerSource(LateClick(64))])
        let outer = Mixer(channels: 1, alignsLatencies: true, [MixerSource(inner), MixerSource(LateClick(100))])
        let renderer = try Renderer(channels: 1) { context in
            context.run(outer)
            context.output()
        }
        #expect(inner.latency(at: 48_000) == 64 && outer.latency(at: 48_000) == 100 && renderer.latency == 100)
        #expect(render(renderer, frames: 500, cycles: cycles)[0] == impulse(at: 100, 3, of: 500))
        #expect(renderer.faultCount == 0)
    }

    @Test("A mixer that does not align leaves its sources as they are")
    func plain() throws {
        let mixer = Mixer(channels: 1, [MixerSource(LateClick(0)), MixerSource(LateClick(64))])
        let renderer = try Renderer(channels: 1) { context in
            context.run(mixer)
            context.output()
        }
        let sound = render(renderer, frames: 100)[0]
        #expect(sound[0] == 1 && sound[64] == 1 && renderer.latency == 64)
    }

    @Test("A delayed source that has ended is heard to its end")
    func ending() throws {
        let mixer = Mixer(
            channels: 1, alignsLatencies: true, [MixerSource(Brief(frames: 10)), MixerSource(LateClick(200, at: 400))])
        let renderer = try Renderer(channels: 1) { context in
            context.run(mixer)
            context.output()
        }
        let expected = (0..<500).map { (frame: Int) -> Float in (200..<210).contains(frame) ? 1 : 0 }
        #expect(render(renderer, frames: 500, cycles: [16])[0] == expected)
    }

    @Test("A latency that changes with the loop: no step while it fades over, and exact afterwards")
    func change() throws {
        let tone = Oscillator(.sine, frequency: 100)
        let mix = AlignedMix(2)
        func loop(_ late: Late) -> RenderLoop {
            return { context in
                context.run(tone)
                // A branch with nothing in it: the tone alone is what is heard.
                context.push(channels: 1)
                context.run(late)
                context.run(mix)
                context.output()
            }
        }
        let renderer = try Renderer(channels: 1, loop(Late(0)))
        var heard = render(renderer, frames: 2_000, cycles: [64])[0]
        for frames in [64, 3_000, 20, 9_000, 0, 4_000] {
            try renderer.replaceLoop(loop(Late(frames)))
            #expect(renderer.latency == frames && mix.heldBack == [frames, 0])
            heard += render(renderer, frames: 20_000, cycles: [64, 100])[0]
            // At rest the sound is late by so many frames.
            let reference = Oscillator(.sine, frequency: 100)
            let plain = try Renderer(channels: 1) { context in
                context.run(reference)
                context.output()
            }
            let whole = render(plain, frames: heard.count)[0]
            let last = heard.count - 1_000
            #expect(heard[last...] == whole[last - frames..<heard.count - frames])
        }
        // The tone's own steps are 0.0131; two of them fade over in 240 frames.
        let step = zip(heard, heard.dropFirst()).map { abs($1 - $0) }.max() ?? 1
        #expect(step < 0.0131 + 2.0 / 240)
        #expect(renderer.faultCount == 0)
    }

    @Test("A mix that comes with a loop of a transaction is aligned from its first frame on")
    func staged() throws {
        let (early, click, late, mix) = (Click(at: 90), Click(at: 110), Late(64), AlignedMix(2))
        let renderer = try Renderer(channels: 1) { context in
            context.run(early)
            context.output()
        }
        try renderer.transaction(at: .sample(100)) {
            try renderer.replaceLoop { context in
                context.run(click)
                context.duplicate()
                context.run(late)
                context.run(mix)
                context.output()
            }
        }
        let heard = render(renderer, frames: 300, cycles: [64])[0]
        #expect(heard == (0..<300).map { $0 == 90 ? 1 : $0 == 174 ? 2 : 0 })
    }

    @Test("A latency that a module changes by itself while it plays is taken up")
    func changeByItself() async throws {
        let input = AudioInput(channels: 1)
        func chain(_ late: Late) -> RenderLoop {
            return { context in
                context.run(input)
                context.run(late)
                context.output()
            }
        }
        let inner = try Renderer(channels: 1, chain(Late(10)))
        let (insert, mix, source) = (Insert(inner, input: input), AlignedMix(2), Constant(1))
        let renderer = try Renderer(channels: 1) { context in
            context.run(source)
            context.duplicate()
            context.run(insert)
            context.run(mix)
            context.output()
        }
        #expect(mix.heldBack == [10, 0])
        try inner.replaceLoop(chain(Late(50)))
        #expect(renderer.latency == 50)
        #expect(
            await becomesTrue(30) {
                _ = render(renderer, frames: 64)
                return mix.heldBack == [50, 0]
            })
    }

    @Test("Inside of a module its author says how late the buffers are")
    func byHand() throws {
        final class Parallel2: Effect {
            let late = Member(Late(40))
            let mix = Member(AlignedMix(2))
            var members: [any Module] { [late.module, mix.module] }
            func prepare(_ preparation: Preparation) {
                mix.module.align([0, late.module.latency(at: preparation.sampleRate)])
            }

            @_noLocks @_noAllocation
            func process(_ context: inout RenderContext) {
                context.duplicate()
                context.run(late)
                context.run(mix)
            }
        }
        let (click, both) = (Click(), Parallel2())
        let renderer = try Renderer(channels: 1) { context in
            context.run(click)
            context.run(both)
            context.output()
        }
        #expect(render(renderer, frames: 100)[0] == impulse(at: 40, 2, of: 100))
        #expect(both.mix.module.heldBack == [40, 0] && renderer.latency == 40)
    }

    @Test("A reset forgets what is held back")
    func reset() throws {
        let (click, late, mix) = (Click(at: 10), Late(64), AlignedMix(2))
        let renderer = try Renderer(channels: 1) { context in
            context.run(click)
            context.push(channels: 1)
            context.run(late)
            context.run(mix)
            context.output()
        }
        _ = render(renderer, frames: 20)
        try renderer.messages.send { context in context.reset(mix) }
        #expect(render(renderer, frames: 200)[0] == impulse(at: -1, 0, of: 200))
    }

    @Test("Latencies that cannot be, layouts that change, sources that move, while it plays")
    func hostile() async throws {
        let (tone, mix) = (Oscillator(frequency: 440), AlignedMix(2))
        let first = Mixer(alignsLatencies: true), second = Mixer(alignsLatencies: true)
        @Sendable func loop(_ scale: Scale) -> RenderLoop {
            return { context in
                context.run(tone)
                context.duplicate()
                context.run(scale)
                context.run(mix)
                context.run(first)
                context.run(second)
                context.mixAll()
                context.output()
            }
        }
        let renderer = try Renderer(loop(Scale()))
        let driver = Driver(renderer, frames: 700)
        let latencies = [0, 64, -5, .max, 1, .min, 1 << 19, 100_000, 1 << 40]
        #expect(
            await ends {
                let strips = (0..<4).map { MixerSource(LateClick($0 * 50)) }
                for turn in 0..<120 {
                    try renderer.replaceLoop(loop(Scale(1, latency: latencies[turn % latencies.count])))
                    (turn % 2 == 0 ? first : second).append(strips[turn % 4])
                    if turn % 7 == 0 { first.removeAll() }
                    if turn % 10 == 0 {
                        renderer.configure(
                            layout: StackLayout(slots: 8, channels: turn % 3 + 2, frames: 16 << (turn % 6)))
                    }
                    if turn % 11 == 0 { try renderer.messages.send { context in context.reset(mix) } }
                }
            })
        #expect(await driver.stop())
        try renderer.replaceLoop(loop(Scale(1, latency: .max)))
        #expect(mix.heldBack == [1 << 19, 0] && renderer.latency > 0)
        let sound = renderer.renderOffline(frames: 1_000)
        #expect(isFinite(sound.array(0)))
    }
}
