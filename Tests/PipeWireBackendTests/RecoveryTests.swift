import Glibc
import RenderStack
import TestSupport
import Testing

@testable import PipeWireBackend

extension PipeWireTests {
    /// Another program, or the program itself, does things to an output and its nodes.
    @Suite struct RecoveryTests {
        @Test("Input that fell behind in long cycles is up to date again in short ones; what was left out is told")
        func lag() async throws {
            let desktop = try Desktop()
            let input = AudioInput(channels: 2)
            let renderer = try Renderer { context in
                context.run(input)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "late")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            #expect(
                try await becomesTrue { try output.sourceNames() == ["microphone"] && output.statistics.cycles > 100 })
            try desktop.set("clock.force-quantum", 8_192)
            #expect(await becomesTrue { events.all.contains { "\($0)".contains("The input came late") } })
            try desktop.set("clock.force-quantum", 256)
            #expect(await becomesTrue { events.all.contains { "\($0)".contains("The input had fallen behind") } })
            #expect(await becomesTrue { (try? output.waitingInput()) ?? .max < 256 })
        }

        @Test("A node that another program destroys is made anew, and heard")
        func destroyed() async throws {
            let desktop = try Desktop()
            let input = AudioInput(channels: 1)
            let renderer = try Renderer { context in
                context.run(input)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "victim")
            let events = Events(output)
            try output.start()
            defer { output.stop() }
            for (node, isLinked) in [
                ("victim", { (try? output.deviceNames()) == ["nowhere"] }),
                ("victim-in", { (try? output.sourceNames()) == ["microphone"] }),
            ] {
                #expect(await becomesTrue { isLinked() })
                let number = try #require(try desktop.number(of: node))
                try desktop.run("pw-cli", "destroy", "\(number)")
                #expect(await becomesTrue { events.all.contains { "\($0)".contains("it is made anew") } })
                #expect(
                    try await becomesTrue { try desktop.number(of: node).map { $0 != number } == true && isLinked() })
            }
            #expect(output.state == .running)
        }

        @Test("A volume and a title that are set just before a stop do no harm")
        func lastWishes() throws {
            let desktop = try Desktop()
            let output = PipeWireOutput(try DesktopTests.tone(), name: "last")
            for number in 0..<60 {
                try output.start()
                usleep(UInt32(number % 7) * 3_000)
                for title in 0..<4 { output.title = "Song \(number).\(title)" }
                output.volume = Double(number) / 60
                output.isMuted.toggle()
                output.stop()
            }
            #expect(output.title == "Song 59.3" && output.volume == 59.0 / 60)
            _ = desktop
        }

        @Test(
            "A daemon that does not answer is a problem for the doctor; a name that would move the cursor is shown without"
        )
        func doctor() async throws {
            let desktop = try Desktop()
            #expect(MachineCheck.pipeWire == nil)
            let sink = try desktop.makeSink("\"red\\u001bx\"")
            #expect(await becomesTrue { (try? PipeWireDevice.all().contains { $0.name == "red\u{FFFD}x" }) == true })
            sink.signal(SIGKILL)
            desktop.daemon?.signal(SIGSTOP)
            let check = try #require(MachineCheck.pipeWire)
            #expect(check.verdict == .problem && check.description.contains("systemctl --user restart"))
            desktop.daemon?.signal(SIGCONT)
        }

        @Test("Volume, mute and title that a program sets while its output is stopped are those that it starts with")
        func wishes() async throws {
            let desktop = try Desktop()
            let output = PipeWireOutput(try DesktopTests.tone(), name: "wishes")
            output.title = "set before"
            output.volume = 0.5
            for volume in [0.5, 0.25] {
                output.volume = volume
                #expect(output.volume == volume)
                try output.start()
                #expect(try await becomesTrue { try output.deviceNames() == ["nowhere"] })
                try await Task.sleep(for: .milliseconds(600))
                #expect(await becomesTrue { output.volume == volume })
                #expect(abs(try await DesktopTests.level(desktop, "nowhere:monitor_FL") - 0.5 * volume) < 1e-3)
                #expect(output.title == "set before")
                output.stop()
            }
            #expect(try desktop.run("pw-cli", "ls", "Node").contains("wishes") == false)
        }

        @Test("A mono main output beside another is heard on both sides")
        func mono() async throws {
            let desktop = try Desktop()
            let tone = Oscillator(frequency: 1_000, level: 0.5)
            let renderer = try Renderer(channels: 1, auxiliaryOutputs: [2]) { context in
                context.run(tone)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "mono")
            try output.start()
            defer { output.stop() }
            #expect(try await becomesTrue { try output.deviceNames() == ["nowhere"] })
            for side in ["FL", "FR"] {
                #expect(abs(try await DesktopTests.level(desktop, "nowhere:monitor_\(side)") - 0.5) < 1e-3)
            }
        }

        @Test("Outputs beside the main one go out by ports of their own, each at its level", arguments: [1, 2])
        func others(channels: Int) async throws {
            let desktop = try Desktop()
            let (tone, half, again) = (Oscillator(frequency: 1_000, level: 0.5), Gain(0.5), Gain(0.5))
            let renderer = try Renderer(channels: channels, auxiliaryOutputs: [1, 1]) { context in
                context.run(tone)
                context.output()
                context.run(half)
                context.output(to: .auxiliary(1))
                context.run(again)
                context.output(to: .auxiliary(2))
            }
            let output = PipeWireOutput(renderer, name: "others")
            try output.start()
            defer { output.stop() }
            #expect(try await becomesTrue { try output.deviceNames() == ["nowhere"] })
            #expect(
                try desktop.links(of: "others") == [
                    "others:output_AUX0 -> nowhere:playback_FL", "others:output_AUX1 -> nowhere:playback_FR",
                ])
            for (port, level) in [0.5, 0.5, 0.25, 0.125].enumerated() {
                #expect(
                    abs(try await DesktopTests.level(desktop, "others:output_AUX\(port)") - level) < 1e-3, "\(port)")
            }
        }

        @Test("Each of several inputs hears its own channel of the device")
        func inputs() async throws {
            let desktop = try Desktop()
            let player = try PlayingTests.playCounter()
            defer { player.stop() }
            let (voice, guitar) = (AudioInput(channels: 1, name: "voice"), AudioInput(channels: 1, name: "guitar"))
            let (first, second) = (RingTap(seconds: 10, channels: 1), RingTap(seconds: 10, channels: 1))
            let renderer = try Renderer { context in
                context.run(voice)
                context.run(first)
                context.popAll()
                context.run(guitar)
                context.run(second)
                context.output()
            }
            let output = PipeWireOutput(
                renderer, name: "two", target: .device("other"), source: .monitor(of: "nowhere"))
            try output.start()
            #expect(await becomesTrue { output.statistics.cycles > 300 })
            #expect(
                try desktop.links(of: "two-in") == [
                    "nowhere:monitor_FL -> two-in:input_AUX0", "nowhere:monitor_FR -> two-in:input_AUX1",
                ])
            output.stop()
            let (left, right) = (first.takeAll().channels[0], second.takeAll().channels[0])
            // The second channel of the counter is half above the first.
            try #require(left.contains { $0 > 0 } && right.contains { $0 > 0 })
            #expect(left.allSatisfy { $0 < 0.5 } && right.allSatisfy { $0 == 0 || $0 > 0.5 })
        }

        @Test("Devices of the wrong kind are refused")
        func kinds() throws {
            let desktop = try Desktop()
            let input = AudioInput()
            for (target, source) in [
                (PipeWireTarget.device("microphone"), PipeWireTarget.standard), (.monitor(of: "nowhere"), .standard),
                (.standard, .device("nowhere")), (.standard, .monitor(of: "microphone")),
            ] {
                let output = PipeWireOutput(try DesktopTests.tone(), target: target, inputs: [input], source: source)
                #expect(throws: PipeWireError.self) { try output.start() }
                #expect(output.state == .stopped)
            }
            _ = desktop
        }

        @Test("Starts and stops leave no file and no thread behind")
        func leaks() async throws {
            let desktop = try Desktop()
            let output = PipeWireOutput(try DesktopTests.tone(), name: "rounds")
            func count(_ folder: String) -> Int {
                guard let entries = opendir("/proc/self/\(folder)") else { return 0 }
                defer { closedir(entries) }
                var count = 0
                while readdir(entries) != nil { count += 1 }
                return count
            }
            func rounds(_ number: Int) throws {
                for _ in 0..<number {
                    try output.start()
                    usleep(20_000)
                    output.stop()
                }
            }
            try rounds(3)
            let (files, threads) = (count("fd"), count("task"))
            try rounds(40)
            #expect(await becomesTrue { count("fd") <= files + 4 }, "\(files) files, now \(count("fd"))")
            #expect(await becomesTrue { count("task") <= threads + 4 }, "\(threads) threads, now \(count("task"))")
            _ = desktop
        }
    }
}
