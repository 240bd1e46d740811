import CAllocationCounter
import Foundation
import TestSupport
import Testing

@testable import SignalBlocks

@Suite("Resampler")
struct ResamplerTests {
    @Test("the length of the blocks changes nothing, bit for bit", arguments: resamplerRatios)
    func blocks(_ ratio: ResamplerRatio) {
        let input = noiseBlock(channels: 2, frames: Int(400 * ratio.step) + 300)
        var resampler = Resampler(channels: 2, steps: ratio.step...ratio.step, room: 50)
        let whole = pullFrames(400, from: input, with: &resampler, at: .init(ratio.step), pieces: [400])
        for pieces in [[1], [64], [7, 100, 3, 1]] {
            resampler.reset()
            #expect(pullFrames(400, from: input, with: &resampler, at: .init(ratio.step), pieces: pieces) == whole)
        }
    }

    @Test("with a gliding step too")
    func glidingBlocks() {
        let glide = Glide(from: 0.25, to: 4, elapsed: 0, length: 500, isExponential: true)
        let input = noiseBlock(channels: 2, frames: 2_500)
        var resampler = Resampler(channels: 2, steps: 0.25...4)
        let whole = pullFrames(600, from: input, with: &resampler, at: .init(glide, times: 1), pieces: [600])
        for pieces in [[1], [64], [7, 100, 3, 1]] {
            resampler.reset()
            #expect(pullFrames(600, from: input, with: &resampler, at: .init(glide, times: 1), pieces: pieces) == whole)
        }
    }

