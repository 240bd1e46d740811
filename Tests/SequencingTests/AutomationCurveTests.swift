import RenderStack
import TestSupport
import Testing

@Suite struct AutomationCurveTests {
    typealias Point = AutomationCurve.Point

    private static func random(_ seed: UInt64, count: Int, _ shapes: [AutomationCurve.Shape]) -> AutomationCurve {
        var numbers = SplitMix(state: seed)
        var position = 0.0
        let points = (0..<count).map { _ in
            position += Double.random(in: 0...1, using: &numbers)
            return Point(
                at: position, Float.random(in: 0.01...1, using: &numbers),
                shapes[Int.random(in: 0..<shapes.count, using: &numbers)])
        }
        return AutomationCurve(in: .seconds, points)
    }

    @Test("Points come into order, and points that are no numbers are left out")
    func order() {
        let curve = AutomationCurve(
            in: .beats,
            [
                Point(at: 2, 1), Point(at: .nan, 3), Point(at: 1, .nan), Point(at: 1, 5, .step), Point(at: 1, 6),
                Point(at: 1, 7),
                Point(at: -.infinity, .infinity),
            ])
        let most = Float.greatestFiniteMagnitude
        #expect(curve.points == [Point(at: -1e12, most), Point(at: 1, 5, .step), Point(at: 1, 7), Point(at: 2, 1)])
        #expect(curve.value(at: 1) == 7 && curve.value(at: 1.5) == 4 && curve.value(at: 9) == 1)
        #expect(
            curve.value(at: -.infinity) == Double(most) && curve.value(at: .infinity) == 1 && curve.value(at: .nan) == 0
        )
        #expect(AutomationCurve(in: .beats, []).value(at: 3) == 0)
    }

    @Test("A curve is the same after it was text")
    func text() throws {
        let opening = AutomationCurve(in: .beats, [0: 200, 16: 4_000], shape: .exponential)
        #expect(opening.text == "automation in beats\n0.0 200.0 exponential\n16.0 4000.0 exponential\n")
        for seed in 0..<50 {
            let curve = Self.random(UInt64(seed), count: seed * 3, AutomationCurve.Shape.allCases)
            #expect(try AutomationCurve(text: curve.text) == curve)
        }
        let byHand =
            "\r\n# a comment\n  automation   in frames # of the clock\r\n-5 1e3\n\t7 2 step # held\n7 .5 smooth"
        #expect(
            try AutomationCurve(text: byHand)
                == AutomationCurve(
                    in: .frames, [Point(at: -5, 1_000), Point(at: 7, 2, .step), Point(at: 7, 0.5, .smooth)]))
    }

    @Test(
        "A text that is no curve is refused with its line and column",
        arguments: [
            ("", 1, 1, "empty"), ("# nothing", 1, 1, "empty"), ("\n automatic in beats", 2, 2, "automation must be"),
            ("automation", 1, 11, "in must be"), ("automation of beats", 1, 12, "in must be"),
            ("automation in bars", 1, 15, "frames, seconds, beats"), ("automation in", 1, 14, "unit"),
            ("automation in beats 4", 1, 21, "too much"), ("automation in beats\nx 1", 2, 1, "no position"),
            ("automation in beats\n  nan 1", 2, 3, "no position"), ("automation in beats\n1e13 1", 2, 1, "1e12"),
            ("automation in beats\n1", 2, 2, "no value"), ("automation in beats\n1 inf", 2, 3, "no value"),
            ("automation in beats\n1 1e39", 2, 3, "no value"), ("automation in beats\n1 2 curve", 2, 5, "step, line"),
            ("automation in beats\n1 2 line 3", 2, 10, "too much"),
            ("automation in beats\n4 1\n\n3 1", 4, 1, "in order"),
            ("automation in beats\n3 1\n3 2\n 3 3", 4, 2, "third"), ("automation in beats\n🎛 1", 2, 1, "no position"),
        ])
    func problems(text: String, line: Int, column: Int, sentence: String) {
        do {
            _ = try AutomationCurve(text: text)
            Issue.record("\(text) was read")
        } catch {
            #expect(error.line == line && error.column == column, "\(error)")
            #expect(error.description.contains(sentence), "\(error)")
            #expect(error.description.hasPrefix("Line \(line), column \(column) of the automation: "))
        }
    }

    @Test("Text of any bytes is read or refused, and what was read is right")
    func hostile() throws {
        var numbers = SplitMix(state: 5)
        let good = Array(Self.random(1, count: 20, AutomationCurve.Shape.allCases).text.utf8)
        for _ in 0..<3_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...6, using: &numbers) {
                let place = Int.random(in: 0..<bytes.count, using: &numbers)
                switch Int.random(in: 0..<3, using: &numbers) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
                case 1: bytes.remove(at: place)
                default: bytes.insert(contentsOf: bytes[(place / 2)..<place], at: place)
                }
            }
            guard let curve = try? AutomationCurve(text: String(decoding: bytes, as: UTF8.self)) else { continue }
            #expect(try AutomationCurve(text: curve.text) == curve)
            #expect(zip(curve.points, curve.points.dropFirst()).allSatisfy { $0.position <= $1.position })
        }
        let long = String(repeating: "9", count: 100_000)
        for text in [
            "automation in beats\n\(long) 1", "automation in \(long)", long, "automation in beats\n1 1 \(long)",
        ] {
            #expect(throws: AutomationCurve.Problem.self) { _ = try AutomationCurve(text: text) }
        }
    }

    @Test("A curve that was thinned differs by no more than the error, and keeps its steps, jumps and smooth ways")
    func thinning() {
        for seed in 0..<60 {
            let shapes: [[AutomationCurve.Shape]] = [[.line], [.exponential], AutomationCurve.Shape.allCases]
            let curve = Self.random(UInt64(seed), count: 300, shapes[seed % 3])
            for error in [Float(0), 0.001, 0.05, 0.3, 2] {
                let thin = curve.thinned(within: error)
                var worst = 0.0
                for step in 0...6_000 {
                    let position = 160 * Double(step) / 6_000
                    worst = max(worst, abs(thin.value(at: position) - curve.value(at: position)))
                }
                for point in curve.points {
                    worst = max(worst, abs(thin.value(at: point.position) - curve.value(at: point.position)))
                }
                #expect(worst <= Double(error) * 1.000001 + 1e-7, "seed \(seed), \(error): \(worst)")
                #expect(thin.unit == .seconds && Set(curve.points).isSuperset(of: thin.points))
                if seed % 3 < 2 && error == 2 { #expect(thin.points.count == 2) }
                if seed % 3 == 2 {
                    let kept = curve.points.filter { $0.shape == .step || $0.shape == .smooth }
                    #expect(Set(thin.points).isSuperset(of: kept))
                }
            }
        }
    }

    @Test("A line of many points becomes two points, and a sine a few")
    func thinningCounts() {
        let line = AutomationCurve(in: .frames, (0..<10_000).map { Point(at: Double($0), Float($0) * 0.25) })
        #expect(line.thinned(within: 0).points.count == 2)
        let sine = AutomationCurve(
            in: .frames, (0..<10_000).map { Point(at: Double($0), Float(RenderMath.sin(Double($0) / 1_000))) })
        // A line is within e of an arc of curvature 1 for √(16 e) of it at most: 100 pieces for e = 0.001 at the tops.
        let thin = sine.thinned(within: 0.001)
        #expect(thin.points.count < 160 && thin.points.count > 50)
        #expect(
            line.thinned(within: .nan) == line.thinned(within: 0) && line.thinned(within: -1) == line.thinned(within: 0)
        )
        #expect(AutomationCurve(in: .frames, []).thinned(within: 1).points.isEmpty)
        #expect(line.thinned(within: .infinity).points.count == 2)
    }
}
