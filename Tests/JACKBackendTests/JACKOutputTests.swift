import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

extension JACKTests {
    @Suite struct OutputTests {
        @Test("Ports have lower-case numbered names, and the first ones are connected to the physical ones")
        func ports() async throws {
            let server = try DummyServer()
            let voice = AudioInput(channels: 2, name: "voice")
            let renderer = try Renderer(channels: 2, auxiliaryOutputs: [1]) { context in
                context.run(voice)
                context.output()
            }
            let output = JACKOutput(renderer, name: "ports", server: server.name)
            #expect(output.state == .stopped)
            try output.start()
            try output.start()
            #expect(output.state == .running)
            #expect(try output.clientName() == "ports")
            #expect(
                try output.portNames() == ["ports:out_1", "ports:out_2", "ports:out_3", "ports:in_1", "ports:in_2"])
            let listing = """
                system:capture_1
                   ports:in_1
                system:capture_2
                   ports:in_2
                system:playback_1
                   ports:out_1
                system:playback_2
                   ports:out_2
                ports:out_1
                   system:playback_1
                ports:out_2
                   system:playback_2
                ports:out_3
                ports:in_1
                   system:capture_1
                ports:in_2
                   system:capture_2

                """
            // The server shows a connection a cycle after it has been made.
            #expect(try await becomesTrue { try server.run("jack_lsp", "-c") == listing })
            output.stop()
            output.stop()
            #expect(output.state == .stopped)
            #expect(throws: JACKError.notRunning) { try output.clientName() }
            #expect(try await becomesTrue { try !server.run("jack_lsp").contains("ports:") })
        }

