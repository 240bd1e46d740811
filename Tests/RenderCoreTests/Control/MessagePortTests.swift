import Synchronization
import Testing

@testable import RenderCore

@Suite struct MessagePortTests {
    /// A port that can be shared and released.
    private final class Box: Sendable {
        let port: MessagePort<Int>
        init(capacity: Int = 256) { port = MessagePort(capacity: capacity) }
    }

    @Test("Values arrive in their order; a full port says so, and counts")
    func full() {
        let port = MessagePort<Int>(capacity: 8)
        #expect(port.capacity == 8)
        let taken = (0..<12).map { port.send($0) }
        #expect(taken == Array(repeating: true, count: 8) + Array(repeating: false, count: 4))
        #expect(port.lostCount == 4)
        var values: [Int] = []
        let drained = port.drain { values.append($0) }
        #expect(drained == 8)
        #expect(values == Array(0..<8))
        let left = port.drain { _ in }
        #expect(left == 0)
        // And around the end of the ring many times.
        for number in 0..<1000 {
            let isTaken = port.send(number)
            #expect(isTaken)
            if number % 5 == 4 {
                values = []
                port.drain { values.append($0) }
                #expect(values == Array((number - 4)...number))
            }
        }
        #expect(port.lostCount == 4)
    }

    @Test("A dry run sends nothing, while other threads go on sending")
    func dryRun() throws {
        let box = Box(capacity: 1_024)
        let isOver = Atomic<Bool>(false)
        let sent = Atomic<Int>(0)
        let other = TestThread {
            while !isOver.load(ordering: .relaxed) {
                if sent.load(ordering: .relaxed) < 500, box.port.send(1) { sent.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        let renderer = try Renderer(channels: 1) { context in
            let isTaken = box.port.send(context.isDryRun ? 2 : 3)
            #expect(isTaken)
        }
        for _ in 0..<50 { renderer.configure(sampleRate: renderer.sampleRate == 48_000 ? 44_100 : 48_000) }
        for _ in 0..<50 { try renderer.replaceLoop { _ in box.port.send(2) } }
        try renderer.replaceLoop { _ in box.port.send(3) }
        _ = renderer.renderOffline(frames: 64, cycle: 64)
        isOver.store(true, ordering: .relaxed)
        other.join()
        var counts = [0, 0, 0, 0]
        box.port.drain { counts[$0] += 1 }
        #expect(counts == [0, sent.load(ordering: .relaxed), 0, 1])
    }

    @Test("The capacity is rounded up to a power of two", arguments: [(1, 2), (2, 2), (3, 4), (100, 128)])
    func capacity(asked: Int, given: Int) {
        let port = MessagePort<Int>(capacity: asked)
        #expect(port.capacity == given)
        let taken = (0...given).map { port.send($0) }
        #expect(taken == Array(repeating: true, count: given) + [false])
    }

    @Test("Several senders, each one's values in its order; those lost are counted")
    func senders() async {
        let box = Box(capacity: 64)
        let (threads, count) = (3, 5000)
        let received = Record<Int>()
        let subscription = box.port.by({ $0() }) { received.add($0) }
        let refused = Atomic<Int>(0)
        let senders = (0..<threads).map { thread in
            TestThread {
                for number in 0..<count where !box.port.send(thread * 1_000_000 + number) {
                    refused.wrappingAdd(1, ordering: .relaxed)
                }
            }
        }
        for sender in senders { sender.join() }
        let lost = refused.load(ordering: .relaxed)
        #expect(box.port.lostCount == lost)
        #expect(await becomesTrue { received.count == threads * count - lost })
        for thread in 0..<threads {
            let numbers = received.all.filter { $0 / 1_000_000 == thread }
            #expect(numbers == numbers.sorted())
            #expect(Set(numbers).count == numbers.count)
        }
        subscription.cancel()
    }

    @Test("A listener as a stream, from the render thread")
    func stream() async throws {
        let box = Box()
        let renderer = try Renderer(channels: 1) { context in
            if !context.isDryRun { box.port.send(Int(context.sampleTime)) }
        }
        let events = box.port.events
        for _ in 0..<50 { _ = renderer.values(10) }
        var values: [Int] = []
        for await value in events {
            values.append(value)
            if values.count == 50 { break }
        }
        #expect(values == (0..<50).map { $0 * 10 })
    }

    @Test("A listener on the main actor")
    func onMain() async {
        let box = Box()
        let received = Record<Int>()
        let subscription = box.port.onMain { value in
            MainActor.preconditionIsolated()
            received.add(value)
        }
        for number in 0..<100 { box.port.send(number) }
        #expect(await becomesTrue { received.count == 100 })
        #expect(received.all == Array(0..<100))
        subscription.cancel()
    }

    @Test("A listener on an executor and one through whatever runs closures; each gets everything")
    func elsewhere() async {
        final class Executor: TaskExecutor {
            let jobs = Atomic<Int>(0)
            func enqueue(_ job: consuming ExecutorJob) {
                let job = UnownedJob(job)
                jobs.wrappingAdd(1, ordering: .relaxed)
                let executor = asUnownedTaskExecutor()
                TestThread { job.runSynchronously(on: executor) }.detach()
            }
        }
        let executor = Executor()
        let box = Box()
        let (first, second) = (Record<Int>(), Record<Int>())
        let calls = Atomic<Int>(0)
        let subscriptions = [
            box.port.on(executor) { first.add($0) },
            box.port.by({ run in
                calls.wrappingAdd(1, ordering: .relaxed)
                run()
            }) { second.add($0) },
        ]
        for number in 0..<20 { box.port.send(number) }
        #expect(await becomesTrue { first.count == 20 && second.count == 20 })
        #expect(first.all == Array(0..<20) && second.all == Array(0..<20))
        #expect(calls.load(ordering: .relaxed) == 20)
        #expect(executor.jobs.load(ordering: .relaxed) > 0)
        withExtendedLifetime(subscriptions) {}
    }

    @Test("Messages without a listener stay in the port, for drain() or the first listener")
    func unheard() async throws {
        let box = Box()
        for number in 0..<10 { box.port.send(number) }
        try? await Task.sleep(for: .milliseconds(30))
        var values: [Int] = []
        box.port.drain { values.append($0) }
        #expect(values == Array(0..<10))
        for number in 10..<15 { box.port.send(number) }
        let received = Record<Int>()
        let subscription = box.port.by({ $0() }) { received.add($0) }
        #expect(await becomesTrue { received.count == 5 })
        #expect(received.all == Array(10..<15))
        subscription.cancel()
    }

    @Test("After cancel() the handler is not called again, also when much is waiting for it")
    @MainActor func cancels() async {
        let box = Box()
        final class Handle: Sendable {
            let subscription = Lock<Subscription?>(nil, .output)
            let calls = Atomic<Int>(0)
        }
        let handle = Handle()
        let subscription = box.port.onMain { _ in
            handle.calls.wrappingAdd(1, ordering: .relaxed)
            handle.subscription.withLock { $0 }?.cancel()
        }
        handle.subscription.withLock { $0 = subscription }
        for number in 0..<100 { box.port.send(number) }
        #expect(await becomesTrue { handle.calls.load(ordering: .relaxed) > 0 })
        for _ in 0..<200 { await Task.yield() }
        try? await Task.sleep(for: .milliseconds(50))
        #expect(handle.calls.load(ordering: .relaxed) == 1)
        handle.subscription.withLock { $0 = nil }
    }

    @Test("A subscription that is released ends")
    func letGo() async {
        let box = Box()
        let received = Record<Int>()
        do {
            let subscription = box.port.by({ $0() }) { received.add($0) }
            box.port.send(1)
            #expect(await becomesTrue { received.count == 1 })
            withExtendedLifetime(subscription) {}
        }
        try? await Task.sleep(for: .milliseconds(50))
        box.port.send(2)
        try? await Task.sleep(for: .milliseconds(50))
        #expect(received.all == [1])
    }

    @Test("A port may go inside its own handler")
    func goesInHandler() async {
        final class Owner: Sendable {
            let box = Lock<Box?>(Box(), .output)
        }
        let owner = Owner()
        let received = Record<Int>()
        let subscription = owner.box.withLock { $0 }?.port.by({ $0() }) { value in
            let box = owner.box.withLock { box in
                defer { box = nil }
                return box
            }
            received.add(value)
            withExtendedLifetime(box) {}
        }
        for number in 0..<10 { owner.box.withLock { _ = $0?.port.send(number) } }
        #expect(await becomesTrue { received.count >= 1 })
        withExtendedLifetime(subscription) {}
    }

    @Test("Values sent before a port goes reach its listener, and the stream ends")
    func goes() async {
        for round in 0..<300 {
            var values: [Int] = []
            let events: AsyncStream<Int>
            do {
                let port = MessagePort<Int>(capacity: 64)
                events = port.events
                for number in 0..<20 {
                    port.send(number)
                    if number == round % 20 { await Task.yield() }
                }
            }
            for await value in events { values.append(value) }
            #expect(values == Array(0..<20))
        }
    }
}
