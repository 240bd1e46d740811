import Glibc
import RenderStack
import TestSupport
import Testing

/// Tests of a program's latency, over all ways through it.
@Suite struct LatencyTests {
    @Test("One after the other they add up; side by side the latest counts; what is not heard does not")
    func ways() throws {
        let (a, b, c) = (Late(100), Late(30), Late(7))
        let tone = Oscillator()
        let chain = try Renderer(channels: 1) { context in
            context.run(tone)
            context.run(a)
            context.run(b)
            context.output()
        }
        #expect(chain.latency == 130)
        let parallel = try Renderer(channels: 1) { context in
            context.run(tone)
            context.duplicate()
            context.run(a)
            context.swap()
            context.run(b)
            context.mix(2)
            context.run(c)
            context.output()
        }
        #expect(parallel.latency == 107)
        let unheard = try Renderer(channels: 1) { context in
            context.run(tone)
            context.duplicate()
            context.run(a)
            context.pop()
            context.run(b)
            context.output()
        }
        #expect(unheard.latency == 30)
        let summed = try Renderer(channels: 1, auxiliaryOutputs: [1]) { context in
            context.run(tone)
            context.output()
            context.run(c)
            context.output()
            context.run(b)
            context.output(to: .auxiliary(1))
        }
        #expect(summed.latency == 37)
        #expect(Renderer().latency == 0)
        try chain.replaceLoop { context in
            context.run(tone)
            context.push(channels: 1)
            context.run(c)
            context.mix(gains: [1, 1])
            context.output()
        }
        #expect(chain.latency == 7)
        chain.removeLoop()
        #expect(chain.latency == 0)
    }

    @Test("Modules inside of modules count, also those that come later")
    func composites() throws {
        let (a, b, c) = (Late(100), Late(30), Late(7))
        let tone = Oscillator()
        let effects = ModuleList(chaining: [a, b])
        let own = ClosureModule(.edits) { context in
            context.duplicate()
            context.run(c)
            context.mix(2)
        }
        let renderer = try Renderer(channels: 1) { context in
            context.run(tone)
            context.run(effects)
            context.run(own)
            context.output()
        }
        #expect(renderer.latency == 137)
        effects.remove(b)
        #expect(renderer.latency == 107)
        effects.removeAll()
        #expect(renderer.latency == 7)
        let submix = SubRenderer(renderer)
        let voices = ModuleList(mixing: 1, [tone])
        let outer = try Renderer(channels: 1) { context in
            context.run(voices)
            context.output()
        }
        #expect(outer.latency == 0)
        voices.append(submix)
        #expect(outer.latency == 7)
        voices.append(voices)
        _ = outer.latency
        voices.removeAll()
        #expect(outer.latency == 0)
    }
}

extension JACKTests {
    @Suite struct PortLatencyTests {
        /// The least and the most that `jack_lsp -l` says of a port.
        static func ranges(_ server: DummyServer, _ port: String) throws -> [String: [Int]] {
            var ranges: [String: [Int]] = [:]
            for line in try server.run("jack_lsp", "-l", port).split(separator: "\n") {
                for kind in ["playback", "capture"] where line.contains("port \(kind) latency") {
                    ranges[kind] = line.split(separator: " ").compactMap { Int($0) }
                }
            }
            return ranges
        }

        @Test("Ports report the least and the most over the ways between them; those that no way joins report nothing")
        func ranges() async throws {
            let server = try DummyServer(period: 256)
            let (voice, guitar) = (AudioInput(channels: 1, name: "voice"), AudioInput(channels: 1, name: "guitar"))
            let (a, b, far) = (Late(100), Late(30), Late(5000))
            let tone = Oscillator()
            let renderer = try Renderer(channels: 1, auxiliaryOutputs: [1]) { context in
                // The voice by two ways, with a tone that comes by none; a branch that is not heard.
                context.run(voice)
                context.duplicate()
                context.duplicate()
                context.run(far)
                context.pop()
                context.run(a)
                context.swap()
                context.run(b)
                context.run(tone)
                context.mix(3)
                context.output()
                context.popAll()
                context.run(guitar)
                context.output(to: .auxiliary(1))
            }
            let output = JACKOutput(renderer, name: "ways", server: server.name)
            try output.start()
            try await server.connect("ways:out_2", to: "system:playback_2")
            func settle(_ port: String, _ kind: String, _ expected: [Int]) async throws -> Bool {
                try await becomesTrue { try Self.ranges(server, port)[kind] == expected }
            }
            let before = try #require(Self.ranges(server, "system:capture_1")["capture"]?.first)
            let behind = try #require(Self.ranges(server, "system:playback_1")["playback"]?.first)
            #expect(before > 0 && behind > 0)
            #expect(try await settle("ways:out_1", "capture", [before + 30, before + 100]))
            #expect(try await settle("ways:out_2", "capture", [before, before]))
            #expect(try await settle("ways:in_1", "playback", [behind + 30, behind + 100]))
            #expect(try await settle("ways:in_2", "playback", [behind, behind]))
            // Without the guitar the second output is of what is made here.
            try renderer.replaceLoop { context in
                context.run(voice)
                context.run(b)
                context.output()
                context.popAll()
                context.run(tone)
                context.output(to: .auxiliary(1))
            }
            #expect(try await settle("ways:out_1", "capture", [before + 30, before + 30]))
            #expect(try await settle("ways:out_2", "capture", [0, 0]))
            #expect(try await settle("ways:in_2", "playback", [0, 0]))
            output.stop()
        }
    }
}
