import DiskStreaming
import Foundation
import RenderStack
import TestSupport
import Testing

/// Noise that 24 bits hold exactly.
func noise(_ count: Int, seed: UInt64) -> [Float] {
    var random = SplitMix(state: seed)
    return (0..<count).map { _ in Float(Int32(truncatingIfNeeded: random.next()) >> 9) / 8_388_608 }
}

/// A renderer of one player.
func solo(_ player: FilePlayer, rate: Double = 48_000, channels: Int = 1) throws -> Renderer {
    try Renderer(sampleRate: rate, channels: channels) { context in
        context.run(player)
        context.output()
    }
}

@Suite struct FilePlayerTests {
    // MARK: Files

    @Test("A player names the path of a file that it cannot play, and describes one that it can")
    func opening() throws {
        let folder = try TemporaryFolder()
        #expect(throws: AudioFileError.self) { _ = try FilePlayer(path: "\(folder.path)/missing.wav") }
        #expect(throws: AudioFileError.self) { _ = try FilePlayer(path: folder.path) }
        let text = "\(folder.path)/text.wav"
        try "This is a text.".write(toFile: text, atomically: true, encoding: .utf8)
        #expect(throws: AudioFileError.self) { _ = try FilePlayer(path: text) }
        let nothing = try folder.write([[], []], "nothing.flac")
        #expect(throws: AudioFileError.self) { _ = try FilePlayer(path: nothing) }
        let path = try folder.write([ramp(441), ramp(441)].map { $0.map { $0 / 1024 } }, "a.flac", rate: 44_100)
        let player = try FilePlayer(path: path)
        #expect(player.path == path)
        #expect(player.duration == 0.01)
        #expect(player.channelCount == 2)
        #expect(player.fileSampleRate == 44_100)
        #expect(!player.isPlaying)
    }

    @Test(
        "At the file's rate the output is the file, sample for sample",
        arguments: ["a.wav", "b.flac", "c.aiff", "d.caf"])
    func sampleForSample(name: String) throws {
        let folder = try TemporaryFolder()
        let channels = [noise(30_000, seed: 1), noise(30_000, seed: 2), noise(30_000, seed: 3)]
        let format: AudioFileFormat? = name == "c.aiff" ? AudioFileFormat.aiff(.int24) : nil
        let path = try folder.write(channels, name, format: format)
        for cycles in cycleLengths {
            let player = try FilePlayer(path: path)
            let renderer = try solo(player, channels: 3)
            player.play()
            let frames = cycles == [1] ? 5_000 : 31_000
            let output = render(renderer, frames: frames, cycles: cycles)
            for channel in 0..<3 {
                let expected = channels[channel] + [Float](repeating: 0, count: 1_000)
                #expect(output[channel].elementsEqual(expected[..<frames]))
            }
            #expect(player.underrunCount == 0)
        }
    }

    @Test(
        "At another rate it is what the converter makes of the whole file",
        arguments: [44_100, 96_000, 22_050, 32_000.5])
    func otherRate(rate: Double) throws {
        let samples = noise(20_000, seed: 4)
        let player = try FilePlayer(memoryFile([samples], rate: rate))
        let renderer = try solo(player)
        player.play()
        var converter = SampleRateConverter(from: rate, to: 48_000, channels: 1)
        let count = SampleRateConverter.frameCount(of: samples.count, from: rate, to: 48_000)
        var expected = AudioBlock(channels: 1, frames: count + 500)
        let (_, made) = converter.convert(AudioBlock([samples]), from: 0, frames: samples.count, into: &expected, at: 0)
        _ = converter.finish(into: &expected, at: made)
        let output = render(renderer, frames: count + 500, cycles: [100, 7, 1_000])
        #expect(largestDifference(output[0], expected.array(0)) < 1e-6)
        #expect(output[0][count...].allSatisfy { $0 == 0 })
    }

    @Test("A loop at another rate is converted through its seams")
    func loopAtOtherRate() throws {
        let samples = noise(777, seed: 5)
        let player = try FilePlayer(memoryFile([samples], rate: 44_100))
        player.loops = .forever
        let renderer = try solo(player)
        player.seek(to: 100)
        player.play()
        let heard = Array((0..<40).flatMap { _ in samples }.dropFirst(100))
        var converter = SampleRateConverter(from: 44_100, to: 48_000, channels: 1)
        var expected = AudioBlock(channels: 1, frames: 40_000)
        _ = converter.convert(AudioBlock([heard]), from: 0, frames: heard.count, into: &expected, at: 0)
        let output = render(renderer, frames: 30_000)
        #expect(largestDifference(output[0], Array(expected.array(0)[..<30_000])) < 1e-6)
    }

