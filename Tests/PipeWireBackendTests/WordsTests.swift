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
                (PipeWireOutput(DesktopTests.tone(), target: .device("")), "without a name"),
                (PipeWireOutput(DesktopTests.tone(), source: .monitor(of: "")), "without a name"),
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

        @Test("Where PipeWire's libjack stands for all programs, AudioOutput takes PipeWire itself")
        func everywhere() async throws {
            // The test runs itself with that library. An exit test would wait for the other programs of these tests too, and for ever.
            if getenv("RENDERSTACK_LIBJACK") != nil {
                #expect(JACKOutput.isServerRunning())
                #expect(try AudioOutput(Renderer(channels: 2)).choice == "PipeWire: no JACK server is running.")
                return
            }
            let desktop = try Desktop()
            let library = try desktop.run("sh", "-c", "ls /usr/lib/*/pipewire-0.3/jack/libjack.so.0 | head -n 1")
            let tests = try desktop.run("readlink", "/proc/\(getpid())/exe")
            let result = try Program(
                String(tests.prefix { $0 != "\n" }),
                ["--testing-library", "swift-testing", "--filter", "WordsTests/everywhere"],
                environment: ["LD_PRELOAD": String(library.prefix { $0 != "\n" }), "RENDERSTACK_LIBJACK": "all"]
            ).wait()
            #expect(result.status == 0 && result.text.contains("with 1 test "), "\(result.text)")
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
