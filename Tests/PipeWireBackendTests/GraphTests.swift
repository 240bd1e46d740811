import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import PipeWireBackend

extension PipeWireTests {
    /// What the graph tells of itself: its transport, its interruptions, its latencies; and what the output tells it.
    @Suite struct GraphTests {
        @Test("Another program locates and starts the transport, and the render loop sees its frames and bars")
        func transport() async throws {
            let desktop = try Desktop(leads: true)
            let seen = Guarded(Transport())
            let renderer = try Renderer { context in
                let transport = context.transport
                seen.withLock { $0 = transport }
                context.push(channels: 2)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "rolls")
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            #expect(seen.withLock { $0.frame } == 0 && !seen.withLock { $0.isRolling })
            var leader = try Program("pw-jack", ["jack_transport"], hasInput: true)
            leader.write("locate 96000\n")
            // A leader that finds no cycles yet does nothing, and stays so.
            for _ in 0..<4 where await !becomesTrue(5, { seen.withLock { $0.frame } == 96_000 }) {
                leader.signal(SIGKILL)
                leader.wait()
                leader = try Program("pw-jack", ["jack_transport"], hasInput: true)
                leader.write("locate 96000\n")
            }
            #expect(await becomesTrue { seen.withLock { $0.frame } == 96_000 })
            leader.write("play\n")
            #expect(await becomesTrue { seen.withLock { $0.isRolling && $0.frame > 100_000 } })
            leader.write("tempo 90\nmaster\n")
            #expect(await becomesTrue { seen.withLock { $0.bars?.beatsPerMinute == 90 } })
            leader.write("stop\n")
            #expect(await becomesTrue { !seen.withLock { $0.isRolling } })
            let stopped = seen.withLock { $0.frame }
            try await Task.sleep(for: .milliseconds(100))
            #expect(seen.withLock { $0.frame } == stopped)
            // A third program of JACK's says the same bar and beat.
            let bars = try #require(seen.withLock { $0.bars })
            let third = try Program("timeout", ["-k", "1", "-s", "INT", "1", "pw-jack", "jack_showtime"]).wait().text
            let said = try #require(third.split(separator: "BBT:").last?.split { $0 == " " || $0 == "|" })
            #expect(said.prefix(2).map { Int($0) } == [bars.bar, bars.beat], "\(bars) \(said)")
            leader.write("exit\n")
            leader.wait()
            _ = desktop
        }

