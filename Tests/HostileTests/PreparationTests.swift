import Foundation
import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Changes that a module makes as it is prepared come with the loop that it is prepared for, whatever they are kept in.
@Suite struct PreparationTests {
    /// A generator of the layout that it was prepared for, as each kind of control tells it. It counts slices in which the
    /// answers are not those for the loop that runs it.
    final class Answering: Generator {
        struct Answer: ~Copyable, Sendable {
            let frames: Int
            /// The memory is as long as the frames, so that a wrong one is no small error.
            var memory: RenderMemory<Float>
            init(_ frames: Int) {
                self.frames = frames
                memory = RenderMemory(repeating: 0, count: frames)
            }
        }
        let parameter = Parameter(0, in: 0...100_000, glide: .none)
        let value = ManagedValue(0)
        let array = ManagedArray<Int, Int>()
        let state = RenderState(Answer(1))
        let slices = Atomic<Int>(0)
        let wrong = Atomic<Int>(0)
        let isHeld = Atomic<Bool>(false)

        func prepare(_ preparation: Preparation) {
            let frames = preparation.maximumFrameCount
            parameter.value = Float(frames)
            value.set(frames)
            array.update([frames]) { key, _ in key }
            state.replace(with: Answer(frames))
            // Here the old loop is rendered on.
            if isHeld.load(ordering: .relaxed) { for _ in 0..<20 { usleep(200) } }
        }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            var answers = SIMD4(Int(parameter.current(context)), 0, 0, 0)
            value.with(&context) { value, _ in answers[1] = value }
            array.with(0, &context) { value, _ in answers[2] = value }
            state.with(&context) { state, context in
                answers[3] = state.frames
                // Cycles are as long as the layout allows.
                state.memory[context.frameCount - 1] = 1
            }
            let isRight = answers == SIMD4(repeating: context.frameCount)
            slices.wrappingAdd(1, ordering: .relaxed)
            if !isRight { wrong.wrappingAdd(1, ordering: .relaxed) }
            context.push(channels: 1)
        }
    }

    @Test("Parameters, values, lists and states change together, with the loop, while it is rendered without a pause")
    func together() async throws {
        let module = Answering()
        let renderer = try Renderer(channels: 1, layout: StackLayout(frames: 64)) { context in
            context.run(module)
            context.output()
        }
        module.isHeld.store(true, ordering: .relaxed)
        // Of whole slices, whatever the layout.
        let driver = Driver(renderer, frames: 256)
        #expect(
            await ends {
                for turn in 0..<40 { renderer.configure(layout: StackLayout(frames: [64, 16, 256, 128][turn % 4])) }
            })
        #expect(await becomesTrue { module.slices.load(ordering: .relaxed) > 1_000 })
        #expect(await driver.stop())
        #expect(module.wrong.load(ordering: .relaxed) == 0)
        #expect(renderer.faultCount == 0)
    }

    @Test("A loop that was never rendered loses nothing of what its modules changed")
    func neverRendered() throws {
        let module = Answering()
        let loop: RenderLoop = { context in
            context.run(module)
            context.output()
        }
        let renderer = try Renderer(channels: 1, layout: StackLayout(frames: 64), loop)
        _ = renderer.renderOffline(frames: 256, cycle: 256)
        renderer.configure(layout: StackLayout(frames: 16))
        // With the same preparation, the module is not prepared again, and its changes are the ones from before.
        try renderer.replaceLoop(loop)
        #expect(module.value.value == 16)
        _ = renderer.renderOffline(frames: 256, cycle: 256)
        renderer.configure(layout: StackLayout(frames: 128))
        renderer.removeLoop()
        let other = try Renderer(channels: 1, layout: StackLayout(frames: 32), loop)
        _ = other.renderOffline(frames: 256, cycle: 256)
        #expect(module.wrong.load(ordering: .relaxed) == 0)
        #expect(module.slices.load(ordering: .relaxed) == 4 + 16 + 8)
    }

    @Test("The first mistake that no listener hears is written to standard error, and only the first")
    func standardError() async throws {
        await #expect(processExitsWith: .success) {
            let path = "\(NSTemporaryDirectory())/said-\(getpid())"
            let file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0o600)
            dup2(file, STDERR_FILENO)
            defer { unlink(path) }
            func lines() -> [Substring] {
                // Foundation's readers leak memory where a file is still empty.
                var bytes = [UInt8](repeating: 0, count: 65_536)
                let count = pread(file, &bytes, bytes.count, 0)
                let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                return text.split(separator: "\n").filter { $0.hasPrefix("RenderStack: ") }
            }
            func mistaken() throws -> Renderer {
                let renderer = try Renderer { context in
                    if context.isDryRun { return }
                    context.pop()
                    context.swap()
                }
                _ = renderer.renderOffline(frames: 8)
                return renderer
            }
            let renderer = try mistaken()
            #expect(await becomesTrue { lines().count == 1 })
            _ = renderer.renderOffline(frames: 8)
            // One thread looks after all renderers by turns: when it has written for two more, one after the other, it
            // has also seen what this one did again.
            var others: [Renderer] = []
            for count in 2...3 {
                others.append(try mistaken())
                #expect(await becomesTrue { lines().count >= count })
            }
            #expect(lines().count == 3)
            #expect(lines().allSatisfy { $0.contains("finds no buffer") && $0.contains("renderer.onMain") })
            withExtendedLifetime((renderer, others)) {}
        }
    }
}
