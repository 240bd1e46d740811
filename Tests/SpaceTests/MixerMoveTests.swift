import RenderStack
import TestSupport
import Testing

/// Sources that go between an environment and a mixer.
@Suite struct MixerMoveTests {
    /// The largest second difference of a sound.
    private static func corner(_ sound: [Float], from first: Int) -> Float {
        var most: Float = 0
        for i in first..<sound.count {
            let bend: Float = sound[i] - 2 * sound[i - 1] + sound[i - 2]
            most = max(most, abs(bend))
        }
        return most
    }

    /// A mixer and an environment that play into the same channels.
    private struct Stage {
        let mixer: Mixer
        let environment: Environment
        let renderer: Renderer

        init(_ layout: SpatialLayout = .stereo, channels: Int = 2, reverb: (any Module)? = nil) throws {
            let (mixer, environment) = (
                Mixer(channels: channels), Environment(layout, hrtf: try sparseKemar.get(), reverb: reverb)
            )
            (self.mixer, self.environment) = (mixer, environment)
            renderer = try Renderer(
                sampleRate: 48_000, channels: max(channels, layout.channels),
                layout: StackLayout(slots: 16, channels: 9, frames: 512)
            ) { context in
                context.run(mixer)
                context.run(environment)
                context.mix(2)
                context.output()
            }
        }
    }

    private static func sine(_ channels: Int, _ frames: Int) -> [[Float]] {
        func sample(_ channel: Int, _ frame: Int) -> Float {
            let angle = Float((frame + 40 * channel) % 240) * (Float.pi / 120)
            return 0.5 * RenderMath.sin(angle)
        }
        return (0..<channels).map { channel in (0..<frames).map { sample(channel, $0) } }
    }

