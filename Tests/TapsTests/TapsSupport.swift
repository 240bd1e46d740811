import RenderStack
import TestSupport

/// Plays mono samples through a tap, and looks at it after every so many frames.
func play<Report>(
    _ samples: [Float], rate: Double, cycles: [Int], through tap: some Module, lookingEvery step: Int,
    _ look: () -> [Report]
) throws -> [Report] {
    let player = BufferPlayer(channels: 1)
    player.schedule(Sound(AudioBlock([samples]), sampleRate: rate))
    let renderer = try Renderer(sampleRate: rate, channels: 1) { context in
        context.run(player)
        context.run(tap)
        context.output()
    }
    player.play()
    var found: [Report] = []
    var done = 0
    while done < samples.count {
        let count = min(max(64, min(96_000, step)), samples.count - done)
        _ = render(renderer, frames: count, cycles: cycles)
        done += count
        found += look()
    }
    return found
}
