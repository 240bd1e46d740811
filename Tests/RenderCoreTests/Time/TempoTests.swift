import Synchronization
import TestSupport
import Testing

@testable import Composition
@testable import RenderCore

/// 1 in the frame of each tick, 2 where a bar begins.
final class Ticker: Generator {
    private let step: Double
    init(every beats: Double = 1) { step = beats }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var ticks = context.ticks(every: step)
        context.push(channels: 1)
        var top = context.top
        var samples = top[0]
        while let tick = ticks.next() { samples[tick.frame] += tick.isBar ? 2 : 1 }
    }
}

private final class Flag: Sendable {
    let isOver = Atomic<Bool>(false)
}

private func renderer(_ module: some Generator, sampleRate: Double = 48_000) throws -> Renderer {
    try Renderer(sampleRate: sampleRate, channels: 1) { context in
        context.run(module)
        context.output()
    }
}

/// Returns the samples that are not 0, by their positions.
private func found(_ samples: [Float]) -> [Int: Float] {
    Dictionary(uniqueKeysWithValues: samples.indices.filter { samples[$0] != 0 }.map { ($0, samples[$0]) })
}

/// Cycles in which the transport is somewhere.
private func render(_ renderer: Renderer, _ transports: [Transport], frames: Int) -> [Float] {
    var result: [Float] = []
    for transport in transports {
        var supply = CycleSupply()
        supply.transport = transport
        supply.frameCount = frames
        withUnsafeTemporaryAllocation(of: Float.self, capacity: frames) { samples in
            var channel = samples.baseAddress!
            withUnsafePointer(to: &channel) { channels in
                renderer.render(
                    frames: frames, into: UnsafeBufferPointer(start: channels, count: 1), hostTime: 0,
                    isOffline: true, supply: &supply)
            }
            result += Array(samples)
        }
    }
    return result
}

@Suite struct TempoTests {
    @Test("At first 120 beats per minute in 4/4, from frame 0 on, whatever the cycles", arguments: cycleLengths)
    func first(cycles: [Int]) throws {
        let renderer = try renderer(Ticker())
        let ticks = found(render(renderer, frames: 150_000, cycles: cycles)[0])
        #expect(ticks == [0: 2, 24_000: 1, 48_000: 1, 72_000: 1, 96_000: 2, 120_000: 1, 144_000: 1])
        #expect(renderer.tempo.position == 6.25 && renderer.tempo.beats.bars.bar == 2)
    }

    @Test("Hours later beats are still in their frame", arguments: [120, 97, 123.4, 999])
    func hours(tempo: Double) throws {
        let renderer = try renderer(Ticker())
        renderer.tempo.beatsPerMinute = tempo
        _ = render(renderer, frames: 1)
        for hour in [1, 10, 24] {
            let start = Int64(hour) * 3_600 * 48_000
            renderer.state.setSampleTime(start)
            let ticks = found(render(renderer, frames: 100_000, cycles: [511])[0]).keys.sorted()
            let first = (Double(hour) * 60 * tempo).rounded(.down)
            let expected = (-1...Int(2 + tempo / 28)).compactMap { number -> Int? in
                let exact: Double = (first + Double(number)) * 2_880_000 / tempo
                let frame = Int((exact + 0.5).rounded(.down)) - Int(start)
                return (0..<100_000).contains(frame) ? frame : nil
            }
            #expect(ticks == expected && ticks.count > 1)
        }
    }

    @Test("A change at a time begins on that frame, in cycles of any length", arguments: cycleLengths)
    func atATime(cycles: [Int]) throws {
        let renderer = try renderer(Ticker())
        try renderer.transaction(at: .sample(50_001)) {
            renderer.tempo.beatsPerMinute = 77.5
            renderer.tempo.metre = Metre(3)
        }
        #expect(renderer.tempo.beatsPerMinute == 120)
        let ticks = found(render(renderer, frames: 250_000, cycles: cycles)[0])
        // Beat 2 was at frame 48,000; the next at 50,001 + (3 - 50,001 / 24,000) · 2,880,000 / 77.5.
        let position = 50_001.0 / 24_000
        let later = (3...7).map { Int((50_001 + (Double($0) - position) * 2_880_000 / 77.5).rounded()) }
        #expect(ticks.keys.sorted() == [0, 24_000, 48_000] + later.filter { $0 < 250_000 })
        // The bar of four ends at beat 4, and three beats later the next one.
        #expect(ticks.filter { $0.value == 2 }.keys.sorted() == [0, later[1], later[4]].filter { $0 < 250_000 })
        #expect(renderer.tempo.beatsPerMinute == 77.5 && renderer.tempo.metre == Metre(3))
    }

