import Glibc
import RenderStack
import TestSupport
import Testing

extension JACKTests {
    /// The resources of the process: descriptors, threads, and kilobytes of address space.
    struct Holdings: Equatable {
        var descriptors = 0
        var threads = 0
        var kilobytes = 0

        init(descriptors: Int, threads: Int, kilobytes: Int) {
            self.descriptors = descriptors
            self.threads = threads
            self.kilobytes = kilobytes
        }

        static var now: Holdings {
            func entries(_ path: String) -> Int {
                guard let folder = opendir(path) else { return -1 }
                defer { closedir(folder) }
                var count = 0
                while readdir(folder) != nil { count += 1 }
                return count
            }
            var pages = 0
            if let file = fopen("/proc/self/statm", "r") {
                var text = [CChar](repeating: 0, count: 64)
                if fgets(&text, 64, file) != nil { pages = strtol(text, nil, 10) }
                fclose(file)
            }
            return Holdings(
                descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"), kilobytes: pages * 4)
        }
    }

    @Suite struct ServerLossTests {
        @Test(
            "The server is killed ten times under load: an event each, playing again after its return, nothing left over"
        )
        func killed() async throws {
            let server = try DummyServer(period: 128)
            let tones = (0..<20).map { Oscillator(frequency: 100 + 50 * Float($0), level: 0.04) }
            let voice = AudioInput(channels: 1)
            let renderers = try (0..<2).map { number in
                try Renderer { context in
                    if number == 0 { context.run(voice) } else { context.push(channels: 1) }
                    context.output()
                }
            }
            try renderers[1].replaceLoop { context in
                for tone in tones { context.run(tone) }
                context.mix(tones.count)
                context.output()
            }
            let outputs = renderers.enumerated().map {
                JACKOutput(
                    $1, name: "loss\($0)", server: server.name,
                    connect: $0 == 0 ? .ports(inputs: ["loss1:out_2"]) : .physical)
            }
            let events = outputs.map { Events($0) }
            for output in outputs.reversed() { try output.start() }
            /// The ports, each with what it is connected to: in which order, is chance.
            func links() throws -> [String: Set<String>] {
                var links: [String: Set<String>] = [:]
                var port = ""
                for line in try server.run("jack_lsp", "-c", "loss").split(separator: "\n") {
                    if line.hasPrefix(" ") {
                        links[port, default: []].insert(String(line.drop { $0 == " " }))
                    } else {
                        port = String(line)
                        links[port, default: []] = []
                    }
                }
                return links
            }
            // The server shows a connection a cycle after it has been made.
            #expect(
                try await becomesTrue {
                    try links()["loss0:in_1"] == ["loss1:out_2"]
                        && links()["loss1:out_1"]?.contains("system:playback_1") == true
                })
            let before = try links()
            #expect(before["loss0:in_1"] == ["loss1:out_2"])
            #expect(before["loss1:out_1"]?.contains("system:playback_1") == true)
            var holdings: [Holdings] = []
            for round in 1...10 {
                for output in outputs {
                    let cycles = output.statistics.cycles
                    #expect(await becomesTrue { output.statistics.cycles > cycles + 5 })
                }
                server.end(SIGKILL)
                for output in outputs { #expect(await becomesTrue { output.state == .waiting }) }
                let times = renderers.map(\.sampleTime)
                try server.start()
                for (index, output) in outputs.enumerated() {
                    #expect(
                        await becomesTrue { output.state == .running && renderers[index].sampleTime > times[index] })
                    /// Each loss with its return, in the order in which the output reported them.
                    func told() -> (losses: [String], areInPairs: Bool) {
                        let told = events[index].all.filter { if case .lost = $0 { true } else { $0 == .regained } }
                        let losses = told.compactMap { if case .lost(let why) = $0 { why } else { nil } }
                        let areInPairs = told.indices.allSatisfy { (told[$0] == .regained) == ($0 % 2 == 1) }
                        return (losses, areInPairs && told.count == 2 * losses.count)
                    }
                    let isTold = await becomesTrue { told().losses.count >= round && told().areInPairs }
                    #expect(isTold, "\(events[index].all)")
                    // A kill is reported once. On a busy machine a server that lives may count as gone besides: it is
                    // silent too long, or does not answer.
                    let kills = told().losses.count { $0.contains("has ended") }
                    #expect(kills <= round, "\(told().losses)")
                }
                let areBack = try await becomesTrue { try links() == before }
                let now = try links()
                #expect(areBack, "round \(round): \(now), not \(before)")
                holdings.append(.now)
            }
            #expect(try outputs.map { try $0.clientName() } == ["loss0", "loss1"])
            for output in outputs { output.stop() }
            #expect(renderers.map(\.faultCount) == [0, 0])

