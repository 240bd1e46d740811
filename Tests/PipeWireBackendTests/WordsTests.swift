import Glibc
import RenderStack
import TestSupport
import Testing

@testable import PipeWireBackend

extension PipeWireTests {
    /// The sentences for a program that cannot play, and messages both ways.
    @Suite struct WordsTests {
        @Test(
            "Without a daemon an output says how to start one; settings that PipeWire does not take are refused by name"
        )
        func refusals() throws {
            let folder = try TemporaryFolder()
            setenv("PIPEWIRE_RUNTIME_DIR", folder.path, 1)
            setenv("XDG_RUNTIME_DIR", folder.path, 1)
            defer {
                unsetenv("PIPEWIRE_RUNTIME_DIR")
                unsetenv("XDG_RUNTIME_DIR")
            }
            let error = #expect(throws: PipeWireError.self) { try PipeWireOutput(DesktopTests.tone()).start() }
            #expect("\(try #require(error))".contains("systemctl --user start pipewire"))
            #expect(!PipeWireOutput.isDaemonRunning())
            #expect(throws: PipeWireError.self) { try PipeWireDevice.all() }
            for (output, word) in try [
                (PipeWireOutput(DesktopTests.tone(), name: ""), "empty name"),
                (PipeWireOutput(DesktopTests.tone(), name: "a\0b"), "byte 0"),
                (PipeWireOutput(DesktopTests.tone(), title: "a\0b"), "byte 0"),
                (PipeWireOutput(DesktopTests.tone(), cycleLength: 0), "1…65,536"),
                (PipeWireOutput(DesktopTests.tone(), sampleRate: .nan), "whole number"),
                (PipeWireOutput(DesktopTests.tone(), sampleRate: 44_100.5), "whole number"),
            ] {
                let error = #expect(throws: PipeWireError.self) { try output.start() }
                #expect("\(try #require(error))".contains(word))
                #expect(output.state == .stopped)
                output.stop()
            }
        }

        @Test("Notes come in and go out on their frames, through a peer's ports")
        func messages() async throws {
            let desktop = try Desktop()
            let (keys, synth) = (MIDIInput(name: "keys"), MIDIOutput(name: "synth"))
            let heard = Guarded<[MIDIEvent]>([])
            let renderer = try Renderer { context in
                context.forEachEvent(from: keys) { event, context in
                    heard.withLock { $0.append(event) }
                    context.send(event.message, at: event.frame, to: synth)
                }
                context.push(channels: 2)
                context.output()
            }
            let output = PipeWireOutput(renderer, name: "notes", midiInputs: [keys], midiOutputs: [synth])
            try output.start()
            defer { output.stop() }
            #expect(await becomesTrue { output.statistics.cycles > 10 })
            let said = try desktop.peer("peer", "midi", "notes-midi:midi_out_1", "notes-midi:midi_in_1", "3").wait()
            #expect(said.status == 0, "\(said.text)")
            let lines = said.text.split(separator: "\n").filter { $0.hasPrefix("17:") }
            #expect(lines.contains("17: 90 3c 64") && lines.contains("17: 80 3c 64"), "\(said.text)")
            #expect(lines.count >= 10, "\(said.text)")
            let events = heard.withLock { $0 }
            // A slice begins with each event, so the frames show where they went out.
            #expect(events.count >= lines.count)
        }

        @Test("AudioOutput takes PipeWire when it has a device, or as it is told; the choice says why")
        func choice() async throws {
            setenv("JACK_DEFAULT_SERVER", "rs-none-\(getpid())", 1)
            defer {
                unsetenv("JACK_DEFAULT_SERVER")
                unsetenv("RENDERSTACK_OUTPUT")
            }
            unsetenv("RENDERSTACK_OUTPUT")
            let renderer = Renderer()
            let desktop = try Desktop()
            let output = try AudioOutput(renderer, name: "choice")
            #expect(output.output is PipeWireOutput)
            #expect(output.choice == "PipeWire: no JACK server is running.")
            setenv("RENDERSTACK_OUTPUT", "pipewire:other", 1)
            let named = try AudioOutput(renderer, name: "choice")
            try named.start()
            let played = try #require(named.output as? PipeWireOutput)
            #expect(try await becomesTrue { try played.deviceNames() == ["other"] })
            named.stop()
            _ = desktop
        }
    }
}