        @Test(
            "Ports are connected nowhere, or to named ports, where that is asked for; the environment has the last word"
        )
        func connect() async throws {
            let server = try DummyServer()
            let renderer = Renderer(channels: 2)
            func connects(_ connect: JACKConnect, _ expected: String) async throws -> Bool {
                let output = JACKOutput(renderer, name: "c", server: server.name, connect: connect)
                try output.start()
                defer { output.stop() }
                return try await becomesTrue { try server.run("jack_lsp", "-c", "c:") == expected }
            }
            #expect(try await connects(.none, "c:out_1\nc:out_2\n"))
            #expect(
                try await connects(
                    .ports(outputs: ["system:playback_2"]), "c:out_1\n   system:playback_2\nc:out_2\n"))
            #expect(
                try await connects(
                    .ports(outputs: ["", "system:playback_1"]), "c:out_1\nc:out_2\n   system:playback_1\n"))
            setenv("RENDERSTACK_JACK_CONNECT", "no", 1)
            defer { unsetenv("RENDERSTACK_JACK_CONNECT") }
            #expect(try await connects(.physical, "c:out_1\nc:out_2\n"))
        }

        @Test("A client whose name is taken gets a number, and an event says so")
        func rename() async throws {
            let server = try DummyServer()
            let outputs = (0..<3).map { _ in JACKOutput(Renderer(), name: "same", server: server.name) }
            let events = outputs.map { Events($0) }
            for output in outputs { try output.start() }
            let names = try outputs.map { try $0.clientName() }
            #expect(names[0] == "same")
            #expect(Set(names).count == 3)
            for index in 1..<3 {
                #expect(await becomesTrue { events[index].all.contains(.renamed(names[index])) })
            }
            #expect(!events[0].all.contains { if case .renamed = $0 { true } else { false } })
            for output in outputs { output.stop() }
        }

        @Test("It renders whole cycles, one after the other, and none while it is stopped")
        func frames() async throws {
            let server = try DummyServer(period: 128)
            let renderer = Renderer()
            let output = JACKOutput(renderer, name: "frames", server: server.name)
            for _ in 0..<5 {
                let before = renderer.sampleTime
                try output.start()
                #expect(try output.bufferSize() == 128)
                #expect(await becomesTrue { output.statistics.cycles >= 20 })
                output.stop()
                #expect(renderer.sampleTime - before == Int64(output.statistics.cycles * 128))
                #expect(output.statistics.loadMaximum > 0)
            }
            #expect(renderer.faultCount == 0)
        }

        @Test("Without a server a sentence says how to start one")
        func noServer() throws {
            let output = JACKOutput(Renderer(), server: "rs-none-\(getpid())")
            let error = #expect(throws: JACKError.self) { try output.start() }
            let sentence = try #require(error).description
            #expect(sentence.contains("jackd -n rs-none-\(getpid()) -d alsa"))
            #expect(sentence.hasPrefix("No JACK server named"))
            #expect(output.state == .stopped)
        }

        @Test("Outputs of two servers in one program are refused, with a sentence")
        func twoServers() async throws {
            let server = try DummyServer()
            let output = JACKOutput(Renderer(), server: server.name)
            try output.start()
            let other = JACKOutput(Renderer(), server: "rs-other")
            #expect(throws: JACKError.otherServer(name: server.name)) { try other.start() }
            #expect(JACKOutput.isServerRunning(named: server.name))
            #expect(!JACKOutput.isServerRunning(named: "rs-other"))
            output.stop()
            #expect(await becomesTrue { JACKOutput.isServerRunning(named: server.name) })
        }

        @Test("The rate is the server's")
        func rate() async throws {
            let server = try DummyServer(rate: 44_100)
            let renderer = Renderer(sampleRate: 96_000)
            let output = JACKOutput(renderer, server: server.name)
            try output.start()
            #expect(renderer.sampleRate == 44_100)
            output.stop()
        }

        @Test("The output reports a cycle of another length, and renders it")
        func bufferSize() async throws {
            let server = try DummyServer(period: 256)
            let renderer = Renderer()
            let output = JACKOutput(renderer, name: "size", server: server.name)
            let events = Events(output)
            try output.start()
            for frames in [64, 4096, 512] {
                try server.run("jack_bufsize", "\(frames)")
                #expect(await becomesTrue { events.all.contains(.bufferSizeChanged(frames: frames)) })
                #expect(try output.bufferSize() == frames)
                let before = output.statistics.cycles
                #expect(await becomesTrue { output.statistics.cycles > before + 3 })
            }
            output.stop()
            #expect(renderer.faultCount == 0)
        }

        @Test("The output counts a cycle that takes too long, and reports the interruption with its time")
        func xrun() async throws {
            let server = try DummyServer(period: 256)
            let blocks = Atomic<Bool>(false)
            let renderer = try Renderer { context in
                guard !context.isDryRun else { return }
                if blocks.exchange(false, ordering: .relaxed) { usleep(100_000) }
            }
            let output = JACKOutput(renderer, name: "slow", server: server.name)
            let events = Events(output)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            let (before, time) = (output.statistics.missedDeadlines, HostClock.now)
            blocks.store(true, ordering: .relaxed)
            #expect(await becomesTrue { output.statistics.missedDeadlines > before })
            #expect(
                await becomesTrue {
                    events.all.contains {
                        if case .xruns(let count, let when) = $0 { count > 0 && when > time } else { false }
                    }
                })
            #expect(await becomesTrue { output.statistics.loadMaximum > 10 })
            #expect(
                await becomesTrue {
                    events.all.contains {
                        if case .notice(let sentence) = $0 { sentence.hasPrefix("Your own cycle took ") } else { false }
                    }
                })
            #expect(try #require(output.statistics.lastMissedDeadline) > time)
            output.stop()
        }

        @Test("The output reports a server without real-time priority once, and plays on")
        func priority() async throws {
            let server = try DummyServer()
            let output = JACKOutput(Renderer(), server: server.name)
            let events = Events(output)
            try output.start()
            #expect(
                await becomesTrue {
                    events.all.contains {
                        if case .notice(let sentence) = $0 { sentence.contains("real-time priority") } else { false }
                    }
                })
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            output.stop()
        }

        @Test("An input that nothing drives, that is disabled, or that a renderer inside has, is silent")
        func silentInput() async throws {
            let server = try DummyServer(period: 256)
            let voice = AudioInput(channels: 2)
            let renderer = try Renderer { context in
                context.run(voice)
                context.output()
            }
            #expect(renderer.renderOffline(frames: 1000).array(1) == [Float](repeating: 0, count: 1000))
            #expect(!voice.isConnected)
            let output = JACKOutput(renderer, name: "quiet", server: server.name)
            try output.start()
            #expect(await becomesTrue { voice.isConnected })
            voice.isEnabled = false
            #expect(await becomesTrue { !voice.isConnected })
            output.stop()
            #expect(renderer.faultCount == 0)
        }

        @Test("In freewheel a client gets another client's sound in the same cycle, frame by frame")
        func duplex() async throws {
            let server = try DummyServer(period: 256)
            let sender = try JACKTests.sender(on: server)
            let input = AudioInput(channels: 2)
            let tap = RingTap(seconds: 5)
            let renderer = try Renderer { context in
                context.run(input)
                if context.isOffline || context.isDryRun { context.run(tap) }
                context.output()
            }
            let receiver = JACKOutput(
                renderer, name: "receiver", server: server.name,
                connect: .ports(inputs: ["sender:out_1", "sender:out_2"]))
            try sender.start()
            try receiver.start()
            #expect(await becomesTrue { input.isConnected })
            let events = Events(receiver)
            try sender.setFreewheel(true)
            #expect(await becomesTrue { tap.ring.overflowCount > 0 })
            try sender.setFreewheel(false)
            #expect(await becomesTrue { events.all.contains(.freewheel(false)) })
            receiver.stop()
            sender.stop()
            let heard = tap.takeAll()
            #expect(heard.first == 0)
            try #require(heard.channels[0].count >= 200_000)
            // A client that was late for the last cycle by the clock may take it for the first one without. From the
            // second cycle on it is the same cycle for all, and stays that.
            let shift = try #require(
                [-256, 0, 256].first { shift in
                    heard.channels[0][512] == FrameCounter.sample(Int64(512 + shift))
                })
            for channel in 0..<2 {
                let frames = 512..<heard.channels[channel].count
                let expected = frames.map { FrameCounter.sample(Int64($0 + shift), channel) }
                #expect(Array(heard.channels[channel][frames]) == expected)
            }
            #expect(renderer.faultCount == 0)
        }
    }
}
