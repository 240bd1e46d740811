import RenderStack
import Synchronization
import TestSupport
import Testing

/// The dry run: what it refuses and how it says so, what it learns, what it leaves alone.
@Suite struct DryRunTests {
    private static let one = Constant(1, name: "One")
    private static let two = Constant(2, name: "Two")
    private static let times = Times(2)
    private static let tooMany = ClosureModule(.edits, name: "Halve") { $0.run(one) }
    private static let tooFew = ClosureModule(.generates, name: "Nothing") { _ in }
    private static let wrongMix = ClosureModule(.generates, name: "Sum") { context in
        context.run(one)
        context.mix(2)
    }
    private static let pair = ClosureModule(StackEffect(pops: 0, pushes: 2), name: "Pair") { context in
        context.run(one)
        context.run(two)
    }

    private static let refusals: [(loop: RenderLoop, sentence: String)] = [
        (
            {
                $0.run(one); $0.run(two); $0.mix(3)
            }, "mix(3) finds 2 buffers after Two"
        ),
        (
            {
                $0.run(one); $0.mix(2)
            }, "mix(2) finds 1 buffer after One"
        ),
        ({ $0.mix(1) }, "mix(1) finds no buffer"),
        (
            {
                $0.run(one); $0.mix(0)
            }, "mix(0) makes no sense after One"
        ),
        ({ $0.run(times) }, "Times needs 1 buffer and finds no buffer"),
        ({ $0.pop() }, "pop(1) finds no buffer"),
        (
            {
                $0.run(one); $0.run(times); $0.pop(2)
            }, "pop(2) finds 1 buffer after Times"
        ),
        (
            {
                $0.push(); $0.swap()
            }, "swap() finds 1 buffer"
        ),
        ({ $0.push(65) }, "push() finds all 64 slots of the stack in use"),
        ({ $0.push(channels: 9) }, "push() cannot have a channel or a number of channels of 9; the limit is 8"),
        ({ $0.push(-1) }, "push(-1) makes no sense"),
        (
            {
                $0.push(); $0.output(2)
            }, "output(2) finds 1 buffer"
        ),
        (
            {
                $0.push(); $0.output(to: .auxiliary(1))
            }, "output(1) asks for an index that does not exist; there are 1"
        ),
        ({ $0.gain(0.5) }, "gain(1) finds no buffer"),
        ({ _ = $0.top.channelCount }, "the code asks for the top of the stack, and the stack is empty"),
        (
            {
                $0.push(); $0.remove(at: 3)
            }, "remove(3) asks for an index that does not exist; there are 1"
        ),
        (
            {
                $0.push(); _ = $0.samples(2)[0]
            }, "channel 2 does not exist; the buffer has 2"
        ),
        (
            {
                $0.push(channels: 3); $0.pan(Glide(0))
            }, "pan() cannot have a channel or a number of channels of 2; the limit is 3"
        ),
        (
            {
                $0.run(one); $0.run(tooMany)
            }, "Halve leaves 2 buffers and has declared 1"
        ),
        ({ $0.run(tooFew) }, "Nothing leaves no buffer and has declared 1"),
        ({ $0.run(wrongMix) }, "mix(2) finds 1 buffer in Sum"),
        (
            {
                $0.run(pair); $0.mix(3)
            }, "mix(3) finds 2 buffers after Pair"
        ),
    ]

