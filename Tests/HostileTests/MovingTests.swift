import RenderStack
import Synchronization
import TestSupport
import Testing

/// Modules and loops that several threads move at once, while they are heard: no renderer takes that for a mistake.
@Suite struct MovingTests {
    private func count(_ faults: Notes<Fault>, of renderer: Renderer) -> Subscription {
        renderer.by({ $0() }) { event in if case .fault(let fault) = event { faults.add(fault) } }
    }

    @Test("One strip that two threads move between the mixers of one renderer, and of two", arguments: [1, 2])
    func strip(renderers count: Int) async throws {
        let a = Mixer(), b = Mixer()
        let renderers =
            count == 1
            ? [
                try Renderer { context in
                    context.run(a)
                    context.run(b)
                    context.mix(2)
                    context.output()
                }
            ]
            : try [a, b].map { mixer in
                try Renderer { context in
                    context.run(mixer)
                    context.output()
                }
            }
        let faults = Notes<Fault>()
        let told = renderers.map { self.count(faults, of: $0) }
        let strip = MixerSource(Oscillator(level: 0.1))
        a.append(strip)
        let drivers = renderers.map { Driver($0) }
        #expect(await allEnd([a, b].map { mixer in { for _ in 0..<500 { mixer.append(strip) } } }))
        // It has come to rest in one of them, and is heard there.
        let home = try #require(strip.mixer)
        #expect(home.sources.contains { $0 === strip } && a.sources.count + b.sources.count == 1)
        for driver in drivers { #expect(await driver.stop()) }
        let renderer = renderers.count == 1 ? renderers[0] : home === a ? renderers[0] : renderers[1]
        #expect(
            await becomesTrue {
                for renderer in renderers { _ = renderer.renderOffline(frames: 64) }
                return renderer.renderOffline(frames: 64).array(0).contains { $0 != 0 }
            })
        #expect(faults.all.isEmpty)
        #expect(renderers.allSatisfy { $0.faultCount == 0 })
        for told in told { told.cancel() }
    }

    @Test("A strip that moves from a renderer that does not release it is a fault all the same")
    func held() async throws {
        let a = Mixer(), b = Mixer()
        let tone = Oscillator(level: 0.1)
        let first = try Renderer { context in
            context.run(a)
            context.output()
        }
        let second = try Renderer { context in
            context.run(b)
            context.output()
        }
        let strip = MixerSource(tone)
        a.append(strip)
        // The generator is in the first renderer's mixer in another strip too, and stays there.
        a.append(MixerSource(tone))
        _ = first.renderOffline(frames: 64)
        b.append(strip)
        #expect(
            await becomesTrue {
                _ = first.renderOffline(frames: 64)
                _ = second.renderOffline(frames: 64)
                return second.faultCount > 0
            })
    }

    @Test("Four threads that replace one loop, with modules that come and go: no fault, and the last one is heard")
    func loops() async throws {
        let tones = (0..<4).map { Oscillator(frequency: Float(100 * ($0 + 1)), level: 0.1) }
        let echo = Delay(time: 0.01)
        let renderer = Renderer()
        let faults = Notes<Fault>()
        let told = count(faults, of: renderer)
        let driver = Driver(renderer)
        let movers: [@Sendable () throws -> Void] = (0..<4).map { index in
            {
                for round in 0..<1_000 {
                    let tone = tones[(index + round) % 4]
                    try renderer.replaceLoop { context in
                        context.run(tone)
                        context.run(echo)
                        context.output()
                    }
                }
            }
        }
        #expect(await allEnd(movers))
        #expect(await driver.stop())
        #expect(renderer.modules.count == 2)
        #expect(renderer.renderOffline(frames: 4_800).array(0).contains { $0 != 0 })
        #expect(faults.all.isEmpty)
        #expect(renderer.faultCount == 0)
        told.cancel()
    }
}
