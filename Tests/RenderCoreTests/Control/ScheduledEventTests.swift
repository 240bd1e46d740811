import Testing

@testable import RenderCore
@testable import Sharing

@Suite struct ScheduledEventTests {
    /// Values of a probe at 0 that changes to 1, 2, 3… at frames.
    private func expected(_ frames: Int, _ changes: [(frame: Int, value: Float)]) -> [Float] {
        var values = [Float](repeating: 0, count: frames)
        for change in changes { for frame in change.frame..<frames { values[frame] = change.value } }
        return values
    }

    @Test("Changes at sample times are exact in the samples", arguments: [1, 7, 64, 512])
    func sampleTimes(cycle: Int) throws {
        let probe = GlideProbe(0, glide: .none)
        let renderer = try probe.renderer(sampleRate: 1000)
        for (frame, value) in [(100, Float(1)), (101, 2), (350, 3)] {
            try renderer.transaction(at: .sample(Int64(frame))) { probe.parameter.value = value }
        }
        #expect(renderer.values(400, cycle: cycle) == expected(400, [(100, 1), (101, 2), (350, 3)]))
        #expect(probe.parameter.value == 3)
    }

    @Test("Changes at host times are exact in the samples", arguments: [1, 7, 64, 512])
    func hostTimes(cycle: Int) throws {
        let probe = GlideProbe(0, glide: .none)
        let renderer = try probe.renderer(sampleRate: 1000)
        _ = renderer.values(1)
        let start = try #require(renderer.nextRenderTime)
        let millisecond: Int64 = 1_000_000
        try renderer.transaction(at: .host(start + 350 * millisecond)) { probe.parameter.value = 3 }
        try renderer.transaction(at: .host(start + 100 * millisecond)) { probe.parameter.value = 1 }
        try renderer.transaction(at: .host(start + 100 * millisecond) + .milliseconds(1)) { probe.parameter.value = 2 }
        #expect(renderer.values(400, cycle: cycle) == expected(400, [(100, 1), (101, 2), (350, 3)]))
    }

    @Test("A time after an addition is exact, on either clock")
    func addedTimes() throws {
        let probe = GlideProbe(0, glide: .none)
        let renderer = try probe.renderer(sampleRate: 1000)
        try renderer.transaction(at: .sample(40) + .milliseconds(10)) { probe.parameter.value = 1 }
        try renderer.transaction(at: .sample(90) - .milliseconds(15)) { probe.parameter.value = 2 }
        #expect(renderer.values(100) == expected(100, [(50, 1), (75, 2)]))
    }

    @Test("A newer value set meanwhile, or scheduled for an earlier time, does not undo a later change")
    func notForgotten() throws {
        let probe = GlideProbe(0, glide: .none)
        let value = ManagedValue<Float>(0)
        let seen = Record<[Float]>()
        let renderer = try Renderer(sampleRate: 1, channels: 1) { context in
            context.run(probe)
            context.output()
            let frame = Float(context.sampleTime)
            if !context.isDryRun { value.with(&context) { value, _ in seen.add([frame, value]) } }
        }
        try renderer.transaction(at: .sample(6)) {
            probe.parameter.value = 3
            value.set(3)
        }
        try renderer.transaction(at: .sample(4)) {
            probe.parameter.value = 2
            value.set(2)
        }
        probe.parameter.value = 1
        value.set(1)
        #expect(renderer.values(8, cycle: 1) == [1, 1, 1, 1, 2, 2, 3, 3])
        #expect(seen.all.map { $0[1] } == [1, 1, 1, 1, 2, 2, 3, 3])
        #expect(probe.parameter.value == 3)
        #expect(value.value == 3)
        // And afterwards control code is obeyed as before.
        probe.parameter.value = 4
        value.set(4)
        #expect(value.value == 4)
        #expect(renderer.values(1) == [4])
        #expect(seen.all.last == [8, 4])
    }

