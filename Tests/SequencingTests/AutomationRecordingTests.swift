import RenderStack
import TestSupport
import Testing

@Suite struct AutomationRecordingTests {
    typealias Point = AutomationCurve.Point

    /// Renders in cycles of 100 frames, with moves before some of them. Returns what was heard.
    private func heard(
        _ automation: Automation, _ probe: Probe, frames: Int, _ moves: (Renderer, Int) -> Void = { _, _ in }
    ) throws -> [Float] {
        let renderer = try renderer(automation, probe)
        var output: [Float] = []
        while output.count < frames {
            moves(renderer, output.count)
            output += render(renderer, frames: 100, cycles: [100])[0]
        }
        return output
    }

    private static func automation(
        _ unit: AutomationCurve.TimeUnit, _ glide: Parameter.Curve, shape: AutomationCurve.Shape = .line
    ) -> (Automation, Probe) {
        let probe = Probe(0.5, in: 0.1...1, glide: glide)
        let scale = unit == .frames ? 48_000.0 : unit == .beats ? 2 : 1
        let curve = AutomationCurve(
            in: unit, [Point(at: 0, 0.2, shape), Point(at: 0.3 * scale, 1, .line), Point(at: 0.5 * scale, 0.6, .line)])
        return (Automation(of: probe.parameter, curve), probe)
    }

    @Test(
        "What is recorded is what was heard, in every mode and unit, by every glide",
        arguments: [Automation.Recording.touch, .latch, .overwrite],
        [AutomationCurve.TimeUnit.frames, .seconds, .beats])
    func replays(mode: Automation.Recording, unit: AutomationCurve.TimeUnit) throws {
        let glides: [Parameter.Curve] = [
            .none, .linear(.milliseconds(10)), .exponential(.milliseconds(10)), .smooth(.milliseconds(10)),
        ]
        let shapes = AutomationCurve.Shape.allCases
        for (number, glide) in glides.enumerated() {
            // Every shape with every glide in one unit; in the others one for each.
            for shape in unit == .seconds ? shapes : [shapes[number]] {
                let (automation, probe) = Self.automation(unit, glide, shape: shape)
                var finished = automation.curve
                let first = try heard(automation, probe, frames: 30_000) { renderer, frame in
                    switch frame {
                    case 2_000: automation.record(mode)
                    case 5_000: probe.parameter.value = 0.9
                    // One before the last glide is over, but not in a smooth one.
                    case glide == .smooth(.milliseconds(10)) ? 5_600 : 5_200: probe.parameter.value = 0.3
                    case 9_000: probe.parameter.value = 0.7
                    case 12_000: automation.letGo()
                    case 20_000: probe.parameter.value = 0.4
                    case 23_000: finished = automation.finishRecording()
                    default: break
                    }
                }
                #expect(finished == automation.curve && !automation.isRecording)
                #expect(abs(first[6_500] - 0.3) < 1e-6 && abs(first[10_000] - 0.7) < 1e-6)
                #expect(abs(first[15_000] - 0.7) < 1e-6 || mode == .touch)
                let (again, other) = Self.automation(unit, glide)
                again.curve = finished
                let second = try heard(again, other, frames: 30_000)
                // A smooth way that is cut becomes lines, within 1/10000 of it.
                let allowed: Float = shape == .smooth ? 1e-4 : 2e-6
                let worst = largestDifference(first, second)
                #expect(worst < allowed, "\(mode), \(unit), \(glide), \(shape): \(worst)")
            }
        }
    }

