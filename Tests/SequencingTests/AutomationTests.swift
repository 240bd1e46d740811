import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct AutomationTests {
    typealias Point = AutomationCurve.Point

    /// The formulas of the documentation, with the C library's mathematics.
    private static func formula(_ points: [Point], _ position: Double) -> Double {
        guard let first = points.first, let last = points.last else { return 0 }
        if position < first.position { return Double(first.value) }
        if position >= last.position { return Double(last.value) }
        let next = points.firstIndex { $0.position > position } ?? 0
        let (p, q) = (points[next - 1], points[next])
        let u = (position - p.position) / (q.position - p.position)
        let (a, b) = (Double(p.value), Double(q.value))
        switch p.shape {
        case .step: return a
        case .line: return a + (b - a) * u
        case .exponential: return a * b > 0 ? a * pow(b / a, u) : a + (b - a) * u
        case .smooth: return a + (b - a) * (6 * pow(u, 5) - 15 * pow(u, 4) + 10 * pow(u, 3))
        }
    }

    private static let points: [Point] = [
        Point(at: 0.1, 0.002, .exponential), Point(at: 0.31, 0.9, .smooth), Point(at: 0.5, -0.7, .line),
        Point(at: 0.5007, -0.2, .exponential), Point(at: 0.52, 0.3, .step), Point(at: 0.6, -0.4, .step),
        Point(at: 0.7, 0, .line), Point(at: 0.8, 0, .smooth), Point(at: 1.1, 1, .line), Point(at: 1.1, -1, .line),
        Point(at: 1.4, 0.25, .smooth), Point(at: 1.45, 0.25, .line), Point(at: 1.7, -0.9, .exponential),
        Point(at: 1.9, -0.001),
    ]

    @Test(
        "A module sees the formula's value at every frame, within 1e-6 of the range, and the same bits at every cycle length",
        arguments: [AutomationCurve.TimeUnit.frames, .seconds, .beats])
    func formulas(unit: AutomationCurve.TimeUnit) throws {
        // A quarter of the times above, so that it is over in half a second.
        let scale = unit == .frames ? 12_000.0 : unit == .beats ? 0.5 : 0.25
        let points = Self.points.map { Point(at: $0.position * scale, $0.value, $0.shape) }
        var first: [Float] = []
        for cycles in cycleLengths + [[1024], [5, 1, 333, 64, 4000, 2, 129]] {
            let probe = Probe()
            let automation = Automation(of: probe.parameter, AutomationCurve(in: unit, points))
            let output = render(try renderer(automation, probe), frames: 25_000, cycles: cycles)
            if first.isEmpty {
                first = output[0]
                var worst = 0.0
                for frame in 0..<25_000 {
                    let position = unit == .frames ? Double(frame) : Double(frame) / 48_000 * (unit == .beats ? 2 : 1)
                    worst = max(worst, abs(Double(first[frame]) - Self.formula(points, position)))
                }
                // The range is 2 wide; what is left is the rounding of a Float.
                #expect(worst < 1e-7)
            }
            #expect(output[0].map(\.bitPattern) == first.map(\.bitPattern), "cycles of \(cycles)")
        }
    }

    @Test("Beats follow changes of the tempo in the middle of a curve, and of the position")
    func tempo() throws {
        let points = Self.points.map { Point(at: $0.position * 4, $0.value, $0.shape) }
        var first: [Float] = []
        for cycles in cycleLengths {
            let probe = Probe()
            let automation = Automation(of: probe.parameter, AutomationCurve(in: .beats, points))
            let renderer = try renderer(automation, probe)
            try renderer.transaction(at: .sample(9_601)) { renderer.tempo.beatsPerMinute = 93.7 }
            try renderer.transaction(at: .sample(30_011)) { renderer.tempo.beatsPerMinute = 181 }
            try renderer.transaction(at: .sample(61_003)) { renderer.tempo.position = 0.2 }
            let output = render(renderer, frames: 100_000, cycles: cycles)
            if first.isEmpty {
                first = output[0]
                var (position, tempo, worst) = (0.0, 120.0, 0.0)
                for frame in 0..<100_000 {
                    if frame == 9_601 { tempo = 93.7 }
                    if frame == 30_011 { tempo = 181 }
                    if frame == 61_003 { position = 0.2 }
                    // Near a jump the sum of this loop may be on its other side.
                    let here = Self.formula(points, position)
                    let near = [-1e-9, 1e-9].map { Self.formula(points, position + $0) } + [here]
                    worst = max(worst, near.map { abs(Double(first[frame]) - $0) }.min() ?? 0)
                    position += tempo / 60 / 48_000
                }
                #expect(worst < 1e-7)
            }
            #expect(output[0].map(\.bitPattern) == first.map(\.bitPattern), "cycles of \(cycles)")
        }
    }

    @Test("The range and the limit of the sample rate hold, and wide ranges keep 1e-6", arguments: [48_000.0, 8_000])
    func ranges(rate: Double) throws {
        let probe = Probe(20, in: 20...20_000, limit: .fractionOfRate(0.45))
        let curve = AutomationCurve(in: .seconds, [0: 1, 0.5: 30_000, 1: 20], shape: .exponential)
        let output = render(
            try renderer(Automation(of: probe.parameter, curve), probe, sampleRate: rate), frames: 10_000)[0]
        let limit = min(20_000, 0.45 * rate)
        var worst = 0.0
        for frame in output.indices {
            let value = min(max(Self.formula(curve.points, Double(frame) / rate), 20), limit)
            worst = max(worst, abs(Double(output[frame]) - value))
        }
        #expect(worst < 1e-6 * 19_980)
    }

    @Test("A jump arrives by the parameter's glide, on its frame, in cycles of any length")
    func glides() throws {
        let steps = AutomationCurve(in: .frames, [1_000: 0.5, 3_000: -0.5, 3_100: 1, 9_000: 0.25], shape: .step)
        for glide in [Parameter.Curve.linear(.milliseconds(10)), .smooth(.milliseconds(5)), .none] {
            var first: [Float] = []
            for cycles in cycleLengths {
                let probe = Probe(glide: glide)
                let renderer = try renderer(Automation(of: probe.parameter, steps), probe)
                let output = render(renderer, frames: 12_000, cycles: cycles)
                if first.isEmpty { first = output[0] }
                #expect(output[0].map(\.bitPattern) == first.map(\.bitPattern), "\(glide), cycles of \(cycles)")
            }
            // The values are set again, at these frames.
            let probe = Probe(0.5, glide: glide)
            let renderer = try Renderer { context in
                context.run(probe)
                context.output()
            }
            for (frame, value) in [(3_000, Float(-0.5)), (3_100, 1), (9_000, 0.25)] {
                try renderer.transaction(at: .sample(Int64(frame))) { probe.parameter.value = value }
            }
            let set = render(renderer, frames: 12_000)[0]
            let isSmooth = glide != .linear(.milliseconds(10)) && glide != .none
            // A smooth glide that is cut short hands on its motion where somebody sets the value.
            let frames = isSmooth ? Array(0..<3_100) + Array(3_400..<12_000) : Array(0..<12_000)
            #expect(frames.allSatisfy { abs(first[$0] - set[$0]) < 1e-6 })
        }
    }

    @Test("A module that reads a value once in a slice gets a step on its frame")
    func slices() throws {
        let steps = AutomationCurve(in: .frames, [0: 0.5, 5_000: -0.5, 7_777: 1, 7_779: 0.25], shape: .step)
        for cycles in cycleLengths where cycles != [10_000] {
            let probe = Probe()
            let output = render(
                try renderer(Automation(of: probe.parameter, steps), probe), frames: 12_000, cycles: cycles)
            let wrong = (0..<12_000).first { output[1][$0] != Float(Self.formula(steps.points, Double($0))) }
            #expect(wrong == nil, "cycles of \(cycles)")
        }
    }

    @Test("It starts at a frame, starts anew, and resets to its beginning")
    func starts() throws {
        let ramp = AutomationCurve(in: .frames, [0: 0, 10_000: 1])
        var first: [Float] = []
        for cycles in cycleLengths {
            let probe = Probe()
            let automation = Automation(of: probe.parameter, ramp)
            #expect(automation.start(at: .sample(3_001)))
            #expect(automation.start(at: .sample(5_050)))
            let renderer = try renderer(automation, probe)
            let output = render(renderer, frames: 8_000, cycles: cycles)[0]
            if first.isEmpty { first = output }
            #expect(output == first)
            for frame in 0..<8_000 {
                let passed = frame < 3_001 ? frame : frame < 5_050 ? frame - 3_001 : frame - 5_050
                #expect(output[frame] == Float(Double(passed) / 10_000))
            }
        }
    }

    @Test("An automation that leaves keeps its last value, whether it is off or does not run")
    func leaves() throws {
        for glide in [Parameter.Curve.none, .linear(.milliseconds(10))] {
            for isRun in [true, false] {
                let probe = Probe(glide: glide)
                let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0, 10_000: 1]))
                let runs = Runs()
                let renderer = try Renderer { context in
                    if runs.isOn.isOn(context) { context.run(automation) }
                    context.run(probe)
                    context.output()
                }
                try renderer.transaction(at: .sample(5_000)) {
                    if isRun { automation.drives.isOn = false } else { runs.isOn.isOn = false }
                }
                try renderer.transaction(at: .sample(8_000)) { probe.parameter.value = -1 }
                let output = render(renderer, frames: 12_000)[0]
                #expect(output[4_999] == 0.4999 && output[5_000..<8_000].allSatisfy { $0 == 0.5 })
                #expect(output[9_000...].allSatisfy { $0 == -1 })
                #expect(probe.parameter.value == -1)
            }
        }
    }

    @Test("The curve wins over a value that is set, and the value shows what is heard")
    func wins() throws {
        let probe = Probe(glide: .linear(.milliseconds(10)))
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0, 10_000: 1, 12_000: 1]))
        let renderer = try renderer(automation, probe)
        for frame in [0, 3_000, 11_000] {
            try renderer.transaction(at: .sample(Int64(frame))) { probe.parameter.value = -1 }
        }
        let output = render(renderer, frames: 6_000, cycles: [100])[0]
        #expect((0..<6_000).allSatisfy { output[$0] == Float(Double($0) / 10_000) })
        #expect(abs(probe.parameter.value - 0.6) < 0.011)
        let rest = render(renderer, frames: 6_000, cycles: [100])[0]
        #expect(rest[4_000...].allSatisfy { $0 == 1 })
    }

    @Test("Another curve takes the place of this one as a whole, by the parameter's glide")
    func swaps() throws {
        let probe = Probe(glide: .linear(.milliseconds(10)))
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .seconds, [0: 0.5]))
        let renderer = try renderer(automation, probe)
        #expect(render(renderer, frames: 1_000)[0].allSatisfy { $0 == 0.5 })
        automation.curve = AutomationCurve(in: .seconds, [0: -0.5])
        #expect(automation.curve.points == [Point(at: 0, -0.5)])
        let output = render(renderer, frames: 1_000, cycles: [7])[0]
        for frame in 0..<1_000 { #expect(abs(output[frame] - max(-0.5, 0.5 - Float(frame) / 480)) < 1e-6) }
        // Within the same time, also while another cycle length is used and the unit changes.
        automation.curve = AutomationCurve(in: .frames, [0: 0, 3_000: 1])
        let line = render(renderer, frames: 1_000)[0]
        #expect(line[0] == -0.5 && abs(line[600] - Float(2_600.0 / 3_000)) < 1e-6)
    }

    @Test("A curve that is edited elsewhere goes on as it was")
    func edits() throws {
        let probe = Probe(glide: .linear(.milliseconds(10)))
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0, 10_000: 1]))
        let renderer = try renderer(automation, probe)
        var output = render(renderer, frames: 1_000)[0]
        automation.curve = AutomationCurve(in: .frames, [0: 0, 10_000: 1, 12_000: 0])
        output += render(renderer, frames: 5_000)[0]
        #expect((0..<6_000).allSatisfy { output[$0] == Float(Double($0) / 10_000) })
    }

    @Test("An automation in the loop around sets the parameters of a renderer inside of it")
    func inside() throws {
        let probe = Probe()
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0, 10_000: 1]))
        let inner = SubRenderer(
            try Renderer { context in
                context.run(probe)
                context.output()
            })
        let renderer = try Renderer { context in
            context.run(automation)
            context.run(inner)
            context.output()
        }
        let output = render(renderer, frames: 9_000, cycles: [100, 333])[0]
        #expect((0..<9_000).allSatisfy { output[$0] == Float(Double($0) / 10_000) })
    }

    @Test("The sound of a gain and of a filter is the same at every cycle length")
    func modules() throws {
        var first: [Float] = []
        for cycles in cycleLengths {
            let gain = Gain(1)
            let filter = LowPass(cutoff: 1_000)
            let louder = Automation(of: gain.level, AutomationCurve(in: .seconds, [0: 0, 0.25: 0, 0.5: 1]))
            let opening = try Automation(
                of: #require(filter.parameters["cutoff"]),
                AutomationCurve(in: .seconds, [0: 200, 0.5: 8_000], shape: .exponential))
            let noise = Noise(.white, level: 0.5, seed: 1)
            let renderer = try Renderer { context in
                context.run(louder)
                context.run(opening)
                context.run(noise)
                context.run(filter)
                context.run(gain)
                context.output()
            }
            let output = render(renderer, frames: 30_000, cycles: cycles)[0]
            if first.isEmpty { first = output }
            #expect(largestDifference(output, first) < 1e-6, "\(cycles)")
            #expect(output[..<12_000].allSatisfy { $0 == 0 } && output[20_000...].contains { abs($0) > 0.05 })
        }
    }
}

/// A switch that a render loop asks.
final class Runs: Sendable {
    let isOn = Switch(true)
}