    @Test("A loop whose stack does not add up is refused with a sentence that names the place", arguments: 0..<22)
    func refusal(number: Int) {
        #expect(Self.refusals.count == 22)
        let (loop, sentence) = Self.refusals[number]
        #expect {
            try Renderer(loop)
        } throws: { error in
            "\(error)" == "The render loop's stack does not add up: \(sentence)."
        }
    }

    @Test("Several faults: the first in words, the others counted; the old loop stays")
    func several() throws {
        let renderer = try Renderer { context in
            context.push()
            context.fill(5, channel: 0)
            context.output()
        }
        #expect {
            try renderer.replaceLoop { context in
                context.pop()
                context.swap()
                context.mix(2)
            }
        } throws: { error in
            "\(error)"
                == "The render loop's stack does not add up: pop(1) finds no buffer (and 2 more)."
        }
        #expect(renderer.next(4)[0] == 4.of(5))
        #expect(renderer.faultCount == 0)
    }

    @Test("A dry run leaves every RenderState as it was, and shows its initial value")
    func states() throws {
        let small = RenderState<Float>(3)
        let large = RenderState(RenderMemory<Float>(repeating: 4, count: 8))
        let seen = Shared<[Float]>([])
        let loop: RenderLoop = { context in
            seen.value.append(small.read(context))
            small.write(small.read(context) + 10, context)
            large.with(&context) { memory, context in
                seen.value.append(memory[0])
                memory[0] += 100
            }
        }
        let renderer = try Renderer(layout: smallLayout, loop)
        #expect(seen.value == [3, 4])
        _ = renderer.next(8)
        #expect(seen.value == [3, 4, 3, 4])
        try renderer.replaceLoop(loop)
        #expect(seen.value == [3, 4, 3, 4, 3, 4])
        _ = renderer.next(8)
        #expect(seen.value == [3, 4, 3, 4, 3, 4, 13, 104])
        #expect(renderer.faultCount == 0)
    }

    @Test("A dry run does not process: modules keep their state when a loop is replaced")
    func modulesKeepTheirState() throws {
        let counting = Counting()
        let loop: RenderLoop = { context in
            context.run(counting)
            context.output()
        }
        let renderer = try Renderer(layout: smallLayout, loop)
        #expect(renderer.next(20)[0] == counted(1...20))
        try renderer.replaceLoop(loop)
        #expect(renderer.next(20)[0] == counted(21...40))
        #expect(renderer.faultCount == 0)
    }

    @Test("Prepare comes before the first slice, again with another rate or layout, not with another loop")
    func preparation() throws {
        let constant = Constant(1)
        let loop: RenderLoop = { context in
            context.run(constant)
            context.output()
        }
        func check(_ count: Int, _ rate: Int, _ frames: Int, _ channels: Int) {
            #expect(constant.preparations.load(ordering: .acquiring) == count)
            #expect(constant.rate.load(ordering: .relaxed) == rate)
            #expect(constant.frames.load(ordering: .relaxed) == frames)
            #expect(constant.channels.load(ordering: .relaxed) == channels)
        }
        let renderer = try Renderer(sampleRate: 1000, layout: smallLayout, loop)
        check(1, 1000, 16, 4)
        _ = renderer.next(40)
        try renderer.replaceLoop(loop)
        _ = renderer.next(40)
        check(1, 1000, 16, 4)
        renderer.configure(sampleRate: 2000)
        check(2, 2000, 16, 4)
        renderer.configure(sampleRate: 2000)
        check(2, 2000, 16, 4)
        renderer.configure(layout: StackLayout(slots: 3, channels: 2, frames: 8))
        check(3, 2000, 8, 2)
        #expect(renderer.next(40)[0] == 40.of(1))
        #expect(constant.early.load(ordering: .relaxed) == 0)
        #expect(renderer.faultCount == 0)
    }

    @Test("A module behind a condition is silent until it is prepared, then heard; it is prepared once")
    func hidden() async throws {
        let (shown, hidden) = (Constant(1, name: "Shown"), Constant(2, name: "Hidden"))
        let isOn = Shared(false)
        let renderer = try Renderer(layout: smallLayout) { context in
            if isOn.value { context.run(hidden) } else { context.run(shown) }
            context.output()
        }
        #expect(renderer.next(8)[0] == 8.of(1))
        isOn.value = true
        let names = Shared<[Fault]>([])
        names.value = try await faults(of: renderer, count: 1) { #expect(renderer.next(8)[0] == 8.of(0)) }
        #expect(names.value.map(\.kind) == [.unprepared])
        #expect(try await eventually { renderer.next(8)[0] == 8.of(2) })
        let count = renderer.faultCount
        #expect(renderer.next(800)[0] == 800.of(2))
        isOn.value = false
        #expect(renderer.next(8)[0] == 8.of(1))
        isOn.value = true
        #expect(renderer.next(8)[0] == 8.of(2))
        #expect(renderer.faultCount == count)
        #expect(hidden.preparations.load(ordering: .acquiring) == 1)
        #expect(hidden.early.load(ordering: .relaxed) == 0)
        #expect(renderer.modules.map(\.name) == ["Shown", "Hidden"])
    }

    @Test("A newcomer of a loop that was replaced meanwhile does not stay with the renderer")
    func newcomerOfAnOldLoop() async throws {
        for _ in 0..<20 {
            let hidden = Constant(2, name: "Hidden")
            let isOn = Shared(false)
            let renderer = try Renderer(layout: smallLayout) { context in
                if isOn.value { context.run(hidden) }
            }
            isOn.value = true
            _ = renderer.next(8)
            try renderer.replaceLoop { _ in }
            // The collector looks at it within milliseconds; a message that has come back shows that it has.
            let done = Counter()
            try renderer.messages.send({ _ in }, completion: { done.add() })
            _ = renderer.next(8)
            #expect(try await eventually { done.value == 1 })
            try await Task.sleep(for: .milliseconds(12))
            #expect(try await eventually { renderer.modules.isEmpty })
        }
    }
}
