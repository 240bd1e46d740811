import Foundation
import RenderStack
import TestSupport
import Testing

@testable import Reverberation

/// Convolution as it goes live, and with files as people have them.
@Suite struct ConvolutionLiveTests {
    @Test("Live and offline are the same bits as long as no job was late") func liveBits() throws {
        let parts = (0..<2).map { decayingNoise(60_000, decay: 60_000, seed: 20 + UInt64($0)) }
        let sound = [noise(30_000, seed: 3), noise(30_000, seed: 4)]
        func make() throws -> (Renderer, ConvolutionReverb) {
            let response = try ImpulseResponse(AudioBlock(parts), sampleRate: 48_000)
            let reverb = try ConvolutionReverb(response, settings: plain, mix: 0.6)
            let source = Playback(sound)
            let renderer = try Renderer(channels: 2) { context in
                context.run(source)
                context.run(reverb)
                context.output()
            }
            return (renderer, reverb)
        }
        let frames = 48_000
        let offline = try make().0.renderOffline(frames: frames, cycle: 777)
        let (renderer, reverb) = try make()
        var block = AudioBlock(channels: 2, frames: 96)
        var live: [[Float]] = [[], []]
        for _ in 0..<(frames / 96) {
            renderer.render(into: &block, hostTime: HostClock.now)
            for channel in 0..<2 { live[channel] += block.array(channel) }
            // The test turns the clock: the next cycle begins when the jobs of this one are done.
            awaitBackgroundJobs()
        }
        #expect(reverb.lateCount == 0)
        #expect(live[0] == offline.array(0) && live[1] == offline.array(1))
    }

    @Test("The cycles have about the same work, with jobs and without", arguments: [1, 2]) func evenWork(channels: Int)
    {
        let response = AudioBlock([noise(96_000, seed: 1), noise(96_000, seed: 2)])
        let matrix = ConvolutionMatrix(responseChannels: 2) ?? .mono
        let partition = ConvolutionPartition(frames: 96_000)
        func level(_ number: Int, _ isHere: Bool) -> ConvolutionLevel {
            isHere
                ? ConvolutionLevel(partition.long[number], response: response, channels: channels, matrix: matrix)
                : ConvolutionLevel()
        }
        for isSpread in [false, true] {
            var head = ConvolutionHead(
                partition, response: response, channels: channels, frames: 64, matrix: matrix, level(0, isSpread),
                level(1, isSpread), level(2, isSpread))
            head.open(channels: channels)
            var counts: [Int] = []
            for _ in 0..<4_000 {
                let before = head.operationCount
                for channel in 0..<channels { head.takeSilence(count: 64, channel: channel) }
                head.compute(from: 0, count: 64)
                _ = head.advance(64)
                counts.append(head.operationCount - before)
            }
            // From where the response is full of sound.
            let sorted = counts.suffix(2_000).sorted()
            let ratio: Double = Double(sorted[1_999]) / Double(sorted[1_000])
            #expect(
                sorted[1_000] > 20_000 && ratio < 2, "spread \(isSpread): \(sorted[1_999]) in place of \(sorted[1_000])"
            )
        }
    }

    @Test("A file without a response gives a sentence") func damagedFiles() async throws {
        let folder = try TemporaryFolder()
        func load(_ bytes: [UInt8]) async -> String {
            let path = "\(folder.path)/room.wav"
            try? Data(bytes).write(to: URL(fileURLWithPath: path))
            do {
                _ = try await ImpulseResponse.load(path: path)
                return ""
            } catch { return "\(error)" }
        }
        func wave(channels: UInt8, rate: [UInt8] = [0x80, 0xBB, 0, 0], samples: [Float]) -> [UInt8] {
            let data = samples.flatMap { sample in
                (0..<4).map { UInt8(truncatingIfNeeded: sample.bitPattern >> (8 * $0)) }
            }
            func size(_ count: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } }
            return Array("RIFF".utf8) + size(36 + data.count) + Array("WAVEfmt ".utf8) + [
                16, 0, 0, 0, 3, 0, channels, 0,
            ]
                + rate + [0, 0xEE, 2, 0, 4 * channels, 0, 32, 0] + Array("data".utf8) + size(data.count) + data
        }
        #expect(await load(wave(channels: 1, samples: [1, 0.5])) == "")
        #expect(await load(wave(channels: 1, rate: [0x44, 0xAC, 0, 0], samples: [1, 0.5])) == "")
        for (bytes, says) in [
            ([], "room.wav"), (Array("no sound".utf8), "room.wav"),
            (wave(channels: 0, samples: [1]), "Channel count is zero"),
            (wave(channels: 1, samples: []), "no frame"),
            (wave(channels: 1, samples: [1, .nan]), "frame 1 of channel 0"),
            (wave(channels: 1, rate: [0, 0, 0, 0], samples: [1]), "it is damaged"),
        ] {
            let sentence = await load(bytes)
            #expect(sentence.contains(says) && sentence.hasSuffix("."), "\(sentence) does not say \(says)")
        }
    }
}
