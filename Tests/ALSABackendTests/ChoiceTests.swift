import Glibc
import Testing

@testable import ALSABackend
@testable import RenderStack

extension ALSATests {
    @Suite struct ChoiceTests {
        private func choose(_ machine: AudioOutput.Machine) throws -> AudioOutput {
            try AudioOutput(Renderer(), name: "choice", midiInputs: [], midiOutputs: [], machine: machine)
        }

        @Test(
            "AudioOutput chooses JACK if a server runs, else PipeWire if it has a device, else a card that it can open, else the clock, and says why"
        )
        func choice() throws {
            let jack = try choose(.init(hasServer: { true }, card: { ("card0", "") }))
            #expect(jack.output is JACKOutput)
            #expect(jack.choice == "JACK: a server is running.")
            let pipeWire = try choose(.init(hasDaemon: { (true, "") }, card: { ("card0", "") }))
            #expect(pipeWire.output is PipeWireOutput)
            #expect(pipeWire.choice == "PipeWire: no JACK server is running.")
            let alsa = try choose(.init(card: { ("card0", "no JACK server is running.") }))
            #expect(alsa.output is ALSAOutput)
            #expect(alsa.choice == "The sound device \"card0\": no JACK server is running.")
            let clock = try choose(.init())
            #expect(clock.output is ClockOutput)
            #expect(
                clock.choice.hasSuffix(
                    "no JACK server is running, PipeWire is not running, and there is no sound card."))
        }

        @Test("AudioOutput: RENDERSTACK_OUTPUT overrides the choice, and a wrong word is refused")
        func environment() throws {
            func wanted(_ word: String) throws -> AudioOutput {
                try choose(.init(wanted: word, hasServer: { true }, card: { ("card0", "") }))
            }
            #expect(try wanted("clock").output is ClockOutput)
            #expect(try wanted("jack").output is JACKOutput)
            #expect(try wanted("alsa").choice == "The sound device \"default\", as RENDERSTACK_OUTPUT says.")
            #expect(try wanted("ALSA:hw:Box,0").choice == "The sound device \"hw:Box,0\", as RENDERSTACK_OUTPUT says.")
            let error = #expect(throws: OutputError.self) { try wanted("trumpet") }
            #expect(
                error?.description
                    == "RENDERSTACK_OUTPUT says \"trumpet\"; it may say `jack`, `pipewire`, `pipewire:DEVICE`, `alsa`, "
                    + "`alsa:DEVICE`, `clock`.")
            #expect(throws: OutputError.self) { try wanted("alsa:") }
        }

        @Test(
            "AudioOutput: a card counts if it is hardware, plays, and can be opened; the default device goes first, with or without one"
        )
        func cards() throws {
            let card = try Card("card1")
            func device(_ name: String, plays: Bool = true, isHardware: Bool = true) -> ALSADevice {
                ALSADevice(
                    name: name, title: name, canPlay: plays, canRecord: true, isHardware: isHardware, isDefault: false,
                    card: nil, connection: .other, owner: nil)
            }
            let none = AudioOutput.Machine.card(among: [])
            #expect(none.name == nil && none.why.hasPrefix("no sound card is found. "))
            #expect(!none.why.contains("default"))
            #expect(AudioOutput.Machine.card(among: [device("card1", isHardware: false)]).name == nil)
            #expect(AudioOutput.Machine.card(among: [device("card1", plays: false)]).name == nil)
            // The tests' configuration has no default.
            #expect(AudioOutput.Machine.card(among: [device("none"), device("card1")]).name == "card1")
            card.set(.busy)
            let busy = AudioOutput.Machine.card(among: [device("card1")])
            #expect(busy.name == nil)
            #expect(busy.why.contains("\"card1\" is in use"))
            card.set(.none)
            #expect(Plugin.configure(["default": "card1"]))
            defer {
                _ = Plugin.configure()
                DeviceWatch.readConfigurationAnew()
            }
            DeviceWatch.readConfigurationAnew()
            #expect(AudioOutput.Machine.card(among: [device("card1")]).name == "default")
            // A sound server's, where /dev/snd has nothing.
            #expect(AudioOutput.Machine.card(among: []).name == "default")
            #expect(ALSAStream.isHeard("default") && !ALSAStream.isHeard("null") && ALSAStream.isThere("null"))
            card.set(.busy)
            let mute = AudioOutput.Machine.card(among: [])
            #expect(mute.name == nil && mute.why.contains("The sound device \"default\" is in use"))
            #expect(!ALSAStream.isHeard("default"))
            card.set(.none)
        }

        @Test("AudioOutput plays on the card that it chose, and its first event says so")
        func plays() async throws {
            let card = try Card("card1")
            let output = try choose(.init(wanted: "alsa:card1"))
            var events = output.events.makeAsyncIterator()
            try output.start()
            #expect(card.wait(768))
            #expect(card.move(256) == 256)
            #expect(card.wait(768))
            #expect(await events.next() == .notice("The sound device \"card1\", as RENDERSTACK_OUTPUT says."))
            output.stop()
            #expect(output.state == .stopped)
        }
    }
}