    @Test("Control code sees the tempo that it has set at once, also inside a transaction, unless that throws")
    func control() throws {
        struct Stop: Error {}
        let renderer = try renderer(Ticker())
        let tempo = renderer.tempo
        tempo.beatsPerMinute = 90
        tempo.metre = Metre(6, 8)
        tempo.position = 32
        #expect(tempo.beatsPerMinute == 90 && tempo.metre == Metre(6, 8) && tempo.position == 32)
        #expect(tempo.time(ofBeat: 33) == .sample(32_000))
        _ = render(renderer, frames: 16_000)
        #expect(tempo.position == 32.5 && tempo.beats.bars.beatsPerMinute == 90)
        #expect(tempo.time(ofBeat: 33) == .sample(32_000))
        try? renderer.transaction {
            tempo.beatsPerMinute = 180
            tempo.position = 8
            #expect(tempo.beatsPerMinute == 180 && tempo.position == 8)
            throw Stop()
        }
        #expect(tempo.beatsPerMinute == 90 && tempo.position == 32.5)
        // Whichever comes last holds: what was set before an event for a time does not take its place.
        try renderer.transaction(at: .sample(20_000)) { tempo.beatsPerMinute = 180 }
        tempo.beatsPerMinute = 60
        #expect(tempo.beatsPerMinute == 60)
        _ = render(renderer, frames: 4_000)
        #expect(tempo.beatsPerMinute == 60)
        _ = render(renderer, frames: 1)
        #expect(tempo.beatsPerMinute == 180)
        #expect(abs(tempo.position - (32.5 + 4_000 / 48_000.0 + 180 / 2_880_000)) < 1e-12)
    }

    @Test("The range is kept, and what is not a number is ignored and counted")
    func range() {
        let tempo = Renderer().tempo
        for (given, kept) in [(0.0, 1.0), (-3, 1), (1e300, 999), (.infinity, 999), (.nan, 999), (123.456, 123.456)] {
            tempo.beatsPerMinute = given
            #expect(tempo.beatsPerMinute == kept)
        }
        tempo.position = .nan
        #expect(tempo.ignoredCount == 2 && tempo.position == 0)
        tempo.position = .infinity
        #expect(tempo.position == 1e9)
        #expect(Metre(0, -1) == Metre(1, 1) && Metre(.max, .max) == Metre(1_024, 1_024))
    }

    @Test("The tempo of another renderer in a transaction: with that one's next cycle, and only if it is committed")
    func others() throws {
        struct Stop: Error {}
        let (one, other) = (try renderer(Ticker()), try renderer(Ticker()))
        _ = render(other, frames: 24_000)
        try? one.transaction {
            other.tempo.beatsPerMinute = 10
            throw Stop()
        }
        one.transaction { other.tempo.beatsPerMinute = 60 }
        let ticks = found(render(other, frames: 100_000)[0]).keys.sorted()
        #expect(ticks == [0, 48_000, 96_000] && other.tempo.beatsPerMinute == 60)
        #expect(one.tempo.beatsPerMinute == 120)
    }

    @Test("Another sample rate: the position goes on, and so does the tempo")
    func rates() throws {
        let renderer = try renderer(Ticker())
        _ = render(renderer, frames: 36_000)
        renderer.configure(sampleRate: 96_000)
        #expect(renderer.tempo.position == 1.5)
        #expect(found(render(renderer, frames: 100_000)[0]).keys.sorted() == [24_000, 72_000])
    }

    @Test(
        "A rolling transport leads, its bars exact to the frame although it gives ticks, and then hands the lead back")
    func transport() throws {
        let renderer = try renderer(Ticker())
        _ = render(renderer, frames: 12_000)
        // Bar 3, beat 1 of a waltz at 90: frame 192,000 of the piece; told in whole ticks of 1/960 beat.
        let told = (0..<100).map { cycle -> Transport in
            let frame = 191_900 + 1_000 * Int64(cycle)
            let ticks = frame * 960 / 32_000
            let (beat, tick) = (Int(ticks / 960), ticks % 960)
            return Transport(
                isRolling: true, frame: frame,
                bars: MusicalPosition(
                    bar: beat / 3 + 1, beat: beat % 3 + 1, fraction: Double(tick) / 960, beatsPerBar: 3,
                    beatsPerMinute: 90))
        }
        let ticks = found(render(renderer, told, frames: 1_000))
        #expect(ticks == [100: 2, 32_100: 1, 64_100: 1, 96_100: 2])
        #expect(renderer.tempo.beats.isLed && renderer.tempo.beats.beatsPerMinute == 90)
        #expect(renderer.tempo.beatsPerMinute == 120)
        // It stops, at beat 9 + 3900 / 32,000: there the program's own tempo goes on.
        let position = 9 + 3_900.0 / 32_000
        #expect(abs(renderer.tempo.position - position) < 1e-9)
        let later = found(render(renderer, Array(repeating: Transport(frame: 5), count: 60), frames: 1_000))
        let expected = [10.0, 11].map { Int((($0 - position) * 24_000).rounded()) }
        #expect(later.keys.sorted() == expected)
        #expect(!renderer.tempo.beats.isLed && renderer.tempo.beats.beatsPerMinute == 120)
    }

