import RenderStack

/// The makers that fill each place of the pool, at first and each time that its module is dropped.
enum Makers {
    typealias Make = @Sendable (World, inout Dice) throws -> any Module

    static let all: [Make] = [
        { world, dice in
            world.census.count(
                Oscillator([.sine, .saw, .square, .triangle][dice.below(4)], frequency: 300, level: 0.1))
        },
        { world, dice in world.census.count(Noise(.pink, level: 0.1, channels: 1 + dice.below(4))) },
        { world, dice in world.census.count(LFO(LFOCore.Shape.allCases.randomElement(using: &dice)!)) },
        { world, dice in world.census.count(ModulatedOscillator(.saw, deviation: 20)) },
        { world, dice in world.census.count(Envelope()) },
        { world, dice in world.census.count(VoiceBank(count: 1 + dice.below(9))) },
        { world, dice in world.census.count(Crossfade(dice.hits(oneIn: 2) ? .linear : .equalPower)) },
        { world, dice in world.census.count(Bandpass()) },
        { world, dice in world.census.count(LowPass(cutoff: 500, resonance: 3)) },
        { world, dice in world.census.count(HighPass()) },
        { world, dice in world.census.count(Notch()) },
        { world, dice in world.census.count(AllPass()) },
        { world, dice in world.census.count(LowShelf(gain: 3)) },
        { world, dice in world.census.count(HighShelf(gain: 3)) },
        { world, dice in world.census.count(ParametricEQ(bands: 1 + dice.below(4))) },
        { world, dice in world.census.count(Delay(time: 0.01, maximumTime: 0.1, isPingPong: dice.hits(oneIn: 2))) },
        { world, dice in world.census.count(Pan()) },
        { world, dice in world.census.count(Balance()) },
        { world, dice in world.census.count(Fader()) },
        { world, dice in world.census.count(Gain()) },
        { world, dice in world.census.count(LevelMeter(mixing: dice.hits(oneIn: 2), isLazy: dice.hits(oneIn: 2))) },
        { world, dice in world.census.count(LoudnessMeter(channels: 1 + dice.below(2))) },
        { world, dice in world.census.count(SpectrumTap(size: 256)) },
        { world, dice in world.census.count(PitchTracker(range: 200...1_000)) },
        { world, dice in world.census.count(OnsetTap()) },
        { world, dice in world.census.count(BufferTap(frames: 1 + dice.below(600), channels: 2, seconds: 0.1)) },
        { world, dice in try world.census.count(FilePlayer(path: dice.pick(world.files)!)) },
        { world, dice in try world.census.count(FilePlayer(path: world.tone, readAhead: 0.25)) },
        { world, dice in world.census.count(BufferPlayer()) },
        { world, dice in world.census.count(StreamPlayer(ahead: Double(dice.number()))) },
        { world, dice in world.census.count(SamplePlayer(voices: 4)) },
        { world, dice in
            try world.census.count(
                FileRecorder(path: "\(world.folder.path)/take-\(dice.below(8)).wav", ringSeconds: 0.25))
        },
        { world, dice in world.census.count(ModuleList(mixing: 2)) },
        { world, dice in world.census.count(ModuleList(chaining: [])) },
        { world, dice in world.census.count(Mixer()) },
        { world, dice in try world.census.count(Splitter(Oscillator(frequency: 200, level: 0.1))) },
        { world, dice in
            world.census.count(Splitter(sharing: try world.module(Splitter.self, &dice) ?? Splitter(Noise())))
        },
        { world, dice in world.census.count(Bus()) },
        { world, dice in world.census.count((world.module(Bus.self, &dice) ?? Bus()).send(0.5)) },
        { world, dice in world.census.count(Varispeed(try innermost(world, &dice))) },
        { world, dice in
            world.census.count(
                RateConverter(try innermost(world, &dice), sampleRate: 8_000 + Double(dice.below(88_000))))
        },
        { world, dice in
            world.census.count(
                Parallel([try innermost(world, &dice), try innermost(world, &dice)], workers: 1, priority: 0))
        },
        { world, dice in world.census.count(SubRenderer(try innermost(world, &dice))) },
        { world, dice in
            let token = world.census.count(Kitchen.Token()), seed = dice.next()
            return world.census.count(
                Kitchen(world.module(Kitchen.self, &dice), token) { [weak world] in
                    var dice = Dice(seed: seed)
                    if let world, dice.hits(oneIn: 3) { Calls.quick(world, &dice) }
                })
        },
        { world, dice in
            let seed = dice.next()
            return world.census.count(
                Preparing { [weak world] _ in
                    var dice = Dice(seed: seed)
                    if let world { Calls.quick(world, &dice) }
                })
        },
        { world, dice in
            let steps = Step.random(world, &dice, count: 3).filter(\.isLeaf)
            return world.census.count(
                ClosureModule(StackEffect(pops: dice.below(2), pushes: dice.below(3))) { context in
                    for step in steps { step.take(&context) }
                })
        },
    ]

