import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// What the programs of a stranger found: each is a thing that a page promises.
@Suite struct StrangerProgramTests {
    @Test("A list takes a module once, in whatever way it comes")
    func once() throws {
        for isFull in [false, true] {
            let (module, other) = (Level(0.25), Level(0.5))
            let list = ModuleList(mixing: 1, isFull ? [module, other, module] : [])
            let renderer = try Renderer(channels: 1) { context in
                context.run(list)
                context.output()
            }
            list.modules = [module, other, module]
            list.update { $0 += [other, module] }
            #expect(list.count == 2 && list.index(of: module) == 0 && list.index(of: other) == 1)
            #expect(renderer.renderOffline(frames: 64)[0, 63] == 0.75)
            list.replace(other, with: module)
            #expect(list.count == 1)
            #expect(renderer.renderOffline(frames: 64)[0, 63] == 0.25)
        }
        let gain = Gain(0.5)
        #expect(ModuleList(chaining: [gain, gain]).count == 1)
    }

    @Test("Events that were called off give their places back while nothing renders, also those that a cycle has seen")
    func calledOff() throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let ran = Notes<Int>()
        let kept = try renderer.schedule(at: .sample(10_000)) { _ in ran.add(0) }
        for turn in 0..<5 {
            var events: [ScheduledEvent] = []
            for number in 0..<1_023 {
                events.append(try renderer.schedule(at: .sample(20_000 - Int64(number))) { _ in ran.add(1) })
            }
            #expect(throws: MessageQueueFull.self) { try renderer.schedule(at: .immediately) { _ in } }
            if turn % 2 == 1 { _ = renderer.renderOffline(frames: 1_024, cycle: 8) }
            for event in events { #expect(event.cancel() && !event.cancel()) }
        }
        for number in 0..<1_023 { try renderer.schedule(at: .sample(11_000)) { _ in ran.add(2 + number) } }
        #expect(throws: MessageQueueFull.self) { try renderer.schedule(at: .immediately) { _ in } }
        _ = renderer.renderOffline(frames: 30_000)
        #expect(ran.all == [0] + (0..<1_023).map { 2 + $0 })
        #expect(!kept.cancel())
        #expect(throws: Never.self) { try renderer.schedule(at: .immediately) { _ in } }
    }

    @Test("A queue that was full when its renderer ceased to be takes messages, which never run")
    func fullAndGone() throws {
        let ran = Notes<Int>()
        var messages: MessageQueue?
        do {
            let renderer = try Renderer(channels: 1) { _ in }
            messages = renderer.messages
            for _ in 0..<1_024 { try renderer.messages.send { _ in ran.add(1) } }
            #expect(throws: MessageQueueFull.self) { try renderer.messages.send { _ in ran.add(2) } }
        }
        for _ in 0..<1_100 { #expect(throws: Never.self) { try messages?.send { _ in ran.add(3) } } }
        #expect(ran.count == 0)
    }

    @Test("Events are scheduled and called off by four threads while a fifth renders: each happens once, or not at all")
    func calledOffMeanwhile() async throws {
        let renderer = try Renderer(channels: 1) { _ in }
        let driver = Driver(renderer, frames: 16)
        let (ran, off, sent) = (Count(), Count(), Count())
        let isDone = await allEnd(
            (0..<4).map { thread -> @Sendable () throws -> Void in
                {
                    var events: [ScheduledEvent] = []
                    for turn in 0..<3_000 {
                        let time = RenderTime.sample(turn % 3 == 0 ? 0 : .max - Int64(turn))
                        if let event = try? renderer.schedule(at: time, { _ in ran.add() }) {
                            sent.add()
                            events.append(event)
                        }
                        if events.count > 200 + thread {
                            for event in events where event.cancel() { off.add() }
                            events = []
                        }
                    }
                    for event in events where event.cancel() { off.add() }
                }
            })
        #expect(isDone)
        #expect(await becomesTrue { ran.value + off.value == sent.value })
        #expect(await driver.stop())
        // All places are free again.
        var places = 0
        #expect(
            await becomesTrue {
                while (try? renderer.schedule(at: .sample(.max), { _ in })) != nil { places += 1 }
                return places == 1_024
            })
    }

    @Test("Tags of any length: a file that is written can be read")
    func longTags() throws {
        let folder = Folder()
        for size in [990, 7_997, 8_195, 40_007, 1_080_002] {
            let text = String(repeating: "Lorem ipsu\n", count: size / 11)
            for ending in ["aiff", "wav", "caf", "flac", "ogg"] {
                let path = "\(folder.path)/tags-\(size).\(ending)"
                do throws(AudioFileError) {
                    var writer = try AudioFileWriter(
                        path: path, sampleRate: 48_000, channels: 1, tags: [.title: text, .artist: "A", .comment: text])
                    try writer.write(AudioBlock(channels: 1, frames: 4_800))
                    try writer.finish()
                    let info = try AudioFileInfo(path: path)
                    #expect(info.frameCount == 4_800, "\(path)")
                    #expect(info.tags[.artist] == "A", "\(path)")
                    if ending == "aiff" {
                        #expect((info.tags[.title] == text) == (size <= 8_000), "\(path)")
                        #expect((info.tags[.comment] == text) == (size <= 8_000), "\(path)")
                    }
                } catch {
                    Issue.record("\(size): \(error)")
                }
            }
        }
    }

    @Test("Filters and envelopes of numbers that are none give samples that are finite")
    func noNumbers() {
        for shape in [FilterShape.bell, .lowShelf, .highShelf] {
            for decibels in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
                let filter = FilterCoefficients(
                    shape, frequency: 1_000, q: 0.7, decibels: decibels, sampleRate: 48_000)
                var memory = FilterMemory()
                var sample = memory.next(1, filter)
                for _ in 0..<20 { sample = memory.next(0, filter) }
                #expect(sample.isFinite, "\(shape), \(decibels) dB: \(sample)")
            }
        }
        for number in [Float.nan, .infinity, -.infinity, -1, 1e30] {
            for wrong in 0..<4 {
                let values = (0..<4).map { $0 == wrong ? number : 0.001 }
                let settings = EnvelopeCore.Settings(
                    attack: values[0], decay: values[1], sustain: values[2], release: values[3], sampleRate: 48_000)
                var core = EnvelopeCore()
                core.open()
                var block = AudioBlock([[Float](repeating: 1, count: 400)])
                var samples = block[0]
                core.multiply(&samples, from: 0, to: 300, with: settings)
                core.close()
                core.multiply(&samples, from: 300, to: 400, with: settings)
                #expect(block.array(0).allSatisfy { $0 >= 0 && $0 <= 1 }, "\(values)")
            }
        }
    }
}

private final class Count: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    @_noLocks @_noAllocation
    func add() { count.wrappingAdd(1, ordering: .relaxed) }
}

/// Pushes one channel of a level.
private final class Level: Generator {
    private let level: Float
    init(_ level: Float) { self.level = level }
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = level }
    }
}
