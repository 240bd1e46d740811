import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Attacks on the types that carry values between control code and the render thread, with unreasonable arguments.
@Suite struct ControlAttackTests {
    static let edges: [Int] = [.min, .min + 1, -1_000, -1, 0, 1, 2, 63, 64, 65, 1_000, .max - 1, .max]
    static let times: [RenderTime] = [
        .immediately, .now, .sample(.max), .sample(.min), .sample(-1), .host(.max), .host(.min), .host(-1), .host(0),
        RenderTime(sampleTime: .max, hostTime: .max), RenderTime(sampleTime: .min, hostTime: .min),
    ]

    @Test("Moments at the ends of time, and durations that reach beyond")
    func timeArithmetic() {
        let durations: [Duration] = [
            .zero, .seconds(Int64.max), .seconds(Int64.min), .nanoseconds(Int64.max), .milliseconds(-5),
            Duration(secondsComponent: .min, attosecondsComponent: 0),
            Duration(secondsComponent: .max, attosecondsComponent: 0),
        ]
        for time in Self.times {
            for duration in durations {
                let later = time + duration
                let earlier = time - duration
                _ = (later.description, earlier.description, later.isImmediate, earlier.hostTime, later.sampleTime)
            }
        }
        _ = (HostClock.seconds(.max), HostClock.seconds(.min))
    }

    @Test("Everything that takes a time, given the ends of time")
    func times() throws {
        let envelope = Envelope(), player = BufferPlayer(), samples = SamplePlayer()
        let renderer = try Renderer { context in
            context.run(player)
            context.run(samples)
            context.mix()
            context.run(envelope)
            context.output()
        }
        let sound = Sound(AudioBlock(channels: 1, frames: 10), sampleRate: 48_000)
        let sample = samples.load(sound)
        for time in Self.times {
            envelope.open(at: time)
            envelope.close(at: time)
            player.schedule(sound, at: time)
            player.play(at: time)
            player.pause(at: time)
            samples.play(sample, at: time, every: 0.001)
            samples.stopAll(at: time)
            try renderer.transaction(at: time) { envelope.attack.value = 0.1 }
            try renderer.schedule(at: time) { context in context.reset(envelope) }
            _ = renderer.renderOffline(frames: 100)
            var block = AudioBlock(channels: 2, frames: 16)
            renderer.render(into: &block, hostTime: time.hostTime)
        }
    }

    @Test("Parameters with odd ranges, glides and limits")
    func parameters() throws {
        final class Odd: Effect {
            let parameter: Parameter
            init(_ range: ClosedRange<Float>, _ curve: Parameter.Curve, _ limit: Parameter.RateLimit?) {
                parameter = Parameter(range.lowerBound, in: range, limit: limit, glide: curve)
            }
            func process(_ context: inout RenderContext) {
                let glide = parameter.glide(context)
                _ = (parameter.atRest(context), parameter.current(context), glide[0], glide[.max], glide[.min])
                context.gain(glide)
            }
        }
        let huge = Float.greatestFiniteMagnitude
        let ranges: [ClosedRange<Float>] = [
            0...0, -0.0...0.0, -huge...huge, 0...huge, -1...1, 1e-38...1e38, 0...(.leastNonzeroMagnitude),
        ]
        let durations: [Duration] = [
            .zero, .nanoseconds(1), .milliseconds(10), .seconds(1_000_000), .seconds(Int64.max), .milliseconds(-10),
            .seconds(Int64.min),
        ]
        for range in ranges {
            for duration in durations {
                for curve in [Parameter.Curve.none, .linear(duration), .exponential(duration)] {
                    for fraction: Float? in [nil, 0.5, .nan, .infinity, -1, 1e30] {
                        let limit = fraction.map { Parameter.RateLimit.fractionOfRate($0) }
                        let odd = Odd(range, curve, limit)
                        let renderer = try Renderer { context in
                            context.push()
                            context.run(odd)
                            context.output()
                        }
                        for value in [range.upperBound, .nan, range.lowerBound, .infinity, -.infinity, 0.5] {
                            odd.parameter.value = value
                            let block = renderer.renderOffline(frames: 5)
                            let finite = isFinite(block)
                            #expect(finite)
                            #expect(odd.parameter.value.isFinite)
                        }
                        for rate in [Double.nan, .infinity, 0, -1, 1e300] {
                            _ = odd.parameter.range(atSampleRate: rate)
                        }
                    }
                }
            }
        }
    }

