import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Background
@testable import Composition
@testable import RenderCore

/// Plays pieces of the sound backwards, each turned around in the background: what `BackgroundWork` is for, on numbers that
/// can be told.
private final class Backwards: Effect {
    struct Piece: ~Copyable, Sendable {
        var samples: RenderMemory<Float>
        init(_ frames: Int) { samples = RenderMemory(repeating: 0, count: frames) }

        mutating func turn() {
            var memory = samples.span
            var (low, high) = (0, memory.count - 1)
            while low < high {
                let sample = memory[low]
                memory[low] = memory[high]
                memory[high] = sample
                low += 1
                high -= 1
            }
        }
    }
    struct Tape: ~Copyable, Sendable {
        var heard: RenderMemory<Float>
        var next: RenderMemory<Float>
        init(_ frames: Int) {
            heard = RenderMemory(repeating: 0, count: frames)
            next = RenderMemory(repeating: 0, count: frames)
        }
    }
    let work: BackgroundWork<Piece>
    private let tape: RenderState<Tape>
    private let position = RenderState(0)
    private let length: Int
    /// The number of times that a piece was not there.
    let lateAnswers = Atomic<Int>(0)

    init(_ length: Int, _ job: @escaping @Sendable () -> Void = {}) {
        self.length = length
        work = BackgroundWork(Piece(length)) { piece in
            job()
            piece.turn()
        }
        tape = RenderState(Tape(length))
    }

    func latency(at sampleRate: Double) -> Int { 2 * length }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let frames = context.frameCount
        var now = position.read(context)
        var done = 0
        while done < frames {
            if now == length {
                turnPage(&context, at: done)
                now = 0
            }
            let (start, first) = (now, done)
            let count = min(frames - done, length - now)
            tape.withTop(&context) { tape, top in
                var samples = top[0]
                var i = 0
                while i < count {
                    tape.next[start + i] = samples[first + i]
                    samples[first + i] = tape.heard[start + i]
                    i += 1
                }
            }
            now += count
            done += count
        }
        position.write(now, context)
    }

    /// Takes the piece that is turned, and has the next one turned.
    @_noLocks @_noAllocation
    private func turnPage(_ context: inout RenderContext, at frame: Int) {
        let outcome = work.collect(&context, at: frame, with: tape) { piece, tape, _ in
            var i = 0
            while i < piece.samples.count {
                tape.heard[i] = piece.samples[i]
                piece.samples[i] = tape.next[i]
                i += 1
            }
        }
        switch outcome {
        case .ready: work.submit(context, at: frame, deadline: length)
        case .late, .notDue:
            lateAnswers.wrappingAdd(1, ordering: .relaxed)
            tape.with(&context) { tape, _ in
                var i = 0
                while i < tape.heard.count {
                    tape.heard[i] = 0
                    i += 1
                }
            }
        }
    }
}

/// A gate for jobs: closed, they wait behind it.
private final class Gate: @unchecked Sendable {
    // Unchecked because a semaphore is for any thread.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    let began = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    init() { sem_init(semaphore, 0, 0) }
    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }
    func pass() {
        began.wrappingAdd(1, ordering: .sequentiallyConsistent)
        while sem_wait(semaphore) != 0 {}
        ended.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }
    func open(_ jobs: Int) { for _ in 0..<jobs { sem_post(semaphore) } }
}

/// Renders 1, 2, 3, … in one channel.
private final class Frames: Generator {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let first = context.sampleTime
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = Float(first + Int64(i) + 1) }
    }
}

private func program(_ effect: Backwards) throws -> Renderer {
    let frames = Frames()
    return try Renderer(channels: 1) { context in
        context.run(frames)
        context.run(effect)
        context.output()
    }
}

/// Piece after piece turned around, two pieces later.
private func expected(_ length: Int, _ frames: Int) -> [Float] {
    (0..<frames).map { frame in
        let piece = frame / length - 2
        return piece < 0 ? 0 : Float(piece * length + length - frame % length)
    }
}