    @Test("A transport without bars leads from its frame 0 on, at the program's tempo, and follows a change of that")
    func transportWithoutBars() throws {
        let renderer = try renderer(Ticker())
        renderer.tempo.beatsPerMinute = 60
        let rolling = (0..<60).map { Transport(isRolling: true, frame: 47_000 + 1_000 * Int64($0)) }
        #expect(found(render(renderer, rolling, frames: 1_000)).keys.sorted() == [1_000, 49_000])
        // At beat 107,000 / 48,000 it becomes twice as fast.
        renderer.tempo.beatsPerMinute = 120
        let later = (0..<40).map { Transport(isRolling: true, frame: 107_000 + 1_000 * Int64($0)) }
        #expect(found(render(renderer, later, frames: 1_000)).keys.sorted() == [18_500])
        // Bars that cannot be calculated with count as none.
        let odd = MusicalPosition(bar: .max, beat: .min, fraction: .nan, beatsPerBar: 0, beatsPerMinute: .infinity)
        _ = render(renderer, [Transport(isRolling: true, frame: .min, bars: odd)], frames: 1_000)
        #expect(renderer.tempo.beats.isLed)
    }

    @Test("Renderers inside of others have the beats of the outer one")
    func inside() throws {
        let shared = try renderer(Ticker(every: 0.5))
        shared.tempo.beatsPerMinute = 33
        let deep = try renderer(SubRenderer(shared))
        let outer = try renderer(SubRenderer(deep))
        _ = render(shared, frames: 777)
        let plain = try renderer(Ticker(every: 0.5))
        for renderer in [outer, plain] {
            try renderer.transaction(at: .sample(30_007)) { renderer.tempo.beatsPerMinute = 141.7 }
        }
        let sound = render(outer, frames: 200_000, cycles: [3, 500, 1, 64, 2_000, 17])
        #expect(sound == render(plain, frames: 200_000) && found(sound[0]).count > 8)
    }

    @Test("A cycle that starts over is at beat 0 again, at the tempo that was set")
    func startsOver() throws {
        let renderer = try renderer(Ticker())
        renderer.tempo.beatsPerMinute = 60
        _ = render(renderer, frames: 1_000)
        var samples = [Float](repeating: 0, count: 50_000)
        samples.withUnsafeMutableBufferPointer { samples in
            var channel = samples.baseAddress!
            withUnsafePointer(to: &channel) { channels in
                renderer.render(
                    frames: 50_000, into: UnsafeBufferPointer(start: channels, count: 1), hostTime: 0,
                    isOffline: true, startsOver: true)
            }
        }
        #expect(found(samples) == [0: 2, 48_000: 1])
    }

    @Test("Many threads set the tempo while it renders: it is one of those that were set, and nothing is torn")
    func threads() async throws {
        let renderer = try renderer(Ticker())
        let flag = Flag()
        await withTaskGroup(of: Void.self) { group in
            for thread in 1...3 {
                group.addTask {
                    for turn in 0..<2_000 {
                        renderer.transaction {
                            renderer.tempo.beatsPerMinute = Double(100 * thread)
                            renderer.tempo.position = Double(1_000_000 * thread)
                        }
                        if turn % 100 == 0 { await Task.yield() }
                    }
                    flag.isOver.store(true, ordering: .relaxed)
                }
            }
            group.addTask {
                while !flag.isOver.load(ordering: .relaxed) {
                    _ = render(renderer, frames: 256)
                    let beats = renderer.tempo.beats
                    let thread = (beats.position / 1e6).rounded(.down)
                    #expect([0, 1, 2, 3].contains(thread) && [120, 100, 200, 300].contains(beats.beatsPerMinute))
                }
            }
        }
        _ = render(renderer, frames: 256)
        let beats = renderer.tempo.beats
        #expect(beats.beatsPerMinute == 100 * (beats.position / 1e6).rounded(.down))
    }
}
