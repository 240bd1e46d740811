import TestSupport
import Testing

@testable import RenderCore

/// Tests of the memory of parameters, and of the way in which the render thread sees that none has changed.
@Suite struct ParameterCellTests {
    @Test("The structures that the render thread walks through are as small as they should be")
    func sizes() {
        #expect(MemoryLayout<ParameterCell>.stride == 24)
        #expect(MemoryLayout<Parameter>.size == 8)
        #expect(MemoryLayout<ModuleRecord>.stride == 16)
        #expect(MemoryLayout<StackEntry>.stride == 64)
    }

    @Test("Parameters that come and go in several threads keep to themselves")
    func threads() async {
        await withTaskGroup(of: Int.self) { group in
            for task in 0..<4 {
                group.addTask {
                    var wrong = 0
                    for round in 0..<40 {
                        let parameters = OwnedArray(count: 100) { index in
                            Parameter(Float(index), in: 0...Float(1_000 + task), unit: .hertz)
                        }
                        for index in 0..<100 {
                            if parameters[index].value != Float(index) { wrong += 1 }
                            parameters[index].value = Float(task * 100 + round + index)
                        }
                        for index in 0..<100 {
                            let parameter = parameters[index].value
                            if parameter != Float(task * 100 + round + index) { wrong += 1 }
                            if parameters[index].range != 0...Float(1_000 + task) { wrong += 1 }
                            if parameters[index].initialValue != Float(index) { wrong += 1 }
                            if parameters[index].ignoredCount != 0 { wrong += 1 }
                        }
                    }
                    return wrong
                }
            }
            for await wrong in group { #expect(wrong == 0) }
        }
    }

    /// Pushes 1 where the parameters are those of the slice before.
    final class Watching: Generator {
        let a = Parameter(1, in: 0...10, glide: .linear(.milliseconds(1)))
        let b = Parameter(2, in: 0...10, glide: .none)
        let c: Parameter
        private let rest = RenderState(ParametersAtRest.none)

        init(sharing other: borrowing Parameter) { c = Parameter(sharing: other) }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let now = ParametersAtRest(context, a, b, c)
            let isEqual = now.isEqual(to: rest.read(context))
            rest.write(now, context)
            // Glides begin when they are asked for.
            _ = (a.glide(context), b.glide(context), c.glide(context))
            var samples = context.pushMono()
            for i in samples.indices { samples[i] = isEqual ? 1 : 0 }
        }
    }

    @Test("Parameters at rest are those of the slice before; ones that move or have changed are not")
    func atRest() throws {
        let shared = Parameter(3, in: 0...10)
        let watching = Watching(sharing: shared)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(watching)
            context.output()
        }
        func slices(_ count: Int) -> [Float] {
            let samples = render(renderer, frames: count * 24, cycles: [24])[0]
            return (0..<count).map { samples[$0 * 24] }
        }
        // The first slice finds out that they are at rest.
        #expect(slices(4) == [0, 0, 1, 1])
        watching.a.value = 5
        // 48 frames: two slices, a third in which it is seen to be over.
        #expect(slices(6) == [0, 0, 0, 0, 1, 1])
        watching.b.value = 5
        #expect(slices(4) == [0, 0, 1, 1])
        // Setting the same value once more is a change like any other: a slice looks at it.
        watching.a.value = 5
        #expect(slices(4) == [0, 0, 1, 1])
        shared.value = 4
        #expect(slices(1) == [0])
        // 10 ms.
        #expect(slices(24).suffix(2) == [1, 1])
    }
}
