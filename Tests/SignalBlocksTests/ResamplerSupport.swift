import Foundation
import Testing

@testable import SignalBlocks

/// The sines' amplitude.
let resamplerAmplitude = 0.5

/// A sine of a frequency in cycles per frame, a mono block.
func sineBlock(_ frequency: Double, frames: Int) -> AudioBlock {
    var block = AudioBlock(channels: 1, frames: frames)
    for n in 0..<frames { block[0, n] = Float(resamplerAmplitude * turnSine(frequency * Double(n))) }
    return block
}

/// A sine of a number of cycles.
func turnSine(_ turns: Double) -> Double { sin(2 * Double.pi * (turns - turns.rounded())) }

/// White noise, other in each channel.
func noiseBlock(channels: Int, frames: Int) -> AudioBlock {
    var block = AudioBlock(channels: channels, frames: frames)
    for channel in 0..<channels {
        for n in 0..<frames { block[channel, n] = Float.random(in: -0.5...0.5) }
    }
    return block
}

/// A stream: the input, and silence behind it; pulled in pieces whose lengths take turns.
func pullFrames(
    _ frames: Int, from input: borrowing AudioBlock, with resampler: inout Resampler, at step: Resampler.Step,
    pieces: [Int] = [64]
) -> [[Float]] {
    var output = AudioBlock(channels: resampler.channelCount, frames: frames)
    var (done, pushed, turn) = (0, 0, 0)
    while done < frames {
        let piece = min(pieces[turn % pieces.count], frames - done)
        turn += 1
        let end = done + piece
        while done < end {
            let needed = resampler.framesNeeded(for: end - done, at: step, from: done)
            pushed += resampler.push(input, from: min(pushed, input.frameCount), frames: needed)
            if pushed == input.frameCount { resampler.pushSilence(needed) }
            done += resampler.pull(end - done, at: step, into: &output, from: done)
        }
    }
    return (0..<resampler.channelCount).map { output.array($0) }
}

/// Two rates, and what is to be kept between them.
struct ResamplerRatio: CustomTestStringConvertible {
    let from: Double, to: Double
    var testDescription: String { "\(from) to \(to) Hz" }
    var step: Double { from / to }
    var passBandEnd: Double { min(20_000, 0.4535 * min(from, to)) }
}

let resamplerRatios = [
    ResamplerRatio(from: 44_100, to: 48_000), ResamplerRatio(from: 48_000, to: 44_100),
    ResamplerRatio(from: 96_000, to: 48_000), ResamplerRatio(from: 48_000, to: 96_000),
    ResamplerRatio(from: 192_000, to: 44_100), ResamplerRatio(from: 8_000, to: 48_000),
    ResamplerRatio(from: 44_100, to: 44_117.317),
]
