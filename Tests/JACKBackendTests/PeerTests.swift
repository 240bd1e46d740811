import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

extension JACKTests {
    /// JACK's own programs as peers: one records us, one leads us.
    @Suite struct PeerTests {
        @Test("jack_rec records our frames, each exactly, in order but for cycles that a busy machine misses")
        func recorder() async throws {
            let server = try DummyServer(period: 256)
            let counter = FrameCounter()
            let renderer = try Renderer(channels: 1) { context in
                context.run(counter)
                context.output()
            }
            let output = JACKOutput(renderer, name: "count", server: server.name, connect: .none)
            try output.start()
            let file = "/tmp/rs-record-\(getpid()).wav"
            defer { unlink(file) }
            // With room for all of it, so that a disk that is late loses nothing.
            try server.run("jack_rec", "-f", file, "-d", "2", "-b", "24", "-B", "131072", "count:out_1")
            output.stop()
            let recorded = try await AudioBlock.load(path: file).array(0)
            #expect(recorded.count == 96_000)
            // The recorder takes whole cycles, and so do we. Before the connection there is silence; no frame of ours is that.
            let cycles = (0..<recorded.count / 256).map { recorded[$0 * 256..<$0 * 256 + 256] }
                .drop { $0.allSatisfy { $0 == 0 } }
            try #require(cycles.count > 48_000 / 256)
            var next: Int?
            var inOrder = 0
            for cycle in cycles {
                let frames = cycle.map { Double($0 - 0x1p-18) * 0x1p17 }
                // Where one of us is late, both are in the buffer at once, and the recorder finds silence or the cycle before.
                for (index, frame) in frames.enumerated() where cycle[cycle.startIndex + index] != 0 {
                    let isOurs = frame == frame.rounded() && (0..<65_536).contains(frame)
                    try #require(isOurs && Int(frame) % 256 == index, "\(frame) at \(index) of a cycle")
                }
                let first = Int(frames[0].rounded())
                if frames == (first..<first + 256).map(Double.init), next == nil || first == next { inOrder += 1 }
                next = (first + 256) & 0xFFFF
            }
            #expect(inOrder > 20)
            #expect(renderer.faultCount == 0)
        }

        @Test("jack_transport locates and starts, and a file begins on that very frame; the driver waits for the disk")
        func transport() async throws {
            let server = try DummyServer(period: 256)
            // Longer than what a player reads ahead, and with a sound that the disk alone can know.
            var noise: UInt64 = 5
            let sound = (0..<1_000_000).map { _ in
                noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Float(Int32(truncatingIfNeeded: noise >> 32) >> 9) / 8_388_608
            }
            let file = "/tmp/rs-player-\(getpid()).wav"
            defer { unlink(file) }
            var writer = try AudioFileWriter(path: file, sampleRate: 48_000, channels: 1)
            try writer.write(AudioBlock([sound]))
            try writer.finish()

            let (player, late, tap) = (try FilePlayer(path: file), Late(1000), RingTap(seconds: 25, channels: 1))
            let began = Began()
            let renderer = try Renderer(channels: 1) { context in
                if context.transport.isRolling || context.isDryRun {
                    context.run(player)
                } else {
                    context.push(channels: 1)
                }
                context.run(late)
                if context.transport.isRolling || context.isDryRun {
                    context.run(tap)
                    began.note(context)
                }
                context.output()
            }
            let output = JACKOutput(renderer, name: "roll", server: server.name, connect: .none)
            try output.start()
            let events = Events(output)
            // It comes before the freewheel and leaves after it: JACK 1.9.22 waits seconds for a client that leaves in between.
            let words = file + ".words"
            try #require(mkfifo(words, 0o600) == 0)
            defer { unlink(words) }
            let leader = try server.begin("sh", ["-c", "jack_transport <\(words)"])
            let line = open(words, O_WRONLY)
            try #require(line >= 0)
            func tell(_ command: String) { #expect(write(line, command, command.utf8.count) == command.utf8.count) }
            // One after the other: a server that is asked for both at once may begin to roll before it goes to the frame.
            tell("locate 96000\n")
            #expect(await becomesTrue { (try? output.transport().frame) == 96_000 })
            try output.setFreewheel(true)
            #expect(await becomesTrue { events.all.contains(.freewheel(true)) })
            player.play()
            tell("play\n")
            #expect(await becomesTrue { (try? output.transport().isRolling) == true })
            #expect(await becomesTrue { tap.ring.freeFrames < 256 })
            try output.stopTransport()
            try output.setFreewheel(false)
            #expect(await becomesTrue { events.all.contains(.freewheel(false)) })
            close(line)
            let led = leader.wait()
            #expect(led.status == 0, "\(led.text)")
            output.stop()
            let heard = tap.takeAll()
            #expect(began.transportFrame == 96_000)
            #expect(heard.first == began.sampleTime)
            try #require(heard.channels[0].count > 1_100_000)
            let expected: [Float] = silence(1000) + sound
            #expect(JACKTests.firstDifference(heard.channels[0].prefix(1_001_000), expected) == nil)
            #expect(heard.channels[0].dropFirst(1_001_000).allSatisfy { $0 == 0 })
            #expect(renderer.faultCount == 0)

            // Does the same offline.
            let (again, lateAgain) = (try FilePlayer(path: file), Late(1000))
            let offline = try Renderer(channels: 1) { context in
                context.run(again)
                context.run(lateAgain)
                context.output()
            }
            again.play()
            let block = offline.renderOffline(frames: heard.channels[0].count)
            #expect(JACKTests.firstDifference(block.array(0), heard.channels[0]) == nil)
        }

        /// The place of the first slice that rolled.
        final class Began: Sendable {
            private let times = Atomic<Int64>(-1)
            private let frames = Atomic<Int64>(-1)
            func note(_ context: borrowing RenderContext) {
                guard !context.isDryRun, times.load(ordering: .relaxed) < 0 else { return }
                frames.store(context.transport.frame, ordering: .relaxed)
                times.store(context.sampleTime, ordering: .releasing)
            }
            var sampleTime: Int64 { times.load(ordering: .acquiring) }
            var transportFrame: Int64 { frames.load(ordering: .relaxed) }
        }
    }
}
