import Foundation
import RenderStack
import TestSupport
import Testing

private func sine(_ frequency: Double, _ frames: Int) -> [Float] {
    (0..<frames).map { (frame: Int) -> Float in
        let turns = (frequency * Double(frame)).truncatingRemainder(dividingBy: 1)
        return Float(0.5 * sin(2 * Double.pi * turns))
    }
}

private func grain(_ frames: Int, seed: UInt64) -> [Float] {
    var random = Numbers(seed: seed)
    return (0..<frames).map { _ in Float(random.below(2_000_001) - 1_000_000) * 1e-6 }
}

private func playing(_ player: SamplePlayer, sampleRate: Double = 48_000) throws -> Renderer {
    try Renderer(sampleRate: sampleRate, channels: player.channelCount) { context in
        context.run(player)
        context.output()
    }
}

/// Frames that a voice makes of a sound, from the first on.
private func heard(
    _ channels: [[Float]], pitch: Double, quality: SamplePlayer.Quality = .standard, frames: Int,
    cycles: [Int] = [512], start: Int64 = 0, sampleRate: Double = 48_000
) throws -> [[Float]] {
    let player = SamplePlayer(voices: 1, channels: channels.count, quality: quality)
    let renderer = try playing(player, sampleRate: sampleRate)
    let sound = Sound(AudioBlock(channels), sampleRate: sampleRate)
    player.play(player.load(sound), at: .sample(start), pitch: pitch)
    return render(renderer, frames: frames, cycles: cycles)
}

/// `SamplePlayer` at other pitches than 1.
@Suite struct SamplePlayerPitchTests {
    private static let pitches = [0.3, 0.5, 0.77, 0.999, 1.0595, 1.5, 2, 2.9, 3.9999, 5.3, 8]

    @Test("A sine is one to 119 dB, at its level and in time, at any pitch", arguments: pitches)
    func purity(pitch: Double) throws {
        for rate in [44_100.0, 48_000] {
            for frequency in [1_000.0, 5_000, 10_000, 15_000] where frequency * pitch < 0.42 * rate {
                let frames = 2_400
                let tone = sine(frequency / rate, Int(Double(frames) * pitch) + 1_000)
                let result = try heard([tone], pitch: pitch, frames: frames, sampleRate: rate)[0]
                // The frames that have the whole filter in the sound.
                let first = Int(32 * max(1, 1 / pitch)) + 4
                let fit = SineFit(result[first...], frequency: frequency / rate * pitch, from: first)
                #expect(fit.signalToNoise >= 119, "\(frequency) Hz at \(rate)")
                #expect(abs(fit.gain(over: 0.5)) < 0.006, "\(frequency) Hz at \(rate)")
                #expect(abs(fit.turns) < 1e-5)
            }
        }
    }

    @Test(
        "Above a pitch of 1 nothing folds back: what the output cannot carry is 110 dB down",
        arguments: [1.0595, 1.3, 1.5, 2, 3, 4, 5.7, 8, 9, 12, 16, 32, 64])
    func folding(pitch: Double) throws {
        var count = 0
        // In parts of the output's rate. The longest filters have less and less of a pass band.
        let lowest = pitch < 40 ? 0.541 : 0.65
        for place in [lowest, 0.7, 0.93, 1.07, 1.6, 3.3, 7.1, 15.2, 31.3] where place / pitch < 0.4999 {
            let frames = 600
            let tone = sine(place / pitch, Int(Double(frames) * pitch) + 600)
            let result = try heard([tone], pitch: pitch, frames: frames)[0][40...]
            let power = result.reduce(0) { $0 + Double($1) * Double($1) } / Double(result.count)
            #expect(10 * log10(power / 0.125) < -110, "\(place) of the rate")
            count += 1
        }
        #expect(count > 0 || pitch < 1.1)
    }

    @Test("The fast quality is cheap: sixteen frames, and it folds", arguments: [0.77, 1.0595, 2.1])
    func fast(pitch: Double) throws {
        func fit(_ frequency: Double, at output: Double) throws -> SineFit {
            let tone = sine(frequency, Int(3_000 * pitch) + 100)
            return SineFit(
                try heard([tone], pitch: pitch, quality: .fast, frames: 2_900)[0][100...], frequency: output, from: 100)
        }
        let low = try fit(0.1, at: 0.1 * pitch)
        #expect(low.signalToNoise > 70 && low.signalToNoise < 105)
        #expect(abs(low.gain(over: 0.5)) < 0.05)
        if pitch > 2 {
            #expect(try fit(0.35, at: 1 - 0.35 * pitch).amplitude > 0.45, "0.735 of the rate is heard as 0.265")
        }
        #expect(SamplePlayer().quality == .standard && SamplePlayer(quality: .fast).quality == .fast)
    }

