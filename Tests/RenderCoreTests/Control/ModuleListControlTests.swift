import Synchronization
import Testing

@testable import Composition
@testable import RenderCore

/// Pushes a number, and counts who lives.
private final class Number: Generator {
    let number: Float
    private let life: MortalObject
    init(_ number: Float, _ lives: Lives) {
        self.number = number
        life = MortalObject(lives)
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = number }
    }
}

@Suite struct ModuleListControlTests {
    private func renderer(_ list: ModuleList) throws -> Renderer {
        try Renderer(channels: 1) { context in
            context.run(list)
            context.output()
        }
    }

    @Test("Members come and go, in order, and are heard from the next cycle on")
    func changes() async throws {
        let lives = Lives()
        let list = ModuleList(mixing: 1)
        let renderer = try renderer(list)
        #expect(renderer.values(1) == [0])
        do {
            let (one, two, four) = (Number(1, lives), Number(2, lives), Number(4, lives))
            list.append(one)
            list.append(two)
            list.append(one)
            #expect(list.count == 2)
            #expect(list[1] === two && list[2] == nil && list[-1] == nil)
            #expect(list.index(of: two) == 1 && list.index(of: four) == nil && list.contains(one))
            #expect(renderer.values(1) == [3])
            list.replace(one, with: four)
            #expect(renderer.values(1) == [6])
            list.replace(one, with: two)
            #expect(list.modules.map { ($0 as? Number)?.number } == [4, 2])
            list.remove(two)
            #expect(renderer.values(1) == [4])
            list.removeAll()
            #expect(renderer.values(1) == [0])
        }
        #expect(renderer.faultCount == 0)
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("A removed member is released, with the renderer running or not")
    func release() async throws {
        let lives = Lives()
        let list = ModuleList(mixing: 1)
        let renderer = try renderer(list)
        let told = Record<Int>()
        list.update({ $0.append(Number(1, lives)) }, whenOldIsReleased: { told.add(1) })
        #expect(await becomesTrue { told.count == 1 })
        let driver = TestDriver(renderer, watchedBy: lives)
        #expect(await becomesTrue { driver.cycles.load(ordering: .relaxed) > 0 })
        for number in 0..<200 { list.modules = [Number(Float(number), lives)] }
        #expect(await becomesTrue { lives.alive == 1 })
        driver.stop()
        list.removeAll()
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(lives.freedOnRenderThread.load(ordering: .relaxed) == 0)
        #expect(renderer.faultCount == 0)
    }

    @Test("A member that was there from the start is released like any other")
    func firstMembers() async throws {
        let lives = Lives()
        let list = ModuleList(mixing: 1, [Number(1, lives), Number(2, lives)])
        let renderer = try renderer(list)
        #expect(renderer.values(1) == [3])
        list.removeAll()
        #expect(renderer.values(1) == [0])
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("A change in the middle of a cycle is no fault, and a new member is heard soon")
    func midCycle() async throws {
        let lives = Lives()
        let list = ModuleList(mixing: 1)
        let once = Parameter(0, in: 0...1, glide: .none)
        let renderer = try Renderer(channels: 1) { context in
            if !context.isDryRun, once.current(context) > 0 {
                once.value = 0
                // Another thread may do this at this moment.
                list.append(Number(1, lives))
            }
            context.run(list)
            context.output()
        }
        once.value = 1
        _ = renderer.values(1)
        #expect(renderer.values(1) == [1])
        #expect(renderer.faultCount == 0)
    }

    @Test("A member that comes and goes within a cycle is released")
    func shortLife() async throws {
        let lives = Lives()
        let list = ModuleList(mixing: 1)
        let once = Parameter(0, in: 0...1, glide: .none)
        let renderer = try Renderer(channels: 1) { context in
            // Another thread may do this at these moments. The cycle goes on with the modules that it began with.
            let isNow = !context.isDryRun && once.current(context) > 0
            if isNow { list.append(Number(1, lives)) }
            context.run(list)
            if isNow { list.removeAll() }
        }
        for _ in 0..<20 {
            once.value = 1
            _ = renderer.values(1)
            once.value = 0
            _ = renderer.values(1)
        }
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(renderer.faultCount == 0)
    }

    @Test("In a transaction, heard with the rest; thrown out of it, not at all")
    func transaction() async throws {
        struct Refusal: Error {}
        let lives = Lives()
        let list = ModuleList(mixing: 1, [Number(1, lives)])
        let renderer = try renderer(list)
        renderer.transaction {
            list.append(Number(2, lives))
            #expect(list.count == 2)
            #expect(renderer.values(1) == [1])
            list.append(Number(4, lives))
        }
        #expect(renderer.values(1) == [7])
        #expect(throws: Refusal.self) {
            try renderer.transaction {
                list.removeAll()
                list.append(Number(8, lives))
                throw Refusal()
            }
        }
        #expect(list.count == 3)
        #expect(renderer.values(1) == [7])
        list.append(Number(8, lives))
        #expect(renderer.values(1) == [15])
        #expect(renderer.faultCount == 0)
        #expect(await becomesTrue { lives.alive == 4 })
    }

    @Test("Cancelling a change for a time takes it back, and releases its new members")
    func calledOff() async throws {
        let lives = Lives()
        let list = ModuleList(mixing: 1, [Number(1, lives)])
        let renderer = try renderer(list)
        let event = try renderer.transaction(at: .sample(5)) { list.modules = [Number(2, lives)] }
        #expect(renderer.values(3) == [1, 1, 1])
        #expect(event.cancel())
        #expect(renderer.values(5) == [1, 1, 1, 1, 1])
        #expect(await becomesTrue { lives.alive == 1 })
        #expect((list[0] as? Number)?.number == 1)
        try renderer.transaction(at: .sample(10)) { list.modules = [Number(4, lives)] }
        #expect(renderer.values(4) == [1, 1, 4, 4])
        #expect(renderer.faultCount == 0)
        #expect(await becomesTrue { lives.alive == 1 })
    }

    @Test("Changed by several threads at once, what is heard is what the list says")
    func threads() async throws {
        let lives = Lives()
        for _ in 0..<30 {
            let list = ModuleList(mixing: 1)
            let renderer = try renderer(list)
            let threads = [1, 16].map { (factor: Float) in
                TestThread { for number in 1...4 { list.append(Number(factor * Float(number), lives)) } }
            }
            for thread in threads { thread.join() }
            #expect(list.count == 8)
            #expect(renderer.values(1) == [170])
        }
    }

    @Test("The closure of a change runs again after another thread's change, also if it has changed the list itself")
    func nestedAndForeign() throws {
        let list = ModuleList(mixing: 1)
        let lives = Lives()
        var runs = 0
        list.update { modules in
            runs += 1
            if runs == 1 {
                TestThread { list.append(Number(1, lives)) }.join()
                list.append(Number(2, lives))
            }
            modules.append(Number(4, lives))
        }
        #expect(runs == 2)
        #expect(try renderer(list).values(1) == [7])
    }
}
