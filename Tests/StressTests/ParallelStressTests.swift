import Synchronization
import Testing

@testable import Composition
@testable import RenderCore

/// For ThreadSanitizer: branches on several threads, while they are exchanged and the workers end.
@Suite(.serialized) struct ParallelStressTests {
    @Test("Parallel: random cycles, branches that come and go, workers that end: right sums, all freed")
    func everything() async throws {
        let lives = Lives()
        let wrong = Atomic<Int>(0)
        do {
            @Sendable func branch() throws -> Renderer {
                let (ticker, second) = (Ticker(lives), Ticker(lives))
                return try Renderer(channels: 1, layout: StackLayout(slots: 4, channels: 1, frames: 64)) { context in
                    context.run(ticker)
                    context.run(second)
                    context.mix(2)
                    context.output()
                }
            }
            let lists = try (0..<2).map { index in
                Parallel(
                    try (0..<5).map { _ in try branch() }, workers: 2, priority: index == 0 ? 0 : 20, worthwhile: 0)
            }
            let crew = Crew(seconds: stressSeconds)
            for parallel in lists {
                let renderer = try Renderer(channels: 1, layout: StackLayout(slots: 8, channels: 1, frames: 200)) {
                    context in
                    context.run(parallel)
                    context.mix(5)
                    context.output()
                }
                crew.add { number, random in
                    var block = AudioBlock(channels: 1, frames: 700)
                    for _ in 0..<20 {
                        let frames = Int.random(in: 1...700, using: &random)
                        renderer.render(into: &block, frames: frames, isOffline: number % 2 == 0)
                        for frame in 0..<frames where !(0...10.2 ~= block[0, frame]) {
                            wrong.wrappingAdd(1, ordering: .relaxed)
                        }
                    }
                }
                crew.add { number, random in
                    if let new = try? branch() { parallel[.random(in: 0..<5, using: &random)] = new }
                    if number % 7 == 0 { renderer.configure(sampleRate: number % 2 == 0 ? 44_100 : 48_000) }
                    if number == 60 { parallel.stopWorkers() }
                }
            }
            crew.join { lists.reduce(0) { $0 + $1.helpCount } > 0 }
            #expect(lists.reduce(0) { $0 + $1.helpCount } > 0)
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
        #expect(await becomesTrue { lives.alive == 0 })
    }
}
