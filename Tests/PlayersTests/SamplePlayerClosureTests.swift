import RenderStack
import TestSupport
import Testing

@Suite struct SamplePlayerClosureTests {
    @Test(
        "A render closure starts sounds in the frames of its slices; one that was unloaded is silent",
        arguments: cycleLengths)
    func inFrame(cycles: [Int]) throws {
        let ramp = counted(1...100).map { 1 + $0 / 1024 }
        let player = SamplePlayer(channels: 1)
        let tick = player.load(Sound(AudioBlock([ramp]), sampleRate: 48_000))
        let gone = player.load(Sound(AudioBlock([ramp]), sampleRate: 48_000))
        player.unload(gone)
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            let first = context.sampleTime
            var next = (first + 299) / 300 * 300
            while next < first + Int64(context.frameCount) {
                player.play(tick, inFrame: Int(next - first), context, gain: 0.5)
                player.play(gone, inFrame: Int(next - first), context)
                next += 300
            }
            context.run(player)
            context.output()
        }
        let heard = render(renderer, frames: 2_400, cycles: cycles)
        let turn = ramp.map { $0 * 0.5 } + [Float](repeating: 0, count: 200)
        #expect(heard[0] == (0..<8).flatMap { _ in turn })
        #expect(renderer.faultCount == 0)
    }
}
