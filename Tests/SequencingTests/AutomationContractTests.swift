import RenderStack
import RenderStackTesting
import Synchronization
import TestSupport
import Testing

/// A probe with its automation, as one module.
private final class Automated: Generator {
    let probe: Member<Probe>
    let automation: Member<Automation>

    init(_ curve: AutomationCurve, glide: Parameter.Curve) {
        let probe = Probe(0.5, glide: glide, channels: 1)
        automation = Member(Automation(of: probe.parameter, curve))
        self.probe = Member(probe)
    }

    var members: [any Module] { [automation.module, probe.module] }
    var parameters: [ParameterReference] { automation.module.parameters }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.run(automation)
        context.run(probe)
    }
}

private final class Flag: Sendable {
    let value = Atomic<Bool>(false)
}

@Suite struct AutomationContractTests {
    typealias Point = AutomationCurve.Point

    private static let curve = AutomationCurve(
        in: .seconds,
        [
            Point(at: 0.01, 0.5, .exponential), Point(at: 0.05, 0.1, .smooth), Point(at: 0.2, -0.5, .step),
            Point(at: 0.3, 0.9, .step),
            Point(at: 0.33, 0.2), Point(at: 0.9, 0.7),
        ])

    @Test("It keeps the contract of a module", arguments: [AutomationCurve.TimeUnit.frames, .seconds, .beats])
    func contract(unit: AutomationCurve.TimeUnit) {
        let scale = unit == .frames ? 48_000.0 : unit == .beats ? 2 : 1
        let curve = AutomationCurve(
            in: unit, Self.curve.points.map { Point(at: $0.position * scale, $0.value, $0.shape) })
        let contract = ModuleContract { Automated(curve, glide: .smooth(.milliseconds(10))) }
            .leavingOut(.reset, because: "beats go on after a reset of the modules")
            .leavingOut(.silence, because: "the probe makes no silence")
            .leavingOut(parameters: "drives", because: "off it leaves the value where it is")
        // A sanitizer keeps the counter of allocations out.
        let judged =
            ContractPart.allocation.isPossible
            ? contract : contract.leavingOut(.allocation, because: "a sanitizer keeps the counter out")
        #expect(judged.violations() == [])
    }

    @Test("After a reset it begins anew")
    func reset() throws {
        let module = Automated(Self.curve, glide: .smooth(.milliseconds(10)))
        let renderer = try Renderer { context in
            context.run(module)
            context.output()
        }
        let first = render(renderer, frames: 30_000)[0]
        try renderer.messages.send { context in context.reset(module) }
        #expect(render(renderer, frames: 30_000, cycles: [77])[0] == first)
    }

    @Test("Any numbers in a curve give values in the range, at any sample rate and in any cycles")
    func hostile() throws {
        var numbers = SplitMix(state: 3)
        let odd: [Float] = [
            0, -0, 1, -1, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
            .greatestFiniteMagnitude,
            -.greatestFiniteMagnitude, 1e-30, 0.5,
        ]
        let places: [Double] = [
            0, -1, 1, .nan, .infinity, -.infinity, 1e-300, .leastNonzeroMagnitude, 1e300, 0.1, 0.1000000001, 1e9, -1e9,
            1e12, 0.05, 1e-6, 2e-6,
        ]
        for round in 0..<200 {
            let points = (0..<Int.random(in: 0...12, using: &numbers)).map { _ in
                Point(
                    at: places.randomElement(using: &numbers)!, odd.randomElement(using: &numbers)!,
                    AutomationCurve.Shape.allCases.randomElement(using: &numbers)!)
            }
            let unit = AutomationCurve.TimeUnit.allCases[round % 3]
            let probe = Probe(0.5, in: -1...1, limit: .fractionOfRate(1e-5), glide: .exponential(.milliseconds(1)))
            let automation = Automation(of: probe.parameter, AutomationCurve(in: unit, points))
            let renderer = try renderer(automation, probe, sampleRate: [8_000, 48_000, 192_000][round % 3])
            let limit = min(1, 1e-5 * Float([8_000, 48_000, 192_000][round % 3]))
            for turn in 0..<6 {
                automation.start(at: [.immediately, .sample(-5), .sample(.max), .sample(2_000)][turn % 4])
                renderer.tempo.beatsPerMinute = [120, 999, 1, 60][turn % 4]
                renderer.tempo.position = [0, 1e9, -1e9, 0.1][turn % 4]
                if turn == 3 { automation.record(.latch) }
                if turn == 4 { probe.parameter.value = odd.randomElement(using: &numbers)! }
                let output = render(renderer, frames: 600, cycles: [[1], [64], [4_096], [333]][turn % 4])
                #expect((output[0] + output[1]).allSatisfy { $0 >= -1 && $0 <= limit }, "\(points)")
            }
            let curve = automation.finishRecording()
            #expect(try AutomationCurve(text: curve.text) == curve)
            #expect(try AutomationCurve(text: curve.thinned(within: 0.1).text) == curve.thinned(within: 0.1))
        }
    }

