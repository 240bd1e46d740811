import Synchronization
import TestSupport
import Testing

@testable import RenderCore

@Suite struct OfflineRenderingTests {
    @Test("Frames are exact, in cycles of any length, and the clock goes on", arguments: [1, 7, 100, 512, 5000])
    func frames(cycle: Int) throws {
        let lengths = Record<Int>()
        let renderer = try Renderer(sampleRate: 1000, channels: 1) { context in
            guard !context.isDryRun else { return }
            lengths.add(context.frameCount)
            context.push(channels: 1)
            let start = Float(context.sampleTime)
            var top = context.top
            var samples = top[0]
            for i in samples.indices { samples[i] = start + Float(i) }
            context.output()
        }
        let first = renderer.renderOffline(frames: 1234, cycle: cycle)
        #expect(first.frameCount == 1234)
        #expect(first.array(0) == counted(0..<1234))
        #expect(renderer.sampleTime == 1234)
        let sum: Int = lengths.all.reduce(0, +)
        #expect(sum == 1234)
        #expect(lengths.all.allSatisfy { $0 > 0 && $0 <= cycle })
        #expect(renderer.values(10, cycle: cycle) == counted(1234..<1244))
        #expect(renderer.renderOffline(frames: 0, cycle: cycle).frameCount == 0)
        #expect(renderer.sampleTime == 1244)
    }

    @Test("Until a condition is so, cycle by cycle")
    func until() throws {
        let renderer = try Renderer(sampleRate: 1000, channels: 2) { context in
            context.push(channels: 2)
            context.output()
        }
        var cycles = 0
        renderer.renderOffline(cycle: 100) {
            renderer.sampleTime >= 950
        } each: { block in
            cycles += 1
            #expect(block.frameCount == 100 && block.channelCount == 2)
        }
        #expect(cycles == 10)
        #expect(renderer.sampleTime == 1000)
        renderer.renderOffline(cycle: 100, until: { true }, each: { _ in Issue.record("it was done before") })
        #expect(renderer.sampleTime == 1000)
    }

    @Test("An error thrown by the closure that gets the cycles ends the rendering, and reaches the caller")
    func throwing() throws {
        struct Full: Error {}
        let renderer = try Renderer(channels: 1) { _ in }
        #expect(throws: Full.self) {
            try renderer.renderOffline(cycle: 10, until: { false }) { _ throws(Full) in
                if renderer.sampleTime >= 50 { throw Full() }
            }
        }
        #expect(renderer.sampleTime == 50)
    }

    @Test("Time stamps follow the samples, and the context knows that no device waits")
    func timeStamps() throws {
        let stamps = Record<[Int64]>()
        let offline = Record<Bool>()
        let renderer = try Renderer(sampleRate: 1000, channels: 1) { context in
            guard !context.isDryRun else { return }
            stamps.add([context.sampleTime, context.hostTime])
            offline.add(context.isOffline)
        }
        _ = renderer.values(1000, cycle: 37)
        let first = try #require(stamps.all.first)
        #expect(first[0] == 0)
        for stamp in stamps.all { #expect(stamp[1] - first[1] == (stamp[0] - first[0]) * 1_000_000) }
        #expect(offline.all.allSatisfy { $0 })
        var block = AudioBlock(channels: 1, frames: 10)
        renderer.render(into: &block)
        #expect(offline.all.last == false)
    }

    @Test("Host times go on from the last live cycle's, and never back when the rate changes")
    func hostTimes() throws {
        let stamps = Record<Int64>()
        let renderer = try Renderer(sampleRate: 1000, channels: 1) { context in
            if !context.isDryRun { stamps.add(context.hostTime) }
        }
        var block = AudioBlock(channels: 1, frames: 100)
        renderer.render(into: &block, hostTime: 7_000_000_000)
        _ = renderer.values(1000, cycle: 100)
        #expect(stamps.all == Array(stride(from: 7_000_000_000, through: 8_000_000_000, by: 100_000_000)))
        #expect(renderer.nextRenderTime == 8_100_000_000)
        renderer.configure(sampleRate: 2000)
        _ = renderer.values(1000, cycle: 100)
        for (earlier, later) in zip(stamps.all, stamps.all.dropFirst()) { #expect(later > earlier) }
    }

    @Test("Several outputs: the channels one after the other")
    func outputs() throws {
        let renderer = try Renderer(channels: 1, auxiliaryOutputs: [2]) { context in
            context.push(channels: 1)
            do {
                var top = context.top
                var samples = top[0]
                for i in samples.indices { samples[i] = 1 }
            }
            context.output()
            context.gain(0.5)
            context.output(1, to: .auxiliary(1))
        }
        let block = renderer.renderOffline(frames: 3)
        #expect(block.channelCount == 3)
        #expect(block.array(0) == [1, 1, 1])
        #expect(block.array(1) == [0.5, 0.5, 0.5])
        #expect(block.array(2) == [0.5, 0.5, 0.5])
    }
}
