import Foundation
import RenderStack

/// The public calls that the random program makes.
enum Calls {
    typealias Call = @Sendable (World, inout Dice) throws -> Void

    /// One that is over soon, as code does it that runs in a completion or in `prepare`.
    static func quick(_ world: World, _ dice: inout Dice) {
        try? quickOnes[dice.below(quickOnes.count)].call(world, &dice)
    }

    /// One of all; tells its name before.
    static func any(_ world: World, _ dice: inout Dice, tell: (String) -> Void) {
        let index = dice.below(quickOnes.count + slowOnes.count)
        let one = index < quickOnes.count ? quickOnes[index] : slowOnes[index - quickOnes.count]
        tell(one.name)
        try? one.call(world, &dice)
    }

    private struct Thrown: Error {}

    /// A completion that calls back, now and then.
    private static func completion(_ world: World, _ dice: inout Dice) -> @Sendable () -> Void {
        let seed = dice.next()
        return { [weak world] in
            var dice = Dice(seed: seed)
            if let world, dice.hits(oneIn: 4) { Calls.quick(world, &dice) }
        }
    }

    private static func loop(_ world: World, _ dice: inout Dice, outermost: Bool) -> RenderLoop {
        var steps = Step.random(world, &dice, count: 1 + dice.below(10))
        if outermost { steps += world.joints.now.filter { _ in dice.hits(oneIn: 2) }.map { .run($0) } }
        steps += [.mixAll, .output(1)]
        let made = steps
        return { context in for step in made { step.take(&context) } }
    }

    // MARK: Quick

