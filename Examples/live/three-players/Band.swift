import RenderStackLive

/// Three files of two seconds, made by arithmetic.
final class Band: Sendable {
    let drums = "/tmp/renderstack-live-drums.wav"
    let bass = "/tmp/renderstack-live-bass.flac"
    let piano = "/tmp/renderstack-live-piano.wav"

    init() throws {
        try write(drums) { time in
            let since = time - 0.5 * Float(Int(time / 0.5))
            return 0.6 * RenderMath.sin(turns: 50 * since + 3 * RenderMath.exp(-30 * since))
                * RenderMath.exp(-8 * since)
        }
        try write(bass) { time in 0.25 * RenderMath.sin(turns: (time < 1 ? 55 : 65.5) * time) }
        try write(piano) { time in
            let since = time - Float(Int(time))
            let chord = RenderMath.sin(turns: 220 * since) + RenderMath.sin(turns: 277 * since)
            return 0.12 * RenderMath.exp(-3 * since) * chord
        }
    }

    private func write(_ path: String, _ sample: (Float) -> Float) throws {
        let rate: Float = 48_000
        var block = AudioBlock(channels: 1, frames: Int(2 * rate))
        for i in 0..<block.frameCount { block[0, i] = sample(Float(i) / rate) }
        var file = try AudioFileWriter(path: path, sampleRate: Double(rate), channels: 1)
        try file.write(block)
        try file.finish()
    }
}