    @Test("At a pitch of 1 every bit is kept, to the last frame", arguments: SamplePlayer.Quality.allCases)
    func exact(quality: SamplePlayer.Quality) throws {
        for channels in [1, 2] {
            let sound = (0..<channels).map { grain(517, seed: UInt64($0 + 1)) }
            for pitch in [1, 1 + 1e-12] {
                let result = try heard(sound, pitch: pitch, quality: quality, frames: 600, start: 3)
                for channel in 0..<channels {
                    #expect(Array(result[channel][3..<520]) == sound[channel])
                    #expect((result[channel][..<3] + result[channel][520...]).allSatisfy { $0 == 0 })
                }
            }
        }
    }

    @Test("The cycles make no difference, bit for bit", arguments: SamplePlayer.Quality.allCases)
    func cycles(quality: SamplePlayer.Quality) throws {
        for channels in [1, 2] {
            for pitch in [1.0 / 64, 0.3, 0.9, 1.0000001, 1.7, 7.9, 8.1, 64] {
                let sound = (0..<channels).map { grain(1_500, seed: UInt64($0 + 7)) }
                func frames(_ cycles: [Int]) throws -> [[Float]] {
                    try heard(sound, pitch: pitch, quality: quality, frames: 1_400, cycles: cycles, start: 11)
                }
                let whole = try frames([1_400])
                #expect(whole.allSatisfy { $0.contains { $0 != 0 } })
                for cycles in [[1], [7], [64], [13, 500, 1]] {
                    #expect(try frames(cycles) == whole, "\(pitch) \(cycles)")
                }
            }
        }
    }

    @Test(
        "At the ends a sound is what it is between silence",
        arguments: [(0.5, 1_200), (0.75, 800), (1.5, 400), (2.0, 300), (4, 150), (12, 50), (60, 10)])
    func ends(pitch: Double, shift: Int) throws {
        for length in [1, 5, 31, 64, 200, 900] {
            let sound = [grain(length, seed: 3), grain(length, seed: 4)]
            let silence = [Float](repeating: 0, count: 600)
            let framed = sound.map { silence + $0 + silence }
            for side in [[sound[0]], sound] {
                let alone = try heard(side, pitch: pitch, frames: 600)
                let between = try heard(side.count == 1 ? [framed[0]] : framed, pitch: pitch, frames: 600 + shift)
                let count = min(600, Int((Double(length) / pitch).rounded(.up)))
                for channel in side.indices {
                    let part = between[channel][shift..<shift + count]
                    #expect(Array(alone[channel][..<count]) == Array(part), "\(length)")
                    #expect(alone[channel][count...].allSatisfy { $0 == 0 }, "\(length)")
                }
            }
        }
    }

    @Test("A sample that is not a number reaches neither another sound nor the output", arguments: [0.7, 1.9, 11])
    func nan(pitch: Double) throws {
        let player = SamplePlayer(voices: 1, channels: 1)
        let renderer = try playing(player)
        var samples = grain(4_000, seed: 1)
        samples[700] = .nan
        samples[705] = .infinity
        let bad = player.load(Sound(AudioBlock([samples]), sampleRate: 48_000))
        let good = player.load(Sound(AudioBlock([grain(3_000, seed: 2)]), sampleRate: 48_000))
        player.play(bad, at: .sample(0), pitch: pitch)
        player.play(good, at: .sample(8_000), pitch: pitch)
        let result = render(renderer, frames: 12_000)[0]
        #expect(result.allSatisfy { $0.isFinite })
        let alone = try heard([grain(3_000, seed: 2)], pitch: pitch, frames: 4_000)[0]
        #expect(Array(result[8_000...]) == alone)
    }

    @Test("A sound that repeats at another pitch has the same bits in every round")
    func rounds() throws {
        let player = SamplePlayer(voices: 4, channels: 2)
        let renderer = try playing(player)
        let sound = [grain(900, seed: 5), grain(900, seed: 6)]
        player.play(player.load(Sound(AudioBlock(sound), sampleRate: 48_000)), at: .sample(0), pitch: 1.3, every: 0.02)
        let result = render(renderer, frames: 9_600, cycles: [100, 37])
        let alone = try heard(sound, pitch: 1.3, frames: 960)
        for round in 0..<10 {
            for channel in 0..<2 { #expect(Array(result[channel][960 * round..<960 * (round + 1)]) == alone[channel]) }
        }
    }

    @Test("Pan, gain and fades act on both qualities alike")
    func gains() throws {
        let tone = sine(0.01, 9_000)
        func frames(_ quality: SamplePlayer.Quality) throws -> [[Float]] {
            let player = SamplePlayer(voices: 2, quality: quality)
            let renderer = try playing(player)
            let sample = player.load(Sound(AudioBlock([tone]), sampleRate: 48_000))
            if let voice = player.play(sample, at: .sample(5), gain: 0.5, pan: -0.5, pitch: 0.9) {
                player.stop(voice, at: .sample(3_000))
            }
            return render(renderer, frames: 4_000)
        }
        let (standard, fast) = (try frames(.standard), try frames(.fast))
        for channel in 0..<2 {
            #expect(zip(standard[channel], fast[channel]).dropFirst(60).allSatisfy { abs($0 - $1) < 3e-3 })
            #expect(standard[channel][3_240...].allSatisfy { $0 == 0 } && standard[channel][3_000] != 0)
        }
    }
}
