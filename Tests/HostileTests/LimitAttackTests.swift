import Foundation
import RenderStack
import TestSupport
import Testing

/// Sizes at their limits, odd files, odd calls of players, recorders and outputs.
@Suite struct LimitAttackTests {
    static let numbers: [Float] = [
        .nan, .infinity, -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, -0.0,
        0, -1, 1, 48_000,
    ]

    @Test(
        "Every module at the lowest and the highest rate, in the smallest and the widest buffers",
        arguments: [7.5])
    func rates(_ rate: Double) async throws {
        var dice = Dice(seed: 1)
        let world = try await World(&dice)
        for (channels, frames) in [(1, 1), (64, 64)] {
            let layout = StackLayout(slots: 8, channels: channels, frames: frames)
            for module in world.modules.now
            where !(module is Delay && rate > 1_000 || module is LoudnessMeter && rate < 16) {
                let renderer = Renderer(sampleRate: rate, channels: channels, layout: layout)
                try? renderer.replaceLoop { context in
                    context.push(2, channels: channels)
                    context.run(module)
                    context.mixAll()
                    context.output()
                }
                for turn in 0..<4 {
                    Knobs.turn(module, &dice)
                    if let player = module as? FilePlayer { player.play() }
                    if let recorder = module as? FileRecorder, turn == 0 { recorder.begin() }
                    var block = AudioBlock(channels: channels, frames: 130)
                    renderer.render(into: &block)
                    let peak = block.peak
                    #expect(peak.isFinite, "\(module.name)")
                }
                (module as? FileRecorder)?.stop()
            }
        }
        await world.end()
    }

    @Test("Renderers at their limits")
    func renderers() throws {
        for channels in [1, 64] {
            for frames in [1, 65_536] {
                for slots in [1, 2] {
                    let renderer = try Renderer(
                        sampleRate: 1_000_000, channels: channels,
                        layout: StackLayout(slots: slots, channels: channels, frames: frames)
                    ) { context in
                        if context.isDryRun { return }
                        context.push(3, channels: 64)
                        context.mixAll()
                        context.outputAll()
                    }
                    _ = renderer.renderOffline(frames: 3, cycle: 1)
                    _ = renderer.renderOffline(frames: 3, cycle: .max / 1_000_000_000_000)
                }
            }
        }
    }

    @Test("Files that are none: folders, devices, nothing, names that cannot be")
    func files() async throws {
        let folder = Folder()
        let empty = "\(folder.path)/empty.wav", text = "\(folder.path)/text.wav"
        try Data().write(to: URL(fileURLWithPath: empty))
        try Data("RIFF but no more".utf8).write(to: URL(fileURLWithPath: text))
        let paths = [
            "", ".", "/", folder.path, "/dev/null", "/dev/full", empty, text, "\(folder.path)/none.wav", "a\0b", "~",
            String(repeating: "x", count: 10_000), "/proc/self/mem", "/dev/tty", "\(folder.path)/no/where.wav",
        ]
        for path in paths {
            #expect(await ends { _ = try FilePlayer(path: path) }, "\(path.prefix(40))")
            #expect(await ends { _ = try Sound(path: path, frames: -5..<Int64.max) }, "\(path.prefix(40))")
            #expect(await ends { _ = try AudioFileInfo(path: path) }, "\(path.prefix(40))")
            _ = try? await AudioBlock.load(path: path)
        }
        for path in [
            "", "/", "/dev/full", "/dev/null", folder.path, "\(folder.path)/no/where.wav", "a\0b", "/proc/x.wav",
        ] {
            let recorder = try? FileRecorder(path: path)
            if let recorder {
                let renderer = try Renderer { context in
                    context.push()
                    context.run(recorder)
                }
                recorder.begin()
                recorder.begin()
                _ = renderer.renderOffline(frames: 1_000)
                recorder.stop()
                _ = renderer.renderOffline(frames: 1_000)
                try? await recorder.finish()
                try? await recorder.finish()
            }
            let output = try? FileOutput(Renderer(), path: path)
            _ = try? await output?.run(for: .milliseconds(10))
            try? await output?.finish()
        }
    }

