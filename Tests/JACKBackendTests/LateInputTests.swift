import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import JACKBackend

extension JACKTests {
    @Suite struct LateInputTests {
        @Test("Inputs that new loops bring get their ports while it plays, and are connected as the first would be")
        func later() async throws {
            let server = try DummyServer(period: 256)
            let sender = try JACKTests.sender(on: server)
            let (voice, guitar) = (AudioInput(channels: 1, name: "voice"), AudioInput(channels: 2, name: "guitar"))
            let tap = RingTap(seconds: 5)
            let renderer = Renderer()
            let receiver = JACKOutput(
                renderer, name: "late", server: server.name,
                connect: .ports(inputs: ["sender:out_2", "sender:out_1", "sender:out_2"]))
            let events = Events(receiver)
            try sender.start()
            try receiver.start()
            let own = ["late:out_1", "late:out_2"]
            #expect(try receiver.portNames() == own)
            try renderer.replaceLoop { context in
                context.run(voice)
                context.pop()
            }
            #expect(await becomesTrue { voice.isConnected })
            #expect(try receiver.portNames() == own + ["late:in_1"])
            try renderer.replaceLoop { context in
                context.run(voice)
                context.pop()
                context.run(guitar)
                context.run(tap)
                context.output()
            }
            let ports = own + ["late:in_1", "late:in_2", "late:in_3"]
            #expect(await becomesTrue { guitar.isConnected && (try? receiver.portNames()) == ports })
            #expect(await becomesTrue { tap.ring.overflowCount > 0 })
            #expect(renderer.faultCount == 0)
            // From the first frame that is heard on none is missing, and each channel is the one of its port. The second port is
            // connected last.
            let heard = tap.takeAll()
            let from = try #require(heard.channels[1].firstIndex { $0 != 0 })
            let frames = Array(heard.channels[0][from...]), others = Array(heard.channels[1][from...])
            let steps = zip(frames.dropFirst(), frames).filter { $0 - $1 != 0x1p-17 && $0 > $1 }.count
            // The counter of the sender may lack frames only where the server lost a cycle.
            #expect(steps <= Int(receiver.statistics.missedDeadlines + sender.statistics.missedDeadlines))
            #expect(zip(frames, others).allSatisfy { $1 == $0 + 0.5 })
            #expect(!events.all.contains { if case .lost = $0 { true } else { false } })
            receiver.stop()
            try receiver.start()
            #expect(try receiver.portNames() == ports)
            receiver.stop()
            sender.stop()
        }

        @Test("An input of a whole device has as many channels as there are physical ports, less those of others")
        func wholeDevice() async throws {
            let server = try DummyServer(period: 256, channels: 6)
            let (voice, all) = (AudioInput(channels: 1, name: "voice"), AudioInput.wholeDevice(name: "all"))
            let widest = Wide()
            let renderer = try Renderer(layout: StackLayout(channels: 16)) { context in
                context.run(voice)
                context.pop()
                context.run(all)
                widest.channels.store(context.channelCount(), ordering: .relaxed)
                context.output()
            }
            #expect(all.channelCount == 2 && all.isWholeDevice && !voice.isWholeDevice)
            let output = JACKOutput(renderer, name: "wide", server: server.name)
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { all.isConnected && widest.channels.load(ordering: .relaxed) == 5 })
            #expect(all.channelCount == 5)
            #expect(try output.portNames() == ["wide:out_1", "wide:out_2"] + (1...6).map { "wide:in_\($0)" })
            let links = try server.run("jack_lsp", "-c")
            #expect(
                links.contains("wide:in_6\n   system:capture_6") || links.contains("system:capture_6\n   wide:in_6"))
            #expect(renderer.faultCount == 0)
        }

        @Test("Inputs that a program has named itself are all there are")
        func named() async throws {
            let server = try DummyServer(period: 256)
            let (voice, guitar) = (AudioInput(channels: 1, name: "voice"), AudioInput(channels: 1, name: "guitar"))
            let renderer = Renderer()
            let output = JACKOutput(renderer, name: "named", server: server.name, inputs: [voice])
            try output.start()
            defer { output.stop() }
            try renderer.replaceLoop { context in
                context.run(voice)
                context.run(guitar)
                context.mix(2)
                context.output()
            }
            #expect(await becomesTrue { voice.isConnected })
            try await Task.sleep(for: .milliseconds(300))
            #expect(!guitar.isConnected)
            #expect(try output.portNames() == ["named:out_1", "named:out_2", "named:in_1"])
        }

        @Test("A server that dies as inputs join finds them all when it is back")
        func lossMeanwhile() async throws {
            let server = try DummyServer(period: 256)
            let renderer = Renderer()
            let output = JACKOutput(renderer, name: "steady", server: server.name)
            try output.start()
            defer { output.stop() }
            let inputs = (0..<6).map { AudioInput(channels: 1, name: "input \($0)") }
            for count in 1...6 {
                let some = Array(inputs.prefix(count))
                try renderer.replaceLoop { context in
                    for input in some {
                        context.run(input)
                        context.pop()
                    }
                }
                if count == 3 {
                    server.end(SIGKILL)
                    #expect(await becomesTrue { output.state == .waiting })
                }
            }
            try server.start()
            #expect(await becomesTrue { inputs.allSatisfy { $0.isConnected } })
            #expect(try output.portNames().count == 8)
        }
    }

    /// The channels of the buffer that was seen last.
    fileprivate final class Wide: Sendable {
        let channels = Atomic<Int>(0)
    }
}
