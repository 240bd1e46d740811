import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Code of a user that runs where RenderStack might hold a lock: completions, `prepare`, closures that change lists. It
/// may ask anything of anything.
@Suite struct DeadlockTests {
    /// A module whose preparation replaces a value, with a completion that asks the renderer something.
    @Test("A completion that asks its renderer, set off by a `prepare`, while it is rendered")
    func completionAsks() async throws {
        let value = ManagedValue(0)
        let holder = Holder()
        let asked = Atomic<Int>(0)
        let module = Preparing { _ in
            value.set(1) {
                if let renderer = holder.renderer, renderer.sampleRate > 0 { asked.add(1, ordering: .relaxed) }
            }
            holder.renderer?.transaction(whenApplied: { _ = holder.renderer?.sampleRate }) { value.set(2) }
        }
        let renderer = try Renderer { context in
            context.push()
            context.run(module)
            context.output()
        }
        holder.renderer = renderer
        let driver = Driver(renderer)
        #expect(
            await ends { for turn in 0..<50 { renderer.configure(sampleRate: turn % 2 == 0 ? 44_100 : 48_000) } })
        // A change of a loop that no cycle has taken is withdrawn, and has no completion: the driver renders until one has come.
        #expect(await becomesTrue { asked.load(ordering: .relaxed) > 0 })
        #expect(await driver.stop())
        #expect(try await eventsStillCome())
        holder.renderer = nil
    }

    @Test("play() against a completion that sets the loops of the same player")
    func playAgainstCompletion() async throws {
        let folder = Folder()
        let player = try FilePlayer(path: try await folder.tone("tone.wav", seconds: 0.2))
        let renderer = try Renderer { context in
            context.run(player)
            context.output()
        }
        let driver = Driver(renderer, pause: 200)
        #expect(
            await allEnd([
                { for _ in 0..<50 { player.play() } },
                {
                    for _ in 0..<50 {
                        renderer.transaction(whenApplied: { player.loops = .off }) { player.volume.value = 0.5 }
                    }
                },
            ]))
        #expect(await driver.stop())
        #expect(try await eventsStillCome())
    }

    @Test("A `whenOldIsReleased` that changes the same list again")
    func releasedChangesAgain() async throws {
        let box = Lists()
        let turns = Atomic<Int>(0)
        #expect(
            await ends {
                for turn in 0..<20 {
                    box.array.update(
                        [turn],
                        whenOldIsReleased: {
                            box.array.update([turn, turn + 1]) { key, _ in key }
                            turns.add(1, ordering: .relaxed)
                        }
                    ) { key, _ in key }
                    box.list.update(
                        { $0 = [Oscillator()] },
                        whenOldIsReleased: {
                            box.list.removeAll()
                            turns.add(1, ordering: .relaxed)
                        })
                }
            })
        #expect(await becomesTrue { turns.load(ordering: .relaxed) == 40 })
        #expect(try await eventsStillCome())
    }

    @Test("A player that moves between two renderers while it is started")
    func playerMoves() async throws {
        let folder = Folder()
        let player = try FilePlayer(path: try await folder.tone("tone.wav", seconds: 0.2))
        let loop: RenderLoop = { context in
            context.run(player)
            context.output()
        }
        let (first, second) = (Renderer(), Renderer())
        let drivers = [Driver(first, pause: 200), Driver(second, pause: 200)]
        #expect(
            await allEnd([
                {
                    for _ in 0..<100 {
                        try first.replaceLoop(loop)
                        first.removeLoop()
                        try second.replaceLoop(loop)
                        second.removeLoop()
                    }
                },
                { for _ in 0..<200 { player.play() } },
            ]))
        for driver in drivers { #expect(await driver.stop()) }
        #expect(try await eventsStillCome())
    }

    @Test("A completion may configure its renderer, and that counts")
    func completionConfigures() async throws {
        let gain = Gain()
        let renderer = try Renderer { context in
            context.push()
            context.run(gain)
            context.output()
        }
        let driver = Driver(renderer, pause: 200)
        for rate in [44_100.0, 96_000, 48_000] {
            renderer.transaction(whenApplied: { renderer.configure(sampleRate: rate) }) { gain.level.value = 0.5 }
            #expect(await becomesTrue { renderer.sampleRate == rate })
        }
        #expect(await driver.stop())
    }

    @Test("A `prepare` that changes a list while another thread appends to it")
    func prepareChangesList() async throws {
        let list = ModuleList(mixing: 1)
        let module = Preparing { _ in
            list.append(Oscillator())
            list.removeAll()
        }
        let renderer = try Renderer { context in
            context.run(list)
            context.run(module)
            context.output()
        }
        let driver = Driver(renderer, pause: 200)
        #expect(
            await allEnd([
                { for turn in 0..<40 { renderer.configure(sampleRate: turn % 2 == 0 ? 44_100 : 48_000) } },
                { for _ in 0..<40 { list.append(Oscillator()) } },
                { for _ in 0..<40 { list.removeAll() } },
            ]))
        #expect(await driver.stop())
        #expect(try await eventsStillCome())
    }

    @Test("Closures that change a list or an array, and touch the same one inside")
    func reentrantChanges() async throws {
        let bank = VoiceBank(count: 2)
        let box = Lists()
        let one = Oscillator()
        #expect(
            await ends {
                box.array.update([1, 2]) { key, _ in
                    if key == 1 { box.array.update([5]) { key, _ in key } }
                    return box.array.count
                }
                box.list.update { modules in
                    box.list.append(Oscillator())
                    modules = [one]
                }
                bank.update { voices in
                    bank.update { $0[0].level = 0.25 }
                    voices[1].level = 0.5
                    voices.append(voices[0])
                }
            })
        #expect(box.array.keys == [1, 2])
        #expect(box.list.count == 1 && box.list[0] === one)
        #expect(bank[1].level == 0.5)
    }

    @Test("A `prepare` that asks its own renderer everything, and asks it to change")
    func prepareAsks() async throws {
        let holder = Holder()
        let seen = Notes<Double>()
        let module = Preparing { preparation in
            guard let renderer = holder.renderer else { return }
            seen.add(renderer.sampleRate)
            _ = (renderer.latency, renderer.modules.count, renderer.moduleTimes.count, renderer.description)
            renderer.transaction { renderer.configure(layout: StackLayout(frames: 128)) }
            try? renderer.replaceLoop { context in
                context.push()
                context.output()
            }
        }
        let loop: RenderLoop = { context in
            context.push()
            context.run(module)
            context.output()
        }
        let renderer = try Renderer(loop)
        holder.renderer = renderer
        #expect(await ends { renderer.configure(sampleRate: 44_100) })
        #expect(seen.all.first == 44_100)
        #expect(renderer.layout.frames == 128)
        #expect(renderer.modules.isEmpty)
        #expect(await ends { try renderer.replaceLoop(loop) })
        holder.renderer = nil
    }

    @Test("A `prepare` that asks for another rate each time does not hold its caller")
    func restless() async throws {
        let holder = Holder()
        let module = Preparing { preparation in
            holder.renderer?.configure(sampleRate: preparation.sampleRate == 48_000 ? 44_100 : 48_000)
        }
        let renderer = try Renderer { context in
            context.push()
            context.run(module)
            context.output()
        }
        holder.renderer = renderer
        #expect(await ends { renderer.configure(sampleRate: 44_100) })
        holder.renderer = nil
        #expect(try await eventsStillCome())
    }

    @Test("Two renderers in each other, configured by two threads")
    func crossed() async throws {
        let (first, second) = (Renderer(), Renderer())
        let (inFirst, inSecond) = (SubRenderer(second), SubRenderer(first))
        try first.replaceLoop { context in
            context.run(inFirst)
            context.output()
        }
        try second.replaceLoop { context in
            context.run(inSecond)
            context.output()
        }
        #expect(
            await allEnd([
                { for turn in 0..<50 { first.configure(sampleRate: Double(8_000 + turn)) } },
                { for turn in 0..<50 { second.configure(sampleRate: Double(9_000 + turn)) } },
            ]))
        first.removeLoop()
        second.removeLoop()
    }

    @Test("A completion that blocks holds up no event")
    func blockingCompletion() async throws {
        let renderer = try Renderer { _ in }
        let isReleased = Atomic<Bool>(false)
        let parameter = Parameter(0, in: 0...1)
        renderer.transaction(whenApplied: {
            while !isReleased.load(ordering: .relaxed) { usleep(1_000) }
        }) { parameter.value = 1 }
        _ = renderer.renderOffline(frames: 1)
        #expect(try await eventsStillCome())
        isReleased.store(true, ordering: .relaxed)
    }

    @Test("20,000 values that are dropped at once are all freed")
    func manyValues() async throws {
        let renderer = Renderer()
        let driver = Driver(renderer, pause: 100)
        let freed = Atomic<Int>(0)
        let value = ManagedValue(0)
        #expect(
            await ends { for number in 0..<20_000 { value.set(number) { freed.add(1, ordering: .relaxed) } } })
        #expect(await becomesTrue(60) { freed.load(ordering: .relaxed) == 20_000 })
        #expect(await driver.stop())
    }
}

/// A renderer that modules get to know later.
final class Holder: Sendable {
    private let held = Guarded<Renderer?>(nil)
    var renderer: Renderer? {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }
}

/// The lists that closures share.
final class Lists: Sendable {
    let array = ManagedArray<Int, Int>()
    let list = ModuleList(mixing: 1)
}
