import Glibc
import Synchronization
import Testing

@testable import RenderCore

@Suite struct MessageQueueTests {
    @Test("Messages run in order at the next cycle, each once, their completions after them")
    func order() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let (ran, completed) = (Record<Int>(), Record<Int>())
        for number in 0..<10 {
            try renderer.messages.send { _ in
                ran.add(number)
            } completion: {
                completed.add(number)
            }
        }
        try? await Task.sleep(for: .milliseconds(20))
        #expect(ran.count == 0 && completed.count == 0)
        _ = renderer.values(1)
        #expect(ran.all == Array(0..<10))
        #expect(await becomesTrue { completed.count == 10 })
        #expect(completed.all == Array(0..<10))
        _ = renderer.values(1)
        #expect(ran.count == 10)
    }

    @Test("A thread that does not render frees the objects that a message holds")
    func release() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let lives = Lives()
        let driver = TestDriver(renderer, watchedBy: lives)
        #expect(await becomesTrue { driver.cycles.load(ordering: .relaxed) > 0 })
        for _ in 0..<500 {
            let object = MortalObject(lives)
            try renderer.messages.send { _ in object.touch() }
        }
        #expect(await becomesTrue { lives.alive == 0 })
        driver.stop()
        #expect(lives.freed.load(ordering: .relaxed) == 500)
        #expect(lives.freedOnRenderThread.load(ordering: .relaxed) == 0)
    }

    @Test("A full queue throws; it runs the messages that it took, and frees those that it refused")
    func full() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let lives = Lives()
        let ran = Atomic<Int>(0)
        var taken = 0
        var refusals = 0
        for _ in 0..<(renderer.messages.capacity + 100) {
            let object = MortalObject(lives)
            do throws(MessageQueueFull) {
                try renderer.messages.send { _ in
                    object.touch()
                    ran.wrappingAdd(1, ordering: .relaxed)
                }
                taken += 1
            } catch {
                refusals += 1
                #expect(error.capacity == renderer.messages.capacity)
                #expect(error.description.contains("\(error.capacity)"))
            }
        }
        #expect(taken == renderer.messages.capacity)
        #expect(refusals == 100)
        #expect(lives.alive == taken)
        for _ in 0..<20 { _ = renderer.values(1) }
        #expect(ran.load(ordering: .relaxed) == taken)
        #expect(throws: Never.self) { try renderer.messages.send { _ in } }
        _ = renderer.values(1)
        #expect(await becomesTrue { lives.alive == 0 })
    }

    @Test("A bounded number of messages runs in a cycle, the rest in the next ones")
    func bounded() throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let ran = Record<Int>()
        for number in 0..<200 { try renderer.messages.send { _ in ran.add(number) } }
        _ = renderer.values(1)
        let first = ran.count
        #expect(first > 0 && first <= CycleState.messagesPerCycle)
        for _ in 0..<10 { _ = renderer.values(1) }
        #expect(ran.all == Array(0..<200))
    }

    @Test("The messages of a transaction run in one cycle, also where it is nearly full of others")
    func group() throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let ran = Record<Int64>()
        for _ in 0..<(CycleState.messagesPerCycle - 1) { try renderer.messages.send { _ in } }
        try renderer.transaction {
            for _ in 0..<100 { try renderer.messages.send { context in ran.add(context.sampleTime) } }
            _ = renderer.values(1)
            #expect(ran.count == 0)
        }
        for _ in 0..<4 { _ = renderer.values(1) }
        #expect(ran.count == 100)
        #expect(Set(ran.all).count == 1)
    }

    @Test("Perform comes back when the message has run")
    func perform() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let driver = TestDriver(renderer)
        let ran = Record<UInt>()
        for number in 1...20 {
            try await renderer.messages.perform { _ in ran.add(UInt(pthread_self())) }
            #expect(ran.count == number)
        }
        #expect(Set(ran.all) == [driver.threadID.load(ordering: .relaxed)])
        driver.stop()
    }

    @Test("Perform with a full queue throws")
    func performFull() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        for _ in 0..<renderer.messages.capacity { try renderer.messages.send { _ in } }
        await #expect(throws: MessageQueueFull.self) { try await renderer.messages.perform { _ in } }
    }

    @Test("A renderer that goes leaves no thread waiting and keeps nothing")
    func rendererGoes() async throws {
        let lives = Lives()
        let (ran, completed) = (Record<Int>(), Record<Int>())
        do {
            let renderer = try Renderer(channels: 1) { _ in }
            let object = MortalObject(lives)
            try renderer.messages.send {
                _ in
                object.touch()
                ran.add(1)
            } completion: {
                completed.add(1)
            }
        }
        #expect(await becomesTrue { completed.count == 1 })
        #expect(await becomesTrue { lives.alive == 0 })
        #expect(ran.count == 0)
    }

    @Test("A message has a context of its own: an empty stack, and nothing left behind")
    func context() throws {
        let seen = Record<Int>()
        let renderer = try Renderer(channels: 1) { context in if !context.isDryRun { seen.add(context.bufferCount) } }
        try renderer.messages.send { context in
            seen.add(context.bufferCount)
            context.push(3)
        }
        try renderer.messages.send { context in seen.add(context.bufferCount) }
        try renderer.transaction {
            try renderer.messages.send { context in context.push(2) }
            try renderer.messages.send { context in seen.add(context.bufferCount) }
        }
        _ = renderer.values(1)
        #expect(seen.all == [0, 0, 0, 0])
        #expect(renderer.faultCount == 0)
    }

    @Test("A completion may send")
    func sendingCompletion() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let driver = TestDriver(renderer)
        let done = Record<Int>()
        try renderer.messages.send { _ in
        } completion: {
            try? renderer.messages.send { _ in
            } completion: {
                done.add(1)
            }
        }
        #expect(await becomesTrue { done.count == 1 })
        driver.stop()
    }

    @Test("Several senders at once: each one's messages in its order, none lost")
    func senders() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let driver = TestDriver(renderer)
        let ran = Record<[Int]>()
        let threads = (0..<3).map { thread in
            TestThread {
                for number in 0..<500 {
                    while true {
                        do throws(MessageQueueFull) {
                            try renderer.messages.send { _ in ran.add([thread, number]) }
                            break
                        } catch { usleep(100) }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(await becomesTrue { ran.count == 1500 })
        driver.stop()
        for thread in 0..<3 { #expect(ran.all.filter { $0[0] == thread }.map { $0[1] } == Array(0..<500)) }
    }

    @Test("A message that has run comes back also if its renderer goes right behind it", .timeLimit(.minutes(1)))
    func rendererGoesBehindIt() async throws {
        for _ in 0..<500 { try await performAndGo().value }
    }

    private func performAndGo() async throws -> Task<Void, any Error> {
        let hasRun = Atomic<Bool>(false)
        let renderer = try Renderer(channels: 1) { _ in }
        let wait = Task { [messages = renderer.messages] in
            try await messages.perform { _ in hasRun.store(true, ordering: .relaxed) }
        }
        while !hasRun.load(ordering: .relaxed) {
            _ = renderer.values(1)
            await Task.yield()
        }
        return wait
    }
}
