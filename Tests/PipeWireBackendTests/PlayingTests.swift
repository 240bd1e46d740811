import Glibc
import RenderStack
import TestSupport
import Testing

@testable import PipeWireBackend
@testable import Supply

extension PipeWireTests {
    /// Another program gets what was rendered.
    @Suite struct PlayingTests {
        @Test("A peer records our frames, each exactly, through every length of cycle, with no frame left out")
        func recorder() async throws {
            let desktop = try Desktop()
            let counter = FrameCounter()
            let renderer = try Renderer { context in
                context.run(counter)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "count")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            let file = "\(desktop.folder.path)/recorded"
            let peer = try desktop.peer("peer", "record", "count:output_FL", file, "4")
            try await Task.sleep(for: .seconds(1))
            let lengths = [1_000, 64, 16, 777, 8_192, 256]
            for length in lengths {
                try desktop.set("clock.force-quantum", length)
                try await Task.sleep(for: .milliseconds(400))
            }
            #expect(peer.wait().status == 0)
            let recorded = try Self.floats(of: file).drop { $0 == 0 }
            try #require(recorded.count > 48_000)
            // In a cycle that is late on a busy machine a recorder finds silence, or the cycle before once more. All others follow.
            var frames = recorded.map { Int((Double($0) - 0x1p-18) * 0x1p17) }
            frames.removeAll { $0 < 0 }
            let steps = zip(frames, frames.dropFirst()).count { ($0 + 1) & 0xFFFF == $1 }
            #expect(
                frames.count - steps < frames.count / 20,
                "\(frames.count) frames, \(steps) of them follow the one before")
            #expect(recorded.allSatisfy { $0 == 0 || FrameCounter.sample(Int64(($0 - 0x1p-18) * 0x1p17)) == $0 })
            // PipeWire's cycles and ours have the same frames.
            let counts = try #require(output.frameCounts)
            #expect(abs(counts.played - counts.graph) <= 8_192 * 2, "\(counts)")
            #expect(counts.byClock == 0 || counts.byClock < 48_000, "\(counts)")
            #expect(
                lengths.allSatisfy { length in events.all.contains(.bufferSizeChanged(frames: length)) },
                "\(events.all)")
            #expect(renderer.faultCount == 0)
        }

        @Test("What comes in by a capture goes out again, each frame once, in order")
        func duplex() async throws {
            let desktop = try Desktop()
            let player = try Self.playCounter()
            defer { player.stop() }
            let input = AudioInput(channels: 2, name: "voice")
            let tap = RingTap(seconds: 10)
            let renderer = try Renderer { context in
                context.run(input)
                context.run(tap)
                context.output()
            }
            let output = PipeWireOutput(
                renderer, name: "through", target: .device("other"), source: .monitor(of: "nowhere"))
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 300 })
            #expect(try desktop.links(of: "through-in").contains("nowhere:monitor_FL -> through-in:input_FL"))
            #expect(try output.sourceNames() == ["nowhere"])
            #expect(try output.deviceNames() == ["other"])
            output.stop()
            let heard = tap.takeAll().channels
            let frames = heard[0].drop { $0 == 0 }
            try #require(frames.count > 20_000)
            let numbers = frames.map { $0 == 0 ? -1 : Int((Double($0) - 0x1p-18) * 0x1p17) }
            let steps = zip(numbers, numbers.dropFirst()).count { $0 >= 0 && ($0 + 1) & 0xFFFF == $1 }
            // The graph may leave out cycles on a busy machine.
            #expect(
                frames.count - steps < frames.count / 20,
                "\(frames.count) frames, \(steps) of them follow the one before")
            let second = heard[1].dropFirst(heard[0].count - frames.count)
            let apart = zip(frames, second).count { $1 != $0 + 0.5 && $0 != 0 }
            #expect(apart < frames.count / 20, "\(apart) of \(frames.count) frames")
        }

        @Test("Inputs that new loops bring are captured while it plays, also by one that had none")
        func laterInputs() async throws {
            let desktop = try Desktop()
            let (voice, guitar) = (AudioInput(channels: 1, name: "voice"), AudioInput(channels: 2, name: "guitar"))
            let renderer = Renderer()
            let output = PipeWireOutput(renderer, name: "later")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 20 })
            #expect(!voice.isConnected)
            try renderer.replaceLoop { context in
                context.run(voice)
                context.output()
            }
            #expect(await becomesTrue { voice.isConnected && (try? output.sourceNames()) == ["microphone"] })
            try renderer.replaceLoop { context in
                context.run(voice)
                context.run(guitar)
                context.mix(2)
                context.output()
            }
            #expect(await becomesTrue { voice.isConnected && guitar.isConnected })
            #expect(
                try await becomesTrue {
                    let ports = try desktop.links(of: "later-in").map { $0.split(separator: ":").last ?? "" }
                    return Set(ports).count >= 1
                })
            #expect(await becomesTrue { (try? output.deviceNames()) == ["nowhere"] })
            #expect(output.state == .running)
            #expect(!events.all.contains { if case .lost = $0 { true } else { false } })
            #expect(renderer.faultCount == 0)
        }

        @Test("An input of a whole device has the channels of the source, or of the sink whose monitor it is")
        func wholeDevice() async throws {
            let desktop = try Desktop()
            for (source, channels) in [
                (PipeWireTarget.standard, 2), (.monitor(of: "nowhere"), 2), (.device("none"), 2),
            ] {
                let all = AudioInput.wholeDevice()
                all.settle(channels: 7)
                let renderer = try Renderer(layout: StackLayout(channels: 8)) { context in
                    context.run(all)
                    context.output()
                }
                let output = PipeWireOutput(renderer, name: "whole", source: source)
                guard source != .device("none") else {
                    #expect(throws: PipeWireError.self) { try output.start() }
                    continue
                }
                try output.start()
                defer { output.stop() }
                #expect(await becomesTrue { all.channelCount == channels && all.isConnected }, "\(source)")
                #expect(renderer.faultCount == 0)
            }
            _ = desktop
        }

        @Test("The host time of a cycle is its own and goes on by frames; the renderer has the graph's rate")
        func times() async throws {
            let desktop = try Desktop(rate: 44_100)
            let times = TimeTap()
            let renderer = try Renderer { context in
                context.push(channels: 2)
                context.run(times)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "times")
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 100 })
            #expect(renderer.sampleRate == 44_100)
            output.stop()
            let moments = times.moments.withLock { $0 }.suffix(60)
            let (first, last) = try #require(moments.first.flatMap { first in moments.last.map { (first, $0) } })
            let seconds = Double(last.host - first.host) / 1e9
            #expect(abs(Double(last.frame - first.frame) / seconds / 44_100 - 1) < 0.02, "\(seconds) s")
            _ = desktop
        }

        @Test("An output starts again after a stop, and others of the same name play beside it")
        func again() async throws {
            let desktop = try Desktop()
            let renderer = try Renderer { context in
                context.push(channels: 2)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "again")
            for _ in 0..<5 {
                try output.start()
                try output.start()
                #expect(output.state == .running)
                #expect(await becomesTrue { output.statistics.cycles > 5 })
                output.stop()
                output.stop()
                #expect(output.state == .stopped)
                #expect(try desktop.links(of: "again").isEmpty)
                #expect(throws: PipeWireError.notRunning) { try output.bufferSize() }
            }
            let others = try (0..<4).map { _ in
                try PipeWireOutput(
                    Renderer { context in
                        context.push(channels: 1)
                        context.output()
                    }, name: "again")
            }
            for other in others { try other.start() }
            #expect(await becomesTrue { others.allSatisfy { $0.statistics.cycles > 5 } })
            for other in others { other.stop() }
        }

        /// Plays the numbers of the frames on "nowhere", those of the right channel half above.
        static func playCounter() throws -> PipeWireOutput {
            let counter = FrameCounter(channels: 2)
            let renderer = try Renderer { context in
                context.run(counter)
                context.output()
            }
            let player = PipeWireOutput(renderer, name: "player", target: .device("nowhere"))
            try player.start()
            return player
        }

        static func floats(of path: String) throws -> [Float] {
            guard let file = fopen(path, "rb") else { throw Program.Failure(what: "no file \(path)") }
            defer { fclose(file) }
            var floats: [Float] = []
            var block = [Float](repeating: 0, count: 4_096)
            while true {
                let count = fread(&block, 4, block.count, file)
                if count == 0 { return floats }
                floats += block.prefix(count)
            }
        }
    }
}

/// Notes frame and host time of each slice.
private final class TimeTap: Tap {
    let moments = Guarded<[(frame: Int64, host: Int64)]>([])

    func process(_ context: inout RenderContext) {
        guard let frame = context.time.sampleTime, let host = context.time.hostTime else { return }
        moments.withLock { $0.append((frame: frame, host: host)) }
    }
}
