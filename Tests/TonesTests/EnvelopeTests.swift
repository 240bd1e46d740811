import RenderStack
import TestSupport
import Testing

@Suite struct EnvelopeTests {
    static let tolerance: Float = 1e-6

    /// The envelope's own course: what it makes of ones. A frame is a millisecond.
    private func renderer(_ envelope: Envelope, channels: Int = 1) throws -> Renderer {
        let ones = Constant(1, channels: channels)
        return try Renderer(sampleRate: 1000, channels: channels) { context in
            context.run(ones)
            context.run(envelope)
            context.output()
        }
    }

    /// A segment as the documentation has it.
    private func segment(from: Double, to: Double, frames: Int, c: Double) -> [Float] {
        (0..<frames).map { frame in
            let x = Double(frame) / Double(frames)
            let part = c == 0 ? x : (1 - RenderMath.exp(-c * x)) / (1 - RenderMath.exp(-c))
            return Float(from + (to - from) * part)
        }
    }

    @Test("Attack, decay, sustain and release take their times to the frame, along the documented curve")
    func course() throws {
        for (curve, attack, fall) in [(EnvelopeCore.Curve.exponential, 1.5, 5.0), (.linear, 0, 0)] {
            let envelope = Envelope(attack: 0.2, decay: 0.3, sustain: 0.25, release: 0.4, curve: curve)
            let renderer = try renderer(envelope)
            #expect(render(renderer, frames: 10)[0] == Array(repeating: 0, count: 10))
            envelope.open(at: .sample(100))
            envelope.close(at: .sample(1000))
            let samples = render(renderer, frames: 2000)[0]
            let expected =
                Array(repeating: 0, count: 90) + segment(from: 0, to: 1, frames: 200, c: attack)
                + segment(from: 1, to: 0.25, frames: 300, c: fall) + Array(repeating: 0.25, count: 400)
                + segment(from: 0.25, to: 0, frames: 400, c: fall) + Array(repeating: 0, count: 610)
            #expect(largestDifference(samples, expected) < Self.tolerance)
            // The ends are exact.
            #expect(samples[90] == 0 && samples[290] == 1 && samples[590] == 0.25 && samples[1390] == 0)
            #expect(envelope.level == 0)
        }
    }

