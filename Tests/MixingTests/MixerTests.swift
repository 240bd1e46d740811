import RenderStack
import Synchronization
import TestSupport
import Testing

@Suite struct MixerTests {
    @Test("A module that pushes one buffer is a source, also a closure with modules of its own")
    func closureSource() throws {
        let tone = Oscillator(.sine, frequency: 1_000)
        let closure = ClosureModule(.generates, name: "Half") { context in
            context.run(tone)
            context.gain(0.5)
        }
        let mixer = Mixer(channels: 1)
        let strip = mixer.append(closure, fadesIn: false)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(mixer)
            context.output()
        }
        #expect(mixer.source(of: closure) === strip)
        let twin = Oscillator(.sine, frequency: 1_000)
        let plain = try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(twin)
            context.gain(0.5)
            context.output()
        }
        let (heard, expected) = (
            renderer.renderOffline(frames: 480).array(0), plain.renderOffline(frames: 480).array(0)
        )
        #expect(largestDifference(heard, expected) < 1e-6 && heard.contains { abs($0) > 0.3 })
        mixer.remove(closure)
        #expect(mixer.sources.isEmpty)
    }

    /// The steepest that a fade of 5 ms at 48 kHz may be, for a source of amplitude 1.
    static let fadeStep: Float = 1.0 / 240 + 1e-5

    private func renderer(_ mixer: Mixer, channels: Int = 2) throws -> Renderer {
        try Renderer(channels: channels) { context in
            context.run(mixer)
            context.output()
        }
    }

    @Test("One source at rest is heard as it is, bit for bit") func transparent() throws {
        let tone = Oscillator(frequency: 440, level: 0.5)
        let alone = try Renderer(channels: 1) { [tone = Oscillator(frequency: 440, level: 0.5)] context in
            context.run(tone)
            context.output()
        }
        let mixer = Mixer(channels: 1, [MixerSource(tone)])
        #expect(render(try renderer(mixer, channels: 1), frames: 5000) == render(alone, frames: 5000))
    }

    @Test("A source of another sample rate is mixed at its own pitch and level, and may come later")
    func otherRate() throws {
        let inner = try Renderer(channels: 1) { [tone = Oscillator(frequency: 1_000, level: 0.25)] context in
            context.run(tone)
            context.output()
        }
        let mixer = Mixer(channels: 1, [MixerSource(Oscillator(frequency: 440, level: 0.5))])
        let outer = try renderer(mixer, channels: 1)
        #expect(level(render(outer, frames: 24_000)[0], frequency: 1_000) < -90)
        mixer.append(MixerSource(RateConverter(inner, sampleRate: 44_100)))
        _ = render(outer, frames: 4_800)
        let both = render(outer, frames: 48_000, cycles: [7, 512, 100])[0]
        #expect(abs(level(both, frequency: 1_000) - 20 * RenderMath.log(0.25) / RenderMath.log(10)) < 0.01)
        #expect(abs(level(both, frequency: 440) - 20 * RenderMath.log(0.5) / RenderMath.log(10)) < 0.01)
        #expect(inner.sampleRate == 44_100)
        #expect(outer.faultCount == 0 && inner.faultCount == 0)
    }

    @Test("Any channel count into any: mono to all, all into mono, else channel to channel")
    func channels() throws {
        func sum(_ channels: Int) throws -> [Float] {
            let mixer = Mixer(
                channels: channels,
                [1, 2, 3, 6].map { MixerSource(Constant(1 / Float($0), channels: $0)) })
            return render(try renderer(mixer, channels: channels), frames: 64).map(\.last!)
        }
        #expect(try sum(1).map { ($0 * 1000).rounded() } == [4000])
        let third: Float = 1 + 0.5 + 1.0 / 3 + 1.0 / 6
        #expect(try sum(2) == [third, third])
        let (later, last): (Float, Float) = (1 + 1.0 / 3 + 1.0 / 6, 1 + 1.0 / 6)
        #expect(try sum(4) == [third, third, later, last])
        #expect(try sum(6).last == last)
    }

    @Test("Volume, balance and equal-power pan, each by its formula, with a glide")
    func strips() throws {
        let left = MixerSource(Constant(1), volume: 0.5, pan: -0.25)
        let right = MixerSource(Constant(1), pan: 0.5, panning: .equalPower)
        let mixer = Mixer([left])
        let renderer = try renderer(mixer)
        let softer: Float = 0.5 * 0.75
        #expect(render(renderer, frames: 100).map(\.last!) == [0.5, softer])
        mixer.replace(left, with: right)
        let faded = render(renderer, frames: 4800)
        let angle = 0.75 * Double.pi / 2
        #expect(abs(Double(faded[0].last!) - RenderMath.cos(angle)) < 1e-6)
        #expect(abs(Double(faded[1].last!) - RenderMath.sin(angle)) < 1e-6)
        right.volume.value = 0
        let end = render(renderer, frames: 4800)
        #expect(largestStep(end[1]) < 1.0 / 480 + 1e-5)
        #expect(end[0].last == 0)
    }

    @Test("Mute and solo, without a click; a muted source goes on playing") func solo() throws {
        let ramp = Ramp()
        let sources = [MixerSource(Constant(1)), MixerSource(Constant(2)), MixerSource(ramp, volume: 0)]
        let mixer = Mixer(channels: 1, sources)
        let renderer = try renderer(mixer, channels: 1)
        func last(_ step: Float) -> Float {
            let samples = render(renderer, frames: 480)[0]
            #expect(largestStep(samples) <= step)
            return samples.last!
        }
        #expect(last(0) == 3)
        sources[1].isMuted = true
        sources[2].isMuted = true
        #expect(last(2 * Self.fadeStep) == 1)
        sources[0].isSolo = true
        #expect(last(0) == 1)
        sources[1].isSolo = true
        sources[1].isMuted = false
        #expect(last(2 * Self.fadeStep) == 3)
        sources[0].isSolo = false
        #expect(last(Self.fadeStep) == 2)
        sources[1].isSolo = false
        #expect(last(Self.fadeStep) == 3)
        #expect(ramp.frames.load(ordering: .relaxed) == 480 * 6)
    }

    @Test(
        "A source that joins fades in, one that leaves fades out and is released, one from the start does not fade")
    func comeAndGo() async throws {
        let first = MixerSource(Constant(1))
        let mixer = Mixer(channels: 1, [first])
        let renderer = try renderer(mixer, channels: 1)
        #expect(render(renderer, frames: 10)[0].allSatisfy { $0 == 1 })
        weak var second: Constant?
        do {
            let joining = Constant(0.5)
            second = joining
            let strip = mixer.append(joining)
            #expect(mixer.append(joining) === strip && mixer.sources.count == 2)
            let samples = render(renderer, frames: 480, cycles: [7])[0]
            #expect(samples[0] < 1.01 && samples.last == 1.5 && largestStep(samples) <= Self.fadeStep / 2)
            let kept = mixer.append(Constant(0.25), fadesIn: false)
            #expect(render(renderer, frames: 10)[0].allSatisfy { $0 == 1.75 })
            mixer.remove(kept)
            mixer.remove(joining)
            #expect(mixer.sources.count == 1)
        }
        let samples = render(renderer, frames: 480, cycles: [100])[0]
        #expect(samples[0] > 1.7 && samples.last == 1 && largestStep(samples) <= Self.fadeStep)
        #expect(await becomesTrue { second == nil })
        // A source that comes back fades in again.
        mixer.remove(first)
        _ = render(renderer, frames: 480)
        #expect(await becomesTrue { first.mixer == nil })
        mixer.append(first)
        let again = render(renderer, frames: 480)[0]
        #expect(again[0] < 0.01 && again.last == 1 && largestStep(again) <= Self.fadeStep)
        #expect(renderer.faultCount == 0)
    }

    @Test("A source that comes back while it fades out turns round where it is") func turnsRound() throws {
        let source = MixerSource(Constant(1))
        let mixer = Mixer(channels: 1, [source])
        let renderer = try renderer(mixer, channels: 1)
        _ = render(renderer, frames: 10)
        mixer.remove(source)
        let out = render(renderer, frames: 120)[0]
        mixer.append(source)
        let back = render(renderer, frames: 480)[0]
        #expect(largestStep(out + back) <= Self.fadeStep && back.last == 1 && out.last! < 0.6)
        #expect(mixer.sources.count == 1 && source.mixer === mixer)
    }

    @Test("Reordering and changing others is not heard") func reorder() throws {
        let tone = Oscillator(frequency: 440, level: 0.5)
        let sources = [MixerSource(Constant(0)), MixerSource(tone), MixerSource(Constant(0))]
        let mixer = Mixer(channels: 1, sources)
        let renderer = try renderer(mixer, channels: 1)
        let alone = try Renderer(channels: 1) { [tone = Oscillator(frequency: 440, level: 0.5)] context in
            context.run(tone)
            context.output()
        }
        var samples: [Float] = []
        for turn in 0..<20 {
            samples += render(renderer, frames: 100)[0]
            mixer.insert(sources[1], at: turn % 3)
            if turn % 4 == 3 { mixer.remove(sources[0]) } else { mixer.insert(sources[0], at: 0) }
        }
        #expect(samples == render(alone, frames: 2000)[0])
        #expect(renderer.faultCount == 0)
    }

    @Test(
        "Volume, pan and the sound itself travel to another mixer, without a gap or a click", arguments: [0, 1])
    func travels(first: Int) throws {
        let mixers = [Mixer(channels: 1), Mixer(channels: 1)]
        let (one, two) = (mixers[first], mixers[1 - first])
        let source = MixerSource(Constant(1), volume: 0.5)
        one.append(source, fadesIn: false)
        let renderer = try Renderer(channels: 1) { context in
            context.run(one)
            context.run(two)
            context.mix(2)
            context.output()
        }
        var samples = render(renderer, frames: 300)[0]
        for turn in 0..<6 {
            mixers[turn % 2 == 0 ? 1 - first : first].append(source)
            samples += render(renderer, frames: 300)[0]
            #expect(source.mixer === mixers[turn % 2 == 0 ? 1 - first : first])
            #expect(mixers[0].sources.count + mixers[1].sources.count == 1)
        }
        #expect(samples.allSatisfy { $0 == 0.5 })
        #expect(source.volume.value == 0.5)
        // Also out of the middle of a fade.
        two.append(source)
        _ = render(renderer, frames: 300)
        two.remove(source)
        let out = render(renderer, frames: 100)[0]
        one.append(source)
        let back = render(renderer, frames: 400)[0]
        #expect(largestStep(out + back) <= Self.fadeStep / 2 && back.last == 0.5)
        #expect(renderer.faultCount == 0)
    }

    @Test("Mixers in mixers, changed while they run") func nested() throws {
        let (drums, band, master) = (Mixer(name: "Drums"), Mixer(name: "Band"), Mixer(name: "Master"))
        drums.append(Constant(0.5), fadesIn: false).pan.value = -1
        let drumStrip = band.append(drums, fadesIn: false)
        band.append(Constant(0.25, channels: 2), fadesIn: false)
        master.append(band, fadesIn: false)
        let renderer = try renderer(master)
        #expect(render(renderer, frames: 100).map(\.last!) == [0.75, 0.25])
        drumStrip.volume.value = 0.5
        drums.append(Constant(1))
        #expect(render(renderer, frames: 1000).map(\.last!) == [1, 0.75])
        #expect(renderer.modules.count == 6 && renderer.faultCount == 0)
    }

    @Test("A mixer skips an inactive source, and its fades are over when it is active again") func inactive() throws {
        let source = Switched()
        let mixer = Mixer(channels: 1)
        let renderer = try renderer(mixer, channels: 1)
        source.isOn.store(false, ordering: .relaxed)
        let strip = mixer.append(source)
        #expect(render(renderer, frames: 1000)[0].allSatisfy { $0 == 0 })
        strip.volume.value = 0.5
        _ = render(renderer, frames: 1000)
        #expect(source.runs.load(ordering: .relaxed) == 0)
        source.isOn.store(true, ordering: .relaxed)
        #expect(render(renderer, frames: 10)[0].allSatisfy { $0 == 0.5 })
    }

    @Test(
        "The cycle length changes nothing, not even while sources come, go, move and glide",
        arguments: cycleLengths)
    func cycles(lengths: [Int]) throws {
        func samples(_ cycles: [Int]) throws -> [[Float]] {
            let (inner, mixer) = (Mixer(), Mixer())
            let tones = [210.5, 330.25, 471].map { MixerSource(Oscillator(frequency: Float($0), level: 0.3)) }
            mixer.append(inner, fadesIn: false)
            mixer.append(tones[0], fadesIn: false)
            let renderer = try renderer(mixer)
            try renderer.transaction(at: .sample(333)) { mixer.append(tones[1]) }
            try renderer.transaction(at: .sample(1001)) {
                tones[0].pan.value = 0.7
                tones[1].volume.value = 0.2
            }
            try renderer.transaction(at: .sample(1200)) { mixer.remove(tones[0]) }
            try renderer.transaction(at: .sample(2500)) {
                tones[2].isSolo = true; mixer.append(tones[2])
            }
            try renderer.transaction(at: .sample(3000)) { inner.append(tones[1]) }
            return render(renderer, frames: 6000, cycles: cycles)
        }
        #expect(try samples(lengths) == samples([512]))
    }

    @Test("In a transaction everything comes together; thrown out of, nothing has happened") func transaction()
        throws
    {
        struct Refusal: Error {}
        let sources = [MixerSource(Constant(1)), MixerSource(Constant(2))]
        let mixer = Mixer(channels: 1, [sources[0]])
        let renderer = try renderer(mixer, channels: 1)
        _ = render(renderer, frames: 100)
        #expect(throws: Refusal.self) {
            try renderer.transaction {
                mixer.append(sources[1])
                mixer.remove(sources[0])
                sources[0].isMuted = true
                throw Refusal()
            }
        }
        #expect(mixer.sources.map(ObjectIdentifier.init) == [ObjectIdentifier(sources[0])])
        #expect(sources[1].mixer == nil && !sources[0].isMuted)
        #expect(render(renderer, frames: 600)[0].allSatisfy { $0 == 1 })
        renderer.transaction {
            mixer.append(sources[1], fadesIn: false)
            sources[1].volume.value = 0.5
            #expect(render(renderer, frames: 10)[0].allSatisfy { $0 == 1 })
        }
        #expect(render(renderer, frames: 10)[0].allSatisfy { $0 == 2 })
        #expect(renderer.faultCount == 0)
    }

    @Test("A mixer releases a source that leaves while no cycle runs, too") func stopped() async throws {
        let mixer = Mixer(channels: 1)
        let renderer = try renderer(mixer, channels: 1)
        weak var gone: Constant?
        do {
            let source = Constant(1)
            gone = source
            mixer.append(source)
            _ = render(renderer, frames: 100)
            mixer.remove(source)
        }
        #expect(await becomesTrue { gone == nil })
        #expect(render(renderer, frames: 10)[0].allSatisfy { $0 == 0 })
    }

    @Test("Thousands of changes while it renders make no fault, and all sources are released") func churn() async throws
    {
        let alive = Alive()
        final class Counted: Generator {
            let alive: Alive
            init(_ alive: Alive) {
                self.alive = alive
                alive.count.wrappingAdd(1, ordering: .relaxed)
            }
            deinit { alive.count.wrappingSubtract(1, ordering: .relaxed) }
            @_noLocks @_noAllocation
            func process(_ context: inout RenderContext) { context.push(channels: 1) }
        }
        let mixers = [Mixer(channels: 1), Mixer(channels: 1)]
        let renderer = try Renderer(channels: 1) { [mixers = (mixers[0], mixers[1])] context in
            context.run(mixers.0)
            context.run(mixers.1)
            context.mix(2)
            context.output()
        }
        let driver = Task.detached {
            while !Task.isCancelled { _ = render(renderer, frames: 512, cycles: [64]) }
        }
        for turn in 0..<extent(2000, inDebug: 500) {
            let source = MixerSource(Counted(alive))
            mixers[turn % 2].append(source)
            if turn % 3 == 0 { mixers[1 - turn % 2].append(source) }
            if turn % 5 == 0 { await Task.yield() }
            source.mixer?.remove(source)
        }
        _ = await becomesTrue { alive.count.load(ordering: .relaxed) == 0 }
        driver.cancel()
        await driver.value
        #expect(alive.count.load(ordering: .relaxed) == 0)
        #expect(renderer.faultCount == 0)
    }

    final class Alive: Sendable { let count = Atomic<Int>(0) }

    @Test("A mixer in itself, and one in two places: faults and silence, no crash") func mistakes() throws {
        let mixer = Mixer(channels: 1, [MixerSource(Constant(1))])
        let renderer = try renderer(mixer, channels: 1)
        _ = render(renderer, frames: 10)
        mixer.append(mixer, fadesIn: false)
        _ = render(renderer, frames: 10)
        #expect(renderer.faultCount > 0)
        mixer.removeAll()
        #expect(render(renderer, frames: 600)[0].last == 0)
    }

    @Test("Reset reaches the sources") func reset() throws {
        let mixer = Mixer(channels: 1, [MixerSource(Ramp())])
        let renderer = try renderer(mixer, channels: 1)
        let first = render(renderer, frames: 100)[0]
        try renderer.messages.send { context in context.reset(mixer) }
        #expect(render(renderer, frames: 100)[0] == first)
    }
}