    static let quickOnes: [(name: String, call: Call)] = [
        streams,
        (
            "replaceLoop",
            { world, dice in
                let index = dice.below(3)
                let loop = loop(world, &dice, outermost: index == 0)
                try world.renderer(index).replaceLoop(loop)
            }
        ),
        (
            "replaceLoop",
            { world, dice in
                let index = dice.below(3)
                let loop = loop(world, &dice, outermost: index == 0)
                try world.renderer(index).replaceLoop(loop)
            }
        ),
        ("removeLoop", { world, dice in if dice.hits(oneIn: 4) { world.renderer(&dice).removeLoop() } }),
        (
            "configure",
            { world, dice in
                var layout = StackLayout()
                layout.slots = dice.below(40) - 1
                layout.channels = dice.below(12) - 1
                layout.frames = dice.below(600) - 1
                world.renderer(&dice).configure(
                    sampleRate: dice.hits(oneIn: 2) ? 1 + Double(dice.below(200_000)) : 48_000,
                    channels: dice.hits(oneIn: 3) ? 1 + dice.below(10) : nil, layout: dice.hits(oneIn: 2) ? layout : nil
                )
            }
        ),
        (
            "ask a renderer",
            { world, dice in
                let renderer = world.renderer(&dice)
                _ = (renderer.sampleRate, renderer.latency, renderer.modules.count, renderer.moduleTimes.count)
                _ = (renderer.description, renderer.lastRenderTime, renderer.nextRenderTime, renderer.faultCount)
            }
        ),
        (
            "transaction",
            { world, dice in
                let first = world.module(&dice), second = world.module(&dice)
                let throwing = dice.hits(oneIn: 3), nested = dice.hits(oneIn: 3)
                let (outer, inner) = (world.renderer(&dice), world.renderer(&dice))
                let player = world.module(FilePlayer.self, &dice)
                try outer.transaction(whenApplied: completion(world, &dice)) {
                    Knobs.turn(first, &dice)
                    if nested { inner.transaction { Knobs.turn(second, &dice) } }
                    player?.play()
                    if throwing { throw Thrown() }
                }
            }
        ),
        (
            "quick calls in a transaction",
            { world, dice in
                world.renderer(&dice).transaction { for _ in 0..<3 { Calls.quick(world, &dice) } }
            }
        ),
        (
            "transaction(at:)",
            { world, dice in
                let module = world.module(&dice), throwing = dice.hits(oneIn: 5)
                world.keep(
                    try world.renderer(&dice).transaction(at: dice.time()) {
                        Knobs.turn(module, &dice)
                        if throwing { throw Thrown() }
                    })
            }
        ),
        (
            "schedule",
            { world, dice in
                let module = world.module(&dice)
                world.keep(
                    try world.renderer(&dice).schedule(at: dice.time()) { context in
                        context.reset(module)
                        context.push()
                    })
            }
        ),
        (
            "messages.send",
            { world, dice in
                let steps = Step.random(world, &dice, count: 3)
                try world.renderer(&dice).messages.send(
                    { context in for step in steps { step.take(&context) } }, completion: completion(world, &dice))
            }
        ),
        (
            "perform",
            { world, dice in
                let messages = world.renderer(&dice).messages
                world.keep(Task { try? await messages.perform { context in context.push() } })
            }
        ),
        ("knobs", { world, dice in Knobs.turn(world.module(&dice), &dice) }),
        ("knobs", { world, dice in for _ in 0..<5 { Knobs.turn(world.module(&dice), &dice) } }),
        (
            "ModuleList",
            { world, dice in
                guard let list = world.module(ModuleList.self, &dice) else { return }
                let generator = world.census.count(Oscillator(level: 0.1)), filter = world.census.count(LowPass())
                switch dice.below(6) {
                case 0: list.removeAll()
                case 1: list.update({ $0 = [] }, whenOldIsReleased: completion(world, &dice))
                case 2:
                    list.update { modules in
                        list.append(list.stackEffect.pops == 0 ? generator : filter)
                        if dice.hits(oneIn: 2) { modules.removeAll() }
                    }
                case 3: if let first = list[0] { list.remove(first) }
                case 4:
                    if let first = list[0] {
                        list.replace(first, with: list.stackEffect.pops == 0 ? generator : filter)
                    }
                default: list.append(list.stackEffect.pops == 0 ? generator : filter)
                }
            }
        ),
        (
            "Mixer",
            { world, dice in
                guard let mixer = world.module(Mixer.self, &dice) else { return }
                switch dice.below(6) {
                case 0: mixer.removeAll()
                case 1: if let source = dice.pick(mixer.sources) { mixer.remove(source) }
                case 2:
                    guard let source = dice.pick(mixer.sources) else { return }
                    source.volume.value = dice.number()
                    source.pan.value = dice.number()
                    source.isMuted = dice.hits(oneIn: 2)
                    source.isSolo = dice.hits(oneIn: 2)
                case 3:
                    let new = MixerSource(world.census.count(Noise(level: 0.1)))
                    if let source = dice.pick(mixer.sources) { mixer.replace(source, with: new) }
                case 4: mixer.insert(MixerSource(world.census.count(LFO())), at: [.min, -1, 0, 3, .max][dice.below(5)])
                default:
                    if mixer.sources.count < 12 {
                        mixer.append(world.census.count(Oscillator(level: 0.1)), fadesIn: dice.hits(oneIn: 2))
                    }
                }
            }
        ),
        (
            "Kitchen",
            { world, dice in
                guard let kitchen = world.module(Kitchen.self, &dice) else { return }
                let token = world.census.count(Kitchen.Token())
                kitchen.payload.set(
                    Kitchen.Payload(token: token, number: dice.below(10)), whenOldIsFreed: completion(world, &dice))
                kitchen.array.update(
                    (0..<dice.below(10)).map { $0 * 3 % 7 }.uniqued(), whenOldIsReleased: completion(world, &dice)
                ) { key, index in key + index }
                kitchen.array.replace(3, with: 4)
                _ = kitchen.commands.send(dice.below(5), at: dice.time())
                kitchen.port.drain { _ in }
                kitchen.level.value = dice.number()
                var block = AudioBlock(channels: 2, frames: 100)
                kitchen.ring.read(into: &block)
                if dice.hits(oneIn: 9) { kitchen.ring.clear() }
                _ = kitchen.payload.value.number
            }
        ),
        (
            "FilePlayer",
            { world, dice in
                guard let player = world.module(FilePlayer.self, &dice) else { return }
                let frame = Int64(dice.below(20_000)) - 1_000
                switch dice.below(14) {
                case 12: player.rate = Double(dice.number())
                case 13: player.stretch(rate: dice.hits(oneIn: 2) ? 1 : nil, pitch: Double(dice.number()))
                case 0: player.stop(at: dice.time())
                case 1: player.pause(at: dice.time())
                case 2: player.resume(at: dice.time())
                case 3: player.seek(to: dice.hits(oneIn: 5) ? [.max, .min][dice.below(2)] : frame)
                case 4: player.region = frame..<frame + Int64(dice.below(5_000))
                case 5: player.loops = [.off, .forever, .times(dice.below(5) - 2), .times(.max)][dice.below(4)]
                case 6...8: player.microfade.value = dice.number()
                case 9: _ = (player.isPlaying, player.currentFrame, player.playhead(at: .max), player.region)
                case 10: world.keep(player.by({ $0() }) { _ in })
                default: player.play(at: dice.time())
                }
            }
        ),
        (
            "BufferPlayer",
            { world, dice in
                guard let player = world.module(BufferPlayer.self, &dice), player.scheduledCount < 20 else { return }
                let options = BufferPlayer.Options(rawValue: dice.below(9) - 1)
                switch dice.below(10) {
                case 5: player.rate = Double(dice.number())
                case 6: player.stretch(rate: dice.hits(oneIn: 2) ? 1 : nil, pitch: Double(dice.number()))
                case 0, 1: _ = dice.hits(oneIn: 2) ? player.stop(at: dice.time()) : player.pause(at: dice.time())
                case 2: player.play(at: dice.time())
                case 3: _ = (player.isPlaying, player.isPaused, player.currentTime, player.currentSound?.path)
                case 7, 8:
                    let (first, path) = (Int64(dice.below(20_000)) - 1_000, dice.pick(world.files)!)
                    let frames = dice.hits(oneIn: 2) ? nil : first..<first + Int64(dice.below(5_000))
                    try player.schedule(path: path, frames: frames, options, at: dice.time(), gain: dice.number())
                        .when { [done = completion(world, &dice)] _ in done() }
                default:
                    let stage = ScheduledSound.Stage.allCases.randomElement(using: &dice)!
                    player.schedule(dice.pick(world.sounds)!, options, at: dice.time())
                        .when(stage) { [done = completion(world, &dice)] _ in done() }
                }
            }
        ),
        (
            "SamplePlayer",
            { world, dice in
                guard let player = world.module(SamplePlayer.self, &dice) else { return }
                if player.loadedCount > 12 { return }
                let sample = player.load(dice.pick(world.sounds)!)
                let voice = player.play(
                    sample, at: dice.time(), gain: dice.number(), pan: dice.number(), pitch: Double(dice.number()),
                    every: dice.hits(oneIn: 3) ? Double(dice.number()) : nil)
                if let voice, dice.hits(oneIn: 2) { player.stop(voice, at: dice.time()) }
                if dice.hits(oneIn: 3) { player.stopAll(at: dice.time()) }
                if dice.hits(oneIn: 3) { player.replace(sample, with: dice.pick(world.sounds)!) }
                if !dice.hits(oneIn: 8) { player.unload(sample) }
            }
        ),
        (
            "taps",
            { world, dice in
                switch world.module(&dice) {
                case let tap as LevelMeter: _ = (tap.levels, tap.combined, tap.stereo, tap.level(dice.below(80) - 4))
                case let tap as LoudnessMeter:
                    _ = tap.reading
                    if dice.hits(oneIn: 3) { tap.restart() }
                case let tap as SpectrumTap:
                    _ = tap.latest()?.peaks(dice.below(20))
                    world.keep(tap.by({ $0() }) { _ in })
                case let tap as BufferTap:
                    tap.deliver()
                    world.keep(tap.by({ $0() }) { _ in })
                default: break
                }
            }
        ),
        (
            "subscribe",
            { world, dice in
                let seed = dice.next()
                world.keep(
                    world.renderer(&dice).by({ $0() }) { [weak world] _ in
                        var dice = Dice(seed: seed)
                        if let world, dice.hits(oneIn: 8) { Calls.quick(world, &dice) }
                    })
            }
        ),
        (
            "cancel",
            { world, dice in
                dice.pick(world.subscriptions.now)?.cancel()
                dice.pick(world.scheduled.now)?.cancel()
                dice.pick(world.tasks.now)?.cancel()
            }
        ),
    ]

