import Testing

@testable import RenderStackLive

/// The things that go on from one version of a loop file to the next.
@Suite struct KeeperTests {
    private let keeper = Keeper(followsFile: false)

    private func load(_ keeper: Keeper, _ version: (Live) -> Void) -> Keeper.News {
        let live = Live(keeper, fade: .zero, ringOut: .zero, sampleRate: 48_000, isTrial: false)
        version(live)
        return keeper.commit(live)
    }

    @Test func aModuleGoesOnUnderItsName() {
        var (first, second): (Oscillator?, Oscillator?)
        _ = load(keeper) { first = $0.keep("tone") { Oscillator(frequency: 100) } }
        let news = load(keeper) { second = $0.keep("tone") { Oscillator(frequency: 200) } }
        #expect(first === second)
        #expect(second?.frequency.value == 200)
        #expect(news.goesOn == ["tone"] && news.new.isEmpty && news.gone.isEmpty)
    }

    @Test func anotherMakeIsANewModule() {
        var (first, second): (Oscillator?, Oscillator?)
        _ = load(keeper) { first = $0.keep("tone") { Oscillator(.saw) } }
        let news = load(keeper) { second = $0.keep("tone") { Oscillator(.square) } }
        #expect(first !== second)
        #expect(news.new == ["tone"])
        let other = load(keeper) { _ = $0.keep("tone") { Noise() } }
        #expect(other.new == ["tone"])
        #expect(load(keeper) { _ in }.gone == ["tone"])
    }

    @Test(arguments: [false, true]) func aValueTurnedByHand(followsFile: Bool) {
        let keeper = Keeper(followsFile: followsFile)
        var tone: Oscillator?
        func save(_ frequency: Float) {
            _ = load(keeper) { tone = $0.keep("tone") { Oscillator(frequency: frequency) } }
        }
        save(100)
        tone?.frequency.value = 150
        keeper.note("tone.frequency", turnedTo: 150)
        save(100)
        #expect(tone?.frequency.value == (followsFile ? 100 : 150))
        save(300)
        #expect(tone?.frequency.value == 300)
        #expect(followsFile || keeper.turned.isEmpty)
    }

    @Test func aNewModuleKeepsWhatWasTurned() {
        keeper.note("Gain.level", turnedTo: 0.25)
        let gain = Gain(1)
        let live = Live(keeper, fade: .zero, ringOut: .zero, sampleRate: 48_000, isTrial: false)
        keeper.restoreTurned([gain], in: live)
        #expect(gain.level.value == 0.25)
    }

    @Test func aValueIsMadeOnce() {
        var count = 0
        for _ in 0..<3 {
            _ = load(keeper) { live in
                _ = live.once("sound") { () -> [Float] in
                    count += 1
                    return [1, 2]
                }
            }
        }
        #expect(count == 1)
    }

    @Test func aKnobOfTheFile() {
        _ = load(keeper) { _ = $0.parameter("drive", 2, in: 0...10) }
        keeper.parameters(of: [])["drive"]?.value = 5
        _ = load(keeper) { live in #expect(live.parameter("drive", 2, in: 0...10).value == 5) }
        _ = load(keeper) { live in #expect(live.parameter("drive", 3, in: 0...10).value == 3) }
        _ = load(keeper) { live in #expect(live.parameter("drive", 3, in: 0...20).value == 3) }
    }

    @Test func aNameThatIsTakenTwiceIsTold() {
        let news = load(keeper) { live in
            let one = live.keep("tone") { Oscillator() }
            let two = live.keep("tone") { Oscillator() }
            #expect(one !== two)
        }
        #expect(news.doubled == ["tone"])
    }

    @Test func namesOfParameters() {
        var modules: [any Module] = []
        _ = load(keeper) { live in modules = [live.keep("tone") { Oscillator() }, Gain(), Gain()] }
        let names = keeper.parameters(of: modules).map(\.name)
        #expect(names.contains("tone.frequency") && names.contains("Gain.level") && names.contains("Gain 2.level"))
    }

    @Test func theEndOfTheMappingsIsToldBefore() {
        #expect(Mappings(count: 50_000, limit: 65_530).warning == nil)
        #expect(Mappings(count: 53_000, limit: 65_530).warning?.contains("53000 pieces") == true)
    }

    /// Two modules that are made alike are alike; else no module could go on.
    @Test func shapesOfModulesThatAreMadeAlike() throws {
        let make: [() throws -> any Module] = [
            { Oscillator() }, { Noise(.pink) }, { LFO() }, { ModulatedOscillator() }, { Envelope() },
            { VoiceBank(count: 4) },
            { LowPass() }, { HighPass() }, { Bandpass() }, { Notch() }, { Delay() }, { Gain() }, { Pan() },
            { Reverb() }, { Compressor() }, { Limiter() }, { MultibandCompressor() }, { Gate() }, { Expander() },
            { MultibandCompressor() },
            { Distortion() }, { Chorus() }, { Flanger() }, { Phaser() }, { Tremolo() }, { Vibrato() }, { AutoPan() },
            { RingModulator() }, { PitchShift() }, { Crossfade() }, { Mixer() }, { LevelMeter() }, { LoudnessMeter() },
            { SamplePlayer() }, { PitchTracker() }, { OnsetTap() }, { Environment() },
        ]
        for make in make {
            let (one, two) = (try make(), try make())
            #expect(ModuleShape(one) == ModuleShape(two), "\(one.name)")
        }
    }
}