    @Test("Equal times: in the order in which they were scheduled, a hundred of them")
    func equalTimes() throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let ran = Record<[Int64]>()
        for number in 0..<100 {
            let frame: Int64 = number % 2 == 0 ? 20 : 10
            try renderer.schedule(at: .sample(frame)) { context in ran.add([context.sampleTime, Int64(number)]) }
        }
        _ = renderer.values(5)
        _ = renderer.values(30)
        let odd = (0..<50).map { [Int64(10), Int64(2 * $0 + 1)] }
        let even = (0..<50).map { [Int64(20), Int64(2 * $0)] }
        #expect(ran.all == odd + even)
    }

    @Test("The renderer makes a late change at once, and says how many frames late it was")
    func late() async throws {
        let probe = GlideProbe(0, glide: .none)
        let renderer = try probe.renderer(sampleRate: 1000)
        let events = Record<RenderEvent>()
        let subscription = renderer.by({ $0() }) { events.add($0) }
        _ = renderer.values(100)
        try renderer.transaction(at: .sample(90)) { probe.parameter.value = 1 }
        try renderer.transaction(at: .sample(58)) { probe.parameter.value = 2 }
        // The earlier one first.
        #expect(renderer.values(2) == [1, 1])
        var count = 0
        var worst: Int64 = 0
        #expect(
            await becomesTrue {
                count = 0
                worst = 0
                for case .late(let times, let frames, let sampleTime) in events.all {
                    count += times
                    worst = max(worst, frames)
                    if sampleTime != 100 { return false }
                }
                return count == 2
            })
        #expect(worst == 42)
        subscription.cancel()
    }

    @Test("A change on time is not reported as late, and neither is one that was cancelled")
    func notLate() async throws {
        let renderer = try Renderer(sampleRate: 1000, channels: 1) { _ in }
        let events = Record<RenderEvent>()
        let subscription = renderer.by({ $0() }) { events.add($0) }
        try renderer.schedule(at: .sample(0)) { _ in }
        try renderer.schedule(at: .sample(10)) { _ in }
        try renderer.schedule(at: .immediately) { _ in }
        _ = renderer.values(20)
        let event = try renderer.schedule(at: .sample(3)) { _ in }
        event.cancel()
        _ = renderer.values(1)
        try renderer.schedule(at: .sample(1)) { _ in }
        _ = renderer.values(1)
        #expect(await becomesTrue { events.count >= 1 })
        #expect(events.all == [.late(count: 1, frames: 20, sampleTime: 21)])
        subscription.cancel()
    }

    @Test("A cancelled change does not happen; a change that has happened cannot be cancelled")
    func cancel() async throws {
        let lives = Lives()
        let probe = GlideProbe(0, glide: .none)
        let value = ManagedValue(Mortal(0, lives))
        let renderer = try probe.renderer()
        let ran = Record<Int>()
        let change = try renderer.transaction(at: .sample(5)) {
            probe.parameter.value = 1
            value.set(Mortal(1, lives))
        }
        let object = MortalObject(lives)
        let message = try renderer.schedule(at: .sample(5)) { _ in
            object.touch()
            ran.add(1)
        }
        let other = try renderer.schedule(at: .sample(5)) { _ in ran.add(2) }
        #expect(renderer.values(3) == [0, 0, 0])
        #expect(change.cancel())
        #expect(!change.cancel())
        #expect(message.cancel())
        #expect(renderer.values(7) == Array(repeating: 0, count: 7))
        #expect(ran.all == [2])
        #expect(!other.cancel())
        #expect(probe.parameter.value == 0, "control code sees what is heard")
        #expect(await becomesTrue { lives.alive == 2 })
        withExtendedLifetime(value) {}
    }

    @Test("When the renderer goes, neither cancelled changes nor later ones happen")
    func rendererGoes() throws {
        let parameters = [GlideProbe(0, glide: .none), GlideProbe(0, glide: .none)]
        do {
            let renderer = try Renderer(channels: 1) { _ in }
            let event = try renderer.transaction(at: .immediately) { parameters[0].parameter.value = 1 }
            event.cancel()
            try renderer.transaction(at: .sample(1_000_000)) { parameters[1].parameter.value = 1 }
        }
        for probe in parameters { #expect(try probe.renderer().values(1) == [0]) }
    }

    @Test("A transaction for a time that is begun inside another one keeps its time")
    func inTransaction() throws {
        let (a, b) = (GlideProbe(0, glide: .none), GlideProbe(0, glide: .none))
        let renderer = try TransactionTests.pair(a, b)
        try renderer.transaction {
            a.parameter.value = 1
            try renderer.transaction(at: .sample(3)) { b.parameter.value = 2 }
        }
        #expect(renderer.values(5) == [1, 1, 1, 201, 201])
    }

    @Test("1024 scheduled events fill the queue, and each happens at its frame")
    func full() throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let ran = Record<Int64>()
        // Out of order, so that the heap has something to do.
        for number in 0..<Inbox.capacity {
            let frame = Int64(number * 7919 % Inbox.capacity)
            try renderer.schedule(at: .sample(2000 + frame)) { context in ran.add(context.sampleTime) }
            if number % 50 == 49 { _ = renderer.values(1) }
        }
        #expect(throws: MessageQueueFull.self) { try renderer.schedule(at: .sample(9999)) { _ in } }
        _ = renderer.values(4000)
        #expect(ran.all == Array(2000..<3024))
        #expect(throws: Never.self) { try renderer.schedule(at: .sample(9999)) { _ in } }
    }

    @Test("`.now` plus a while comes after that while")
    func now() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let driver = TestDriver(renderer)
        let times = Record<Int64>()
        let asked = HostClock.now
        try renderer.schedule(at: .now + .milliseconds(50)) { context in times.add(context.hostTime) }
        try renderer.schedule(at: .immediately + .milliseconds(50)) { context in times.add(context.hostTime) }
        #expect(await becomesTrue { times.count == 2 })
        driver.stop()
        // To the nearest frame.
        #expect(times.all.allSatisfy { $0 >= asked + 49_950_000 })
    }
}
