import RenderStack
import Synchronization
import TestSupport
import Testing

/// A module that a closure of a second renderer calls directly: it belongs to the first one.
@Suite struct StrangerTests {
    private static func modules() throws -> [(any Module, @Sendable (inout RenderContext) -> Void)] {
        func entry<M: Module>(_ module: M) -> (any Module, @Sendable (inout RenderContext) -> Void) {
            (module, { context in module.process(&context) })
        }
        let player = try FilePlayer(memoryFile([ramp(400_000)]))
        player.play()
        let buffers = BufferPlayer(channels: 1)
        buffers.schedule(Sound(AudioBlock([ramp(400_000)]), sampleRate: 48_000))
        buffers.play()
        let samples = SamplePlayer(channels: 1)
        samples.play(samples.load(Sound(AudioBlock([ramp(400_000)]), sampleRate: 48_000)))
        let mixer = Mixer(channels: 1)
        mixer.append(Oscillator(.sine, frequency: 100), fadesIn: false)
        return [entry(player), entry(buffers), entry(samples), entry(mixer)]
    }

    @Test("A generator that another renderer has is silent, with one fault a slice, and nothing of it is touched")
    func generators() throws {
        for index in 0..<4 {
            let (module, process) = try Self.modules()[index]
            let (twin, _) = try Self.modules()[index]
            let owner = try Self.alone(module), other = try Self.alone(twin)
            let stranger = try Renderer(sampleRate: 48_000, channels: 1) { context in
                process(&context)
                context.output()
            }
            _ = owner.renderOffline(frames: 64)
            _ = other.renderOffline(frames: 64)
            let (before, slices) = (stranger.faultCount, extent(100, inDebug: 25))
            for _ in 0..<slices {
                #expect(stranger.renderOffline(frames: 64).array(0).allSatisfy { $0 == 0 }, "\(module.name)")
                let (heard, expected) = (
                    owner.renderOffline(frames: 64).array(0), other.renderOffline(frames: 64).array(0)
                )
                #expect(heard == expected, "\(module.name)")
                #expect(heard.contains { $0 != 0 }, "\(module.name)")
            }
            #expect(stranger.faultCount - before == slices, "\(module.name): \(stranger.faultCount - before)")
        }
    }

    private static func alone<M: Module>(_ module: M) throws -> Renderer {
        try Renderer(sampleRate: 48_000, channels: 1) { context in
            context.run(module)
            context.output()
        }
    }
}
