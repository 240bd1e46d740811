import RenderStack
import RenderStackTesting
import TestSupport
import Testing

/// Renders an environment.
func renderer(_ environment: Environment, sampleRate: Double = 48_000) throws -> Renderer {
    try Renderer(
        sampleRate: sampleRate, channels: environment.layout.channels,
        layout: StackLayout(slots: 16, channels: 9, frames: 512)
    ) { context in
        context.run(environment)
        context.output()
    }
}

/// The level of a source of ones in each channel, after it has come to rest.
private func levels(
    _ layout: SpatialLayout, _ rendering: SpatialRendering = .equalPower, at position: SpatialPoint,
    _ edit: (SpatialSource, Environment) -> Void = { _, _ in }
) throws -> [Float] {
    let environment = Environment(layout)
    let source = SpatialSource(Constant(1), rendering: rendering, position: position)
    source.doppler.value = 0
    edit(source, environment)
    environment.append(source, fadesIn: false)
    return render(try renderer(environment), frames: 4_800).map { $0[4_799] }
}

@Suite struct EnvironmentTests {
    @Test("In stereo the sine of the direction pans with constant power")
    func stereo() throws {
        for degrees in stride(from: -180.0, through: 180, by: 30) {
            let angle = degrees * .pi / 180
            let side = RenderMath.sin(angle)
            let found = try levels(.stereo, at: SpatialPoint(Float(side), 0, Float(-RenderMath.cos(angle))))
            let turn = (side + 1) * .pi / 4
            #expect(abs(Double(found[0]) - RenderMath.cos(turn)) < 1e-5, "\(degrees)")
            #expect(abs(Double(found[1]) - RenderMath.sin(turn)) < 1e-5, "\(degrees)")
        }
    }

    @Test(
        "In a ring the nearest two loudspeakers sound, with a power of 1",
        arguments: [
            SpatialLayout.quad, .surround51, .surround71,
        ])
    func ring(layout: SpatialLayout) throws {
        for degrees in stride(from: -180.0, to: 180, by: 15) {
            let angle = degrees * .pi / 180
            let found = try levels(
                layout, at: SpatialPoint(Float(RenderMath.sin(angle)), 0, Float(-RenderMath.cos(angle))))
            let power = found.reduce(Float(0)) { $0 + $1 * $1 }
            #expect(abs(power - 1) < 1e-4, "\(degrees): \(found)")
            #expect(found.count { $0 > 0.01 } <= 2, "\(degrees): \(found)")
        }
        // Straight at a loudspeaker that one alone sounds; above, all of them alike.
        let first = layout == .quad ? 45.0 : 30.0
        let angle = first * .pi / 180
        let right = try levels(
            layout, at: SpatialPoint(Float(RenderMath.sin(angle)), 0, Float(-RenderMath.cos(angle))))
        #expect(abs(right[1] - 1) < 1e-4)
        let above = try levels(layout, at: SpatialPoint(0, 1, 0)).filter { $0 > 0 }
        let share: Float = 1 / Float(above.count)
        #expect(above.count == (layout == .quad ? 4 : layout == .surround51 ? 5 : 7))
        #expect(above.allSatisfy { abs($0 * $0 - share) < 1e-4 })
    }

    @Test("Ambisonics has the direction's cosines in W, Y, Z and X")
    func ambisonics() throws {
        let found = try levels(.ambisonics, at: SpatialPoint(0.6, 0.48, -0.64))
        let expected: [Float] = [1, -0.6, 0.48, 0.64]
        #expect(largestDifference(found, expected) < 1e-5)
    }

