import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import PipeWireBackend

/// Sawtooth waves in bursts, three a second, each of another pitch, as a voice has its syllables: what a canceller of echoes learns from.
private final class Bursts: Generator {
    private let seed: UInt64
    private let level = Switch(true)

    init(seed: UInt64) { self.seed = seed }

    /// Indicates whether it sounds.
    var isOn: Bool {
        get { level.isOn }
        set { level.isOn = newValue }
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        guard level.isOn(context) else { return }
        let first = context.sampleTime
        var top = context.top
        var samples = top[0]
        for i in samples.indices {
            let frame = Int(first &+ Int64(i))
            var bits = UInt64(bitPattern: Int64(frame / 16_000)) &+ seed
            bits = bits &* 0x9E37_79B9_7F4A_7C15
            bits = (bits ^ (bits >> 29)) &* 0xBF58_476D_1CE4_E5B9
            // From 90 to 350 frames.
            let period = 90 + Int(bits >> 40) % 260
            let wave = Float(Int32(truncatingIfNeeded: frame % period)) / Float(Int32(truncatingIfNeeded: period)) - 0.5
            let place = Float(Int32(truncatingIfNeeded: frame % 16_000)) * (1 / 16_000)
            let envelope = place < 0.7 ? 8 * place * (0.7 - place) : 0
            samples[i] = 0.6 * wave * envelope
        }
    }
}

/// The energy of what came in.
private final class Energy: Sendable {
    private let sum = Atomic<UInt64>(0)
    private let frames = Atomic<Int>(0)

    func note(_ context: inout RenderContext) {
        var top = context.top
        let samples = top[0]
        var energy = 0.0
        for i in samples.indices { energy += Double(samples[i] * samples[i]) }
        sum.store((Double(bitPattern: sum.load(ordering: .relaxed)) + energy).bitPattern, ordering: .relaxed)
        frames.wrappingAdd(samples.count, ordering: .relaxed)
    }

    /// Returns the level in dB since the last call.
    func take() -> Double {
        let energy = Double(bitPattern: sum.exchange(0, ordering: .relaxed))
        let count = frames.exchange(0, ordering: .relaxed)
        return 3.010_3 * RenderMath.log2(energy / Double(max(1, count)) + 1e-20)
    }
}

extension PipeWireTests {
    /// The echo of the loudspeakers in a microphone, and PipeWire's module against it.
    @Suite struct EchoTests {
        /// Plays bursts on a device, and measures a source.
        private static func program(
            _ name: String, to target: PipeWireTarget, from source: PipeWireTarget, seed: UInt64
        ) throws -> (output: PipeWireOutput, sound: Bursts, energy: Energy) {
            let (sound, energy) = (Bursts(seed: seed), Energy())
            let input = AudioInput(channels: 1, name: "microphone")
            let renderer = try Renderer(channels: 1) { context in
                context.run(input)
                energy.note(&context)
                context.pop()
                context.run(sound)
                context.output()
            }
            return (PipeWireOutput(renderer, name: name, target: target, source: source), sound, energy)
        }

        @Test("A program that records the source without echo hears little of what it plays, and the doctor names it")
        func echo() async throws {
            let desktop = try Desktop(sinks: ["speaker", "room"])
            let before = try #require(MachineCheck.echoCancellation)
            #expect(before.verdict == .note && before.remedy?.contains("pipewire.conf.d") == true)
            // The sound of the loudspeaker comes into the room 20 ms later. The room's monitor is the microphone.
            let way = try Program(
                "pw-loopback",
                [
                    "-d", "0.02", "-c", "1", "--capture-props", "{ target.object=speaker stream.capture.sink=true }",
                    "--playback-props", "{ target.object=room }",
                ], seconds: 120, isHeard: false)
            let file = "\(desktop.folder.path)/echo.conf"
            let configuration = """
                context.spa-libs = { audio.convert.* = audioconvert/libspa-audioconvert support.* = support/libspa-support }
                context.modules = [
                    { name = libpipewire-module-protocol-native }
                    { name = libpipewire-module-client-node }
                    { name = libpipewire-module-adapter }
                    { name = libpipewire-module-echo-cancel
                        args = {
                            audio.channels = 1
                            audio.position = [ MONO ]
                            capture.props = { target.object = "room" stream.capture.sink = true }
                            source.props = { node.name = "without-echo" }
                            sink.props = { node.name = "cancelled-speaker" }
                            playback.props = { target.object = "speaker" }
                        }
                    }
                ]
                """
            #expect(try Program("sh", ["-c", "cat >'\(file)' <<'END'\n\(configuration)\nEND\n"]).wait().status == 0)
            let module = try Program("pipewire", ["-c", file], seconds: 120, isHeard: false)
            defer {
                for program in [way, module] {
                    program.signal(SIGKILL)
                    program.wait()
                }
            }
            // The session manager knows the sink when it has connected what that plays.
            #expect(
                try await becomesTrue {
                    let links = try desktop.run("pw-link", "-l")
                    return links.contains("|<- echo-cancel-playback:") && links.contains("|-> echo-cancel-capture:")
                })
            let found = try #require(MachineCheck.echoCancellation)
            #expect(found.verdict == .good && found.finding.contains("\"without-echo\""), "\(found)")
            let caller = try Self.program(
                "caller", to: .device("cancelled-speaker"), from: .device("without-echo"), seed: 1)
            let witness = try Self.program("witness", to: .device("room"), from: .monitor(of: "room"), seed: 1 << 40)
            witness.sound.isOn = false
            for program in [caller, witness] { try program.output.start() }
            defer { for program in [caller, witness] { program.output.stop() } }
            // One program plays into the canceller and records from it: the session manager sees no circle in that.
            #expect(await becomesTrue { (try? caller.output.sourceNames()) == ["without-echo"] })
            #expect(await becomesTrue { (try? caller.output.deviceNames()) == ["cancelled-speaker"] })
            // It learns.
            try await Task.sleep(for: .seconds(6))
            _ = (caller.energy.take(), witness.energy.take())
            try await Task.sleep(for: .seconds(3))
            let (left, echo) = (caller.energy.take(), witness.energy.take())
            #expect(echo > -40 && left < echo - 30, "the echo: \(echo) dB; what is left of it: \(left) dB")
            // Another voice in the room alone is heard.
            caller.sound.isOn = false
            witness.sound.isOn = true
            try await Task.sleep(for: .seconds(2))
            _ = (caller.energy.take(), witness.energy.take())
            try await Task.sleep(for: .seconds(2))
            let (heard, voice) = (caller.energy.take(), witness.energy.take())
            #expect(abs(heard - voice) < 3, "the voice: \(voice) dB; heard: \(heard) dB")
        }
    }
}
