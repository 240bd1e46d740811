import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// A probe with a sequencer that sets it, as one module.
private final class Targeted: Generator {
    let sequencer: Member<Sequencer>
    let target: Member<ParameterTarget>
    let probe: Member<Probe>

    init(_ text: String) {
        let probe = Probe(0.5, glide: .linear(.milliseconds(10)), channels: 1)
        let target = ParameterTarget(probe.parameter)
        let sequencer = Sequencer(tracks: [Track("values", Pattern(text), to: target)])
        sequencer.start()
        self.sequencer = Member(sequencer)
        self.target = Member(target)
        self.probe = Member(probe)
    }

    var members: [any Module] { [sequencer.module, target.module, probe.module] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.run(sequencer)
        context.run(target)
        context.run(probe)
    }
}

@Suite struct ParameterTargetTests {
    /// A sequencer with a target of a probe, in a renderer.
    private static func rig(_ probe: Probe, _ target: ParameterTarget, _ pattern: Pattern) throws -> (Renderer, Track) {
        let track = Track("values", pattern, to: target)
        let sequencer = Sequencer(tracks: [track])
        let renderer = try Renderer(sampleRate: 48_000, layout: StackLayout(frames: 4_096)) { context in
            context.run(sequencer)
            context.run(target)
            context.run(probe)
            context.output()
        }
        sequencer.start()
        return (renderer, track)
    }

    @Test("It keeps the contract of a module")
    func contract() {
        let contract = ModuleContract { Targeted("0.1 0.9 [-0.5 0.3]") }
            .leavingOut(.reset, because: "the song goes on after a reset of the modules")
            .leavingOut(.silence, because: "the probe makes no silence")
        let judged =
            ContractPart.allocation.isPossible
            ? contract : contract.leavingOut(.allocation, because: "a sanitizer keeps the counter out")
        #expect(judged.violations() == [])
    }

    @Test("Each value leaves on its frame and arrives in the time of the glide, with the same bits in all cycles")
    func frames() throws {
        var first: [Float] = []
        for cycles in cycleLengths {
            let probe = Probe(0, glide: .linear(.milliseconds(10)))
            let (renderer, _) = try Self.rig(probe, ParameterTarget(probe.parameter), "0.25 [0.5 -0.75] 3 ~")
            let output = render(renderer, frames: 120_000, cycles: cycles)[0]
            if first.isEmpty { first = output }
            #expect(output == first, "cycles of \(cycles)")
        }
        // The first value is there at once, as nothing was heard before; 3 is held to 1; what ends stays.
        let steps: [(frame: Int, value: Float)] = [
            (0, 0.25), (24_000, 0.5), (36_000, -0.75), (48_000, 1), (96_000, 0.25), (120_000, 0.5),
        ]
        var (from, number): (Float, Int) = (0.25, 0)
        for frame in 0..<120_000 {
            if frame == steps[number + 1].frame { (from, number) = (steps[number].value, number + 1) }
            let part = min(Float(frame - steps[number].frame) / 480, 1)
            let expected = from + (steps[number].value - from) * part
            #expect(abs(first[frame] - expected) < 1e-6, "frame \(frame)")
        }
    }

    @Test("A module that reads a value once in a slice has it on its frame, through loops, in all cycles")
    func switches() throws {
        for cycles in cycleLengths {
            let probe = Probe(0, glide: .linear(.milliseconds(10)))
            let target = ParameterTarget(probe.parameter)
            let sequencer = Sequencer(tracks: [Track("values", Pattern("0.25 [0.5 -0.75] 1 ~"), to: target)])
            let renderer = try Renderer(sampleRate: 48_000, layout: StackLayout(frames: 4_096)) { context in
                context.run(sequencer)
                context.run(target)
                context.run(probe)
                context.output()
            }
            _ = render(renderer, frames: 10_000, cycles: cycles)
            sequencer.loop = 0..<2
            sequencer.start(at: .nextBar)
            // A module that reads in the middle of a glide sees it arrive, at the latest with the slice behind its end.
            let output = render(renderer, frames: 250_000, cycles: cycles)[1]
            let steps: [(frame: Int, value: Float)] = [
                (86_000, 0.25), (110_000, 0.5), (122_000, -0.75), (134_000, 0.25), (158_000, 0.5), (170_000, -0.75),
            ]
            for (number, step) in steps.enumerated() {
                let before: Float = number == 0 ? 0 : steps[number - 1].value
                #expect(output[step.frame - 1] == before, "cycles of \(cycles)")
                #expect(output[step.frame + 5_000] == step.value, "cycles of \(cycles)")
            }
            #expect(output[..<86_000].allSatisfy { $0 == 0 })
        }
        for cycles in cycleLengths {
            let probe = Probe(0, glide: .none)
            let (renderer, _) = try Self.rig(probe, ParameterTarget(probe.parameter), "0.25 [0.5 -0.75] 3 ~")
            _ = render(renderer, frames: 1, cycles: [1])
            let output = render(renderer, frames: 99_999, cycles: cycles)
            #expect(output[0] == output[1], "cycles of \(cycles)")
        }
    }

