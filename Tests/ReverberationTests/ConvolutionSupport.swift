import RenderStack
import TestSupport

/// Noise of a seed, -1…1.
func noise(_ frames: Int, seed: UInt64) -> [Float] {
    var random = SplitMix(state: seed)
    return (0..<frames).map { _ in Float.random(in: -1...1, using: &random) }
}

/// Noise that decays by 60 dB in so many frames.
func decayingNoise(_ frames: Int, decay: Double, seed: UInt64) -> [Float] {
    noise(frames, seed: seed).enumerated().map { $1 * Float(RenderMath.exp(-6.907755 * Double($0) / decay)) }
}

/// The convolution in double precision, multiplied out for some frames only.
func convolved(_ sound: [Float], _ response: [Float], at frame: Int) -> Double {
    var sum = 0.0
    for k in 0..<min(response.count, frame + 1) where frame - k < sound.count {
        sum += Double(response[k]) * Double(sound[frame - k])
    }
    return sum
}

/// Plays a sound through a module.
func play(
    _ sound: [[Float]], through module: some Module, frames: Int, cycle: Int = 512, sampleRate: Double = 48_000,
    channels: Int? = nil
) throws -> AudioBlock {
    let source = Playback(sound)
    let renderer = try Renderer(
        sampleRate: sampleRate, channels: channels ?? sound.count,
        layout: StackLayout(slots: 8, channels: 8, frames: 4_096)
    ) { context in
        context.run(source)
        context.run(module)
        context.output()
    }
    return renderer.renderOffline(frames: frames, cycle: cycle)
}

/// The settings that leave a response as it is.
let plain = ConvolutionReverb.Settings(isTrimmed: false, isNormalised: false)
