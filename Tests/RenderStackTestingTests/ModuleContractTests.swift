import RealtimeWatch
import RenderStack
import RenderStackTesting
import Testing

/// Modules that break one promise each yield the sentence for it, and no other.
@Suite struct ModuleContractTests {
    /// Expects one sentence, with these words.
    private func expect(
        _ violations: [String], _ words: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            violations.count == 1 && violations[0].contains(words) && violations[0].hasSuffix("."), "\(violations)",
            sourceLocation: sourceLocation)
    }

    @Test func aModuleThatKeepsItPasses() {
        #expect(ModuleContract { Halving() }.transparent { $0.level.value = 1 }.judged() == [])
        #expect(ModuleContract(channels: 1) { Halving() }.judged() == [])
        #expect(ModuleContract(sampleRate: 192_000, channels: 8) { Halving() }.judged() == [])
    }

    @Test func cycles() { expect(ModuleContract { Cutting() }.judged(), "cycles of 1 frame than") }

    @Test func reset() { expect(ModuleContract { Remembering() }.judged(), "does not begin anew when it is reset") }

    @Test func transparency() {
        expect(
            ModuleContract { Halving() }.transparent { $0.level.value = 0.999 }.judged(),
            "is not transparent with its identity setting")
    }

    @Test func notANumber() {
        expect(ModuleContract { Poisoned() }.judged(), "goes on making faults after a sample that is not")
    }

    @Test func silentAfterNotANumber() {
        expect(ModuleContract { Offended() }.judged(), "is silent after a sample that is not a number")
    }

    @Test func silence() {
        expect(ModuleContract { Humming() }.judged(), "still sounds when its input has been silent for 1.0 seconds")
    }

    @Test func aTailIsAsLongAsItIsDeclared() {
        let echo: @Sendable () -> Delay = { Delay(time: 0.02, feedback: 0) }
        let others = Set(ContractPart.allCases).subtracting([.silence])
        func contract(tail: Duration) -> ModuleContract<Delay> {
            var contract = ModuleContract(tail: tail) { echo() }
            for part in others { contract = contract.leavingOut(part, because: "the tail alone is in question") }
            return contract
        }
        expect(contract(tail: .milliseconds(10)).judged(), "still sounds")
        #expect(contract(tail: .milliseconds(21)).judged() == [])
    }

    @Test(.enabled(if: ContractPart.allocation.isPossible, "under a sanitizer"))
    func allocation() {
        // A closure is what the compiler does not look into.
        let contract = ModuleContract {
            ClosureModule(.edits, name: "Allocating") { context in
                let levels = [Float](repeating: 0.5, count: 100 + context.frameCount)
                context.gain(levels[context.frameCount])
            }
        }
        expect(contract.judged(), "allocates on the render thread")
        #expect(contract.leavingOut(.allocation, because: "it is meant to").judged() == [])
    }

    @Test func theWatchdogCountsWhereItRuns() {
        let violations = ModuleContract { Halving() }.violations(.watchdog)
        if RealtimeWatch.isPresent { #expect(violations == []) } else { expect(violations, "cannot see whether") }
    }

    @Test func anAllocationThatNothingCountsIsASentence() {
        expect(ModuleContract { Halving() }.violations(.none), "cannot see whether")
    }

    @Test func latency() {
        expect(
            ModuleContract { Late(declares: 0) }.judged(),
            "a latency of 0 frames, and a sample is not heard before 64")
        expect(ModuleContract { Late(declares: 63) }.judged(), "before 64")
        expect(ModuleContract { Late(declares: 65) }.judged(), "65 frames, and a sample is heard most after 64")
        #expect(ModuleContract { Late(declares: 64) }.transparent { _ in }.judged() == [])
    }

    @Test func latencyThatCannotBeShown() {
        let contract = ModuleContract {
            ClosureModule(StackEffect(pops: 1, pushes: 1), name: "Deaf") { context in
                context.pop()
                context.push(channels: 1)
                var top = context.top
                var samples = top[0]
                for i in samples.indices { samples[i] = 0.5 }
            }
        }
        expect(
            contract.leavingOut(.silence, because: "it is a constant").judged(), "cannot find its latency")
    }

    @Test(arguments: [false, true]) func zipper(isAtEnd: Bool) {
        expect(ModuleContract { Zippering(isAtEnd: isAtEnd) }.judged(), "arrives in steps")
    }

    @Test(arguments: [Parameter.Curve.linear(.milliseconds(10)), .exponential(.milliseconds(500)), .none])
    func jump(glide: Parameter.Curve) {
        expect(ModuleContract { Jumping(glide: glide) }.judged(), "jumps on its way from 0.5 to 1.0")
        let meant = ModuleContract { Jumping(glide: glide) }.leavingOut(parameters: "level", because: "it is a switch")
        #expect(meant.judged() == [])
    }

    @Test func aMistakeOnTheWay() {
        expect(
            ModuleContract { Dividing() }.judged(), "leads to a mistake on its way from 0.5 to 0.0. Fault at frame")
    }

    @Test func unheard() {
        expect(ModuleContract { Unheard() }.judged(), "\"depth\" of Unheard is not heard")
        let without = ModuleContract { Unheard() }.leavingOut(parameters: "depht", "depth", because: "nothing reads it")
        expect(without.judged(), "has no parameter \"depht\"")
    }

    @Test func aSentenceNamesEachPartThatItCannotJudge() {
        expect(ModuleContract { Gain(0) }.judged(), "is silent, so nothing can be judged")
        expect(ModuleContract { Random() }.judged(), "so nothing can be compared")
        expect(
            ModuleContract { Unbalanced() }.judged(),
            "makes a mistake on the render thread. Fault at frame 0: Unbalanced leaves 2 buffers and has declared 1")
        expect(ModuleContract(inputs: 0) { Gain() }.judged(), "cannot be run as the contract runs it")
        struct Refusal: Error {}
        expect(ModuleContract { () throws -> Gain in throw Refusal() }.judged(), "cannot be made: Refusal()")
    }

    @Test func theLoopIsTheCallers() {
        // Two buffers in, and the level of one for the other: only one is to be heard.
        let contract = ModuleContract(inputs: 2) {
            Halving()
        } loop: { halving, context in
            context.run(halving)
            context.pop()
        }
        expect(contract.judged(), "\"level\" of Halving is not heard")
    }

    /// The echo of the article about modules, with a delay of so many frames.
    private final class Echo: Effect {
        struct Lines: ~Copyable, Sendable {
            var samples: RenderMemory<Float>
            var position = 0
        }
        let feedback = Parameter(0.4, in: 0...0.99)
        private let lines: RenderState<Lines>
        private let frames: Int
        var parameters: [ParameterReference] { [feedback.named("feedback")] }

        init(_ frames: Int) {
            self.frames = frames
            lines = RenderState(Lines(samples: RenderMemory(repeating: 0, count: 2 * frames)))
        }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let feedback = feedback.glide(context)
            let frames = frames
            lines.with(&context) { lines, context in
                let start = lines.position
                var end = start
                var memory = lines.samples.span
                var top = context.top
                for channel in 0..<top.channelCount {
                    var samples = top[channel]
                    var position = start
                    for i in samples.indices {
                        let place = channel * frames + position
                        let old = memory[place]
                        memory[place] = samples[i] + old * feedback[i]
                        samples[i] += old
                        position += 1
                        if position >= frames { position = 0 }
                    }
                    end = position
                }
                lines.position = end
            }
        }

        @_noLocks @_noAllocation
        func reset(_ context: inout RenderContext) {
            lines.with(&context) { lines, _ in
                var memory = lines.samples.span
                for i in memory.indices { memory[i] = 0 }
                lines.position = 0
            }
        }
    }

    /// A parameter's first window ends 1,504 frames after its move, and the reference at frame 16,384.
    @Test(arguments: [700, 1_490, 1_500, 1_503, 1_504, 12_000, 12_679, 12_683, 24_000])
    func aDelayOfAnyLengthIsHeard(frames: Int) {
        let contract = ModuleContract { Echo(frames) }
            .leavingOut(.silence, because: "the echoes go on for minutes")
        #expect(contract.judged() == [])
    }

    private final class Patient: Effect {
        private let frames: Int
        init(_ frames: Int) { self.frames = frames }
        func latency(at sampleRate: Double) -> Int { frames }
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) { context.gain(0.5) }
    }

    @Test(arguments: [Int.max, .max - 1, 1 << 40, 1 << 20 + 1])
    func aLatencyThatNothingCanWaitForIsASentence(frames: Int) {
        expect(
            ModuleContract { Patient(frames) }.judged(),
            "declares a latency of \(frames) frames; the contract can wait for")
    }

    @Test(arguments: [Int.min, -1])
    func aNegativeLatencyIsASentence(frames: Int) {
        expect(
            ModuleContract { Patient(frames) }.judged(), "declares a latency of \(frames) frames, and a sample is not")
    }
}
