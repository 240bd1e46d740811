import Testing

@testable import RenderCore

@Suite struct ParameterGlideTests {
    /// Rounding of `from + step * frame`.
    let tolerance: Float = 1e-5

    private func expect(
        _ values: [Float], _ expected: [Float], sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(values.count == expected.count, sourceLocation: sourceLocation)
        for (index, pair) in zip(values, expected).enumerated() {
            #expect(
                abs(pair.0 - pair.1) <= tolerance * max(1, abs(pair.1)), "frame \(index): \(pair.0) for \(pair.1)",
                sourceLocation: sourceLocation)
        }
    }

    @Test("A straight line, frame by frame, whatever the cycles are", arguments: [1, 3, 10, 64])
    func linear(cycle: Int) throws {
        let probe = GlideProbe(0, glide: .linear(.seconds(10)))
        let renderer = try probe.renderer()
        #expect(renderer.values(2) == [0, 0])
        probe.parameter.value = 10
        let values = renderer.values(14, cycle: cycle)
        expect(values, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10])
        #expect(values[10...] == [10, 10, 10, 10])
    }

    @Test("A constant ratio, frame by frame, whatever the cycles are", arguments: [1, 3, 64])
    func exponential(cycle: Int) throws {
        let probe = GlideProbe(1, glide: .exponential(.seconds(10)))
        let renderer = try probe.renderer()
        _ = renderer.values(1)
        probe.parameter.value = 1024
        expect(
            renderer.values(12, cycle: cycle), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024])
        probe.parameter.value = 1
        expect(renderer.values(11, cycle: cycle), [1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1])
    }

    @Test("An exponential glide between numbers whose ratio is none stays between them")
    func exponentialWithoutRatio() throws {
        for (from, to) in [(Float.leastNonzeroMagnitude, Float(1)), (1e30, 1e-20), (1, .leastNonzeroMagnitude)] {
            for glide in [Parameter.Curve.exponential(.seconds(8)), .smoothExponential(.seconds(8))] {
                let probe = GlideProbe(Parameter(from, in: 0...1e30, glide: glide))
                let renderer = try probe.renderer()
                _ = renderer.values(1)
                probe.parameter.value = to
                let values = renderer.values(12)
                #expect(values.allSatisfy { $0 >= min(from, to) && $0 <= max(from, to) } && values[10] == to)
            }
        }
    }

    @Test("From or to zero an exponential glide is a straight line")
    func exponentialToZero() throws {
        let probe = GlideProbe(8, glide: .exponential(.seconds(4)))
        let renderer = try probe.renderer()
        _ = renderer.values(1)
        probe.parameter.value = 0
        expect(renderer.values(5), [8, 6, 4, 2, 0])
        probe.parameter.value = 8
        expect(renderer.values(5), [0, 2, 4, 6, 8])
    }

    @Test("A new value in mid-glide goes on from where the glide is", arguments: [1, 2, 5, 64])
    func retargets(cycle: Int) throws {
        let probe = GlideProbe(0, glide: .linear(.seconds(10)))
        let renderer = try probe.renderer()
        _ = renderer.values(1)
        probe.parameter.value = 10
        expect(renderer.values(5, cycle: cycle), [0, 1, 2, 3, 4])
        probe.parameter.value = 0
        expect(renderer.values(12, cycle: cycle), [5, 4.5, 4, 3.5, 3, 2.5, 2, 1.5, 1, 0.5, 0, 0])
    }

    @Test("Setting the same value again does not begin a glide anew")
    func sameValue() throws {
        let probe = GlideProbe(0, glide: .linear(.seconds(4)))
        let renderer = try probe.renderer()
        _ = renderer.values(1)
        probe.parameter.value = 4
        expect(renderer.values(2), [0, 1])
        probe.parameter.value = 4
        expect(renderer.values(3), [2, 3, 4])
    }

    @Test("Before the first slice a value is taken, not glided to")
    func jumpsAtFirst() throws {
        let probe = GlideProbe(0, glide: .linear(.seconds(10)))
        let renderer = try probe.renderer()
        probe.parameter.value = 7
        #expect(renderer.values(3) == [7, 7, 7])
    }

    @Test("Without a curve a value is there at once")
    func none() throws {
        let probe = GlideProbe(0, glide: .none)
        let renderer = try probe.renderer()
        _ = renderer.values(1)
        probe.parameter.value = 7
        #expect(renderer.values(2) == [7, 7])
    }

    @Test("Two reads in one slice give the same, also in the slice that begins a glide")
    func twoReads() throws {
        let parameter = Parameter(0, in: 0...10, glide: .linear(.seconds(10)))
        let first = Record<[Float]>()
        let second = Record<[Float]>()
        let renderer = try Renderer(sampleRate: 1, channels: 1) { context in
            let one = parameter.glide(context)
            let two = parameter.glide(context)
            guard !context.isDryRun else { return }
            first.add([one[0], one[3], one.start, one.end, one.isFlat ? 1 : 0])
            second.add([two[0], two[3], two.start, two.end, two.isFlat ? 1 : 0])
        }
        _ = renderer.values(1)
        parameter.value = 10
        for _ in 0..<4 { _ = renderer.values(4, cycle: 4) }
        #expect(first.count == 5)
        #expect(first.all == second.all)
        #expect(first.all[1][0] == 0 && first.all[1][3] == 10)
    }

    @Test("A dry run changes nothing: neither a glide that waits nor one that is under way")
    func dryRun() throws {
        let probe = GlideProbe(0, glide: .linear(.seconds(10)))
        let direct = Parameter(0, in: 0...10, glide: .linear(.seconds(10)))
        let heard = Record<Float>()
        let renderer = try probe.renderer()
        let loop: RenderLoop = { context in
            context.run(probe)
            let glide = direct.glide(context)
            if !context.isDryRun { heard.add(glide[0]) }
            context.output()
        }
        try renderer.replaceLoop(loop)
        // A value before the first slice is taken at once, a dry run in between or not.
        probe.parameter.value = 2
        direct.value = 2
        try renderer.replaceLoop(loop)
        expect(renderer.values(1), [2])
        probe.parameter.value = 10
        direct.value = 10
        try renderer.replaceLoop(loop)
        expect(renderer.values(5, cycle: 1), [2, 2.8, 3.6, 4.4, 5.2])
        try renderer.replaceLoop(loop)
        expect(renderer.values(6, cycle: 1), [6, 6.8, 7.6, 8.4, 9.2, 10])
        expect(heard.all, [2, 2, 2.8, 3.6, 4.4, 5.2, 6, 6.8, 7.6, 8.4, 9.2, 10])
    }

    @Test("A glide goes on by the clock while its module is skipped")
    func skipped() throws {
        let probe = GlideProbe(0, glide: .linear(.seconds(10)))
        let isSkipped = Parameter(0, in: 0...1, glide: .none)
        let renderer = try Renderer(sampleRate: 1, channels: 1) { context in
            if isSkipped.current(context) > 0 { return }
            context.run(probe)
            context.output()
        }
        _ = renderer.values(1)
        probe.parameter.value = 10
        expect(renderer.values(2), [0, 1])
        isSkipped.value = 1
        #expect(renderer.values(4) == [0, 0, 0, 0])
        isSkipped.value = 0
        expect(renderer.values(5), [6, 7, 8, 9, 10])
        // Set while it is skipped: it glides from when it is heard again.
        isSkipped.value = 1
        probe.parameter.value = 0
        #expect(renderer.values(30) == Array(repeating: 0, count: 30))
        isSkipped.value = 0
        expect(renderer.values(3), [10, 9, 8])
    }

    @Test("In a renderer whose clock is behind, a glide is over")
    func clockBack() async throws {
        let probe = GlideProbe(0, glide: .linear(.seconds(10)))
        do {
            let renderer = try probe.renderer()
            _ = renderer.values(100)
            probe.parameter.value = 10
            expect(renderer.values(2), [0, 1])
        }
        let other = try probe.renderer()
        #expect(await becomesTrue { other.values(1)[0] == 10 })
        probe.parameter.value = 0
        expect(other.values(3), [10, 9, 8])
    }
}