    @Test("Run twice in a slice, it does what it does once")
    func twice() throws {
        func heard(times: Int) throws -> [Float] {
            let probe = Probe(0, glide: .linear(.milliseconds(10)))
            let target = ParameterTarget(probe.parameter)
            let sequencer = Sequencer(tracks: [Track("values", Pattern("0.25 [0.5 -0.75] 1 ~"), to: target)])
            let renderer = try Renderer(sampleRate: 48_000) { context in
                context.run(sequencer)
                for _ in 0..<times { context.run(target) }
                context.run(probe)
                context.output()
            }
            sequencer.start()
            return render(renderer, frames: 100_000, cycles: [4_096])[0]
        }
        #expect(try heard(times: 2) == heard(times: 1))
    }

    @Test("It is what a hand would do in a transaction on that frame, by every glide")
    func hand() throws {
        let glides: [Parameter.Curve] = [
            .none, .linear(.milliseconds(7)), .exponential(.milliseconds(10)), .smooth(.milliseconds(10)),
            .smoothExponential(.milliseconds(20)),
        ]
        for glide in glides {
            let probe = Probe(0.5, in: 0.1...1, glide: glide)
            let (renderer, _) = try Self.rig(probe, ParameterTarget(probe.parameter), "0.2 0.9 0.4 0.11")
            let output = render(renderer, frames: 90_000, cycles: [300])
            let other = Probe(0.2, in: 0.1...1, glide: glide)
            let plain = try Renderer(sampleRate: 48_000) { context in
                context.run(other)
                context.output()
            }
            for (number, value) in [0.9, 0.4, 0.11].enumerated() {
                try plain.transaction(at: .sample(Int64(number + 1) * 24_000)) { other.parameter.value = Float(value) }
            }
            let expected = render(plain, frames: 90_000, cycles: [300])
            #expect(largestDifference(output[0], expected[0]) < 2e-6, "\(glide)")
            #expect(probe.parameter.value == other.parameter.value)
        }
    }