@Suite(.serialized) struct BackgroundWorkTests {
    @Test("offline, jobs are waited for: the same samples in cycles of any length, every one of them")
    func exact() throws {
        for length in [1, 64, 100] {
            for cycle in [1, 7, 64, 100, 512, 5_000] {
                let effect = Backwards(length)
                let renderer = try program(effect)
                let heard = renderer.renderOffline(frames: 5_000, cycle: cycle).array(0)
                #expect(heard == expected(length, 5_000), "pieces of \(length), cycles of \(cycle)")
                #expect(renderer.faultCount == 0)
                #expect(effect.work.statistics.submitted == (5_000 - 1) / length)
                #expect(effect.work.statistics.late == 0)
            }
        }
    }

    @Test("many modules offline at once, on one thread and on several, with jobs of different lengths")
    func many() throws {
        let effects = (0..<20).map { number in
            Backwards(50 + number) {
                var sum = 0.0
                for i in 0..<(number % 3) * 20_000 { sum += Double(i).squareRoot() }
                withExtendedLifetime(sum) {}
            }
        }
        let frames = Frames()
        let renderer = try Renderer(channels: 1) { context in
            for effect in effects {
                context.run(frames)
                context.run(effect)
            }
            context.mix(effects.count)
            context.output()
        }
        let heard = renderer.renderOffline(frames: 2_000, cycle: 333).array(0)
        let sums = (0..<20).map { expected(50 + $0, 2_000) }
        for frame in 0..<2_000 { #expect(heard[frame] == sums.reduce(0) { $0 + $1[frame] }) }
    }

    @Test("a live job that is not done is late: told at its deadline, counted once, and collected when it is done")
    func late() async throws {
        let gate = Gate()
        let effect = Backwards(64) { gate.pass() }
        let renderer = try program(effect)
        var block = AudioBlock(channels: 1, frames: 64)
        func cycle() -> [Float] {
            renderer.render(into: &block)
            return block.array(0)
        }
        _ = cycle()
        #expect(cycle() == Array(repeating: 0, count: 64))
        #expect(effect.work.statistics.submitted == 1)
        #expect(effect.work.statistics.late == 0)
        // The deadline is over three times, and the job waits.
        for answers in 1...3 {
            #expect(cycle() == Array(repeating: 0, count: 64))
            #expect(effect.lateAnswers.load(ordering: .relaxed) == answers)
            #expect(effect.work.statistics.late == 1)
            #expect(effect.work.statistics.submitted == 1)
        }
        gate.open(1)
        #expect(try await eventually { effect.work.isDone })
        // The first piece, some pieces later than it should have come.
        #expect(cycle() == counted(1...64).reversed())
        #expect(effect.work.statistics.submitted == 2)
        gate.open(10)
        #expect(try await eventually { effect.work.isDone })
        #expect(effect.work.statistics.late == 1)
        #expect(renderer.faultCount == 0)
    }

    @Test("a job that is done early is not heard before its deadline")
    func early() async throws {
        let work = Holder()
        let outcomes = Shared<[Int]>([])
        let renderer = try Renderer(channels: 1) { context in
            if context.isDryRun { return }
            let outcome = work.work.collect(&context) { _, _ in }
            outcomes.value.append(outcome.isReady ? 1 : 0)
            if outcome.isReady { work.work.submit(context, deadline: 100) }
        }
        var block = AudioBlock(channels: 1, frames: 40)
        for _ in 0..<7 {
            renderer.render(into: &block)
            #expect(try await eventually { work.work.isDone })
        }
        // At 0, then at the first call at or after frame 100, then after 220.
        #expect(outcomes.value == [1, 0, 0, 1, 0, 0, 1])
    }

    private final class Holder: Sendable {
        let work = BackgroundWork(0) { $0 += 1 }
    }

    @Test("submitted twice, inside of its own body, or by another renderer: refused, never shared")
    func misuse() async throws {
        let work = Holder()
        let answers = Shared<[Bool]>([])
        let loop: RenderLoop = { context in
            if context.isDryRun { return }
            _ = work.work.collect(&context) { _, context in
                answers.value.append(work.work.submit(context, deadline: 10))
            }
            answers.value.append(work.work.submit(context, deadline: .max))
            answers.value.append(work.work.submit(context, deadline: -5))
        }
        let (first, second) = (try Renderer(channels: 1, loop), try Renderer(channels: 1, loop))
        var block = AudioBlock(channels: 1, frames: 8)
        let own = try await faults(of: first, count: 1) { first.render(into: &block) }
        #expect(own.map(\.kind) == [.nestedState])
        #expect(answers.value == [false, true, false])
        answers.value = []
        _ = try await faults(of: second, count: 3) { second.render(into: &block) }
        #expect(answers.value == [false, false])
        #expect(work.work.statistics.submitted == 1)
    }

    @Test(
        "modules that end on several threads: each waits for its job that runs, drops one that has not begun, frees its state"
    )
    func end() async throws {
        let (gate, freed) = (Gate(), Counter())
        let threads = WorkPool.shared.threadLimit
        let count = threads + 8
        let boxes = (0..<count).map { _ in Shared<Counted?>(Counted(freed) { gate.pass() }) }
        let renderer = try Renderer(channels: 1) { context in
            for box in boxes { box.value?.work.submit(context, deadline: 1) }
        }
        var block = AudioBlock(channels: 1, frames: 8)
        renderer.render(into: &block)
        // Each thread of the pool stands before the gate, and the other jobs wait.
        #expect(try await eventually { gate.began.load(ordering: .sequentiallyConsistent) == threads })
        for box in boxes { Thread.detachNewThread { box.value = nil } }
        #expect(try await eventually { freed.value == count - threads })
        gate.open(threads)
        #expect(try await eventually { freed.value == count })
        #expect(gate.ended.load(ordering: .sequentiallyConsistent) == threads)
        #expect(gate.began.load(ordering: .sequentiallyConsistent) == threads)
    }

    @Test("a job may release its own module")
    func lettingGo() async throws {
        let (gate, freed) = (Gate(), Counter())
        let kept = Shared<Counted?>(nil)
        kept.value = Counted(freed) {
            gate.pass()
            kept.value = nil
        }
        let renderer = try Renderer(channels: 1) { context in kept.value?.work.submit(context, deadline: 1) }
        var block = AudioBlock(channels: 1, frames: 8)
        renderer.render(into: &block)
        #expect(freed.value == 0)
        gate.open(1)
        #expect(try await eventually { freed.value == 1 })
    }

    @Test("jobs of control code are done once each, the one that is due first before the others, and freed")
    func jobsOfControlCode() async throws {
        let (gate, order, freed) = (Gate(), Lock<[Int64]>([]), Counter())
        let threads = WorkPool.shared.threadLimit
        for _ in 0..<threads { BackgroundJob.run(due: 0) { gate.pass() } }
        #expect(try await eventually { gate.began.load(ordering: .sequentiallyConsistent) == threads })
        // All threads stand before the gate, so that these wait, and one thread alone takes the first of them.
        for due: Int64 in [30, 10, 20, .max, 5] {
            let kept = Kept(Counted.State(freed: freed))
            BackgroundJob.run(due: due) {
                order.withLock { $0.append(due) }
                withExtendedLifetime(kept) {}
            }
        }
        gate.open(threads)
        #expect(try await eventually { freed.value == 5 })
        let done = order.withLock { $0 }
        #expect(done.sorted() == [5, 10, 20, 30, .max])
        if threads == 1 { #expect(done == done.sorted()) }
    }

    private final class Kept: Sendable {
        let state: Counted.State
        init(_ state: consuming Counted.State) { self.state = state }
    }

    /// Work whose state says when it is freed.
    private final class Counted: Sendable {
        struct State: ~Copyable, Sendable {
            let freed: Counter
            deinit { freed.add() }
        }
        let work: BackgroundWork<State>
        init(_ freed: Counter, _ job: @escaping @Sendable () -> Void) {
            work = BackgroundWork(State(freed: freed)) { _ in job() }
        }
    }
}