    /// A renderer that holds no other: what is inside of others never holds them.
    static func innermost(_ world: World, _ dice: inout Dice) throws -> Renderer {
        let tone = world.census.count(Oscillator(frequency: 200, level: 0.1))
        return world.census.count(
            try Renderer(channels: 1 + dice.below(2)) { context in
                context.run(tone)
                context.output()
            })
    }
}

extension Step {
    /// Runs no module: a module that holds itself would never be freed.
    var isLeaf: Bool {
        switch self {
        case .run, .reset, .subBlock, .external: false
        default: true
        }
    }
}

/// Random values, of all that a module lets one change.
enum Knobs {
    static func turn(_ module: any Module, _ dice: inout Dice) {
        switch module {
        case let module as Oscillator:
            set(module.frequency, &dice)
            set(module.level, &dice)
            set(module.phase, &dice)
            set(module.width, &dice)
        case let module as Noise: set(module.level, &dice)
        case let module as LFO:
            set(module.rate, &dice)
            set(module.depth, &dice)
            set(module.phase, &dice)
            _ = module.period
        case let module as ModulatedOscillator:
            set(module.frequency, &dice)
            set(module.deviation, &dice)
            set(module.level, &dice)
            set(module.width, &dice)
        case let module as Envelope:
            set(module.attack, &dice)
            set(module.decay, &dice)
            set(module.sustain, &dice)
            set(module.release, &dice)
            module.open(at: dice.time())
            module.close(at: dice.time())
        case let module as VoiceBank:
            set(module.level, &dice)
            let index = dice.below(module.count)
            module[index] = VoiceBank.Voice(
                frequency: dice.number(), level: dice.number(), pan: dice.number(), center: dice.number(),
                octaves: dice.number())
        case let module as Crossfade: set(module.position, &dice)
        case let module as Bandpass:
            set(module.center, &dice)
            set(module.octaves, &dice)
            set(module.mix, &dice)
        case let module as LowPass:
            set(module.cutoff, &dice)
            set(module.resonance, &dice)
        case let module as HighPass:
            set(module.cutoff, &dice)
            set(module.resonance, &dice)
        case let module as Notch:
            set(module.center, &dice)
            set(module.octaves, &dice)
        case let module as AllPass:
            set(module.frequency, &dice)
            set(module.q, &dice)
        case let module as LowShelf:
            set(module.cutoff, &dice)
            set(module.gain, &dice)
        case let module as HighShelf:
            set(module.cutoff, &dice)
            set(module.gain, &dice)
        case let module as ParametricEQ:
            let band = dice.below(module.bands.count)
            set(module.bands[band].center, &dice)
            set(module.bands[band].q, &dice)
            set(module.bands[band].gain, &dice)
            set(module.gain, &dice)
            module.bands[band].shape = FilterShape.allCases[dice.below(FilterShape.allCases.count)]
            module.bands[band].bypass.isOn = dice.below(2) == 0
        case let module as Delay:
            set(module.time, &dice)
            set(module.feedback, &dice)
            set(module.cutoff, &dice)
            set(module.mix, &dice)
        case let module as Pan: set(module.position, &dice)
        case let module as Balance: set(module.position, &dice)
        case let module as Fader:
            set(module.volume, &dice)
            module.decibels = dice.number()
            module.position = dice.number()
            module.isMuted = dice.hits(oneIn: 2)
        case let module as Gain: set(module.level, &dice)
        case let module as BusSend: set(module.level, &dice)
        case let module as Varispeed:
            set(module.speed, &dice)
            module.cents = dice.number()
        default: break
        }
    }

    private static func set(_ parameter: borrowing Parameter, _ dice: inout Dice) { parameter.value = dice.number() }
}