    @Test("A pipe without a writer holds up no thread")
    func pipe() async throws {
        let folder = Folder()
        let path = "\(folder.path)/pipe.wav"
        mkfifo(path, 0o600)
        #expect(await ends { _ = try FilePlayer(path: path) })
        #expect(await ends { _ = try Sound(path: path) })
        #expect(await ends { _ = try FileRecorder(path: path) })
        #expect(await ends { _ = try FileOutput(Renderer(), path: path) })
    }

    @Test("A file that shrinks, goes and becomes another while it is played")
    func changingFile() async throws {
        let folder = Folder()
        let path = try await folder.tone("tone.wav", seconds: 1)
        let other = try await folder.tone("other.wav", seconds: 0.01, sampleRate: 8_000)
        let player = try FilePlayer(path: path, readAhead: 0.25)
        let renderer = try Renderer { context in
            context.run(player)
            context.output()
        }
        player.loops = .forever
        player.play()
        #expect(
            await ends {
                _ = renderer.renderOffline(frames: 5_000)
                truncate(path, 1_000)
                _ = renderer.renderOffline(frames: 60_000)
                truncate(path, 0)
                player.seek(to: 40_000)
                _ = renderer.renderOffline(frames: 60_000)
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.copyItem(atPath: other, toPath: path)
                player.seek(to: 3)
                _ = renderer.renderOffline(frames: 60_000)
            })
        player.stop()
        #expect(await ends { _ = renderer.renderOffline(frames: 1_000) })
    }

    @Test("A recorder that records the file that is played, and one file recorded twice")
    func sameFile() async throws {
        let folder = Folder()
        let path = try await folder.tone("tone.wav", seconds: 0.2)
        let player = try FilePlayer(path: path)
        let recorders = [try FileRecorder(path: path), try FileRecorder(path: path)]
        let renderer = try Renderer { context in
            context.run(player)
            for recorder in recorders { context.run(recorder) }
            context.output()
        }
        player.loops = .forever
        player.play()
        for recorder in recorders { recorder.begin() }
        #expect(await ends { _ = renderer.renderOffline(frames: 30_000) })
        for recorder in recorders { try? await recorder.finish() }
    }

    @Test("A player's regions, loops, seeks and queues at the ends of numbers")
    func player() async throws {
        let folder = Folder()
        let player = try FilePlayer(path: try await folder.tone("tone.wav", seconds: 0.02))
        let renderer = try Renderer { context in
            context.run(player)
            context.output()
        }
        let edges: [Int64] = [.min, -1, 0, 1, 2, 959, 960, 961, .max - 1, .max]
        #expect(
            await ends {
                for loops in [FilePlayer.Loops.forever, .times(.max), .times(.min), .times(0), .times(-1), .off] {
                    for start in edges {
                        for end in [start, start &+ 1, .max] where end >= start {
                            player.loops = loops
                            player.region = start..<end
                            player.microfade.value = .infinity
                            player.play()
                            player.seek(to: start)
                            _ = renderer.renderOffline(frames: 64)
                            player.seek(to: end)
                            _ = renderer.renderOffline(frames: 64)
                            _ = (player.currentFrame, player.currentTime, player.region, player.playhead(at: start))
                        }
                    }
                }
            })
        for number in [Double.nan, .infinity, -.infinity, 1e300, -1, 0] {
            player.regionStart = number
            player.regionDuration = number
            player.currentTime = number
            player.play()
            #expect(await ends { _ = renderer.renderOffline(frames: 64) })
        }
        player.region = 0..<0
        player.loops = .forever
        player.play()
        #expect(await ends { _ = renderer.renderOffline(frames: 20_000) })
        player.stop()
        #expect(await ends { _ = renderer.renderOffline(frames: 20_000) })
    }

    @Test("Sounds without a frame, of one frame, at odd rates, looped")
    func sounds() async throws {
        for rate in [1.0, 48_000] {
            for frames in [0, 1, 2] {
                for channels in [1, 64] {
                    guard rate >= 1 else { continue }
                    let sound = Sound(AudioBlock(channels: channels, frames: frames), sampleRate: rate)
                    let player = BufferPlayer(channels: channels), samples = SamplePlayer(voices: 2, channels: channels)
                    let renderer = try Renderer { context in
                        context.run(player)
                        context.run(samples)
                        context.mix()
                        context.output()
                    }
                    let sample = samples.load(sound)
                    for options in -1..<8 { player.schedule(sound, BufferPlayer.Options(rawValue: options)) }
                    player.play()
                    let ended = await ends {
                        for number in Self.numbers {
                            player.microfade.value = number
                            samples.play(
                                sample, gain: number, pan: number, pitch: Double(number), every: Double(number))
                            samples.play(sample, semitones: Double(number))
                            _ = renderer.renderOffline(frames: 100)
                        }
                        samples.play(sample, every: 1e-300)
                        samples.play(sample, pitch: 1e-300, every: 1e300)
                        _ = renderer.renderOffline(frames: 1_000)
                    }
                    #expect(ended)
                    samples.unload(sample)
                    samples.unload(sample)
                    samples.replace(sample, with: sound)
                    samples.play(sample)
                    player.stop()
                    _ = renderer.renderOffline(frames: 10)
                }
            }
        }
    }

    @Test(
        "A file output that is run without sense: no time, negative time, twice at once, after its end, without an end")
    func fileOutput() async throws {
        let folder = Folder()
        let tone = Oscillator()
        let renderer = try Renderer { context in
            context.run(tone)
            context.output()
        }
        let output = try FileOutput(renderer, path: "\(folder.path)/out.wav")
        for duration in [Duration.zero, .seconds(-1), .nanoseconds(1), .seconds(Int64.min)] {
            _ = try? await output.run(for: duration)
            try? await output.preroll(for: duration)
        }
        async let first = try? output.run(for: .milliseconds(50))
        async let second = try? output.run(
            for: .milliseconds(50), tail: Silence(level: .nan, window: .zero, longest: .milliseconds(10)))
        async let third: Void? = try? output.finish()
        _ = await (first, second, third)
        await output.use(renderer)
        _ = try? await output.run(for: .milliseconds(1))
        try? await output.finish()
        let endless = try FileOutput(renderer, path: "\(folder.path)/endless.wav")
        let task = Task { try? await endless.run(until: { false }) }
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        _ = await task.value
        try? await endless.finish()
    }

    @Test("A clock that is started and stopped by four threads, dropped while it runs, and outlives its renderer")
    func clock() async throws {
        let census = Census()
        do {
            let renderer = census.count(Renderer())
            let output = census.count(ClockOutput(renderer, sampleRate: 1_000_000, period: 1, priority: 0))
            #expect(
                await allEnd(
                    (0..<4).map { _ in
                        {
                            for turn in 0..<20 { turn % 2 == 0 ? try? output.start() : output.stop() }
                        }
                    }))
            try? output.start()
            _ = (output.statistics.description, output.state)
        }
        do {
            let slow = census.count(ClockOutput(census.count(Renderer(sampleRate: 1)), period: 65_536, priority: 0))
            try slow.start()
            #expect(await ends { slow.stop() })
            try slow.start()
        }
        #expect(await becomesTrue { census.living.isEmpty })
    }

    @Test("Taps that are asked for what they never heard, and heard what they never asked for")
    func taps() async throws {
        for channels in [1, 2, 64] {
            let level = LevelMeter(hold: 0, window: 1), spectrum = SpectrumTap(size: 64, channels: channels)
            let loud = LoudnessMeter(channels: min(channels, 5), seconds: 0.01)
            let tap = BufferTap(frames: 1, channels: channels, seconds: 0.01)
            let renderer = try Renderer(channels: channels) { context in
                context.push(1, channels: 8)
                context.run(level)
                context.run(spectrum)
                context.run(loud)
                context.run(tap)
                context.output()
            }
            for turn in 0..<3 {
                _ = (level.levels.count, level.stereo, level.combined, level.level(.min), level.level(.max))
                _ = spectrum.latest().map {
                    ($0.peaks(.max, above: .nan).count, $0.peaks(0).count, $0.frequency(ofBin: .min))
                }
                _ = (loud.reading, tap.lostFrameCount, spectrum.latest()?.decibels(floor: .nan).count)
                loud.restart()
                tap.deliver()
                _ = renderer.renderOffline(frames: 10_000)
                renderer.configure(sampleRate: turn == 0 ? 8_000 : 192_000)
            }
        }
    }
}
