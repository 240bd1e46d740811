import Glibc
import RenderStack
import TestSupport
import Testing

extension JACKTests {
    @Suite struct AudioOutputTests {
        @Test(
            "The output chooses JACK when a server runs, else the clock; the environment overrides; an event says which"
        )
        func choice() async throws {
            let renderer = Renderer()
            func choose(_ wanted: String?) throws -> AudioOutput {
                if let wanted { setenv("RENDERSTACK_OUTPUT", wanted, 1) } else { unsetenv("RENDERSTACK_OUTPUT") }
                defer { unsetenv("RENDERSTACK_OUTPUT") }
                return try AudioOutput(renderer, name: "choice")
            }
            setenv("JACK_DEFAULT_SERVER", "rs-none-\(getpid())", 1)
            setenv("PIPEWIRE_RUNTIME_DIR", "/nowhere", 1)
            defer {
                unsetenv("JACK_DEFAULT_SERVER")
                unsetenv("PIPEWIRE_RUNTIME_DIR")
            }
            let clock = try choose(nil)
            #expect(clock.output is ClockOutput)
            #expect(clock.choice.contains("no JACK server is running"))
            #expect(clock.playbackLatency == 0 && clock.captureLatency == 0)
            #expect(throws: JACKError.self) { try choose("jack").start() }
            #expect(throws: OutputError.self) { try choose("trumpet") }
            let server = try DummyServer()
            setenv("JACK_DEFAULT_SERVER", server.name, 1)
            let jack = try choose(nil)
            #expect(jack.output is JACKOutput)
            #expect(jack.choice == "JACK: a server is running.")
            try jack.start()
            #expect(jack.state == .running)
            #expect(await becomesTrue { jack.statistics.cycles > 3 })
            // The chosen output answers with the words of the output itself.
            #expect(await becomesTrue { jack.playbackLatency > 0 })
            let chosen: any RenderOutput = jack
            chosen.compensatesLatency = false
            #expect(!jack.output.compensatesLatency && !jack.compensatesLatency)
            #expect(chosen.playbackLatency == jack.output.playbackLatency)
            var events = jack.events.makeAsyncIterator()
            #expect(await events.next() == .notice("JACK: a server is running."))
            jack.stop()
            #expect(try choose("clock").output is ClockOutput)
        }
    }
}
