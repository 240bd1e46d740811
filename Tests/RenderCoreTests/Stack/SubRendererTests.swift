import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// A renderer inside a renderer.
@Suite struct SubRendererTests {
    private func outer(_ module: SubRenderer, rate: Double = 2000, channels: Int = 2) throws -> Renderer {
        try Renderer(sampleRate: rate, channels: channels, layout: smallLayout) { context in
            context.run(module)
            context.output()
        }
    }

    @Test("It pushes what the inner renderer puts out, in slices of any length", arguments: [1, 7, 16, 100])
    func inner(cycle: Int) throws {
        let counting = Counting()
        let inner = try Renderer(layout: StackLayout(slots: 2, channels: 2, frames: 5)) { context in
            context.run(counting)
            context.output()
        }
        let renderer = try outer(SubRenderer(inner))
        #expect(renderer.next(100, cycle: cycle) == [counted(1...100), 100.of(0)])
        #expect(inner.sampleTime == 100)
        #expect(renderer.faultCount == 0 && inner.faultCount == 0)
    }

    @Test("The inner renderer has the outer one's rate: when it is made, when that changes, when it is exchanged")
    func rate() throws {
        let (first, second) = (Renderer(), Renderer())
        let sub = SubRenderer(first)
        let renderer = try outer(sub)
        #expect(first.sampleRate == 2000)
        renderer.configure(sampleRate: 3000)
        #expect(first.sampleRate == 3000)
        sub.renderer = second
        #expect(second.sampleRate == 3000)
        renderer.configure(sampleRate: 4000)
        #expect(second.sampleRate == 4000 && first.sampleRate == 3000)
    }

    @Test("It pushes as many channels as the inner renderer has, also after that has changed")
    func channels() throws {
        let inner = try Renderer(channels: 1) { context in
            context.push()
            context.fill(1, channel: 0)
            context.fill(2, channel: 1)
            context.output()
        }
        let sub = SubRenderer(inner)
        let count = Shared(0)
        let renderer = try Renderer(layout: smallLayout) { context in
            context.run(sub)
            count.value = context.channelCount()
            context.output()
        }
        #expect(renderer.next(8) == [8.of(3), 8.of(3)])
        #expect(count.value == 1)
        inner.configure(channels: 2)
        #expect(renderer.next(8) == [8.of(1), 8.of(2)])
        #expect(count.value == 2)
        inner.configure(channels: 6)
        #expect(renderer.next(8) == [8.of(1), 8.of(2)])
        #expect(count.value == 4)
    }

    @Test("The inner renderer can be exchanged while it runs, and the old one is released")
    func exchange() async throws {
        func make(_ value: Float) throws -> Renderer {
            let constant = Constant(value)
            return try Renderer(layout: smallLayout) { context in
                context.run(constant)
                context.output()
            }
        }
        weak var old: Renderer?
        let sub: SubRenderer
        do {
            let first = try make(1)
            old = first
            sub = SubRenderer(first)
        }
        let renderer = try outer(sub)
        #expect(renderer.next(8)[0] == 8.of(1))
        sub.renderer = try make(2)
        #expect(renderer.next(8)[0] == 8.of(2))
        #expect(try await eventually { old == nil })
    }

    @Test("A renderer inside of itself by mistake: silence and faults, no deadlock, also when the rate changes")
    func itself() async throws {
        let renderer = Renderer(layout: smallLayout)
        let sub = SubRenderer(renderer)
        let constant = Constant(1)
        let steps = Counter()
        // On a thread of its own, because what it is about is that this comes to an end.
        Thread.detachNewThread {
            try? renderer.replaceLoop { context in
                context.run(constant)
                context.run(sub)
                context.mix(2)
                context.output()
            }
            steps.add()
            renderer.configure(sampleRate: 1234)
            steps.add()
            sub.renderer = Renderer(layout: smallLayout)
            sub.renderer = renderer
            steps.add()
        }
        try #require(try await eventually { steps.value == 3 })
        #expect(renderer.sampleRate == 1234)
        #expect(renderer.next(8)[0] == 8.of(1))
        #expect(renderer.faultCount == 1)
        sub.renderer = Renderer()
        renderer.removeLoop()
    }

    @Test("Two renderers inside of each other by mistake: faults, no deadlock")
    func eachOther() async throws {
        let renderers = [Renderer(layout: smallLayout), Renderer(layout: smallLayout)]
        let subs = renderers.map(SubRenderer.init)
        let steps = Counter()
        Thread.detachNewThread {
            try? renderers[0].replaceLoop { context in
                context.run(subs[1])
                context.output()
            }
            steps.add()
            try? renderers[1].replaceLoop { context in
                context.run(subs[0])
                context.output()
            }
            steps.add()
            renderers[0].configure(sampleRate: 1234)
            steps.add()
        }
        try #require(try await eventually { steps.value == 3 })
        #expect(renderers.map(\.sampleRate) == [1234, 1234])
        #expect(renderers[0].next(8)[0] == 8.of(0))
        #expect(renderers[0].faultCount == 1)
        for renderer in renderers { renderer.removeLoop() }
    }

    @Test("An inner renderer that another output drives is silent here, and that is a fault of it")
    func driven() async throws {
        let busy = Shared<Renderer?>(nil)
        let inner = try Renderer(layout: smallLayout) { context in
            if context.isDryRun { return }
            // While the inner one is in its cycle, the outer one runs into it.
            if let outer = busy.value { _ = outer.next(4) }
        }
        let renderer = try outer(SubRenderer(inner))
        busy.value = renderer
        _ = inner.next(4)
        #expect(inner.faultCount == 1)
        busy.value = nil
    }
}
