import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Mistakes in safe code that once crashed, raced or stood still.
@Suite struct MistakeTests {
    @Test("The fields of a layout keep to their ranges")
    func layoutFields() throws {
        var layout = StackLayout()
        (layout.slots, layout.channels, layout.frames) = (0, 0, 0)
        #expect(layout == StackLayout(slots: 1, channels: 1, frames: 1))
        (layout.slots, layout.channels, layout.frames) = (-5, .min, .max)
        #expect(layout == StackLayout(slots: 1, channels: 1, frames: 65_536))
        (layout.slots, layout.channels, layout.frames) = (.max, 1_000, 3)
        #expect(layout == StackLayout(slots: 1024, channels: 64, frames: 3))
        let renderer = Renderer(channels: 1, layout: layout)
        #expect(renderer.renderOffline(frames: 10).frameCount == 10)
    }

    @Test("A module that trusts its preparation, while layouts shrink and grow under a running renderer")
    func layoutsChange() async throws {
        let module = Trusting()
        let meter = LevelMeter()
        let delay = Delay(time: 0.01)
        let renderer = try Renderer(channels: 64, layout: StackLayout(slots: 4, channels: 64, frames: 512)) { context in
            context.push(channels: 64)
            context.run(module)
            context.run(delay)
            context.run(meter)
            context.output()
        }
        let driver = Driver(renderer, frames: 700)
        #expect(
            await ends {
                for turn in 0..<60 {
                    let (channels, frames) = turn % 2 == 0 ? (1, 16) : (64, 512)
                    renderer.configure(
                        sampleRate: turn % 3 == 0 ? 44_100 : 48_000,
                        layout: StackLayout(slots: 4, channels: channels, frames: frames))
                    usleep(500)
                }
            })
        #expect(await driver.stop())
        #expect(module.preparations.load(ordering: .relaxed) > 50)
    }

    @Test("A state is prepared for a loop that is rendered only later, or never")
    func staged() async throws {
        let module = Trusting()
        let loop: RenderLoop = { context in
            context.push(channels: 2)
            context.run(module)
            context.output()
        }
        let renderer = try Renderer(layout: StackLayout(frames: 64), loop)
        let told = Notes<RenderEvent>()
        let subscription = renderer.by({ $0() }, { told.add($0) })
        defer { subscription.cancel() }
        _ = renderer.renderOffline(frames: 100)
        for frames in [32, 16, 8, 512] { renderer.configure(layout: StackLayout(frames: frames)) }
        _ = renderer.renderOffline(frames: 1_000, cycle: 1_000)
        renderer.configure(layout: StackLayout(frames: 4))
        renderer.removeLoop()
        let other = try Renderer(layout: StackLayout(frames: 256), loop)
        _ = other.renderOffline(frames: 1_000, cycle: 1_000)
        try renderer.replaceLoop(loop)
        other.removeLoop()
        _ = renderer.renderOffline(frames: 1_000, cycle: 1_000)
        #expect(renderer.faultCount == 0 && other.faultCount == 0, "\(told.all)")
    }

    /// A state of any type that can be copied, as a generic module has it.
    final class Box<Value: Sendable>: Sendable {
        let state: RenderState<Value>
        init(_ value: Value) { state = RenderState(value) }
        init(making make: @autoclosure @escaping @Sendable () -> Value) { state = RenderState(make()) }
    }

    @Test("A state of a generic value, read where it is not owned, in a dry run and in another renderer")
    func genericState() async throws {
        for box in [Box([1, 2, 3]), Box(making: [1, 2, 3])] {
            let loop: RenderLoop = { context in
                var array = box.state.read(context)
                array.append(array.count)
                if array.count > 50 { array = [] }
                box.state.write(array, context)
                context.push()
                context.output()
            }
            let (first, second) = (try Renderer(loop), try Renderer(loop))
            let drivers = [Driver(first), Driver(second)]
            #expect(await ends { for _ in 0..<300 { try first.replaceLoop(loop) } })
            for driver in drivers { #expect(await driver.stop()) }
        }
    }

    @Test("A dry run takes no command out of a queue")
    func commandsAndDryRuns() async throws {
        let queue = CommandQueue<Int>()
        let box = Queue()
        _ = queue.send(0)
        let seen = Atomic<Int>(0)
        let loop: RenderLoop = { context in
            while let due = box.queue.next(&context) { seen.add(due.command, ordering: .relaxed) }
            context.push()
            context.output()
        }
        let renderer = try Renderer(loop)
        var sent = 0
        for turn in 0..<200 {
            if box.queue.send(1) { sent += 1 }
            if turn % 2 == 0 { try renderer.replaceLoop(loop) }
            _ = renderer.renderOffline(frames: 8)
        }
        #expect(sent == 200)
        #expect(seen.load(ordering: .relaxed) == 200)
    }
    final class Queue: Sendable {
        let queue = CommandQueue<Int>()
    }

    @Test("A part of a slice that exchanges a buffer for memory from outside leaves that memory as it was")
    func outsideMemory() throws {
        let held = Held()
        let renderer = try Renderer(channels: 1) { context in
            context.push(channels: 1)
            // A dry run would refuse it.
            if context.isDryRun { return }
            held.block.with(&context) { held, context in
                for isEditable in [false, true] {
                    context.subBlock(offset: 8, length: 8) { context in
                        context.pop()
                        if isEditable {
                            context.withExternal(editing: &held.memory, from: 8) { context in context.gain(1) }
                        } else {
                            context.withExternal(held.memory, from: 8) { _ in }
                        }
                    }
                }
                held.isIntact = held.memory.array(0).allSatisfy { $0 == 1 }
            }
            context.output()
        }
        let block = renderer.renderOffline(frames: 32, cycle: 32)
        #expect(block.array(0)[8..<16].allSatisfy { $0 == 1 })
        #expect(block.array(0)[16...].allSatisfy { $0 == 0 })
        let isIntact = Notes<Bool>()
        try renderer.replaceLoop { context in
            held.block.with(&context) { held, _ in isIntact.add(held.isIntact) }
        }
        _ = renderer.renderOffline(frames: 1)
        #expect(isIntact.all.last == true)
    }
    final class Held: Sendable {
        struct Memory: ~Copyable, Sendable {
            var memory = AudioBlock(channels: 1, frames: 32)
            var isIntact = false
            init() { for frame in 0..<32 { memory[0, frame] = 1 } }
        }
        let block = RenderState(Memory())
    }

    /// A module that runs another one, which may be itself.
    final class Runner: Effect {
        let name: String
        private let next = Mutex<Runner?>(nil)
        init(_ name: String) { self.name = name }
        func runs(_ next: Runner?) { self.next.withLock { $0 = next } }
        func process(_ context: inout RenderContext) {
            guard let next = next.withLock({ $0 }) else { return }
            context.run(next)
            context.run(next)
        }
        func reset(_ context: inout RenderContext) { if let next = next.withLock({ $0 }) { context.reset(next) } }
    }

    @Test("Modules that run or reset themselves, or each other in a circle: silence and a fault that names them")
    func runsItself() async throws {
        let alone = Runner("Alone")
        alone.runs(alone)
        let (first, second) = (Runner("First"), Runner("Second"))
        first.runs(second)
        second.runs(first)
        let renderer = try Renderer { context in
            context.push()
            context.run(alone)
            context.run(first)
            context.run(second)
            context.reset(alone)
            context.reset(first)
            context.output()
        }
        let told = Notes<Fault>()
        let subscription = renderer.by({ $0() }) { if case .fault(let fault) = $0 { told.add(fault) } }
        _ = renderer.renderOffline(frames: 100)
        #expect(await becomesTrue { told.all.contains { $0.kind == .nestedModule && $0.module == "Alone" } })
        alone.runs(nil)
        first.runs(nil)
        second.runs(nil)
        subscription.cancel()
    }

    @Test("A module that is made inside of the closure is refused with a sentence")
    func madeInside() throws {
        let error = #expect(throws: RenderLoopError.self) {
            _ = try Renderer { context in
                context.run(Oscillator())
                context.output()
            }
        }
        #expect(error?.faults.map(\.kind) == [.madeInLoop])
        #expect(error?.description.contains("Oscillator") == true)
        // A module that the closure itself holds is kept.
        let renderer = try Renderer { [tone = Oscillator()] context in
            context.run(tone)
            context.output()
        }
        #expect(renderer.modules.count == 1)
    }

    @Test("Modules that are made in each slice, hidden from the dry run, are not kept")
    func madeInEachSlice() async throws {
        let renderer = try Renderer { context in
            if !context.isDryRun { context.run(Oscillator()) }
            context.push()
            context.output()
        }
        let told = Notes<Fault>()
        let subscription = renderer.by({ $0() }) { if case .fault(let fault) = $0 { told.add(fault) } }
        for _ in 0..<50 {
            _ = renderer.renderOffline(frames: 512, cycle: 64)
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(await becomesTrue { told.all.contains { $0.kind == .madeInLoop } })
        #expect(renderer.modules.isEmpty)
        subscription.cancel()
    }

    @Test("A push of a hundred million buffers is one fault, and the stack holds what it can")
    func hugePush() throws {
        let renderer = try Renderer { context in
            if context.isDryRun { return }
            context.push(100_000_000)
            context.pushUninitialized(.max)
            context.push(.min)
            context.popAll()
            context.push()
            context.output()
        }
        _ = renderer.renderOffline(frames: 64, cycle: 64)
        #expect(renderer.faultCount < 3_000)
    }

    @Test("A transaction inside of another renderer's sends its messages to its own")
    func nestedTransactions() async throws {
        let (first, second) = (Renderer(), Renderer())
        let ran = Notes<Int>()
        try first.transaction {
            try second.transaction {
                try second.messages.send { _ in ran.add(2) }
                try first.messages.send { _ in ran.add(1) }
            }
            try second.transaction(at: .sample(0)) { try first.messages.send { _ in ran.add(3) } }
        }
        struct Stop: Error {}
        try? first.transaction {
            try second.messages.send { _ in ran.add(9) }
            throw Stop()
        }
        _ = second.renderOffline(frames: 16)
        _ = first.renderOffline(frames: 16)
        #expect(ran.all == [2, 1, 3])
    }

    @Test("Names of modules that come and go are forgotten, and faults still have theirs")
    func names() async throws {
        let renderer = Renderer()
        let told = Notes<Fault>()
        let subscription = renderer.by({ $0() }) { if case .fault(let fault) = $0 { told.add(fault) } }
        for turn in 0..<200 {
            let module = ClosureModule(.edits, name: "Module \(turn)") { context in
                if !context.isDryRun { context.pop(2) }
            }
            try renderer.replaceLoop { context in
                context.push()
                context.run(module)
                context.output()
            }
            _ = renderer.renderOffline(frames: 8)
        }
        #expect(await becomesTrue { told.all.contains { $0.module == "Module 199" } })
        #expect(told.all.allSatisfy { $0.module?.hasPrefix("Module ") == true })
        subscription.cancel()
    }

    @Test("A notice names a loop without an output, and a module that runs twice")
    func notices() async throws {
        let tone = Oscillator()
        let renderer = Renderer()
        let told = Notes<String>()
        let subscription = renderer.by({ $0() }) { if case .notice(let sentence) = $0 { told.add(sentence) } }
        try renderer.replaceLoop { context in context.run(tone) }
        try renderer.replaceLoop { context in
            context.run(tone)
            context.run(tone)
            context.mix()
            context.output()
        }
        #expect(await becomesTrue { told.count == 2 })
        #expect(told.all.first?.contains("context.output()") == true)
        #expect(told.all.last?.contains("Oscillator") == true && told.all.last?.contains("Splitter") == true)
        subscription.cancel()
    }
}