    @Test("A queue of commands, filled and asked without sense")
    func commandQueue() throws {
        final class Asking: Effect {
            let queue = CommandQueue<Int>()
            func process(_ context: inout RenderContext) {
                for frame in ControlAttackTests.edges {
                    var count = 0
                    while let due = queue.next(&context, from: frame), count < 200 {
                        count += 1
                        _ = queue.send(due.command, at: .immediately)
                    }
                }
            }
        }
        let asking = Asking()
        let renderer = try Renderer { context in
            context.push()
            context.run(asking)
        }
        for turn in 0..<300 {
            _ = asking.queue.send(turn, at: Self.times[turn % Self.times.count])
            if turn % 10 == 0 { _ = renderer.renderOffline(frames: 10) }
        }
        #expect(asking.queue.count <= asking.queue.capacity)
    }

    @Test("Executors that run a handler twice, later, or never")
    func executors() async throws {
        let renderer = try Renderer { context in if !context.isDryRun { context.pop() } }
        let count = Atomic<Int>(0)
        let late = Guarded<[@Sendable () -> Void]>([])
        let subscriptions = [
            renderer.by({ work in
                work()
                work()
            }) { _ in count.add(1, ordering: .relaxed) },
            renderer.by({ _ in }) { _ in count.add(1_000, ordering: .relaxed) },
            renderer.by({ work in late.withLock { $0.append(work) } }) { _ in count.add(1, ordering: .relaxed) },
        ]
        _ = renderer.renderOffline(frames: 8)
        #expect(await becomesTrue { count.load(ordering: .relaxed) >= 1 && !late.now.isEmpty })
        for subscription in subscriptions { subscription.cancel() }
        for work in late.now {
            work()
            work()
        }
        try? await Task.sleep(for: .milliseconds(20))
        #expect(count.load(ordering: .relaxed) < 1_000)
        #expect(try await eventsStillCome())
    }

    @Test("A message that sends itself, a scheduled closure that schedules itself: each cycle ends")
    func selfSending() async throws {
        let holder = Holder()
        let runs = Atomic<Int>(0)
        let renderer = Renderer()
        holder.renderer = renderer
        @Sendable func message(_ context: inout RenderContext) {
            runs.add(1, ordering: .relaxed)
            try? holder.renderer?.messages.send { message(&$0) }
            try? holder.renderer?.messages.send { message(&$0) }
        }
        @Sendable func event(_ context: inout RenderContext) {
            runs.add(1, ordering: .relaxed)
            _ = try? holder.renderer?.schedule(at: .immediately) { event(&$0) }
            _ = try? holder.renderer?.schedule(at: .sample(context.sampleTime)) { event(&$0) }
        }
        try renderer.messages.send { message(&$0) }
        try renderer.schedule(at: .immediately) { event(&$0) }
        #expect(await ends { for _ in 0..<20 { _ = renderer.renderOffline(frames: 32, cycle: 16) } })
        #expect(runs.load(ordering: .relaxed) > 0)
        holder.renderer = nil
    }

