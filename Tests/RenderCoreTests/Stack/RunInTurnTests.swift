import Composition
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Rows of effects that only multiply, and sums of many generators: a renderer takes several at a time once it has looked at all
/// samples for a second, and must sound as if it took them one by one.
@Suite struct RunInTurnTests {
    /// Multiplies by a number and a parameter, and counts the calls of `process`.
    private final class Scale: Effect, ScalingEffect {
        let name: String
        let level: Parameter
        let calls = Atomic<Int>(0)

        init(_ level: Float, name: String = "Scale") {
            self.level = Parameter(level, in: -1e38...1e38, glide: .linear(.milliseconds(100)))
            self.name = name
        }

        @_noLocks @_noAllocation
        func factorAtRest(_ context: borrowing RenderContext) -> Float? { level.atRest(context) }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            calls.wrappingAdd(1, ordering: .relaxed)
            context.gain(level)
        }
    }

    /// Pushes a buffer of some channels, as loud as the square of its level, whose samples differ from each other and from slice to slice.
    private final class Noise: Generator {
        let name: String
        let channels: Int
        let level: Parameter
        private let seed: UInt32
        private let state: RenderState<UInt32>

        init(_ seed: UInt32, channels: Int = 1, name: String = "Noise") {
            (self.seed, self.channels, self.name) = (seed, channels, name)
            level = Parameter(1, in: -1e38...1e38, glide: .none)
            state = RenderState(seed)
        }

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let first = state.read(context)
            let level = level.current(context)
            context.push(channels: channels)
            var top = context.top
            for channel in 0..<channels {
                var random = first &+ UInt32(channel) &* 77_777
                var samples = top[channel]
                for i in samples.indices {
                    random = random &* 1_664_525 &+ 1_013_904_223
                    samples[i] = Float(Int32(bitPattern: random)) * 0x1p-31 * level * level
                }
            }
            state.write(first &+ UInt32(context.frameCount) &* 12_345, context)
        }
    }

    /// A generator that adds others, so that a sum is made inside of a sum.
    private final class Choir: Generator {
        let voices: [Noise]
        let isAdded: Bool
        init(_ voices: [Noise], isAdded: Bool) { (self.voices, self.isAdded) = (voices, isAdded) }

        var members: [any Module] { voices }

        func process(_ context: inout RenderContext) {
            context.push(channels: 1)
            RunInTurnTests.sum(voices, isAdded, &context)
        }
    }

    /// Adds generators to the top, by `add` or one by one.
    private static func sum(_ voices: [some Module], _ isAdded: Bool, _ context: inout RenderContext) {
        if isAdded { return context.add(voices) }
        for voice in voices {
            context.run(voice)
            context.mix(2)
        }
    }

    private func makeRenderer(
        channels: Int, _ body: @escaping @Sendable (inout RenderContext) -> Void
    ) throws -> Renderer {
        try Renderer(sampleRate: 1_000, channels: channels, layout: StackLayout(slots: 4, channels: 4, frames: 64)) {
            context in
            body(&context)
            context.output()
        }
    }

    /// Renders cycles of different lengths behind the first second.
    private func rendered(_ renderer: Renderer, _ change: (Int) -> Void = { _ in }) -> [[UInt32]] {
        for _ in 0..<20 { _ = renderer.next(64) }
        var all = [[UInt32]](repeating: [], count: renderer.channelCount)
        for (number, count) in [64, 1, 7, 64, 33, 64, 2, 64, 64, 64].enumerated() {
            change(number)
            for (channel, samples) in renderer.next(count).enumerated() {
                all[channel] += samples.map(\.bitPattern)
            }
        }
        return all
    }

    @Test("A row of effects that only multiply gives the samples of the same effects one by one", arguments: 1...3)
    func row(channels: Int) throws {
        for count in 0...13 {
            let levels = (0..<count).map { [0.9, 1.25, 1, -0.7, 1.1, 0.33][$0 * 7 % 6] as Float }
            let sounds = try [true, false].map { isRow in
                let (noise, scales) = (Noise(1, channels: channels), levels.map { Scale($0) })
                let renderer = try makeRenderer(channels: channels) { context in
                    context.run(noise)
                    if isRow { context.runScaling(scales) } else { for scale in scales { context.run(scale) } }
                }
                return rendered(renderer) { cycle in
                    // One of them glides for some cycles, and stays at another value, and later at 1.
                    if count > 0 && cycle == 2 { scales[count / 2].level.value = 0.5 }
                    if count > 0 && cycle == 6 { scales[count / 2].level.value = 1 }
                }
            }
            #expect(sounds[0] == sounds[1], "\(count) in a row")
            #expect(sounds[0][0].contains { $0 != 0 })
        }
    }

    @Test(
        "A row of faders gives the samples of the same faders one by one, muted, with a balance and on the way",
        arguments: 1...2)
    func faders(channels: Int) throws {
        let sounds = try [true, false].map { isRow in
            let (noise, faders) = (Noise(1, channels: channels), (1...9).map { Fader(volume: 0.3 + Float($0) / 10) })
            let renderer = try makeRenderer(channels: 2) { context in
                context.run(noise)
                if isRow { context.run(faders) } else { for fader in faders { context.run(fader) } }
            }
            return rendered(renderer) { cycle in
                faders[2].balance.value = cycle > 3 ? -0.5 : 0
                faders[4].isMuted = cycle == 5
                faders[7].volume.value = cycle > 7 ? 0.2 : 1
            }
        }
        #expect(sounds[0] == sounds[1])
        #expect(sounds[0][0].contains { $0 != 0 })
    }

    @Test("Four at a time are taken without a call of `process`; others are called")
    func taken() throws {
        let (noise, scales) = (Noise(1), (0..<10).map { Scale(0.5 + Float($0) / 10) })
        let renderer = try makeRenderer(channels: 1) { context in
            context.run(noise)
            context.runScaling(scales)
        }
        for _ in 0..<20 { _ = renderer.next(64) }
        let before = scales.map { $0.calls.load(ordering: .relaxed) }
        for _ in 0..<5 { _ = renderer.next(64) }
        let calls = zip(scales, before).map { $0.calls.load(ordering: .relaxed) - $1 }
        // The sixth multiplies by 1, so that its four do not run as one.
        #expect(calls == [0, 0, 0, 0, 5, 5, 5, 5, 5, 5])
    }

    @Test("An effect in a row that makes an infinite sample is silent and named; those behind run", arguments: [1, 2])
    func infinite(channels: Int) async throws {
        for guilty in 0..<6 {
            let noise = Noise(1, channels: channels)
            let scales = (0..<6).map { Scale(0.5, name: "number \($0)") }
            let renderer = try makeRenderer(channels: channels) { context in
                context.run(noise)
                context.runScaling(scales)
            }
            scales[guilty].level.value = 1e38
            for _ in 0..<20 { _ = renderer.next(64) }
            #expect(renderer.faultCount == 0)
            noise.level.value = 1e3
            let faults = try await faults(of: renderer, count: 1) {
                for _ in 0..<4 { #expect(renderer.next(64).allSatisfy { $0.allSatisfy(\.isFinite) }) }
            }
            #expect(Set(faults.map(\.module)) == ["number \(guilty)"])
            scales[guilty].level.value = 0.5
            for _ in 0..<4 { _ = renderer.next(64) }
            let count = renderer.faultCount
            #expect(renderer.next(64)[0].contains { $0 != 0 })
            #expect(renderer.faultCount == count)
        }
    }

    @Test("A sum of generators has the samples of generators that are added one by one", arguments: [1, 2, 3])
    func sum(channels: Int) throws {
        for count in 0...8 {
            for odd in [nil, 1, 2, 3] as [Int?] {
                let sounds = try [true, false].map { isAdded in
                    // One of them may be wider or narrower than the sum.
                    let voices = (0..<count).map {
                        Noise(UInt32($0), channels: $0 % 4 == 2 ? odd ?? channels : channels)
                    }
                    let renderer = try makeRenderer(channels: 3) { context in
                        context.push(channels: channels)
                        Self.sum(voices, isAdded, &context)
                    }
                    return rendered(renderer)
                }
                #expect(sounds[0] == sounds[1], "\(count) generators, one of \(odd ?? channels) channels")
            }
        }
    }

    @Test("Sums inside of a sum, and in a part of a slice, are those of generators that are added one by one")
    func inside() throws {
        let sounds = try [true, false].map { isAdded in
            let choirs = (0..<5).map { choir in
                Choir((0..<4).map { Noise(UInt32(10 * choir + $0)) }, isAdded: isAdded)
            }
            let voices = (0..<5).map { Noise(UInt32(100 + $0)) }
            let renderer = try makeRenderer(channels: 1) { context in
                context.push(channels: 1)
                Self.sum(choirs, isAdded, &context)
                let half = context.frameCount / 2
                context.subBlock(offset: half, length: context.frameCount - half) { context in
                    context.push(channels: 1)
                    Self.sum(voices, isAdded, &context)
                    context.mix(2)
                }
            }
            let sound = rendered(renderer)
            #expect(renderer.faultCount == 0)
            return sound
        }
        #expect(sounds[0] == sounds[1])
    }

    @Test("A generator among others that gives an infinite sample is silent and named; the others are heard")
    func infiniteInSum() async throws {
        for guilty in 0..<6 {
            var sounds: [[[UInt32]]] = []
            for isAdded in [true, false] {
                let voices = (0..<6).map { Noise(UInt32($0), name: "number \($0)") }
                let renderer = try makeRenderer(channels: 1) { context in
                    context.push(channels: 1)
                    Self.sum(voices, isAdded, &context)
                }
                for _ in 0..<20 { _ = renderer.next(64) }
                let faults = try await faults(of: renderer, count: 1) {
                    sounds.append(rendered(renderer) { voices[guilty].level.value = $0 == 3 ? 1e38 : 1 })
                }
                #expect(faults.first?.module == "number \(guilty)")
            }
            #expect(sounds[0] == sounds[1])
        }
    }
}