    @Test("A player that does not play pushes silence with the file's channels")
    func silent() throws {
        let player = try FilePlayer(memoryFile([ramp(100), ramp(100), ramp(100)]))
        let renderer = try solo(player, channels: 3)
        let output = render(renderer, frames: 1_000)
        #expect(output.count == 3 && output.allSatisfy { $0.allSatisfy { $0 == 0 } })
        #expect(renderer.faultCount == 0)
    }

    // MARK: Time

    @Test("A start is exact to the frame, by sample time and by host time", arguments: cycleLengths)
    func exactStart(cycles: [Int]) throws {
        for isHost in [false, true] {
            let player = try FilePlayer(memoryFile([ramp(500)]))
            let renderer = try solo(player)
            // `render` gives every cycle the host time 0, so this one goes its own way.
            player.play(at: isHost ? .host(1_000_000_000 + 25_000_000) : .sample(1_200))
            var output = AudioBlock(channels: 1, frames: 3_000)
            var (done, turn) = (0, 0)
            while done < 3_000 {
                let count = min(cycles[turn % cycles.count], 3_000 - done)
                let host = 1_000_000_000 + Int64((Double(done) * 1e9 / 48_000).rounded())
                renderer.render(into: &output, from: done, frames: count, hostTime: host, isOffline: true)
                done += count
                turn += 1
            }
            let expected: [Float] = silence(1_200) + counted(1...500) + silence(1_300)
            #expect(output.array(0) == expected)
        }
    }

    @Test("A start in the past begins where it would be, with bounded work, in an hour's file too")
    func startInThePast() throws {
        // A file of which only its length is there: reading an hour of it would take longer than the test.
        final class Long: StreamSource {
            var position: Int64 = 0
            var read = 0
            func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int {
                var samples = block[0]
                for i in 0..<frames { samples[first + i] = Float((position + Int64(i)) % 10_007) }
                position += Int64(frames)
                return frames
            }
            func seek(to frame: Int64) throws(AudioFileError) { position = frame }
        }
        let length: Int64 = 48_000 * 7_200
        let player = try FilePlayer(
            StreamFile(
                path: "long", sampleRate: 48_000, channelCount: 1, frameCount: length,
                open: { () throws(AudioFileError) in Long() }))
        let renderer = try solo(player)
        _ = renderer.renderOffline(frames: 480)
        player.play(at: .sample(480 - 48_000 * 3_600))
        let output = renderer.renderOffline(frames: 1_000).array(0)
        let expected: [Float] = (0..<1_000).map { (frame: Int) -> Float in Float((172_800_000 + frame) % 10_007) }
        #expect(output == expected)
        #expect(player.currentFrame == 48_000 * 3_600 + 1_000)
    }

    @Test("Players started in one transaction, or for one time, start on one frame, live too")
    func together() async throws {
        let players = try (0..<8).map { _ in try FilePlayer(memoryFile([Array(repeating: 1, count: 48_000)])) }
        let list = ModuleList(mixing: 1, players)
        let renderer = try Renderer(channels: 1) { context in
            context.run(list)
            context.output()
        }
        var block = AudioBlock(channels: 1, frames: 64)
        var heard: [Float] = []
        // Goes no further than the tenth of a second that a stream begins with: the test does not wait for the disk.
        for cycle in 0..<80 {
            let time = 1_000_000_000 + Int64(cycle) * 4_000_000 / 3
            if cycle == 10 {
                renderer.transaction { for player in players[..<4] { player.play() } }
                for player in players[4...] { player.play(at: .host(time + 50_000_000)) }
            }
            renderer.render(into: &block, hostTime: time)
            heard += block.array(0)
        }
        // Nothing, then four, then eight: never a number between.
        #expect(heard[..<640].allSatisfy { $0 == 0 })
        #expect(heard[640..<3040].allSatisfy { $0 == 4 })
        #expect(heard[3040...].allSatisfy { $0 == 8 })
    }

    @Test("In a transaction that is thrown out of nothing happens; with a time all of it, then")
    func transactions() throws {
        struct Thrown: Error {}
        let player = try FilePlayer(memoryFile([ramp(5_000)]))
        let renderer = try solo(player)
        try? renderer.transaction { () throws in
            player.play()
            throw Thrown()
        }
        #expect(renderer.renderOffline(frames: 100).array(0).allSatisfy { $0 == 0 })
        try renderer.transaction(at: .sample(300)) { player.play() }
        try renderer.transaction(at: .sample(450)) { player.stop() }
        let output = renderer.renderOffline(frames: 400).array(0)
        let expected: [Float] = silence(200) + counted(1...150) + silence(50)
        #expect(output == expected)
    }
}
