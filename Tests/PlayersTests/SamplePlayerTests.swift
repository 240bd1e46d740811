import CAllocationCounter
import Foundation
import RenderStack
import TestSupport
import Testing

private func sound(_ samples: [Float]..., sampleRate: Double = 48_000) -> Sound {
    Sound(AudioBlock(samples), sampleRate: sampleRate)
}

private func values(_ level: Float, _ frames: Int) -> [Float] { (0..<frames).map { level + Float($0 + 1) / 1024 } }

private func playing(_ player: SamplePlayer, sampleRate: Double = 48_000) throws -> Renderer {
    try Renderer(sampleRate: sampleRate, channels: player.channelCount) { context in
        context.run(player)
        context.output()
    }
}

private func sine(_ frequency: Double, _ frames: Int, amplitude: Double = 0.5) -> [Float] {
    (0..<frames).map { (frame: Int) -> Float in
        let turns = (frequency * Double(frame)).truncatingRemainder(dividingBy: 1)
        return Float(amplitude * sin(2 * Double.pi * turns))
    }
}

/// Waits up to ten seconds for something that the control side does in its own time.
private func comesTrue(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<1000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return condition()
}

@Suite struct SamplePlayerTests {
    @Test("A sound begins on its frame and comes out bit for bit, beside others", arguments: cycleLengths)
    func exact(cycles: [Int]) throws {
        let player = SamplePlayer()
        let renderer = try playing(player)
        let mono = player.load(sound(values(1, 500)))
        let stereo = player.load(sound(values(2, 300), values(3, 300)))
        player.play(mono, at: .sample(123))
        player.play(stereo, at: .sample(777))
        player.play(mono, at: .sample(1300), gain: 0.5)
        player.play(mono, at: .sample(1900), pan: -0.5)
        let heard = render(renderer, frames: 2500, cycles: cycles)
        let whole = values(1, 500)
        let half: [Float] = whole.map { $0 * 0.5 }
        let left = [silence(123), whole, silence(154), values(2, 300), silence(223), half, silence(100), whole]
        let right = [silence(123), whole, silence(154), values(3, 300), silence(223), half, silence(100), half]
        #expect(heard[0] == left.reduce([], +) + silence(100))
        #expect(heard[1] == right.reduce([], +) + silence(100))
        #expect(renderer.faultCount == 0)
    }

    @Test("Channels meet by the rule of blocks")
    func channels() throws {
        let mono = SamplePlayer(channels: 1)
        let renderer = try playing(mono)
        mono.play(mono.load(sound(values(1, 9), values(2, 9))))
        let sum: [Float] = zip(values(1, 9), values(2, 9)).map { $0 + $1 }
        #expect(render(renderer, frames: 9)[0] == sum)

        let four = SamplePlayer(channels: 4)
        let other = try playing(four)
        four.play(four.load(sound(values(1, 9), values(2, 9))))
        four.play(four.load(sound(values(3, 9))), at: .sample(20))
        let heard = render(other, frames: 29)
        for (channel, level) in [1, 2, nil, nil].enumerated() {
            let first = level.map { values(Float($0), 9) } ?? silence(9)
            #expect(heard[channel] == first + silence(11) + values(3, 9))
        }
    }

    @Test("The oldest voice is stolen: it fades in 5 ms, the new one begins on its frame", arguments: cycleLengths)
    func stealing(cycles: [Int]) throws {
        let player = SamplePlayer(voices: 2, channels: 1)
        let renderer = try playing(player)
        let levels: [Float] = [1, 2, 4]
        for (index, level) in levels.enumerated() {
            let sample = player.load(sound([Float](repeating: level, count: 5000)))
            player.play(sample, at: .sample(Int64(100 + 400 * index)))
        }
        let heard = render(renderer, frames: 2000, cycles: cycles)[0]
        for (frame, sample) in heard.enumerated() {
            let fade: Float = max(0, 1 - Float(max(0, frame - 900)) / 240)
            var expected: Float = frame >= 100 ? fade : 0
            if frame >= 500 { expected += 2 }
            if frame >= 900 { expected += 4 }
            #expect(abs(sample - expected) < 1e-6, "frame \(frame)")
        }
        #expect(player.stolenCount == 1)
    }