    @Test("Distances are heard as OpenAL's formulas say") func distances() throws {
        for distance: Float in [0.5, 1, 2, 7, 30, 200] {
            for model in DistanceModel.allCases {
                let found = try levels(.ambisonics, at: SpatialPoint(0, 0, -distance)) { source, _ in
                    source.distanceModel = model
                    source.minimumDistance.value = 2
                    source.maximumDistance.value = 50
                    source.rollOff.value = 0.7
                }
                let held = min(max(distance, 2), 50)
                let expected: Float =
                    switch model {
                    case .inverse: 2 / (2 + 0.7 * (held - 2))
                    case .linear: 1 - 0.7 * (held - 2) / 48
                    case .exponential: RenderMath.pow(held / 2, -0.7)
                    case .none: 1
                    }
                #expect(abs(found[0] - expected) < 1e-4, "\(model), \(distance) m: \(found[0])")
            }
        }
    }

    @Test("A cone, obstruction and occlusion take what they say") func cone() throws {
        let beside = try levels(.ambisonics, at: SpatialPoint(0, 0, -1)) { source, _ in
            // It looks to the right: the listener is at a right angle.
            source.yaw.value = 90
            (source.coneInner.value, source.coneOuter.value, source.coneLevel.value) = (90, 270, 0.2)
        }
        #expect(abs(beside[0] - 0.6) < 1e-3)
        let away = try levels(.ambisonics, at: SpatialPoint(0, 0, -1)) { source, _ in
            (source.coneInner.value, source.coneOuter.value, source.coneLevel.value) = (60, 90, 0.25)
        }
        #expect(abs(away[0] - 0.25) < 1e-3)
        let hidden = try levels(.ambisonics, at: SpatialPoint(0, 0, -1)) { source, _ in
            (source.obstruction.value, source.occlusion.value) = (-12, -6)
        }
        #expect(abs(hidden[0] - RenderMath.amplitude(decibels: -6)) < 1e-3)
    }

    @Test("Obstruction and air make the sound duller by so much at 5 kHz") func dull() throws {
        for (obstruction, air, metres): (Float, Float, Float) in [(-18, 0, 1), (0, 2, 100), (0, 0, 1)] {
            let environment = Environment(.ambisonics)
            let source = SpatialSource(Oscillator(frequency: 5_000, level: 0.5), position: SpatialPoint(0, 0, -metres))
            (source.obstruction.value, source.airAbsorption.value, source.doppler.value) = (obstruction, air, 0)
            source.distanceModel = .none
            environment.append(source, fadesIn: false)
            let sound = render(try renderer(environment), frames: 9_600)[0]
            let fit = SineFit(sound[4_800...], frequency: 5_000 / 48_000.0, from: 4_800)
            let expected = Double(obstruction - air * metres * 0.05)
            #expect(abs(fit.gain(over: 0.5) - expected) < 0.05, "\(obstruction), \(air): \(fit.gain(over: 0.5))")
        }
    }

    @Test("Sound that passes through is as it was, bit for bit, 8 frames later") func passThrough() throws {
        let noise: [[Float]] = (0..<2).map { channel in
            (0..<2_000).map { (frame: Int) -> Float in
                let number = (frame * 7_919 + channel * 13) % 1_001
                return Float(number) / 1_001 - 0.5
            }
        }
        for channels in 1...2 {
            let environment = Environment()
            let source = SpatialSource(
                Playback(Array(noise.prefix(channels))), rendering: .passThrough, position: SpatialPoint(50, 0, 3))
            environment.append(source, fadesIn: false)
            let sound = render(try renderer(environment), frames: 2_000, cycles: [3, 500, 1, 64, 17])
            for channel in 0..<2 {
                let input = noise[channels == 1 ? 0 : channel]
                #expect(Array(sound[channel][8...]) == Array(input[..<1_992]), "\(channels), \(channel)")
            }
        }
    }