    @Test(
        "A source goes from a mixer to its place and back without a step, with its volume and mute",
        arguments: [SpatialRendering.equalPower, .sphericalHead, .hrtf()], [1, 2])
    func moves(rendering: SpatialRendering, channels: Int) throws {
        let stage = try Stage()
        let source = SpatialSource(
            Playback(Self.sine(channels, 48_000)), rendering: rendering, position: SpatialPoint(1, 0, -1))
        (source.strip.volume.value, source.strip.pan.value, source.width.value) = (0.5, -0.5, 60)
        stage.mixer.append(source, fadesIn: false)
        #expect(source.environment == nil && source.strip.mixer === stage.mixer)
        for (frame, goesHome) in [(9_601, false), (19_203, true), (28_805, false), (38_407, true)] as [(Int64, Bool)] {
            try stage.renderer.transaction(at: .sample(frame)) {
                if goesHome { stage.mixer.append(source) } else { stage.environment.append(source) }
            }
        }
        let sound = render(stage.renderer, frames: 47_000, cycles: [333])
        let bend: Float = 0.25 * 0.000_685_4
        for ear in 0..<2 {
            let found = Self.corner(sound[ear], from: 2_000)
            #expect(found < 5 * bend, "\(found)")
        }
        // The level of a part: no louder on the way than the louder of both ends, and never gone.
        func level(_ ear: Int, _ first: Int) -> Float {
            RenderMath.decibels(amplitude: sound[ear][first..<(first + 480)].map(abs).max() ?? 0)
        }
        for move in [9_601, 19_203, 28_805, 38_407] {
            for ear in 0..<2 {
                let (old, new) = (level(ear, move - 1_000), level(ear, move + 6_000))
                for first in stride(from: move - 480, to: move + 6_000, by: 120) {
                    let now = level(ear, first)
                    #expect(
                        now < max(old, new) + 1 && now > min(old, new) - 12, "\(move), \(first): \(old), \(now), \(new)"
                    )
                }
            }
        }
        // Muted in one, it is so in the other.
        source.strip.isMuted = true
        stage.environment.append(source)
        _ = render(stage.renderer, frames: 960)
        #expect(render(stage.renderer, frames: 480).allSatisfy { $0.allSatisfy { $0 == 0 } })
        #expect(stage.renderer.faultCount == 0 && source.environment === stage.environment)
        #expect(stage.mixer.sources.isEmpty && stage.environment.sources.count == 1)
    }

    @Test(
        "In a mixer a source is as its generator is, 8 frames later, with volume and pan",
        arguments: [1, 2, 4, 6], [1, 2, 3])
    func asItIs(channels: Int, sources: Int) throws {
        var random = SplitMix(state: 3)
        func sample() -> Float { Float(random.next() >> 40) * 0x1p-24 - 0.5 }
        let noise = (0..<sources).map { _ in (0..<9_600).map { _ in sample() } }
        for (volume, pan): (Float, Float) in [(1, 0), (0.5, 0), (1, 0.25), (0.5, -1)] {
            func heard(_ add: (Stage) -> Void) throws -> [[Float]] {
                let stage = try Stage(channels: channels)
                add(stage)
                let sound = render(stage.renderer, frames: 9_600, cycles: [3, 500, 1, 64, 17])
                #expect(stage.renderer.faultCount == 0)
                return sound
            }
            let plain = try heard { stage in
                let strip = MixerSource(Playback(noise), volume: volume, pan: pan)
                stage.mixer.append(strip, fadesIn: false)
            }
            for comesFromAPlace in [false, true] {
                let placed = try heard { stage in
                    let source = SpatialSource(Playback(noise), rendering: .hrtf(), position: SpatialPoint(3, 0, -5))
                    (source.strip.volume.value, source.strip.pan.value) = (volume, pan)
                    if comesFromAPlace { stage.environment.append(source) }
                    stage.mixer.append(source, fadesIn: false)
                }
                for channel in plain.indices {
                    let (late, early) = (Array(placed[channel][2_408...]), Array(plain[channel][2_400..<9_592]))
                    let difference = largestDifference(late, early)
                    #expect(difference < 1e-6, "\(volume), \(pan), channel \(channel): \(difference)")
                }
            }
        }
    }

    @Test("Moves between all layouts and mixers, in any cycle, make no fault and no loud sample")
    func anywhere() throws {
        for layout in SpatialLayout.allCases {
            for channels in [1, 2, 3, 8] {
                let stage = try Stage(layout, channels: channels, reverb: Gain(1))
                let sources = (1...4).map { SpatialSource(Noise(level: 0.1, channels: $0), rendering: .hrtf()) }
                var random = SplitMix(state: UInt64(channels))
                for turn in 0..<120 {
                    let source = sources[Int(random.next() % 4)]
                    source.position = SpatialPoint(Float(random.next() % 7) - 3, 0, Float(random.next() % 7) - 3)
                    (source.width.value, source.send.value) = (Float(random.next() % 180), 0.5)
                    source.strip.pan.value = Float(random.next() % 3) - 1
                    switch random.next() % 4 {
                    case 0: stage.mixer.append(source)
                    case 1: stage.environment.append(source)
                    case 2: stage.mixer.remove(source)
                    default: stage.environment.remove(source)
                    }
                    let sound = render(stage.renderer, frames: 300, cycles: [[1, 64, 300][turn % 3]])
                    let isGood = sound.allSatisfy { $0.allSatisfy { abs($0) < 4 } }
                    #expect(isGood, "\(layout), \(channels), \(turn)")
                }
                #expect(stage.renderer.faultCount == 0, "\(layout), \(channels)")
            }
        }
    }

    @Test("The lengths of the cycles make no difference to a move, bit for bit", arguments: [2, 6])
    func cycles(channels: Int) throws {
        func heard(_ cycles: [Int]) throws -> [[Float]] {
            let stage = try Stage(channels: channels, reverb: Gain(0.5))
            let source = SpatialSource(
                Noise(channels: 2, seed: 4), rendering: .hrtf(taps: 32), position: SpatialPoint(1, 0, -3))
            (source.strip.pan.value, source.width.value, source.send.value) = (0.4, 80, 0.3)
            stage.mixer.append(source, fadesIn: false)
            for (frame, goesHome) in [(1_001, false), (5_555, true), (5_900, false), (11_110, true)] as [(Int64, Bool)]
            {
                try stage.renderer.transaction(at: .sample(frame)) {
                    if goesHome { stage.mixer.append(source) } else { stage.environment.append(source) }
                }
            }
            return render(stage.renderer, frames: 14_000, cycles: cycles)
        }
        let whole = try heard([333])
        for lengths in [[1], [64], [4_096], [3, 500, 1, 64, 2_000, 17]] {
            let sound = try heard(lengths)
            for channel in whole.indices { #expect(sound[channel] == whole[channel], "\(lengths), \(channel)") }
        }
    }

    @Test("What a source sends to a reverb, or plays from other loudspeakers, falls without a step when it moves")
    func ends() throws {
        for layout in [SpatialLayout.stereo, .quad, .ambisonics] {
            for (number, reverb) in ([Gain(1), Reverb(.mediumHall, mix: 1)] as [any Module]).enumerated() {
                let stage = try Stage(layout, reverb: reverb)
                let source = SpatialSource(Playback(Self.sine(1, 24_000)), position: SpatialPoint(0.2, 0, 1))
                source.send.value = 1
                stage.environment.append(source, fadesIn: false)
                try stage.renderer.transaction(at: .sample(9_640)) { stage.mixer.append(source) }
                let sound = render(stage.renderer, frames: 14_000, cycles: [333])
                for (channel, samples) in sound.enumerated() {
                    // A sine of 200 Hz and 0.5 that ends at once has a step of as much, and bends by as much.
                    let found = Self.corner(samples, from: 2_000)
                    #expect(found < 0.02, "\(layout), \(number), \(channel): \(found)")
                }
            }
        }
    }

    @Test("A transaction that throws leaves a source where it was")
    func undone() throws {
        struct Refusal: Error {}
        let stage = try Stage()
        let source = SpatialSource(Constant(0.5), position: SpatialPoint(1, 0, 0))
        stage.environment.append(source, fadesIn: false)
        let before = render(stage.renderer, frames: 4_800).map { $0[4_799] }
        #expect(throws: Refusal.self) {
            try stage.renderer.transaction {
                stage.mixer.append(source)
                throw Refusal()
            }
        }
        #expect(source.environment === stage.environment)
        #expect(render(stage.renderer, frames: 4_800).map { $0[4_799] } == before)
    }

    @Test("Several threads move a source to and fro while it plays")
    func threads() async throws {
        let stage = try Stage(reverb: Gain(1))
        let source = SpatialSource(Noise(level: 0.1, channels: 2))
        source.width.value = 50
        let (mixer, environment) = (stage.mixer, stage.environment)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<3 {
                group.addTask {
                    for turn in 0..<60 {
                        if (turn + thread) % 2 == 0 { mixer.append(source) } else { environment.append(source) }
                        source.width.value = Float(turn * 3)
                    }
                }
            }
            for _ in 0..<200 {
                #expect(render(stage.renderer, frames: 128).allSatisfy { $0.allSatisfy { abs($0) < 4 } })
                await Task.yield()
            }
        }
        mixer.append(source)
        _ = render(stage.renderer, frames: 9_600)
        #expect(render(stage.renderer, frames: 480)[0].contains { $0 != 0 })
        #expect(stage.mixer.sources.count == 1 && stage.environment.sources.isEmpty)
    }
}
