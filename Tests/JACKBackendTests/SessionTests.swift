import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

extension JACKTests {
    @Suite struct SessionTests {
        @Test("A bounce through freewheel is what rendering offline gives, bit for bit, and so is the next one")
        func bounce() async throws {
            let server = try DummyServer(period: 256)
            func program() throws -> (renderer: Renderer, tap: RingTap) {
                let (low, high, late) = (Oscillator(frequency: 220, level: 0.5), Oscillator(frequency: 997), Late(1000))
                let tap = RingTap(seconds: 4, channels: 1)
                let renderer = try Renderer(channels: 1) { context in
                    context.run(low)
                    context.run(high)
                    context.mix(2)
                    context.run(late)
                    if context.isOffline || context.isDryRun { context.run(tap) }
                    context.output()
                }
                return (renderer, tap)
            }
            let (renderer, tap) = try program()
            let output = JACKOutput(renderer, name: "bounce", server: server.name)
            try output.start()
            for _ in 0..<2 {
                #expect(await becomesTrue { renderer.sampleTime % 100_000 > 20_000 })
                let events = Events(output)
                try output.setFreewheel(true)
                #expect(await becomesTrue { tap.ring.freeFrames < 1000 })
                try output.setFreewheel(false)
                #expect(await becomesTrue { events.all.contains(.freewheel(false)) })
                let bounced = tap.takeAll()
                #expect(bounced.first == 0)
                try #require(bounced.channels[0].count > 180_000)
                let expected = try program().renderer.renderOffline(frames: bounced.channels[0].count).array(0)
                #expect(bounced.channels[0] == expected)
                tap.ring.clear()
            }
            output.stop()
            #expect(renderer.faultCount == 0)
        }

        struct Slice: BitwiseCopyable, Sendable {
            let sampleTime: Int64
            let transport: Transport
            let isOffline: Bool
        }

        /// Logs the transport that the closure sees while it rolls, slice by slice.
        final class TransportLog: Sendable {
            private let slices = MessagePort<Slice>(capacity: 65_536)
            let count = Atomic<Int>(0)
            func note(_ context: borrowing RenderContext) {
                guard context.transport.isRolling else { return }
                slices.send(
                    Slice(
                        sampleTime: context.sampleTime, transport: context.transport, isOffline: context.isOffline))
                count.wrappingAdd(1, ordering: .relaxed)
            }
            func takeAll() -> [Slice] {
                var all: [Slice] = []
                _ = slices.drain { all.append($0) }
                return all
            }
        }

        @Test("The transport is led and located; in freewheel what runs while it rolls begins on its very frame")
        func transport() async throws {
            let server = try DummyServer(period: 128)
            let log = TransportLog()
            let renderer = try Renderer(channels: 1) { context in log.note(context) }
            let output = JACKOutput(renderer, name: "roll", server: server.name, connect: .none)
            try output.start()
            #expect(try output.leadTempo(90, beatsPerBar: 3))
            try output.locateTransport(480_000)
            #expect(try await becomesTrue { try output.transport().frame == 480_000 })
            // Ten seconds at 90 to the minute: fifteen beats, that is five bars of three.
            #expect(
                try await becomesTrue {
                    let text = try JACKTests.peer(server, "transport", "where").wait().text
                    return text.lowercased().contains("stopped 480000 bar=6 beat=1 tick=0")
                        && text.contains("beats_per_minute=90.0")
                })
            // Without a clock no cycle can be missed, and all is exact.
            let events = Events(output)
            try output.setFreewheel(true)
            #expect(await becomesTrue { events.all.contains(.freewheel(true)) })
            try output.startTransport()
            #expect(try await becomesTrue { try output.transport().frame > 1_000_000 })
            try output.stopTransport()
            #expect(try await becomesTrue { try !output.transport().isRolling })
            try output.setFreewheel(false)
            let rolled = log.takeAll()
            try #require(rolled.count > 1000)
            #expect(rolled.allSatisfy { $0.isOffline })
            #expect(rolled[0].transport.frame == 480_000)
            let origin = rolled[0].sampleTime - rolled[0].transport.frame
            #expect(rolled.allSatisfy { $0.sampleTime - $0.transport.frame == origin })
            for slice in rolled {
                let bars = try #require(slice.transport.bars)
                let beats = Double(bars.bar - 1) * 3 + Double(bars.beat - 1) + bars.fraction
                // Ticks are whole ones, of 1/1920 of a beat.
                #expect(abs(beats - Double(slice.transport.frame) / 48_000 * 1.5) < 1.001 / 1920)
            }
            output.stop()
        }