    @Test("The pitch of a source that moves is Doppler's, within half a cent", arguments: [-60.0, -5, 0, 10, 40, 100])
    func doppler(speed: Double) throws {
        let environment = Environment(.ambisonics)
        let source = SpatialSource(
            Oscillator(frequency: 1_000, level: 0.5), position: SpatialPoint(0, 0, speed > 0 ? -120 : -5), range: 200)
        source.velocity = SpatialPoint(0, 0, Float(speed))
        source.distanceModel = .none
        environment.append(source, fadesIn: false)
        let sound = render(try renderer(environment), frames: 60_000)[0]
        let expected = 1_000 * 343 / (343 - speed)
        // The phase moves on by the difference to what is expected.
        let first = SineFit(sound[30_000..<34_000], frequency: expected / 48_000, from: 30_000)
        let second = SineFit(sound[40_000..<44_000], frequency: expected / 48_000, from: 40_000)
        let turns = second.turns - first.turns
        let found = expected + (turns - turns.rounded()) / (10_000 / 48_000.0)
        let cents = 1_200 * RenderMath.log2(found / expected)
        #expect(abs(cents) < 0.5, "\(speed) m/s: \(found) Hz, \(cents) cents")
        #expect(first.signalToNoise > 60, "\(speed) m/s: \(first.signalToNoise) dB")
    }

    /// A scene in which everything moves.
    private static func scene(_ lengths: [Int], _ layout: SpatialLayout) throws -> [[Float]] {
        let room = Reverb(.smallRoom, mix: 1)
        let environment = Environment(layout, hrtf: layout == .stereo ? try sparseKemar.get() : nil, reverb: room)
        let renderings: [SpatialRendering] = [.equalPower, .sphericalHead, .hrtf(taps: 64), .passThrough]
        let sources = renderings.enumerated().map { index, rendering in
            let source = SpatialSource(
                Noise(seed: UInt64(index + 1)), rendering: rendering, position: SpatialPoint(Float(index), 0, -2))
            source.velocity = SpatialPoint(-3, 1, 2)
            source.send.value = 0.3
            source.airAbsorption.value = 1
            environment.append(source, fadesIn: false)
            return source
        }
        let renderer = try renderer(environment, sampleRate: 44_100)
        try renderer.transaction(at: .sample(1_001)) {
            sources[0].position = SpatialPoint(5, 0, 80)
            sources[1].position = SpatialPoint(-1, 0, 0.5)
            sources[2].rendering = .hrtf(taps: 128)
            environment.listener.yaw.value = 170
        }
        try renderer.transaction(at: .sample(2_500)) {
            sources[1].rendering = .equalPower
            sources[2].rendering = .passThrough
            sources[3].rendering = .sphericalHead
            sources[0].obstruction.value = -30
        }
        return render(renderer, frames: 4_500, cycles: lengths)
    }

    private static let expected = Result {
        try Dictionary(
            uniqueKeysWithValues: [SpatialLayout.stereo, .surround51, .ambisonics].map { ($0, try scene([333], $0)) })
    }

    @Test("The lengths of the cycles make no difference, bit for bit", arguments: cycleLengths)
    func cycles(lengths: [Int]) throws {
        for layout in [SpatialLayout.stereo, .surround51, .ambisonics] {
            let expected = try #require(try Self.expected.get()[layout])
            #expect(try Self.scene(lengths, layout) == expected, "\(layout)")
        }
    }

    @Test(
        "No place, motion or turn makes a sample that is no number, or a loud one",
        arguments: [
            SpatialRendering.equalPower, .sphericalHead, .hrtf(taps: 32), .passThrough,
        ])
    func hostile(rendering: SpatialRendering) throws {
        let numbers: [Float] = [0, 1e-30, -1e-3, 0.1, 1, -30, 1e6, -1e6, .infinity, -.infinity, .nan]
        for layout in [SpatialLayout.stereo, .surround71] {
            let environment = Environment(layout, hrtf: layout == .stereo ? try sparseKemar.get() : nil)
            let source = SpatialSource(Noise(level: 0.5), rendering: rendering)
            environment.append(source)
            let renderer = try renderer(environment)
            var random = SplitMix(state: 7)
            func pick() -> Float { numbers[Int(random.next() % UInt64(numbers.count))] }
            for _ in 0..<300 {
                source.position = SpatialPoint(pick(), pick(), pick())
                source.velocity = SpatialPoint(pick(), pick(), pick())
                environment.listener.position = SpatialPoint(pick(), pick(), pick())
                environment.listener.look(
                    SpatialPoint(pick(), pick(), pick()), up: SpatialPoint(pick(), pick(), pick()))
                environment.speedOfSound.value = pick()
                source.doppler.value = pick()
                (source.minimumDistance.value, source.maximumDistance.value) = (pick(), pick())
                (source.coneInner.value, source.coneOuter.value) = (pick(), pick())
                (source.airAbsorption.value, source.rollOff.value) = (pick(), pick())
                source.distanceModel = DistanceModel.allCases[Int(random.next() % 4)]
                let sound = render(renderer, frames: 200, cycles: [200])
                let isGood = sound.allSatisfy { $0.allSatisfy { abs($0) < 8 } }
                #expect(isGood)
            }
            #expect(renderer.faultCount == 0)
        }
    }