    @Test("Stealing makes no click: no step is larger than those of the sounds")
    func clicks() throws {
        let player = SamplePlayer(voices: 4, channels: 1)
        let renderer = try playing(player)
        // They begin softly, so that every large step is one of stealing.
        let tone = sine(0.01, 20_000, amplitude: 0.2).enumerated().map { $1 * min(1, Float($0) / 1000) }
        let sample = player.load(sound(tone))
        for n in 0..<40 { player.play(sample, at: .sample(Int64(700 * n + 13 * (n % 7)))) }
        let heard = render(renderer, frames: 29_000)[0]
        func largestStep(_ samples: [Float]) -> Float {
            largestDifference(Array(samples.dropLast()), Array(samples.dropFirst()))
        }
        // Four that sound, one that fades, and what the fade itself makes of the highest sample.
        let most: Float = 5 * largestStep(tone) + 0.2 / 240 + 1e-6
        #expect(largestStep(heard) <= most)
        #expect(player.stolenCount == 36)
    }

    @Test("A stopped voice fades out; others go on", arguments: cycleLengths)
    func stopping(cycles: [Int]) throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        let one = player.load(sound([Float](repeating: 1, count: 9000)))
        let two = player.load(sound([Float](repeating: 2, count: 9000)))
        let first = try #require(player.play(one))
        player.play(one)
        player.play(two)
        player.stop(first, at: .sample(100))
        player.stop(one, at: .sample(500))
        player.stopAll(at: .sample(1001))
        let heard = render(renderer, frames: 1500, cycles: cycles)[0]
        func fade(_ frame: Int, from start: Int) -> Float { 1 - min(1, Float(max(0, frame - start)) / 240) }
        for (frame, sample) in heard.enumerated() {
            var expected: Float = fade(frame, from: 100)
            expected += fade(frame, from: 500)
            expected += 2 * fade(frame, from: 1001)
            #expect(abs(sample - expected) < 1e-6, "frame \(frame)")
        }
    }

    @Test("Pitch: frame n is the sound at n times the pitch", arguments: [0.5, 0.75, 1.0595, 1.5, 2, 3.7])
    func pitch(pitch: Double) throws {
        // In cycles per frame that are heard: two thirds of what the interpolation carries.
        for frequency in [0.005, 0.05, 0.2] where frequency / pitch < 0.28 {
            let tone = sine(frequency / pitch, 30_000)
            let player = SamplePlayer(channels: 1)
            let renderer = try playing(player)
            player.play(player.load(sound(tone)), pitch: pitch)
            let heard = render(renderer, frames: 5000)[0]
            let fit = SineFit(heard[100..<4900], frequency: frequency, from: 100)
            #expect(abs(fit.turns) < 1e-5, "in time")
            #expect(abs(fit.gain(over: 0.5)) < 0.05)
            #expect(fit.signalToNoise > 70)
        }
    }

    @Test("At every pitch the cycles make no difference, bit for bit", arguments: cycleLengths)
    func cycles(cycles: [Int]) throws {
        func heard(_ cycles: [Int]) throws -> [[Float]] {
            let player = SamplePlayer(voices: 5)
            let renderer = try playing(player)
            var random = Numbers(seed: 3)
            let samples = (0..<6).map { n in
                player.load(n < 3 ? sound(sine(0.013, 100 + 900 * n)) : sound(sine(0.02, 700), sine(0.03, 700)))
            }
            for _ in 0..<50 {
                player.play(
                    samples[random.below(6)], at: .sample(Int64(random.below(4000))),
                    gain: Float(random.below(100)) / 50, pan: Float(random.below(21) - 10) / 10,
                    pitch: 0.3 + Double(random.below(2000)) / 700)
            }
            player.play(samples[2], at: .sample(10), pitch: 0.9, every: 0.0123)
            player.stopAll(at: .sample(3501))
            return render(renderer, frames: 4600, cycles: cycles)
        }
        #expect(try heard(cycles) == heard([10_000]))
    }

    @Test(
        "The player's output is the sum of its voices, whichever start and stop", arguments: 1...extent(20, inDebug: 6))
    func model(seed: Int) throws {
        struct Naive {
            var samples: [Float]
            var start: Int
            var gain: Float
            var fade = Int.max
            func value(_ frame: Int) -> Float {
                let position = frame - start
                guard position >= 0, position < samples.count else { return 0 }
                return samples[position] * gain * (frame < fade ? 1 : max(0, 1 - Float(frame - fade) / 240))
            }
            func sounds(at frame: Int) -> Bool { frame >= start && frame < start + samples.count && frame < fade }
        }
        var random = Numbers(seed: UInt64(seed))
        let player = SamplePlayer(voices: 3, channels: 1)
        let renderer = try playing(player)
        let tones = (0..<4).map { sine(0.01 + 0.01 * Double($0), 200 + 500 * $0) }
        let samples = tones.map { player.load(sound($0)) }
        var times = Set<Int>()
        while times.count < 40 { times.insert(random.below(6000)) }
        var voices: [Naive] = []
        for time in times.sorted() {
            let which = random.below(4)
            if random.below(6) == 0 {
                player.stop(samples[which], at: .sample(Int64(time)))
                for index in voices.indices where voices[index].samples == tones[which] {
                    if voices[index].sounds(at: time) { voices[index].fade = time }
                }
                continue
            }
            let gain = Float(random.below(100)) / 50
            player.play(samples[which], at: .sample(Int64(time)), gain: gain)
            let sounding = voices.indices.filter { voices[$0].sounds(at: time) }
            if sounding.count >= 3 { voices[sounding[0]].fade = time }
            voices.append(Naive(samples: tones[which], start: time, gain: gain))
        }
        let heard = render(renderer, frames: 7500, cycles: cycleLengths[seed % cycleLengths.count])[0]
        let expected = (0..<7500).map { frame in voices.reduce(Float(0)) { $0 + $1.value(frame) } }
        #expect(largestDifference(heard, expected) < 1e-5)
        #expect(renderer.faultCount == 0)
    }

    @Test("A metronome is on its frame after an hour, also where a beat is no whole number of frames")
    func metronome() throws {
        // A thousandth of a second is a frame here, so that the hour is soon over.
        let player = SamplePlayer(voices: 2, channels: 1)
        let renderer = try playing(player, sampleRate: 1000)
        let tick = player.load(sound([1], sampleRate: 1000))
        let (beat, minutes) = (60.0 / 187, extent(60, inDebug: 6))
        player.play(tick, at: .sample(250), every: beat)
        var beats = 0
        var block = AudioBlock(channels: 1, frames: 10_000)
        for _ in 0..<6 * minutes {
            let start = Int(renderer.sampleTime)
            renderer.render(into: &block, hostTime: 0, isOffline: true)
            for (frame, sample) in block.array(0).enumerated() where sample != 0 {
                let expected = 250 + Int((Double(beats) * beat * 1000).rounded())
                #expect(start + frame == expected)
                beats += 1
            }
        }
        let expected = Int((Double(60 * minutes) - 0.25) / beat) + 1
        #expect(beats == expected)
        player.stop(tick)
        _ = render(renderer, frames: 2000)
        #expect(render(renderer, frames: 2000)[0] == silence(2000))
    }

    @Test("A sound of another rate is converted, also one that was loaded before the rate was known")
    func rates() throws {
        let player = SamplePlayer(channels: 1)
        let early = player.load(sound(sine(0.01, 4410), sampleRate: 44_100))
        let renderer = try playing(player)
        let late = player.load(sound(sine(0.01, 4410), sampleRate: 44_100))
        player.play(early, at: .sample(0))
        player.play(late, at: .sample(10_000))
        let heard = render(renderer, frames: 20_000)[0]
        #expect(heard[..<4800] == heard[10_000..<14_800])
        let fit = SineFit(heard[500..<4300], frequency: 0.01 * 44_100 / 48_000, from: 500)
        #expect(fit.signalToNoise > 100)
    }

    @Test("Load, replace and unload while it plays: what is heard goes on, what begins is new, memory is freed")
    func replacing() async throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        weak var weakOld: Sound?
        let sample: SamplePlayer.Sample
        do {
            let old = sound(values(1, 300))
            weakOld = old
            sample = player.load(old)
        }
        player.play(sample)
        player.play(sample, at: .sample(400))
        #expect(render(renderer, frames: 100)[0] == Array(values(1, 300)[..<100]))
        #expect(player.replace(sample, with: sound(values(2, 50))))
        player.play(sample, at: .sample(600))
        try await Task.sleep(for: .milliseconds(50))
        #expect(weakOld != nil, "it is heard")
        #expect(render(renderer, frames: 300)[0] == Array(values(1, 300)[100...]) + silence(100))
        let twice = values(2, 50) + silence(150) + values(2, 50)
        #expect(render(renderer, frames: 300)[0] == twice + silence(50))
        #expect(await comesTrue { weakOld == nil })
        #expect(player.loadedCount == 1)

        player.play(sample)
        player.play(sample, at: .sample(800))
        #expect(render(renderer, frames: 10)[0] == Array(values(2, 50)[..<10]))
        #expect(player.unload(sample))
        #expect(!player.unload(sample) && !player.replace(sample, with: sound([1])))
        #expect(player.loadedCount == 0)
        #expect(render(renderer, frames: 200)[0] == Array(values(2, 50)[10...]) + silence(160))
        player.play(sample)
        #expect(render(renderer, frames: 200)[0] == silence(200))
        #expect(renderer.faultCount == 0)
    }

    @Test("Three hundred sounds, each of them itself")
    func many() throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        let samples = (0..<300).map { player.load(sound([Float($0 + 1)])) }
        for n in stride(from: 0, to: 300, by: 2) { player.unload(samples[n]) }
        var heard: [Float] = []
        for sample in samples {
            player.play(sample)
            heard += render(renderer, frames: 1)[0]
        }
        let expected: [Float] = counted(1...300).enumerated().map { frame, sample in
            frame.isMultiple(of: 2) ? 0 : sample
        }
        #expect(heard == expected)
    }

    @Test("Sounds of one transaction start on one frame; a transaction that throws loads and starts nothing")
    func transactions() throws {
        struct Refused: Error {}
        let player = SamplePlayer(channels: 1)
        let renderer = try playing(player)
        let one = player.load(sound(values(1, 40)))
        _ = render(renderer, frames: 77)
        renderer.transaction {
            player.play(one)
            player.play(player.load(sound(values(2, 40))))
            player.volume.value = 1
        }
        let sum: [Float] = zip(values(1, 40), values(2, 40)).map { $0 + $1 }
        #expect(render(renderer, frames: 40, cycles: [7])[0] == sum)
        #expect(throws: Refused.self) {
            try renderer.transaction { () throws(Refused) in
                player.play(player.load(sound(values(3, 40))))
                player.play(one)
                throw Refused()
            }
        }
        #expect(render(renderer, frames: 40)[0] == silence(40))
        #expect(player.loadedCount == 2)
    }

    @Test("Numbers out of range become the nearest, and what is no number is passed over")
    func nonsense() throws {
        let player = SamplePlayer(channels: 2)
        let renderer = try playing(player)
        let sample = player.load(sound([Float](repeating: 1, count: 100)))
        player.play(sample, gain: .nan, pan: .nan, pitch: .nan, every: .nan)
        player.play(sample, at: .sample(200), gain: -1, pan: 7, pitch: -3)
        let empty = player.load(Sound(AudioBlock(channels: 1, frames: 0), sampleRate: 48_000))
        player.play(empty, pitch: .infinity, every: 1e-9)
        let heard = render(renderer, frames: 300)
        #expect(heard[0] == [Float](repeating: 1, count: 100) + silence(200))
        #expect(heard[0] == heard[1])
        for _ in 0..<256 { #expect(player.play(sample, at: .sample(1_000_000)) != nil) }
        #expect(player.play(sample, at: .sample(1_000_000)) == nil, "no more than 256 wait")
        #expect(renderer.faultCount == 0)
    }

    @Test("The render thread neither allocates nor frees", .notSanitized(allocation_counter_works() != 0))
    func allocations() throws {
        let player = SamplePlayer(voices: 8)
        let renderer = try playing(player)
        let samples = (0..<10).map { player.load(sound(sine(0.01, 100 * ($0 + 1)))) }
        for n in 0..<50 {
            player.play(samples[n % 10], at: .sample(Int64(1300 + 100 * n)), pan: 0.2, pitch: 0.5 + Double(n) / 20)
        }
        player.play(samples[9], every: 0.001)
        var block = AudioBlock(channels: 2, frames: 64)
        for _ in 0..<20 { renderer.render(into: &block, hostTime: 0) }
        player.unload(samples[3])
        allocation_counter_begin()
        for _ in 0..<150 { renderer.render(into: &block, hostTime: 0) }
        #expect(allocation_counter_end() == 0)
        #expect(player.stolenCount > 0)
    }

    @Test("Reset is silence")
    func reset() throws {
        let player = SamplePlayer(channels: 1)
        let renderer = try Renderer(channels: 1) { context in
            context.run(player)
            context.output()
            if context.sampleTime == 100 { context.reset(player) }
        }
        let sample = player.load(sound([Float](repeating: 1, count: 10_000)))
        player.play(sample, every: 0.01)
        _ = render(renderer, frames: 200, cycles: [100])
        #expect(render(renderer, frames: 1000)[0] == silence(1000))
        player.play(sample)
        #expect(render(renderer, frames: 10)[0] == [Float](repeating: 1, count: 10))
    }
}
