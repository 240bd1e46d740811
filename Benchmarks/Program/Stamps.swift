import RenderStack
import Synchronization

/// Plays the time at which each slice is rendered, so that a program behind the output can tell how old the sound is: `bench stamps`.
enum Stamps {
    /// Pushes the fraction of a second of the host's clock, in all frames of a slice.
    private final class Stamp: Generator {
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            context.pushUninitialized(channels: 2)
            let fraction = Float(HostClock.now % 1_000_000_000) * 1e-9
            var top = context.top
            top.change { _, _, _ in fraction }
        }
    }

    /// Plays for a time on an output: `pipewire`, `jack`, or `alsa`, which is ALSA's plug-in for PipeWire.
    static func play(on name: String, cycle: Int, seconds: Double) async throws {
        let stamp = Stamp()
        let renderer = try Renderer { context in
            context.run(stamp)
            context.output()
        }
        let output: any RenderOutput =
            switch name {
            case "pipewire": PipeWireOutput(renderer, name: "stamps", cycleLength: cycle)
            case "jack": JACKOutput(renderer, name: "stamps")
            case "alsa": ALSAOutput(renderer, device: "pipewire", inputs: [], period: cycle)
            default: stop("there is no output \(name)")
            }
        try output.start()
        try await Task.sleep(for: .seconds(seconds))
        output.stop()
    }
}