    @Test("Transactions inside of transactions, a thousand deep, and one with a hundred thousand changes")
    func deepTransactions() async throws {
        let gain = Gain(), other = Gain()
        let (renderer, second) = (Renderer(), Renderer())
        @Sendable func nest(_ depth: Int) {
            (depth % 2 == 0 ? renderer : second).transaction {
                gain.level.value = Float(depth % 10)
                if depth > 0 { nest(depth - 1) }
            }
        }
        #expect(
            await ends {
                nest(400)
                renderer.transaction { for turn in 0..<100_000 { other.level.value = Float(turn % 7) } }
            })
        #expect(gain.level.value == 0)
        let event = try renderer.transaction(at: .sample(100)) {
            try second.transaction(at: .sample(5)) { gain.level.value = 3 }.cancel()
            try renderer.schedule(at: .immediately) { _ in }
            gain.level.value = 4
        }
        _ = second.renderOffline(frames: 10)
        _ = renderer.renderOffline(frames: 200)
        #expect(!event.cancel())
    }

    @Test("A renderer that goes in the midst of its own transaction, in its own completion, in its own event")
    func rendererGoes() async throws {
        let holder = Guarded<Renderer?>(Renderer())
        let gain = Gain()
        holder.now?.transaction {
            holder.withLock { $0 = nil }
            gain.level.value = 2
        }
        holder.withLock { $0 = Renderer() }
        let driver = Guarded(0)
        holder.now?.transaction(whenApplied: {
            holder.withLock { $0 = nil }
            driver.withLock { $0 += 1 }
        }) { gain.level.value = 3 }
        _ = holder.now?.renderOffline(frames: 10)
        #expect(await becomesTrue { driver.now == 1 })
        holder.withLock { $0 = try? Renderer { context in if !context.isDryRun { context.pop() } } }
        let subscription = holder.now?.by({ $0() }) { _ in holder.withLock { $0 = nil } }
        _ = holder.now?.renderOffline(frames: 10)
        #expect(await becomesTrue { holder.now == nil })
        subscription?.cancel()
        #expect(try await eventsStillCome())
    }

    @Test("Values whose end changes the value again, and drops a renderer")
    func deinits() async throws {
        final class Ending: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
            deinit { body() }
        }
        final class Held: Sendable { let value = ManagedValue<Ending?>(nil) }
        let held = Held()
        let count = Atomic<Int>(0)
        let renderer = Guarded<Renderer?>(Renderer())
        @Sendable func again() {
            // The last one leaves nothing that would hold what holds it.
            held.value.set(count.add(1, ordering: .relaxed).newValue < 50 ? Ending(again) : nil)
            renderer.now?.configure(sampleRate: 44_100)
            renderer.now?.removeLoop()
            if count.load(ordering: .relaxed) == 20 { renderer.withLock { $0 = nil } }
        }
        held.value.set(Ending(again))
        held.value.set(Ending(again), whenOldIsFreed: { held.value.set(nil) })
        #expect(await becomesTrue { count.load(ordering: .relaxed) >= 50 })
        held.value.set(nil)
        #expect(try await eventsStillCome())
    }

    @Test("States, values and shared states that are entered while they are entered, and replaced from inside")
    func nestedWith() throws {
        final class Nesting: Effect {
            let state = RenderState<[Int]>([1])
            let number = RenderState<Int>(0)
            let value = ManagedValue<Int>(1)
            let array = ManagedArray<Int, Int>()
            let shared = SharedState<Int>(1)
            func process(_ context: inout RenderContext) {
                state.with(&context) { outer, context in
                    state.with(&context) { inner, _ in inner.append(2) }
                    state.replace(with: [3])
                    outer.append(4)
                }
                number.with(&context) { outer, context in
                    outer = number.read(context)
                    number.write(7, context)
                    number.replace(with: 8)
                }
                value.with(&context) { _, context in
                    value.set(2)
                    value.with(&context) { _, _ in value.set(3) }
                }
                array.forEach(&context) { element, context in
                    array.update([1, 2, 3, 4]) { key, _ in key }
                    array.forEach(&context) { inner, _ in inner += 1 }
                    element += 1
                }
                array.search(&context) { _, _ in
                    array.replace(2, with: 9)
                    return false
                }
                for index in ControlAttackTests.edges { array.with(index, &context) { element, _ in element += 1 } }
                shared.with(&context) { outer, context in
                    shared.with(&context) { inner, _ in inner += 1 }
                    shared.replace(with: 5)
                    outer += 1
                }
            }
        }
        let nesting = Nesting()
        nesting.array.update([5, 5, 5, 6]) { key, _ in key }
        let renderer = try Renderer { context in
            context.push()
            context.run(nesting)
            context.output()
        }
        for _ in 0..<5 { _ = renderer.renderOffline(frames: 20) }
        renderer.configure(sampleRate: 44_100)
        _ = renderer.renderOffline(frames: 20)
    }

    @Test("An event that cancels itself, and two thousand that are never due")
    func events() async throws {
        let renderer = Renderer()
        let held = Guarded<ScheduledEvent?>(nil)
        let event = try renderer.schedule(at: .sample(10)) { _ in held.now?.cancel() }
        held.withLock { $0 = event }
        _ = renderer.renderOffline(frames: 64)
        var kept: [ScheduledEvent] = []
        for turn in 0..<2_000 {
            if let event = try? renderer.schedule(at: .sample(.max), { _ in }) { kept.append(event) }
            if turn % 100 == 0 { _ = renderer.renderOffline(frames: 16) }
        }
        for event in kept { event.cancel() }
        for event in kept { event.cancel() }
        _ = renderer.renderOffline(frames: 64)
        let after = try renderer.schedule(at: .immediately) { _ in }
        _ = renderer.renderOffline(frames: 64)
        #expect(!after.cancel())
        held.withLock { $0 = nil }
    }
}
