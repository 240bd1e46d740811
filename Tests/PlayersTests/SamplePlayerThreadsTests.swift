import RenderStack
import TestSupport
import Testing

private func sound(_ samples: [Float]) -> Sound { Sound(AudioBlock([samples]), sampleRate: 48_000) }

private func values(_ level: Float, _ frames: Int) -> [Float] { (0..<frames).map { level + Float($0 + 1) / 1024 } }

/// Made for ThreadSanitizer too.
@Suite struct SamplePlayerThreadsTests {
    @Test("Sounds are loaded, played, replaced and unloaded from several threads while it renders")
    func threads() async throws {
        let player = SamplePlayer(voices: 4, channels: 1)
        let buffers = BufferPlayer(channels: 1)
        buffers.microfade.value = 10
        let renderer = try Renderer(channels: 1) { context in
            context.run(player)
            context.run(buffers)
            context.output(2)
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var block = AudioBlock(channels: 1, frames: 64)
                for _ in 0..<2000 {
                    renderer.render(into: &block, hostTime: HostClock.now)
                    await Task.yield()
                }
            }
            for thread in 0..<2 {
                group.addTask {
                    var random = Numbers(seed: UInt64(thread + 1))
                    var samples = [player.load(sound(values(1, 100)))]
                    for _ in 0..<200 {
                        let sample = samples[random.below(samples.count)]
                        switch random.below(8) {
                        case 0: samples.append(player.load(sound(values(1, 1 + random.below(300)))))
                        case 1: player.unload(sample)
                        case 2: player.replace(sample, with: sound(values(2, 200)))
                        case 3: player.stop(sample)
                        case 4: buffers.schedule(sound(values(1, 100)), random.below(2) == 0 ? .loops : .interrupts)
                        case 5: buffers.play()
                        case 6: if random.below(10) == 0 { buffers.stop() }
                        default: player.play(sample, pitch: Double(1 + random.below(3)) / 2)
                        }
                        await Task.yield()
                    }
                    for sample in samples { player.unload(sample) }
                    player.stopAll()
                }
            }
        }
        _ = render(renderer, frames: 2000)
        #expect(player.loadedCount == 0)
        #expect(renderer.faultCount == 0)
    }
}