        @Test("The transport is followed: other programs start, locate and stop it")
        func followedTransport() async throws {
            let server = try DummyServer(period: 128)
            let log = TransportLog()
            let renderer = try Renderer(channels: 1) { context in log.note(context) }
            let output = JACKOutput(renderer, name: "follow", server: server.name, connect: .none)
            try output.start()
            try JACKTests.peer(server, "transport", "locate", "48000").wait()
            #expect(try await becomesTrue { try output.transport().frame == 48_000 })
            try JACKTests.peer(server, "transport", "start").wait()
            // A busy machine may miss most of the cycles.
            #expect(await becomesTrue { log.count.load(ordering: .relaxed) > 150 })
            try output.stopTransport()
            #expect(try await becomesTrue { try !output.transport().isRolling })
            // By the clock, the server goes on where a busy machine makes us miss a cycle, or be late for one: its
            // position jumps by whole cycles, forwards.
            let rolled = log.takeAll()
            try #require(rolled.count > 150)
            for (slice, next) in zip(rolled, rolled.dropFirst()) {
                let step = next.transport.frame - slice.transport.frame
                #expect(step >= 0 && step % 128 == 0)
                #expect(next.sampleTime - slice.sampleTime == 128)
            }
            #expect(rolled.allSatisfy { $0.transport.frame >= 48_000 && $0.transport.frame % 128 == 0 })
            try output.startTransport()
            #expect(try await becomesTrue { try output.transport().isRolling })
            output.stop()
        }

