import Glibc
import Synchronization
import Testing

@testable import Background
@testable import RenderCore

/// Jobs under ThreadSanitizer: states that travel, modules that end while their jobs run.
@Suite(.serialized) struct BackgroundStressTests {
    /// A state that shows a race: both numbers are always the same.
    private struct Pair: ~Copyable, Sendable {
        var first = 0
        var second = 0
        let life: Life
        init(_ lives: Lives) { life = Life(lives) }
    }

    private final class Traveller: Tap {
        let work: BackgroundWork<Pair>
        let torn = Atomic<Int>(0)

        init(_ lives: Lives) {
            work = BackgroundWork(Pair(lives)) { pair in
                pair.first += 1
                for _ in 0..<Int.random(in: 0...200) { pair.second ^= 1 }
                pair.second = pair.first
            }
        }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            var isTorn = false
            let outcome = work.collect(&context) { pair, _ in
                isTorn = pair.first != pair.second
                pair.first += 1
                pair.second += 1
            }
            if isTorn { torn.wrappingAdd(1, ordering: .relaxed) }
            if outcome.isReady { work.submit(context, deadline: 100) }
        }
    }

    @Test("states are never torn, live and offline, and all are freed, on whatever thread their modules end")
    func travel() async throws {
        let lives = Lives()
        do {
            let crew = Crew(seconds: stressSeconds)
            for _ in 0..<2 {
                crew.add { number, random in
                    let travellers = (0..<3).map { _ in Traveller(lives) }
                    guard
                        let renderer = try? Renderer(
                            channels: 1,
                            { context in
                                context.push(channels: 1)
                                for traveller in travellers { context.run(traveller) }
                                context.output()
                            })
                    else { return }
                    var block = AudioBlock(channels: 1, frames: 64)
                    for _ in 0..<50 {
                        if number % 2 == 0 {
                            renderer.render(into: &block)
                        } else {
                            _ = renderer.renderOffline(frames: .random(in: 1...300, using: &random))
                        }
                    }
                    for traveller in travellers { #expect(traveller.torn.load(ordering: .relaxed) == 0) }
                }
            }
            crew.join { lives.made.load(ordering: .relaxed) > 0 }
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.made.load(ordering: .relaxed) > 0)
    }
}