        @Test("Interruptions are those that PipeWire's profiler sees in the clock")
        func interruptions() async throws {
            let desktop = try Desktop()
            let isToStall = Atomic<Bool>(false)
            let renderer = try Renderer { context in
                if isToStall.exchange(false, ordering: .relaxed) { usleep(30_000) }
                context.push(channels: 2)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "stalls")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            let profiler = try desktop.peer("profile", hasInput: true)
            #expect(profiler.read().contains("profiling"))
            let before = events.interruptions
            for _ in 0..<10 {
                isToStall.store(true, ordering: .relaxed)
                try await Task.sleep(for: .milliseconds(300))
            }
            #expect(await becomesTrue { events.interruptions - before >= 10 })
            let ours = events.interruptions - before
            let text = profiler.wait().text
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("gaps ") })
            let theirs = try #require(Int(line.dropFirst(5)))
            // On a busy machine there are others, at the edges too, and the profiler may be late itself.
            #expect(theirs >= 10 && max(theirs, ours) <= 10 + 3 * min(theirs, ours), "ours: \(ours); \(text)")
        }

        /// How late a port says that the sound is, in nanoseconds, in a direction: "Output" from the inputs to it.
        private func latency(_ desktop: Desktop, of port: String, _ direction: String) throws -> Int {
            let script = """
                import json, sys
                for it in json.load(sys.stdin):
                    info = it.get("info") or {}
                    if it["type"].endswith("Port") and info["props"].get("port.alias") == sys.argv[1]:
                        for one in info["params"].get("Latency", []):
                            if one["direction"] == sys.argv[2]:
                                print(round(one["maxNs"] + one["maxRate"] * 1e9 / 48000))
                """
            let text = try desktop.run(
                "sh", "-c", "pw-dump | python3 -c '\(script)' '\(port)' \(direction)")
            return Int(text.prefix { $0.isNumber }) ?? -1
        }

        @Test("The latencies of others are in host times and in events, and those of our modules in our ports")
        func latencies() async throws {
            let desktop = try Desktop()
            let (input, late) = (AudioInput(channels: 1, name: "voice"), Late(480))
            let lag = Atomic<Int64>(0)
            let renderer = try Renderer(channels: 1) { context in
                context.run(input)
                context.run(late)
                if let heard = context.time.hostTime { lag.store(heard - HostClock.now, ordering: .relaxed) }
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "through", target: .none, source: .none)
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            func link(_ from: String, _ to: String) async {
                #expect(await becomesTrue { (try? desktop.run("pw-link", from, to)) != nil })
            }
            await link("microphone:capture_FL", "through-in:input_MONO")
            await link("through:output_MONO", "nowhere:playback_FL")
            // The first latencies are no news.
            #expect(await becomesTrue { (output.frameCounts?.played ?? 0) > 48_000 })
            let delay = try desktop.peer("delay", "500000000", hasInput: true)
            await link("through:output_MONO", "delay:in")
            await link("delay:out", "nowhere:playback_FL")
            try desktop.run("pw-link", "-d", "through:output_MONO", "nowhere:playback_FL")
            // Half a second is 24,000 frames.
            #expect(
                await becomesTrue {
                    events.all.contains { if case .latencyChanged(24_000, _) = $0 { true } else { false } }
                })
            #expect(await becomesTrue { lag.load(ordering: .relaxed) > 300_000_000 })
            #expect(lag.load(ordering: .relaxed) < 600_000_000)
            #expect(output.playbackLatency == 24_000 && output.captureLatency >= 0)
            output.compensatesLatency = false
            #expect(await becomesTrue { lag.load(ordering: .relaxed) < 200_000_000 })
            output.compensatesLatency = true
            #expect(await becomesTrue { lag.load(ordering: .relaxed) > 300_000_000 })
            #expect(try latency(desktop, of: "through:output_MONO", "Input") == 500_000_000)
            // What lies between the capture and the playback counts too.
            let own = try await becomesTrue {
                (10_000_000...60_000_000).contains(try latency(desktop, of: "through:output_MONO", "Output"))
            }
            let whole = try await becomesTrue {
                (510_000_000...560_000_000).contains(try latency(desktop, of: "through:input_MONO", "Input"))
            }
            #expect(own && whole)
            delay.wait()
        }

        @Test(
            "Latencies of another program that are nonsense move host times by nothing, or by a minute",
            arguments: [
                ["-1000000000"], ["0", "-1"], ["0", "2147483648"], ["9223372036854775807"], ["0", "2147483647"],
            ])
        func nonsense(words: [String]) async throws {
            let desktop = try Desktop()
            let most = Atomic<Int64>(0)
            let least = Atomic<Int64>(0)
            let renderer = try Renderer(channels: 1) { context in
                if let heard = context.time.hostTime {
                    most.max(heard - HostClock.now, ordering: .relaxed)
                    least.min(heard - HostClock.now, ordering: .relaxed)
                }
                context.push(channels: 1)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "through", target: .none)
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            let delay =
                words.count == 1
                ? try desktop.peer("delay", words[0], hasInput: true)
                : try desktop.peer("delay", words[0], words[1], hasInput: true)
            for (from, to) in [("through:output_MONO", "delay:in"), ("delay:out", "nowhere:playback_FL")] {
                #expect(await becomesTrue { (try? desktop.run("pw-link", from, to)) != nil })
            }
            let before = output.frameCounts?.played ?? 0
            #expect(await becomesTrue { (output.frameCounts?.played ?? 0) > before + 60_000 })
            // A busy machine may be late by itself.
            #expect(least.load(ordering: .relaxed) > -5_000_000_000)
            #expect(most.load(ordering: .relaxed) < 66_000_000_000)
            for case .latencyChanged(let playback, _) in events.all { #expect((0...2_880_000).contains(playback)) }
            delay.wait()
        }

        @Test("A device that the session manager has put to sleep wakes for the output")
        func sleep() async throws {
            let desktop = try Desktop()
            let output = PipeWireOutput(try DesktopTests.tone(), name: "sleeper")
            try output.start()
            #expect(await becomesTrue { (output.frameCounts?.played ?? 0) > 4_800 })
            output.stop()
            let number = try #require(try desktop.number(of: "nowhere"))
            // It does so after five seconds.
            let isAsleep = try await becomesTrue(30) {
                try desktop.run("pw-cli", "info", "\(number)").contains("state: \"suspended\"")
            }
            #expect(isAsleep)
            try output.start()
            #expect(await becomesTrue { (output.frameCounts?.played ?? 0) > 4_800 })
            #expect(try await DesktopTests.level(desktop, "nowhere:monitor_FL") > 0.1)
            output.stop()
        }

        @Test("The data thread has no priority above the daemon's")
        func priority() async throws {
            let desktop = try Desktop()
            let priority = Atomic<Int32>(-1)
            let renderer = try Renderer { context in
                if !context.isDryRun {
                    var parameters = sched_param()
                    var policy: Int32 = 0
                    pthread_getschedparam(pthread_self(), &policy, &parameters)
                    priority.store(parameters.sched_priority, ordering: .relaxed)
                }
                context.push(channels: 2)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "modest")
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            output.stop()
            let daemon = try #require(desktop.daemon).identifier
            let text = try desktop.run("sh", "-c", "cat /proc/\(daemon)/task/*/stat")
            // The 40th word is the real-time priority; those before the name's bracket are two.
            let priorities = text.split(separator: "\n").compactMap { line in
                line.split(separator: ")").last.flatMap { Int32($0.split(separator: " ")[37]) }
            }
            #expect(priority.load(ordering: .relaxed) <= priorities.max() ?? -1, "\(priorities)")
            #expect(priority.load(ordering: .relaxed) >= 0)
        }
    }
}