    @Test(
        "taps that recur are kept, where they do, and change no bit",
        arguments: zip(
            [0.91875, 160.0 / 147, 1.0 / 3, 0.459375, 0.7071067811865476, 4], [true, true, true, false, false, false]))
    func recurring(step: Double, isKept: Bool) {
        for channels in 1...3 {
            let input = noiseBlock(channels: channels, frames: Int(600 * step) + 1_000)
            var keeping = Resampler(channels: channels, steps: step * 0.99...step)
            var computing = Resampler(channels: channels, steps: step * 0.99...step)
            for turn in 0..<30 {
                // It leaves the step and comes back to it.
                let now = Resampler.Step(turn == 20 ? step * 0.995 : step)
                computing.recurring.leave()
                let kept = pullFrames(500, from: input, with: &keeping, at: now)
                let computed = pullFrames(500, from: input, with: &computing, at: now)
                #expect(kept == computed)
                let areInUse = keeping.recurring.areInUse
                if turn == 19 || turn == 29 { #expect(areInUse == isKept) }
                if turn == 0 || turn == 20 || turn == 25 { #expect(!areInUse) }
            }
        }
    }

    @Test("steps of 1 alone copy, bit for bit, without a delay")
    func identity() {
        let input = noiseBlock(channels: 3, frames: 500)
        var resampler = Resampler(channels: 3, steps: 1...1)
        #expect(resampler.lookAhead == 0 && resampler.latency(at: 1) == 0)
        #expect(resampler.framesNeeded(for: 500, at: .init(1)) == 500)
        let result = pullFrames(500, from: input, with: &resampler, at: .init(1), pieces: [1, 64, 100])
        for channel in 0..<3 { #expect(result[channel] == input.array(channel)) }
    }

    @Test("channels do not hear each other, and each sounds as if it were alone", arguments: [1, 2, 3, 8])
    func channels(count: Int) {
        let input = noiseBlock(channels: count, frames: 600)
        var resampler = Resampler(channels: count, steps: 0.9...0.9)
        let result = pullFrames(400, from: input, with: &resampler, at: .init(0.9))
        for channel in 0..<count {
            var alone = Resampler(channels: 1, steps: 0.9...0.9)
            let one = AudioBlock(copying: input, channels: channel..<channel + 1, frames: 0..<600)
            #expect(pullFrames(400, from: one, with: &alone, at: .init(0.9))[0] == result[channel])
        }
    }

    @Test("mono goes to every channel, and what has no counterpart is silent")
    func widths() {
        let mono = noiseBlock(channels: 1, frames: 300)
        var resampler = Resampler(channels: 1, steps: 0.9...0.9)
        resampler.push(mono)
        var wide = AudioBlock(channels: 3, frames: 100)
        #expect(resampler.pull(100, at: .init(0.9), into: &wide) == 100)
        #expect(!wide.isSilent && wide.array(0) == wide.array(1) && wide.array(0) == wide.array(2))
        var stereo = Resampler(channels: 2, steps: 0.9...0.9)
        stereo.push(AudioBlock(copying: mono, channels: 0..<1, frames: 0..<300))
        #expect(stereo.pull(100, at: .init(0.9), into: &wide) == 100)
        #expect(wide.array(0) == wide.array(1) && wide.array(2).allSatisfy { $0 == 0 })
        var narrow = AudioBlock(channels: 1, frames: 100)
        resampler.reset()
        resampler.push(mono)
        #expect(resampler.pull(100, at: .init(0.9), into: &narrow) == 100 && narrow.array(0) == wide.array(0))
    }

    @Test("reset repeats, bit for bit, and forgets what is not a number")
    func reset() {
        let input = noiseBlock(channels: 2, frames: 600)
        var resampler = Resampler(channels: 2, steps: 0.5...2)
        let first = pullFrames(200, from: input, with: &resampler, at: .init(1.3))
        resampler.push(AudioBlock([[.nan, .infinity], [.nan, -.infinity]]))
        resampler.reset()
        #expect(pullFrames(200, from: input, with: &resampler, at: .init(1.3)) == first)
    }

    @Test("silence stays silent, and comes back to silence")
    func silence() {
        var resampler = Resampler(channels: 2, steps: 0.25...4)
        let silence = AudioBlock(channels: 2, frames: 10)
        #expect(
            pullFrames(500, from: silence, with: &resampler, at: .init(1.7)).allSatisfy { $0.allSatisfy { $0 == 0 } })
        resampler.reset()
        let tail = pullFrames(500, from: noiseBlock(channels: 2, frames: 10), with: &resampler, at: .init(0.5))
        #expect(tail.allSatisfy { $0[300...].allSatisfy { $0 == 0 } })
    }

    @Test("what is asked for in vain is not given, and nothing is lost by asking")
    func misuse() {
        let input = noiseBlock(channels: 1, frames: 1_000)
        var resampler = Resampler(channels: 1, steps: 0.5...2, room: 10)
        var output = AudioBlock(channels: 1, frames: 100)
        #expect(resampler.pull(10, at: .init(1), into: &output) == 0)
        #expect(resampler.framesNeeded(for: 0, at: .init(1)) == 0)
        #expect(resampler.framesNeeded(for: -5, at: .init(1)) == 0)
        #expect(resampler.pull(-5, at: .init(1), into: &output) == 0)
        #expect(resampler.pull(5, at: .init(1), into: &output, from: 101) == 0)
        #expect(resampler.push(input, from: 1_001) == 0 && resampler.push(input, frames: -1) == 0)
        #expect(resampler.pushSilence(-1) == 0)
        // No more than there is room for.
        let room = resampler.room
        #expect(room >= 10 && resampler.push(input) == room && resampler.room == 0 && resampler.push(input) == 0)
        #expect(resampler.pull(1_000, at: .init(1), into: &output) == 100)
        // A step outside of the range is the nearest inside; what is no number is the lowest.
        let (most, least) = (
            resampler.framesNeeded(for: 1_000, at: .init(2)), resampler.framesNeeded(for: 1_000, at: .init(0.5))
        )
        #expect(most == least + 1_499 || most == least + 1_498)
        #expect(resampler.framesNeeded(for: 1_000, at: .init(1e300)) == most)
        #expect(resampler.framesNeeded(for: 1_000, at: .init(.nan)) == least)
        #expect(resampler.framesNeeded(for: 1_000, at: .init(-1)) == least)
    }

    @Test(
        "whatever is asked in whatever order, it keeps to its memory and goes on",
        arguments: [0...0.7, 0...8, 2.5...2.5, 1...1])
    func anything(steps: ClosedRange<Double>) {
        var random = SignalNoise(seed: 7)
        var resampler = Resampler(channels: 2, steps: steps, room: 33)
        let input = noiseBlock(channels: 2, frames: 100)
        var output = AudioBlock(channels: 2, frames: 100)
        for _ in 0..<400 {
            let (frames, first) = (Int.random(in: -3...110, using: &random), Int.random(in: -3...110, using: &random))
            let step = Resampler.Step(Double.random(in: -1...9, using: &random))
            switch Int.random(in: 0..<8, using: &random) {
            case 0: resampler.reset(latency: frames, at: Double.random(in: -1...9, using: &random))
            case 1: #expect(resampler.pushSilence(frames) <= max(0, frames))
            case 2, 3: #expect(resampler.push(input, from: first, frames: frames) <= max(0, frames))
            case 4:
                let needed = resampler.framesNeeded(for: frames, at: step)
                while resampler.framesNeeded(for: frames, at: step) > 0, resampler.pushSilence(needed) > 0 {}
            default:
                let made = resampler.pull(frames, at: step, into: &output, from: first)
                #expect(made >= 0 && made <= max(0, frames))
            }
            #expect(resampler.room >= 0)
        }
        #expect(output.peak < 3)
        // After all of it a stream is what it always is.
        resampler.reset()
        var fresh = Resampler(channels: 2, steps: steps)
        let step = Resampler.Step(steps.upperBound)
        #expect(
            pullFrames(50, from: input, with: &resampler, at: step)
                == pullFrames(50, from: input, with: &fresh, at: step))
    }

    @Test("a step of 0 stands still, and goes on from there")
    func standstill() {
        var resampler = Resampler(channels: 1, steps: 0...1)
        resampler.push(sineBlock(0.01, frames: 600))
        var output = AudioBlock(channels: 1, frames: 300)
        resampler.pull(100, at: .init(1), into: &output)
        resampler.pull(100, at: .init(0), into: &output, from: 100)
        resampler.pull(100, at: .init(1), into: &output, from: 200)
        let result = output.array(0)
        #expect(result[100..<200].allSatisfy { $0 == result[100] } && result[200] == result[100])
        #expect(abs(Double(result[250]) - resamplerAmplitude * turnSine(1.5)) < 1e-3)
    }

    @Test("steps as large as they may be skip what lies between")
    func largest() {
        var resampler = Resampler(channels: 1, steps: 256...256)
        var block = AudioBlock(channels: 1, frames: 1_000)
        for n in 0..<1_000 { block[0, n] = 0.5 }
        var output = AudioBlock(channels: 1, frames: 150)
        var done = 0
        while done < 150 {
            resampler.push(block, frames: resampler.framesNeeded(for: 1, at: .init(256)))
            done += resampler.pull(1, at: .init(256), into: &output, from: done)
        }
        #expect((120..<150).allSatisfy { abs(output[0, $0] - 0.5) < 1e-6 })
    }

    @Test("pushing and pulling allocates nothing", .notSanitized(allocation_counter_works() != 0))
    func allocation() {
        var resampler = Resampler(channels: 2, steps: 0.25...4)
        let input = noiseBlock(channels: 2, frames: 256)
        var output = AudioBlock(channels: 2, frames: 64)
        let glide = Glide(from: 0.25, to: 4, elapsed: 0, length: 64, isExponential: false)
        var calls = 1
        // The first round may do what Swift's runtime does once.
        for _ in 0..<2 {
            allocation_counter_begin()
            let step = Resampler.Step(glide, times: 1)
            resampler.push(input, frames: resampler.framesNeeded(for: 64, at: step))
            resampler.pull(64, at: step, into: &output)
            resampler.reset()
            calls = Int(allocation_counter_end())
        }
        #expect(calls == 0)
    }

    @Test("resamplers for the same ratio share their filter")
    func sharing() {
        let table = ResamplerTable.table(for: 1.25)
        #expect(ResamplerTable.table(for: 1.25) === table)
        #expect(ResamplerTable.table(for: 1.5) !== table)
        #expect(table.halfLength == 72)
    }
}