    @Test("Nothing that was set before or after the recording is in it, and a recording without a move changes nothing")
    func nothing() throws {
        for mode in [Automation.Recording.touch, .latch] {
            let (automation, probe) = Self.automation(.frames, .linear(.milliseconds(10)))
            let before = automation.curve
            _ = try heard(automation, probe, frames: 10_000) { _, frame in
                if frame == 1_000 || frame == 8_000 { probe.parameter.value = 0.9 }
                if frame == 2_000 { automation.record(mode) }
                if frame == 7_000 { #expect(automation.finishRecording() == before) }
            }
            #expect(automation.curve == before && automation.finishRecording() == before)
        }
    }

    @Test("A touch is over half a second after its last move")
    func patience() throws {
        let probe = Probe(0.5, in: 0...1)
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0.25]))
        automation.record(.touch)
        let output = try heard(automation, probe, frames: 40_000) { _, frame in
            if frame == 1_000 { probe.parameter.value = 1 }
        }
        #expect(output[20_000] == 1 && output[25_200] == 0.25)
        let curve = automation.finishRecording()
        #expect(curve.value(at: 999) == 0.25 && curve.value(at: 1_000) == 1 && curve.value(at: 25_300) == 0.25)
    }

    @Test("A move that is let go at once lasts for the slice in which it came")
    func clicks() throws {
        let probe = Probe(0.5, in: 0...1)
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0.25]))
        automation.record(.touch)
        let output = try heard(automation, probe, frames: 4_000) { _, frame in
            if frame == 500 { automation.letGo() }
            if frame == 1_000 || frame == 2_000 { probe.parameter.value = 1 }
            if frame == 1_000 || frame == 2_300 { automation.letGo() }
        }
        for frame in 0..<4_000 {
            let isMoved = (1_000..<1_100).contains(frame) || (2_000..<2_300).contains(frame)
            #expect(output[frame] == (isMoved ? 1 : 0.25))
        }
        let curve = automation.finishRecording()
        #expect((0..<4_000).allSatisfy { Float(curve.value(at: Double($0))) == output[$0] })
    }

    @Test("A recording that is to begin later, and was finished before, leaves the curve alone")
    func later() throws {
        let probe = Probe(0.5, in: 0...1)
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, [0: 0.25]))
        let renderer = try renderer(automation, probe)
        try renderer.transaction(at: .sample(1_000)) { automation.record(.overwrite) }
        automation.finishRecording()
        _ = render(renderer, frames: 2_000)
        probe.parameter.value = 1
        _ = render(renderer, frames: 2_000)
        automation.finishRecording()
        _ = render(renderer, frames: 100)
        #expect(render(renderer, frames: 2_000)[0].allSatisfy { $0 == 0.25 })
    }

    @Test("A curve without points is written by hand")
    func empty() throws {
        let probe = Probe(0.5, in: 0...1)
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .frames, []))
        automation.record(.latch)
        let output = try heard(automation, probe, frames: 10_000) { _, frame in
            if frame % 1_000 == 0 && frame > 0 { probe.parameter.value = Float(frame) / 10_000 }
        }
        let curve = automation.finishRecording()
        for frame in 1_000..<10_000 {
            #expect(Float(curve.value(at: Double(frame))) == output[frame])
            #expect(output[frame] == Float(frame / 1_000) / 10)
        }
        #expect(curve.thinned(within: 0).points.count <= 19)
    }

    @Test("A position that goes back begins another passage, which counts where both were")
    func loops() throws {
        let probe = Probe(0.5, in: 0...1)
        let automation = Automation(of: probe.parameter, AutomationCurve(in: .beats, [0: 0.25]))
        automation.record(.latch)
        _ = try heard(automation, probe, frames: 24_000) { renderer, frame in
            if frame == 0 { probe.parameter.value = 0.5 }
            if frame == 2_400 { probe.parameter.value = 0.1 }
            if frame == 12_000 { probe.parameter.value = 0.9 }
            if frame == 18_000 { renderer.tempo.position = 0.25 }
        }
        let curve = automation.finishRecording()
        // A beat is 24,000 frames. The second time it went from 0.25 to 0.5.
        #expect(curve.value(at: 0.09) == 0.25 && curve.value(at: 0.2) == Double(Float(0.1)))
        #expect(curve.value(at: 0.3) == Double(Float(0.9)) && curve.value(at: 0.49) == Double(Float(0.9)))
        #expect(curve.value(at: 0.6) == Double(Float(0.9)) && curve.value(at: 0.8) == 0.25)
    }

    @Test("A recording goes on from others, is finished by the next one, and is dropped with another unit")
    func order() throws {
        let (automation, probe) = Self.automation(.frames, .none)
        let renderer = try renderer(automation, probe)
        automation.record(.overwrite)
        #expect(automation.isRecording)
        _ = render(renderer, frames: 1_000)
        probe.parameter.value = 0.9
        _ = render(renderer, frames: 1_000)
        automation.record(.latch)
        let curve = automation.curve
        #expect(Float(curve.value(at: 1_500)) == 0.9 && automation.isRecording)
        _ = render(renderer, frames: 1_000)
        probe.parameter.value = 0.8
        automation.curve = AutomationCurve(in: .beats, [0: 1])
        _ = render(renderer, frames: 1_000)
        #expect(automation.finishRecording() == AutomationCurve(in: .beats, [0: 1]))
    }
}