    @Test("A gate that is opened or closed on the way goes on from the present level, without a step")
    func retrigger() throws {
        let envelope = Envelope(attack: 0.1, decay: 0.1, sustain: 0.5, release: 0.2)
        let renderer = try renderer(envelope)
        envelope.open(at: .sample(0))
        envelope.close(at: .sample(50))  // in the attack
        envelope.open(at: .sample(120))  // in the release
        envelope.open(at: .sample(270))  // in the decay
        envelope.open(at: .sample(700))  // in the sustain
        envelope.close(at: .sample(950))
        envelope.close(at: .sample(1000))  // where it is closed: nothing
        let samples = render(renderer, frames: 1300)[0]
        // The steepest is the beginning of a release from 1.
        let steepest = Float(5 / (1 - RenderMath.exp(-5.0)) / 100)
        for i in 1..<samples.count { #expect(abs(samples[i] - samples[i - 1]) < steepest, "frame \(i)") }
        let risen = segment(from: 0, to: 1, frames: 100, c: 1.5)[50]
        #expect(abs(samples[50] - risen) < Self.tolerance)
        #expect(samples[220] == 1 && samples[370] == 1 && samples[800] == 1)
        #expect(samples[900] == 0.5 && samples[1150] == 0 && samples[1149] > 0)
    }

    @Test("Gates come in order, also in one cycle and in a transaction, and from the render closure")
    func gates() throws {
        let envelope = Envelope(attack: 0.01, decay: 0.01, sustain: 1, release: 0.01)
        let other = Envelope(attack: 0.01, decay: 0.01, sustain: 1, release: 0.01)
        let ones = Constant(1)
        let renderer = try Renderer(sampleRate: 1000, channels: 1) { context in
            if context.sampleTime == 64 { other.open() }
            context.run(ones)
            context.run(envelope)
            context.run(other)
            context.output()
        }
        // Closed and opened before the cycle: it is open.
        envelope.open()
        envelope.close()
        envelope.open()
        _ = render(renderer, frames: 64, cycles: [64])
        #expect(envelope.level == 1 && other.level == 0)
        _ = render(renderer, frames: 64, cycles: [64])
        #expect(other.level == 1)
        // A transaction sends it when it is applied, to the frame; one that throws does not.
        struct Stop: Error {}
        try? renderer.transaction {
            envelope.close()
            throw Stop()
        }
        try renderer.transaction(at: .sample(150)) { envelope.close() }
        let samples = render(renderer, frames: 64, cycles: [64])[0]
        #expect(samples[22] == 1 && samples[23] < 1 && samples[32] == 0 && samples[31] > 0)
    }

    @Test("It is idle before, between and after, so that a closure can leave out what is not heard")
    func idle() throws {
        let envelope = Envelope(attack: 0.01, decay: 0.01, sustain: 1, release: 0.01)
        let ones = Constant(1)
        let renderer = try Renderer(sampleRate: 1000, channels: 1) { context in
            if envelope.isIdle && !context.isDryRun { return }
            context.run(ones)
            context.run(envelope)
            context.output()
        }
        #expect(envelope.isIdle)
        envelope.open(at: .sample(50))
        #expect(!envelope.isIdle)
        let samples = render(renderer, frames: 100, cycles: [10])[0]
        #expect(samples[60] == 1 && samples[50] == 0 && samples[99] == 1)
        #expect(!envelope.isIdle)
        envelope.close()
        #expect(render(renderer, frames: 100, cycles: [10])[0][10...].allSatisfy { $0 == 0 })
        #expect(envelope.isIdle)
        envelope.open()
        _ = render(renderer, frames: 5)
        try renderer.messages.send { context in context.reset(envelope) }
        _ = render(renderer, frames: 5)
        #expect(envelope.isIdle && envelope.level == 0)
    }

    @Test("64 gates may wait; the call for one more returns false") func full() throws {
        let envelope = Envelope()
        let renderer = try renderer(envelope)
        for number in 0..<64 { #expect(envelope.open(at: .sample(1000 + Int64(number)))) }
        #expect(!envelope.close())
        _ = render(renderer, frames: 2000)
        #expect(envelope.level > 0)
        #expect(envelope.close())
    }

    @Test("Times and levels may change under way, without a step") func changes() throws {
        let envelope = Envelope(attack: 0.4, decay: 0.4, sustain: 0.2, release: 0.4)
        let renderer = try renderer(envelope)
        envelope.open(at: .sample(0))
        try renderer.transaction(at: .sample(200)) { envelope.attack.value = 0.1 }  // half has passed: 50 to go
        try renderer.transaction(at: .sample(900)) { envelope.sustain.value = 0.9 }
        try renderer.transaction(at: .sample(1200)) { envelope.sustain.value = 0 }
        let samples = render(renderer, frames: 1400)[0]
        #expect(samples[250] == 1 && samples[249] < 1)
        #expect(samples[1199] == 0.9 && samples[1399] == 0)
        for i in 1..<samples.count { #expect(abs(samples[i] - samples[i - 1]) < 0.2) }
    }

    @Test("All channels alike; silence stays silent; nothing crashes at the ends of the ranges")
    func channels() throws {
        let envelope = Envelope(attack: 0, decay: 0, sustain: 1, release: 1e9)
        let renderer = try renderer(envelope, channels: 3)
        envelope.open(at: .sample(5))
        let channels = render(renderer, frames: 100)
        #expect(channels[0] == channels[1] && channels[0] == channels[2])
        #expect(channels[0][50] == 1)
        let tone = Oscillator(level: 0)
        let silent = try Renderer(channels: 1) { context in
            context.run(tone)
            context.run(envelope)
            context.output()
        }
        #expect(render(silent, frames: 100)[0].allSatisfy { $0 == 0 })
    }

    @Test("The cycle length changes nothing", arguments: cycleLengths) func cycles(lengths: [Int]) throws {
        func samples(_ cycles: [Int]) throws -> [[Float]] {
            let envelope = Envelope(attack: 0.1, decay: 0.2, sustain: 0.5, release: 0.3)
            let renderer = try renderer(envelope, channels: 2)
            envelope.open(at: .sample(33))
            envelope.close(at: .sample(700))
            envelope.open(at: .sample(777))
            envelope.close(at: .sample(2000))
            try renderer.transaction(at: .sample(100)) { envelope.decay.value = 0.05 }
            try renderer.transaction(at: .sample(1500)) { envelope.sustain.value = 0.8 }
            return render(renderer, frames: 3000, cycles: cycles)
        }
        #expect(try samples(lengths) == samples([512]))
    }

    @Test("Reset is silence at once, and it begins anew") func reset() throws {
        let envelope = Envelope(attack: 0.1)
        let renderer = try renderer(envelope)
        envelope.open()
        let first = render(renderer, frames: 300)[0]
        try renderer.messages.send { context in context.reset(envelope) }
        #expect(render(renderer, frames: 10)[0].allSatisfy { $0 == 0 })
        envelope.open()
        #expect(render(renderer, frames: 300)[0] == first)
    }
}