        @Test("The ports report the latency of the modules, and time stamps count in what is before and behind")
        func latency() async throws {
            let server = try DummyServer(period: 256)
            let (voice, late) = (AudioInput(channels: 1), Late(100))
            let times = Times()
            let renderer = try Renderer(channels: 1) { context in
                context.run(voice)
                times.captured.store(context.top.time.hostTime ?? 0, ordering: .relaxed)
                times.heard.store(context.hostTime, ordering: .relaxed)
                context.run(late)
                context.output()
            }
            let output = JACKOutput(renderer, name: "late", server: server.name)
            try output.start()
            func ranges(_ port: String) throws -> Latencies { try Latencies(server, port) }
            let (before, behind) = (try ranges("system:capture_1").capture, try ranges("system:playback_1").playback)
            #expect(before > 0 && behind > 0)
            #expect(try await becomesTrue { try ranges("late:out_1").capture == before + 100 })
            #expect(try await becomesTrue { try ranges("late:in_1").playback == behind + 100 })
            let expected = Double(before + behind) / 48_000
            #expect(
                await becomesTrue {
                    let distance = times.heard.load(ordering: .relaxed) - times.captured.load(ordering: .relaxed)
                    return abs(Double(distance) * 1e-9 - expected) < 1e-6
                })
            #expect(output.playbackLatency == behind && output.captureLatency == before && output.compensatesLatency)
            func isLate(by expected: Double) async -> Bool {
                await becomesTrue {
                    let distance = times.heard.load(ordering: .relaxed) - times.captured.load(ordering: .relaxed)
                    return abs(Double(distance) * 1e-9 - expected) < 1e-6
                }
            }
            output.compensatesLatency = false
            #expect(await isLate(by: 0))
            output.compensatesLatency = true
            #expect(await isLate(by: expected))
            // Another closure, another latency: reported without being asked.
            let more = Late(333)
            try renderer.replaceLoop { context in
                context.run(voice)
                context.run(more)
                context.output()
            }
            #expect(try await becomesTrue { try ranges("late:out_1").capture == before + 333 })
            #expect(try await becomesTrue { try ranges("late:in_1").playback == behind + 333 })
            try server.run("jack_bufsize", "512")
            #expect(
                try await becomesTrue { try ranges("late:out_1").capture == ranges("system:capture_1").capture + 333 })
            output.stop()
        }

        final class Times: Sendable {
            let captured = Atomic<Int64>(0)
            let heard = Atomic<Int64>(0)
        }

        @Test("jack_iodelay measures what the ports report, and one period for the edge that leads back")
        func roundTrip() async throws {
            let server = try DummyServer(period: 256)
            let (voice, late) = (AudioInput(channels: 1), Late(100))
            let renderer = try Renderer(channels: 1) { context in
                context.run(voice)
                context.run(late)
                context.output()
            }
            let output = JACKOutput(renderer, name: "trip", server: server.name, connect: .none)
            try output.start()
            let file = "/tmp/rs-delay-\(getpid())"
            let meter = try server.begin("sh", ["-c", "exec stdbuf -oL jack_iodelay >\(file)"])
            defer {
                meter.signal(SIGTERM)
                meter.wait()
                unlink(file)
            }
            #expect(try await becomesTrue { try server.run("jack_lsp").contains("jack_delay:in") })
            try await server.connect("jack_delay:out", to: "trip:in_1")
            try await server.connect("trip:out_1", to: "jack_delay:in")
            #expect(
                try await becomesTrue {
                    try Latencies(server, "trip:out_1").capture
                        == Latencies(server, "jack_delay:out").capture + late.frames
                })
            let reported = try Latencies(server, "trip:out_1").capture - Latencies(server, "jack_delay:out").capture
            // Without a clock, so that nothing is missed in what it measures.
            try output.setFreewheel(true)
            let isMeasured = await becomesTrue {
                let frames = JACKTests.contents(of: file).split(separator: "\n").compactMap { line -> Double? in
                    guard line.contains("total roundtrip latency") else { return nil }
                    return line.split(separator: " ").first.flatMap { Double($0) }
                }
                return frames.count > 3 && frames.suffix(2).allSatisfy { abs($0 - Double(reported + 256)) < 0.1 }
            }
            #expect(isMeasured, "\(JACKTests.contents(of: file))")
            // First this: a server without a clock would wait ten seconds for a program that has left.
            try output.setFreewheel(false)
            output.stop()
        }

        /// The latencies of a port by `jack_lsp -l`.
        struct Latencies: Equatable {
            /// -1 where the least and the most differ.
            let playback: Int
            let capture: Int

            init(_ server: DummyServer, _ port: String) throws {
                let text = try server.run("jack_lsp", "-l", port)
                func number(_ kind: String) -> Int {
                    // port playback latency = [ 512 512 ] frames
                    let line = text.split(separator: "\n").first { $0.contains("port \(kind) latency") }
                    let numbers = (line ?? "").split(separator: " ").compactMap { Int($0) }
                    return numbers.count == 2 && numbers[0] == numbers[1] ? numbers[0] : -1
                }
                (playback, capture) = (number("playback"), number("capture"))
            }
        }

        @Test("Frames and host time tell the same moment, and neither drifts from the other")
        func clock() async throws {
            let server = try DummyServer(period: 256)
            let output = JACKOutput(Renderer(), name: "clock", server: server.name)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 100 })
            for _ in 0..<20 {
                // Half a frame is 10 µs. The clock may have been set anew in between, and where the machine was late
                // it jumps: seldom, in so short a time.
                #expect(
                    try await becomesTrue {
                        let now = HostClock.now
                        guard let frame = try output.frame(atHostTime: now),
                            let time = try output.hostTime(atFrame: frame)
                        else { return false }
                        return abs(time - now) < 12_000
                    })
                try await Task.sleep(for: .milliseconds(10))
            }
            output.stop()
        }

        @Test("Ports carry names for people, an order, groups and a signal type")
        func metadata() async throws {
            let server = try DummyServer()
            let voice = AudioInput(channels: 2, name: "voice")
            let renderer = try Renderer { context in context.run(voice) }
            let output = JACKOutput(renderer, name: "meta", server: server.name)
            let expected = [
                ("pretty-name", "voice 2"), ("port-group", "voice"), ("signal-type", "AUDIO"), ("order", "3"),
            ].map { "http://jackaudio.org/metadata/\($0)=\($1)\n" }
            var text = ""
            // All servers of a user keep them in one file, which any of them takes away when it ends.
            let isDescribed = try await becomesTrue {
                try output.start()
                defer { output.stop() }
                text = try JACKTests.peer(server, "properties", "meta:in_2").wait().text
                return expected.allSatisfy { text.contains($0) }
            }
            #expect(isDescribed, "\(text)")
        }

        @Test("An independent client finds our pitch and level, and we find its own")
        func pitch() async throws {
            let server = try DummyServer(period: 512)
            let tone = Oscillator(frequency: 997, level: 0.25)
            let (voice, meter) = (AudioInput(channels: 1), LevelMeter())
            let renderer = try Renderer(channels: 1) { context in
                context.run(voice)
                context.run(meter)
                context.pop()
                context.run(tone)
                context.output()
            }
            let output = JACKOutput(renderer, name: "pitch", server: server.name, connect: .none)
            try output.start()
            // Without a clock: a cycle that a busy machine misses would be a jump of the phase.
            let heard = try JACKTests.peer(server, "listen", "pitch:out_1", "1", "freewheel").wait().text
            let words = heard.split { $0.isWhitespace }
            try #require(words.count == 6, "\(heard)")
            let numbers: [Double] = words.map { Double($0) ?? 0 }
            #expect(abs(numbers[1] - 997) < 0.1, "\(heard)")
            #expect(abs(numbers[3] - 0.25) < 0.0005, "\(heard)")
            #expect(abs(numbers[5] - 0.25) < 0.0005, "\(heard)")
            let sender = try JACKTests.peer(server, "send", "440", "50")
            #expect(try await becomesTrue { try server.run("jack_lsp").contains("peer:out") })
            try await server.connect("peer:out", to: "pitch:in_1")
            #expect(await becomesTrue { voice.isConnected })
            let level = RenderMath.decibels(amplitude: 0.5)
            #expect(await becomesTrue { abs(meter.combined.peak - level) < 0.04 })
            sender.signal(SIGTERM)
            sender.wait()
            output.stop()
        }

        @Test("A client connects and disconnects at random, closures are swapped there and next door: nothing breaks")
        func turmoil() async throws {
            let server = try DummyServer(period: 64)
            let programs = try ["turmoil", "neighbour"].map { name in
                let (voice, tone) = (AudioInput(channels: 2), Oscillator())
                let renderer = Renderer()
                let output = JACKOutput(renderer, name: name, server: server.name, inputs: [voice])
                try output.start()
                return (voice: voice, tone: tone, renderer: renderer, output: output)
            }
            let peer = try JACKTests.peer(server, "connect-at-random", "turmoil", "3")
            let end = ContinuousClock.now + .seconds(3)
            var swaps = 0
            while ContinuousClock.now < end {
                for (number, program) in programs.enumerated() {
                    let isTone = (swaps + number) % 2 == 0
                    try program.renderer.replaceLoop { [voice = program.voice, tone = program.tone] context in
                        if isTone { context.run(tone) } else { context.run(voice) }
                        context.output()
                    }
                }
                swaps += 1
                try await Task.sleep(for: .milliseconds(3))
            }
            let result = peer.wait()
            #expect(result.status == 0 && result.text.contains("changes"), "\(result.text)")
            for program in programs {
                #expect(await becomesTrue { program.output.state == .running })
                let cycles = program.output.statistics.cycles
                #expect(await becomesTrue { program.output.statistics.cycles > cycles + 10 })
                program.output.stop()
                #expect(program.renderer.faultCount == 0)
            }
        }
    }
}