    @Test("It keeps the contract of a module")
    func contract() {
        let contract = ModuleContract(channels: 2) { () -> Environment in
            let environment = Environment()
            environment.append(SpatialSource(Noise(), position: SpatialPoint(1, 0, -2)), fadesIn: false)
            return environment
        }
        .leavingOut(.parameters, because: "one is heard only if others let it: each has a test of its own")
        #expect(contract.violations() == [])
    }

    @Test("Sources come and go while it plays, and a source keeps its settings in another environment")
    func comingAndGoing() throws {
        let (one, two) = (Environment(), Environment(.quad))
        let source = SpatialSource(Constant(1), position: SpatialPoint(1, 0, 0))
        let renderer = try Renderer(sampleRate: 48_000, channels: 4) { context in
            context.run(one)
            context.run(two)
            context.mix(2)
            context.output()
        }
        one.append(source)
        _ = render(renderer, frames: 4_800)
        #expect(source.environment === one && one.sources.count == 1)
        #expect(abs(render(renderer, frames: 480)[1][479] - 1) < 1e-4)
        two.append(source)
        _ = render(renderer, frames: 4_800)
        #expect(source.environment === two && one.sources.isEmpty && two.sources.count == 1)
        let found = render(renderer, frames: 480).map { $0[479] }
        #expect(abs(found[1] - 0.707_1) < 1e-3 && abs(found[3] - 0.707_1) < 1e-3 && abs(found[0]) < 1e-6)
        two.remove(source)
        _ = render(renderer, frames: 4_800)
        #expect(render(renderer, frames: 480).allSatisfy { $0.allSatisfy { $0 == 0 } })
        #expect(renderer.faultCount == 0)
    }

    @Test("The send is heard through the reverb, with occlusion and without obstruction") func send() throws {
        for (occlusion, obstruction, expected): (Float, Float, Float) in [
            (0, 0, 0.5), (0, -60, 0.5), (-30, 0, 0.158_1),
        ] {
            // A gain in the place of a reverb: what is sent can be told.
            func heard(_ environment: Environment) throws -> Float {
                let source = SpatialSource(Constant(1), position: SpatialPoint(0, 0, -1))
                (source.send.value, source.occlusion.value, source.obstruction.value) = (0.5, occlusion, obstruction)
                environment.append(source, fadesIn: false)
                return render(try renderer(environment), frames: 4_800)[0][4_799]
            }
            let (all, dry) = (try heard(Environment(reverb: Gain(1))), try heard(Environment()))
            #expect(abs(all - dry - expected) < 1e-3, "\(occlusion), \(obstruction): \(all) \(dry)")
        }
    }

    @Test("A filter behind the reverb changes what comes out of that, and nothing else") func filterBehindReverb()
        throws
    {
        for (frequency, expected): (Float, Float) in [(100, 0), (10_000, -12)] {
            func heard(_ reverb: (any Module)?) throws -> [Float] {
                let environment = Environment(reverb: reverb)
                let source = SpatialSource(
                    Oscillator(frequency: frequency, level: 0.5), position: SpatialPoint(0, 0, -1))
                source.send.value = 0.5
                environment.append(source, fadesIn: false)
                return Array(render(try renderer(environment), frames: 9_600)[0][4_800...])
            }
            let dry = try heard(nil)
            func wet(_ reverb: any Module) throws -> Float {
                RenderMath.decibels(amplitude: zip(try heard(reverb), dry).map { abs($0 - $1) }.max() ?? 0)
            }
            // A gain in the place of a reverb, whose level can be told.
            let plain = try wet(Gain(1))
            let filter = ParametricEQ([.highShelf(1_000, decibels: -12)])
            let filtered = try wet(ModuleList(chaining: [Gain(1), filter]))
            #expect(abs(filtered - plain - expected) < 0.15, "\(frequency) Hz: \(filtered - plain) dB")
        }
    }