    // MARK: Slow

    private static let slowOnes: [(name: String, call: Call)] = [
        (
            "render",
            { world, dice in
                let renderer = world.renderer(&dice)
                let frames = dice.below(2_000), first = dice.below(frames + 1)
                var block = AudioBlock(channels: 1 + dice.below(8), frames: frames)
                renderer.render(
                    into: &block, from: first, frames: dice.hits(oneIn: 3) ? dice.below(frames - first + 1) : nil,
                    hostTime: dice.hits(oneIn: 4) ? [Int64.max, .min, 0, -1][dice.below(4)] : nil)
            }
        ),
        (
            "renderOffline",
            { world, dice in
                _ = world.renderer(&dice).renderOffline(frames: dice.below(3_000), cycle: 1 + dice.below(700))
            }
        ),
        ("renderOffline", { world, dice in _ = world.renderer(0).renderOffline(frames: 4_000) }),
        (
            "ClockOutput",
            { world, dice in
                let output = world.outputs.withLock { outputs -> ClockOutput in
                    if outputs.count > 3 { outputs.removeFirst() }
                    return outputs.last ?? ClockOutput(world.renderer(0), priority: 0)
                }
                if dice.hits(oneIn: 2) {
                    let new = world.census.count(
                        ClockOutput(world.renderer(&dice), period: 1 + dice.below(2_000), priority: 0))
                    world.outputs.withLock { $0.append(new) }
                    try new.start()
                }
                _ = (output.state, output.statistics.description)
                if dice.hits(oneIn: 2) { output.stop() } else { try output.start() }
            }
        ),
        ("ClockOutput.stop", { world, dice in dice.pick(world.outputs.now)?.stop() }),
        (
            "FileRecorder",
            { world, dice in
                guard let recorder = world.module(FileRecorder.self, &dice) else { return }
                let time = dice.time()
                switch dice.below(5) {
                case 0: try recorder.begin(path: "\(world.folder.path)/take-\(dice.below(8)).wav", at: time)
                case 1: recorder.stop(at: time)
                case 2: world.keep(Task { try? await recorder.finish() })
                case 3: _ = (recorder.isRecording, recorder.recordedFrameCount, recorder.path, recorder.gapCount)
                default: recorder.begin(at: time)
                }
            }
        ),
        (
            "FileOutput",
            { world, dice in
                let path = "\(world.folder.path)/out-\(dice.below(4)).wav"
                let output = try world.census.count(FileOutput(world.renderer(&dice), path: path))
                world.keep(
                    Task {
                        _ = try? await output.run(for: .milliseconds(30))
                        try? await output.finish()
                    })
            }
        ),
        (
            "new module",
            { world, dice in
                let index = dice.below(World.size)
                let new = try Makers.all[index](world, &dice)
                let old = world.modules.withLock { modules -> (any Module)? in
                    guard modules.indices.contains(index) else { return nil }
                    defer { modules[index] = new }
                    return modules[index]
                }
                (old as? ModuleList)?.removeAll()
                (old as? Mixer)?.removeAll()
            }
        ),
        (
            "new renderer",
            { world, dice in
                guard dice.hits(oneIn: 4) else { return }
                let index = dice.below(3)
                let new = world.census.count(Renderer(layout: StackLayout(slots: 16)))
                let old = world.renderers.withLock { renderers -> Renderer in
                    defer { renderers[index] = new }
                    return renderers[index]
                }
                if index > 0 { world.join() }
                withExtendedLifetime(old) {}
            }
        ),
    ]
}
