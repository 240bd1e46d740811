import RenderStack
import TestSupport
import Testing

/// Sources in transactions that come to nothing.
@Suite struct SpatialTransactionTests {
    private struct No: Error {}

    @Test("A transaction that throws, and one that is called off, leave every source where it was and under control")
    func takenBack() async throws {
        let (one, two) = (Environment(), Environment(.quad))
        let source = SpatialSource(Constant(1), position: SpatialPoint(1, 0, 0))
        let renderer = try Renderer(sampleRate: 48_000, channels: 4) { context in
            context.run(one)
            context.run(two)
            context.mix(2)
            context.output()
        }
        one.append(source)
        func isInOne() -> Bool {
            let sound = render(renderer, frames: 4_800)[1].last ?? 0
            return one.sources.elementsEqual([source], by: ===) && two.sources.isEmpty && source.environment === one
                && abs(sound - 1) < 1e-4
        }
        #expect(isInOne())
        for change in [{ two.append(source) }, { one.remove(source) }, { one.removeAll() }] as [() -> Void] {
            #expect(throws: No.self) {
                try renderer.transaction {
                    change()
                    throw No()
                }
            }
            #expect(isInOne())
            let later = try renderer.transaction(at: .sample(renderer.sampleTime + 100_000)) { change() }
            _ = render(renderer, frames: 480)
            later.cancel()
            // The lists follow when the render thread has let go of the changes.
            #expect(await becomesTrue { isInOne() })
        }
        one.removeAll()
        _ = render(renderer, frames: 4_800)
        #expect(render(renderer, frames: 480)[1].allSatisfy { $0 == 0 } && one.sources.isEmpty)
    }
}