    @Test("The pan of a source's strip does nothing, and its volume works") func strip() throws {
        for (layout, reverb) in [(SpatialLayout.stereo, nil), (.stereo, Gain(0)), (.quad, nil)]
            as [(SpatialLayout, Gain?)]
        {
            func heard(pan: Float, glides: Bool) throws -> [Float] {
                let environment = Environment(layout, reverb: reverb)
                let source = SpatialSource(Constant(1), position: SpatialPoint(0, 0, -1))
                source.strip.pan.value = glides ? 0 : pan
                source.strip.volume.value = 0.5
                environment.append(source, fadesIn: false)
                let renderer = try renderer(environment)
                _ = render(renderer, frames: 4_800)
                source.strip.pan.value = pan
                return render(renderer, frames: 100).map { $0[60] }
            }
            let middle = try heard(pan: 0, glides: false)
            #expect(abs(middle[0] - 0.5 * 0.707_106_8) < 1e-5 && abs(middle[0] - middle[1]) < 1e-6)
            #expect(try heard(pan: 1, glides: false) == middle && heard(pan: -1, glides: true) == middle)
        }
    }

    @Test("A stack that has too few buffers is found before it plays") func fewBuffers() throws {
        for reverb in [nil, Gain(1)] {
            var first = 0
            for slots in 1...6 {
                let environment = Environment(reverb: reverb)
                environment.append(SpatialSource(Noise(), position: SpatialPoint(0, 0, -1)))
                let made = try? Renderer(
                    sampleRate: 48_000, channels: 2, layout: StackLayout(slots: slots, channels: 9, frames: 512)
                ) { context in
                    context.run(environment)
                    context.output()
                }
                guard let made else { continue }
                if first == 0 { first = slots }
                #expect(render(made, frames: 4_800)[0][4_799] != 0 && made.faultCount == 0, "\(slots) slots")
            }
            #expect(first == (reverb == nil ? 3 : 4))
        }
    }

    @Test("A relative source goes with the listener, and one that is turned by a direction has its angles")
    func relative()
        throws
    {
        let found = try levels(.ambisonics, at: SpatialPoint(0.6, 0.48, -0.64)) { source, environment in
            source.isRelative = true
            environment.listener.position = SpatialPoint(200, -3, 7)
            environment.listener.velocity = SpatialPoint(0, 0, 20)
            environment.listener.yaw.value = 133
        }
        #expect(largestDifference(found, [1, -0.6, 0.48, 0.64]) < 1e-5)
        let source = SpatialSource(Constant(1))
        let directions: [(SpatialPoint, Float, Float)] = [
            (SpatialPoint(3, 0, 0), 90, 0), (SpatialPoint(0, 0, 2), 180, 0), (SpatialPoint(0, 5, 0), 0, 90),
            (SpatialPoint(0, -5, 0), 0, -90), (SpatialPoint(-1, 0, -1), -45, 0),
        ]
        for (direction, yaw, pitch) in directions {
            source.look(direction)
            #expect(
                abs(abs(source.yaw.value) - abs(yaw)) < 1e-3 && abs(source.pitch.value - pitch) < 1e-3, "\(direction)")
            #expect(yaw == 180 || abs(source.yaw.value - yaw) < 1e-3, "\(direction)")
        }
        source.look(SpatialPoint())
        source.look(SpatialPoint(.nan, 1, 0))
        #expect(abs(source.yaw.value + 45) < 1e-3)
    }
}