    @Test("Two automations of one parameter: the last to run wins")
    func two() throws {
        let probe = Probe()
        let first = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0, 10_000: 1]))
        let second = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: -0.5]))
        let renderer = try Renderer { context in
            context.run(first)
            context.run(second)
            context.run(probe)
            context.output()
        }
        try renderer.transaction(at: .sample(5_000)) { second.drives.isOn = false }
        let output = render(renderer, frames: 8_000)[0]
        #expect(output[..<5_000].allSatisfy { $0 == -0.5 } && output[7_000] == 0.7)
    }

    @Test("Run behind the module, it sets the values of the slice before; in another rate, once in a slice")
    func late() throws {
        let probe = Probe(glide: .linear(.milliseconds(1)))
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0, 10_000: 1]))
        let behind = try Renderer { context in
            context.run(probe)
            context.run(automation)
            context.output()
        }
        let output = render(behind, frames: 8_000, cycles: [64])[0]
        #expect((1_000..<8_000).allSatisfy { abs(output[$0] - Float($0) / 10_000) < 0.015 })

        let other = Probe(glide: .linear(.milliseconds(1)))
        let fast = Automation(of: other.parameter, AutomationCurve(in: .seconds, [0: 0, 0.2: 1]))
        let converter = RateConverter(
            try Renderer { context in
                context.run(other)
                context.output()
            }, sampleRate: 96_000)
        let around = try Renderer { context in
            context.run(fast)
            context.run(converter)
            context.output()
        }
        let heard = render(around, frames: 9_000, cycles: [64])[0]
        #expect((2_000..<9_000).allSatisfy { abs(heard[$0] - Float($0) / 9_600) < 0.03 })
    }

    @Test("A switch follows a curve, on its frame")
    func switches() throws {
        let one = Constant(1)
        var first: [Float] = []
        for cycles in [[1], [64], [1_000]] {
            let fader = Fader()
            let automation = try Automation(
                of: #require(fader.parameters["mute"]),
                AutomationCurve(in: .frames, [0: 0, 3_000: 1, 6_000: 0], shape: .step))
            let renderer = try Renderer { context in
                context.run(automation)
                context.run(one)
                context.run(fader)
                context.output()
            }
            let output = render(renderer, frames: 9_000, cycles: cycles)[0]
            if first.isEmpty { first = output }
            #expect(output == first)
            for frame in 0..<9_000 {
                let share =
                    frame < 3_000 ? 1 : frame < 6_000 ? 1 - Float(frame - 3_000) / 240 : Float(frame - 6_000) / 240
                #expect(abs(output[frame] - min(max(share, 0), 1)) < 1e-5, "frame \(frame), cycles of \(cycles)")
            }
        }
    }

    @Test("It can be edited from several threads while it plays")
    func threads() async throws {
        let probe = Probe(glide: .linear(.milliseconds(2)))
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0]))
        let renderer = try renderer(automation, probe)
        let isOver = Flag()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<3 {
                group.addTask {
                    var numbers = SplitMix(state: UInt64(number))
                    while !isOver.value.load(ordering: .relaxed) {
                        switch Int.random(in: 0..<7, using: &numbers) {
                        case 0: automation.curve = AutomationCurve(in: .seconds, Self.curve.points)
                        case 1: automation.curve = AutomationCurve(in: .beats, [])
                        case 2: probe.parameter.value = Float.random(in: -1...1, using: &numbers)
                        case 3: automation.record([.touch, .latch, .overwrite][number])
                        case 4: automation.finishRecording()
                        case 5: automation.start()
                        default: automation.letGo()
                        }
                        await Task.yield()
                    }
                }
            }
            for _ in 0..<300 {
                let output = render(renderer, frames: 200, cycles: [64])
                #expect(output[0].allSatisfy { abs($0) <= 1 })
            }
            isOver.value.store(true, ordering: .relaxed)
        }
        automation.finishRecording()
        automation.curve = AutomationCurve(in: .frames, [0: 0.25])
        _ = render(renderer, frames: 4_800)
        #expect(render(renderer, frames: 100)[0].allSatisfy { $0 == 0.25 })
    }
}