    @Test("Velocities, controllers and ranges become values; a parameter of frequencies has even ratios")
    func maps() throws {
        func last(_ pattern: Pattern, _ make: (borrowing Parameter) -> ParameterTarget, glide: Parameter.Curve = .none)
            throws -> Float
        {
            let probe = Probe(100, in: 100...10_000, glide: glide)
            let (renderer, _) = try Self.rig(probe, make(probe.parameter), pattern)
            return render(renderer, frames: 4_000, cycles: [100])[0][3_999]
        }
        #expect(try last("300") { ParameterTarget($0) } == 300)
        #expect(try last("c4") { ParameterTarget($0, from: 0...120, to: 1_000...3_000) } == 2_000)
        #expect(try last(Pattern("kick").velocity(0.25)) { ParameterTarget($0, reading: .velocity) } == 2_575)
        let ratio = try last(
            Pattern("0.5"), { ParameterTarget($0, to: 400...1_600) }, glide: .exponential(.milliseconds(1)))
        #expect(abs(ratio - 800) < 0.01)
        var knob = Clip(length: 4)
        knob.add(.controller(channel: 0, number: 74, value: 127), at: 0)
        knob.add(.controller(channel: 0, number: 75, value: 64), at: 0)
        let moves = knob
        #expect(try last(moves.pattern) { ParameterTarget($0, reading: .controller(74), to: 200...500) } == 500)
        // Numbers that are none, and ranges that are points or without an end.
        #expect(try last("1e9 -5") { ParameterTarget($0) } <= 10_000)
        #expect(try last("7") { ParameterTarget($0, from: 7...7, to: 200...200) } == 200)
        #expect(
            try last("0.5") { ParameterTarget($0, from: -.infinity ... .infinity, to: -.infinity ... .infinity) } >= 100
        )
        #expect(try last("1") { ParameterTarget($0, to: -.infinity ... .infinity) } == 10_000)
    }

    @Test("A hand wins up to the next event; a word without a number is a problem")
    func wins() throws {
        let probe = Probe(0, glide: .linear(.milliseconds(1)))
        let (renderer, track) = try Self.rig(probe, ParameterTarget(probe.parameter), "0.25 0.75")
        var output = render(renderer, frames: 10_000)[0]
        probe.parameter.value = -1
        output += render(renderer, frames: 30_000)[0]
        #expect(output[40_000 - 1] == -1 && output[9_999] == 0.25 && output[11_000] == -1)
        output += render(renderer, frames: 20_000)[0]
        #expect(output[47_999] == -1 && output[48_100] == 0.75 && probe.parameter.value == 0.75)
        // In the middle of a glide too.
        let slow = Probe(0, glide: .linear(.seconds(1)))
        let (other, _) = try Self.rig(slow, ParameterTarget(slow.parameter), "0.25 1 1 1")
        _ = render(other, frames: 30_000)
        slow.parameter.value = 0
        let after = render(other, frames: 18_000)[0]
        #expect(after[0] > 0.3 && zip(after, after.dropFirst()).allSatisfy { $0 > $1 && $0 - $1 < 1e-4 })
        track.replace(with: Pattern("loud"))
        _ = render(renderer, frames: 100)
        #expect(track.problem?.contains("loud") == true)
    }

    @Test("With an automation of the same parameter the last to run sets it")
    func automation() throws {
        for isLast in [true, false] {
            let probe = Probe(0, glide: .linear(.milliseconds(1)))
            let target = ParameterTarget(probe.parameter)
            let sequencer = Sequencer(tracks: [Track("values", Pattern("0.25 0.75"), to: target)])
            let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: -0.5, 100_000: -0.5]))
            let renderer = try Renderer(sampleRate: 48_000) { context in
                context.run(sequencer)
                if isLast { context.run(automation) }
                context.run(target)
                if !isLast { context.run(automation) }
                context.run(probe)
                context.output()
            }
            sequencer.start()
            let output = render(renderer, frames: 60_000, cycles: [100])[0]
            #expect(output.allSatisfy { $0 >= -1 && $0 <= 1 })
            #expect(output[47_000] == -0.5 && output[59_000] == -0.5)
            if !isLast { #expect(output[48_010] == -0.5) } else { #expect(output[48_010] > -0.5) }
        }
    }

    @Test("A number that is none is refused, more than 256 in a slice are counted, and a reset leaves the value")
    func hostile() throws {
        let probe = Probe(0.1, glide: .none)
        let target = ParameterTarget(probe.parameter)
        let answers = Answers()
        let renderer = try Renderer(sampleRate: 48_000) { context in
            for number in [Float.nan, .infinity, 0.5] {
                let note = TargetNote(voice: -1, number: number, velocity: .nan)
                answers.add(target.begin(note, inFrame: 3, context))
            }
            context.run(target)
            context.run(probe)
            context.output()
        }
        let output = render(renderer, frames: 10)[0]
        #expect(answers.all == [false, true, true] && output == [0.1, 0.1, 0.1] + [Float](repeating: 0.5, count: 7))
        try renderer.messages.send { context in context.reset(target) }
        #expect(render(renderer, frames: 3)[0] == [0.5, 0.5, 0.5])
        let many = Probe(0, glide: .linear(.milliseconds(10)))
        let (other, track) = try Self.rig(many, ParameterTarget(many.parameter), "0..400")
        _ = render(other, frames: 96_000, cycles: [96_000])
        #expect(track.problem == nil && many.parameter.value <= 1)
    }

    private final class Answers: @unchecked Sendable {
        private(set) var all: [Bool] = []
        func add(_ answer: Bool) { if all.count < 3 { all.append(answer) } }
    }
}