            // Does the same with a client that is nothing but libjack: the resources that it leaves behind are not
            // ours.
            let bare = try await bareClient(server, rounds: 10)
            print("After each return, ours: \(holdings.map { ($0.descriptors, $0.threads, $0.kilobytes) })")
            print("and a bare client: \(bare.map { ($0.descriptors, $0.threads, $0.kilobytes) })")
            try #require(bare.count == 11)
            let rounds = 7
            let clients = outputs.count
            let ours = (holdings[2], holdings[9])
            let theirs = (bare[3], bare[10])
            #expect(
                ours.1.descriptors - ours.0.descriptors
                    <= clients * max(0, theirs.1.descriptors - theirs.0.descriptors) + rounds - 1)
            let threads = ours.1.threads - ours.0.threads
            #expect(threads <= clients * max(0, theirs.1.threads - theirs.0.threads) + rounds - 1)
            // A thread that the system's pool has started meanwhile has a stack of 8 MB and an arena of 64.
            #expect(
                ours.1.kilobytes - ours.0.kilobytes
                    <= clients * max(0, theirs.1.kilobytes - theirs.0.kilobytes) + 2048 + 73_728 * max(0, threads))
        }

        private func bareClient(_ server: DummyServer, rounds: Int) async throws -> [Holdings] {
            let source = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Peers/reconnect.c"
            let program = "/tmp/rs-reconnect-\(getpid())", file = program + ".txt"
            let compiled = try Program("gcc", ["-O1", "-o", program, source, "-ljack"]).wait()
            try #require(compiled.status == 0, "\(compiled.text)")
            defer { for path in [program, file] { unlink(path) } }
            // The life of the client depends on how busy the machine is.
            let client = try server.begin("sh", ["-c", "exec \(program) \(rounds) >\(file)"], seconds: nil)
            func returns() -> [Holdings] {
                JACKTests.contents(of: file).split(separator: "\n").compactMap { line in
                    let numbers = line.split(separator: " ").compactMap { Int($0) }
                    return numbers.count == 4
                        ? Holdings(descriptors: numbers[0], threads: numbers[1], kilobytes: numbers[3]) : nil
                }
            }
            for round in 1...rounds {
                // It has counted what it has before its server dies.
                guard await becomesTrue(60, { returns().count == round }) else { break }
                server.end(SIGKILL)
                try server.start()
            }
            if await !becomesTrue(60, { returns().count == rounds + 1 }) { client.signal(SIGKILL) }
            client.wait()
            return returns()
        }

        @Test("An output that is not to rejoin stops when the server ends, and can be started again")
        func stays() async throws {
            let server = try DummyServer()
            let renderer = Renderer()
            let output = JACKOutput(renderer, server: server.name, rejoins: false)
            let events = Events(output)
            try output.start()
            server.end(SIGTERM)
            #expect(await becomesTrue { output.state == .stopped })
            #expect(await becomesTrue { events.count { if case .lost = $0 { true } else { false } } == 1 })
            #expect(throws: JACKError.self) { try output.start() }
            try server.start()
            // Leaving the old server may take a while on a busy machine.
            #expect(await becomesTrue { (try? output.start()) != nil })
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            output.stop()
        }

        @Test("Connections come back as their other ends do, also those that were made by others")
        func otherEnds() async throws {
            let server = try DummyServer()
            let other = JACKOutput(Renderer(), name: "other", server: server.name, connect: .none, rejoins: false)
            let voice = AudioInput(channels: 1)
            let renderer = try Renderer { context in
                context.run(voice)
                context.output()
            }
            let output = JACKOutput(renderer, name: "ends", server: server.name, connect: .none)
            try other.start()
            try output.start()
            try await server.connect("other:out_2", to: "ends:in_1")
            try await server.connect("ends:out_1", to: "system:playback_2")
            func isHeard() throws -> Bool {
                try server.run("jack_lsp", "-c", "ends:").contains("ends:out_1\n   system:playback_2")
            }
            #expect(try await becomesTrue { try voice.isConnected && isHeard() })
            #expect(await JACKTests.linksAreSeen(by: output))
            server.end(SIGKILL)
            #expect(await becomesTrue { output.state == .waiting && other.state == .stopped })
            try server.start()
            #expect(await becomesTrue { output.state == .running })
            #expect(try await becomesTrue { try isHeard() })
            #expect(try !server.run("jack_lsp", "-c", "ends:").contains("other"))
            try other.start()
            #expect(
                try await becomesTrue {
                    try server.run("jack_lsp", "-c", "ends:").contains("ends:in_1\n   other:out_2")
                })
            output.stop()
            other.stop()
        }

        @Test("A server that stops without a word counts as gone after some seconds, and is joined when it goes on")
        func silent() async throws {
            let server = try DummyServer()
            let renderer = Renderer()
            let output = JACKOutput(renderer, name: "silent", server: server.name)
            let events = Events(output)
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 3 })
            server.pause(true)
            #expect(await becomesTrue { output.state == .waiting })
            #expect(await becomesTrue { events.count { if case .lost = $0 { true } else { false } } == 1 })
            server.pause(false)
            #expect(await becomesTrue { output.state == .running })
            let cycles = output.statistics.cycles
            #expect(await becomesTrue { output.statistics.cycles > cycles + 3 })
            output.stop()
        }
    }
}
