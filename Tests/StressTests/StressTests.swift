import Glibc
import Synchronization
import Testing

@testable import Composition
@testable import RenderCore

/// For ThreadSanitizer and AddressSanitizer: everything that control code can do to renderers that run.
@Suite(.serialized) struct StressTests {
    private static let longestCycle = 700

    /// Renders in cycles of random lengths.
    private func drive(_ renderer: Renderer, _ crew: Crew) {
        crew.add { _, random in
            var block = AudioBlock(channels: 1, frames: Self.longestCycle)
            for _ in 0..<20 {
                renderer.render(into: &block, frames: .random(in: 1...Self.longestCycle, using: &random))
            }
        }
    }

    @Test("Closures, transactions, messages, events, values, lists: never torn, all freed")
    func everything() async throws {
        let lives = Lives()
        let ran = Atomic<Int>(0)
        let completed = Atomic<Int>(0)
        let accepted = Atomic<Int>(0)
        let told = Atomic<Int>(0)
        do {
            let (twins, swapped) = (Twins(lives), Swapped(lives))
            let list = ModuleList(mixing: 1)
            let ticker = Ticker(lives)
            let first: RenderLoop = { context in
                context.run(twins)
                context.run(list)
                context.mix(2)
                swapped.render(&context)
                context.output()
            }
            let second: RenderLoop = { context in
                swapped.render(&context)
                context.run(ticker)
                context.run(twins)
                context.mix(2)
                context.output()
            }
            let renderer = try Renderer(channels: 1, first)
            let other = try Renderer(channels: 1) { context in
                swapped.table.with(&context) { table, _ in
                    if !table.isWhole { swapped.torn.wrappingAdd(1, ordering: .relaxed) }
                }
            }
            let subscription = swapped.port.by({ $0() }) { _ in told.wrappingAdd(1, ordering: .relaxed) }
            let crew = Crew(seconds: stressSeconds)
            drive(renderer, crew)
            drive(other, crew)
            crew.add { number, _ in
                try? renderer.replaceLoop(number % 2 == 0 ? second : first)
                if number % 7 == 0 { renderer.configure(sampleRate: number % 2 == 0 ? 44_100 : 48_000) }
                if number % 11 == 0 { renderer.configure(layout: StackLayout(frames: number % 2 == 0 ? 64 : 512)) }
            }
            for thread in 1...2 {
                crew.add { number, _ in
                    renderer.transaction {
                        twins.first.value = Float(thread * 100_000 + number % 100_000)
                        twins.second.value = Float(thread * 100_000 + number % 100_000)
                        if number % 10 == 0 { swapped.table.set(Table(number, lives)) }
                    }
                    twins.third.value = Float(number % 2)
                }
            }
            crew.add { number, random in
                let life = Life(lives)
                let message: RenderLoop = { _ in
                    withExtendedLifetime(life) { _ = ran.wrappingAdd(1, ordering: .relaxed) }
                }
                do {
                    try renderer.messages.send(message) { completed.wrappingAdd(1, ordering: .relaxed) }
                    accepted.wrappingAdd(1, ordering: .relaxed)
                } catch { usleep(200) }
                let frame = renderer.sampleTime + .random(in: -100...5000, using: &random)
                if let event = try? renderer.schedule(at: .sample(frame), { _ in withExtendedLifetime(life) {} }),
                    number % 3 == 0
                {
                    event.cancel()
                }
                _ = try? renderer.transaction(at: .sample(frame)) {
                    twins.third.value = 0.5
                    swapped.table.set(Table(-number, lives))
                }
            }
            crew.add { number, random in
                swapped.table.set(Table(number, lives))
                let keys = (0..<6).map { _ in Int.random(in: 0..<10, using: &random) }
                swapped.voices.update(keys) { key, _ in Voice(key, lives) }
                swapped.voices.replace(keys[0], with: Voice(keys[0], lives))
                swapped.state.replace(with: Table(number, lives))
                list.append(Ticker(lives))
                if list.count > 4 { list.modules = Array(list.modules.dropFirst(3)) }
                if number % 5 == 0 {
                    renderer.transaction { list.append(Ticker(lives)) }
                }
            }
            crew.join { lives.made.load(ordering: .relaxed) > 100 && swapped.sent.load(ordering: .relaxed) > 0 }
            #expect(twins.torn.load(ordering: .relaxed) == 0)
            #expect(swapped.torn.load(ordering: .relaxed) == 0)
            for _ in 0..<40 { _ = renderer.renderOffline(frames: 1000) }
            #expect(twins.first.value == twins.second.value)
            #expect(await becomesTrue { completed.load(ordering: .relaxed) == accepted.load(ordering: .relaxed) })
            // A listener that does not keep up loses some.
            #expect(await becomesTrue { told.load(ordering: .relaxed) > 0 })
            #expect(told.load(ordering: .relaxed) <= swapped.sent.load(ordering: .relaxed))
            #expect(ran.load(ordering: .relaxed) == accepted.load(ordering: .relaxed))
            subscription.cancel()
        }
        #expect(lives.made.load(ordering: .relaxed) > 100)
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("A module in two renderers sounds in one and is a fault in the other, whichever comes and goes")
    func shared() async throws {
        let lives = Lives()
        let heard = Atomic<Int>(0)
        do {
            let ticker = Ticker(lives)
            let loop: RenderLoop = { context in
                context.run(ticker)
                context.output()
            }
            let (first, second) = (try Renderer(channels: 1, loop), try Renderer(channels: 1, loop))
            let crew = Crew(seconds: stressSeconds)
            for renderer in [first, second] {
                crew.add { _, random in
                    var block = AudioBlock(channels: 1, frames: Self.longestCycle)
                    for _ in 0..<20 {
                        renderer.render(into: &block, frames: .random(in: 2...Self.longestCycle, using: &random))
                        if block[0, 1] != 0 { heard.wrappingAdd(1, ordering: .relaxed) }
                    }
                }
            }
            // The module goes from one to the other and back.
            crew.add { number, _ in
                let renderer = number % 2 == 0 ? first : second
                renderer.removeLoop()
                usleep(500)
                try? renderer.replaceLoop(loop)
                usleep(500)
            }
            crew.join { first.faultCount + second.faultCount > 0 && heard.load(ordering: .relaxed) > 0 }
            #expect(first.faultCount + second.faultCount > 0)
            #expect(heard.load(ordering: .relaxed) > 0)
        }
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("Renderers made, run, called by two threads at once and freed, with everything pending")
    func comeAndGo() async throws {
        let lives = Lives()
        let torn = Atomic<Int>(0)
        do {
            let (twins, swapped) = (Twins(lives), Swapped(lives))
            let crew = Crew(seconds: stressSeconds)
            for _ in 0..<2 {
                crew.add { number, random in
                    guard
                        let renderer = try? Renderer(
                            channels: 1, layout: StackLayout(slots: 4, channels: 2, frames: 64),
                            { context in
                                context.run(twins)
                                swapped.render(&context)
                                context.output()
                            })
                    else {
                        Issue.record("the loop was refused")
                        return
                    }
                    let events = renderer.by({ $0() }) { _ in }
                    let life = Life(lives)
                    _ = renderer.renderOffline(frames: .random(in: 0...300, using: &random), cycle: 64)
                    renderer.transaction {
                        twins.first.value = Float(number)
                        twins.second.value = Float(number)
                        swapped.table.set(Table(number, lives))
                    }
                    try? renderer.messages.send { _ in withExtendedLifetime(life) {} }
                    _ = try? renderer.schedule(at: .sample(1 << 40)) { _ in withExtendedLifetime(life) {} }
                    _ = try? renderer.transaction(at: .sample(1 << 40)) { swapped.table.set(Table(number, lives)) }
                    if number % 2 == 0 { _ = renderer.renderOffline(frames: 100) }
                    withExtendedLifetime(events) {}
                }
            }
            crew.add { number, _ in
                swapped.table.set(Table(number, lives))
                swapped.voices.update([number, number + 1]) { key, _ in Voice(key, lives) }
                swapped.state.replace(with: Table(number, lives))
            }
            let busy = try Renderer(channels: 1) { context in if !context.isDryRun { context.pop(1) } }
            drive(busy, crew)
            drive(busy, crew)
            crew.join { busy.faultCount > 0 }
            torn.store(swapped.torn.load(ordering: .relaxed), ordering: .relaxed)
            #expect(busy.faultCount > 0)
        }
        #expect(torn.load(ordering: .relaxed) == 0)
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("Ports made, filled by several threads, listened to and freed")
    func ports() async throws {
        let crew = Crew(seconds: stressSeconds)
        let sent = Atomic<Int>(0)
        let received = Atomic<Int>(0)
        final class Box: Sendable {
            let port = MessagePort<(Int, Int)>(capacity: 32)
        }
        let wrong = Atomic<Int>(0)
        let current = Lock(Box(), .output)
        let subscriptions = Lock<[Subscription]>([], .output)
        for _ in 0..<2 {
            crew.add { number, _ in
                let box = current.withLock { $0 }
                for _ in 0..<20 where box.port.send((number, -number)) { sent.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        crew.add { _, _ in
            let box = Box()
            let subscription = box.port.by({ $0() }) { value in
                if value.0 != -value.1 { wrong.wrappingAdd(1, ordering: .relaxed) }
                received.wrappingAdd(1, ordering: .relaxed)
            }
            subscriptions.withLock { $0.append(subscription) }
            current.withLock { $0 = box }
            usleep(2000)
        }
        crew.join { sent.load(ordering: .relaxed) > 0 }
        let last = current.withLock { $0 }
        var left = 0
        last.port.drain { _ in left += 1 }
        #expect(wrong.load(ordering: .relaxed) == 0)
        #expect(sent.load(ordering: .relaxed) > 0)
        #expect(received.load(ordering: .relaxed) <= sent.load(ordering: .relaxed))
        subscriptions.withLock { $0 = [] }
    }

    @Test("A renderer that is configured as fast as can be: each slice has its loop's memory, no fault")
    func configured() async throws {
        let lives = Lives()
        let configurations = Atomic<Int>(0)
        do {
            let modules = (0..<8).map { _ in Sized(lives) }
            let inner = try Renderer(channels: 1) { context in
                context.run(modules[7])
                context.output()
            }
            let sub = SubRenderer(inner)
            let renderer = try Renderer(channels: 1, layout: StackLayout(slots: 2, channels: 1, frames: 512)) {
                context in
                for module in modules[..<7] {
                    context.run(module)
                    context.output()
                    context.pop()
                }
                context.run(sub)
                context.output()
            }
            let crew = Crew(seconds: stressSeconds)
            crew.add { _, _ in
                var block = AudioBlock(channels: 1, frames: 512)
                for _ in 0..<20 { renderer.render(into: &block) }
            }
            crew.add { number, _ in
                renderer.configure(
                    layout: StackLayout(slots: 2, channels: 1, frames: number % 2 == 0 ? 64 : 512))
                inner.configure(layout: StackLayout(slots: 2, channels: 1, frames: 64 << (number % 2)))
                configurations.wrappingAdd(1, ordering: .relaxed)
            }
            // So that the threads displace one another.
            for _ in 0..<3 { crew.add { _, _ in for _ in 0..<10_000 { withExtendedLifetime(lives) {} } } }
            crew.join {
                configurations.load(ordering: .relaxed) > 100
                    && modules.allSatisfy { $0.slices.load(ordering: .relaxed) > 100 }
            }
            // That of the inner renderer is shorter than its slices at times, which others cut.
            #expect(modules[..<7].allSatisfy { $0.wrong.load(ordering: .relaxed) == 0 })
            #expect(modules.allSatisfy { $0.slices.load(ordering: .relaxed) > 100 })
            #expect(renderer.faultCount == 0 && inner.faultCount == 0)
            // The cycles that follow let go of what the last ones have seen.
            var block = AudioBlock(channels: 1, frames: 512)
            #expect(
                await becomesTrue {
                    renderer.render(into: &block)
                    return lives.alive <= 8 * 4
                })
        }
        #expect(await becomesTrue { lives.alive == 0 })
    }
}
