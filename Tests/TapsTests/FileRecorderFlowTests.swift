import Foundation
import RenderStack
import TestSupport
import Testing

/// Writes what a file of the flow holds: some seconds of decaying noise.
private func write(_ path: String, rate: Double, channels: Int, format: AudioFileFormat? = nil, seed: UInt32) throws {
    var block = AudioBlock(channels: channels, frames: Int(rate * 3))
    var state = seed
    for channel in 0..<channels {
        var samples = block[channel]
        for i in samples.indices {
            state = state &* 1_664_525 &+ 1_013_904_223
            let envelope = 1 - Float(i % 12_000) / 12_000
            samples[i] = Float(Int32(bitPattern: state) >> 16) / 65_536 * envelope
        }
    }
    var writer = try AudioFileWriter(path: path, format: format, sampleRate: rate, channels: channels)
    try writer.write(block)
    try writer.finish()
}

@Suite struct FileRecorderFlowTests {
    /// Three files of different rates and formats, one through a filter, two mixed through a delay, everything recorded.
    /// Returns how many frames were missing.
    private static func flow(
        in folder: String, take: String, drive: (Renderer, () -> Void) async throws -> Void
    ) async throws -> Int {
        let drums = try FilePlayer(path: "\(folder)/drums.wav")
        let bass = try FilePlayer(path: "\(folder)/bass.flac")
        let piano = try FilePlayer(path: "\(folder)/piano.wav")
        let bandpass = Bandpass(center: 1_000, octaves: 1)
        let delay = Delay(time: 0.25, feedback: 0.4)
        let recorder = try FileRecorder(path: take, format: .wav(.float32))
        let renderer = try Renderer { context in
            context.run(drums)
            context.run(bandpass)
            context.run(bass)
            context.run(piano)
            context.mix(2)
            context.run(delay)
            context.mix(2)
            context.output()
            context.run(recorder)
        }
        try await drive(renderer) {
            renderer.transaction {
                drums.play()
                bass.play()
                recorder.begin()
                piano.play()
            }
        }
        try await recorder.finish()
        #expect(renderer.faultCount == 0)
        return Int(recorder.gapCount) + drums.underrunCount + bass.underrunCount + piano.underrunCount
    }

    @Test("The flow, offline and live on the clock: the two recordings are the same from the first sample")
    func flow() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("flow-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try write("\(folder)/drums.wav", rate: 48_000, channels: 2, format: .wav(.int16), seed: 1)
        try write("\(folder)/bass.flac", rate: 44_100, channels: 1, seed: 2)
        try write("\(folder)/piano.wav", rate: 32_000, channels: 2, format: .wav(.float32), seed: 3)
        let missing = try await Self.flow(in: folder, take: "\(folder)/offline.wav") { renderer, start in
            start()
            _ = renderer.renderOffline(frames: 96_000, cycle: 480)
        }
        #expect(missing == 0)
        // A busy machine may not read in time: then it is played once more.
        var isWhole = false
        for _ in 0..<10 where !isWhole {
            isWhole =
                try await Self.flow(in: folder, take: "\(folder)/live.wav") { renderer, start in
                    let output = ClockOutput(renderer, period: 128, priority: 0)
                    try output.start()
                    try await Task.sleep(for: .milliseconds(20))
                    start()
                    // By its own clock, which stands still where the machine gives it no processor.
                    let end = renderer.sampleTime + 72_000
                    _ = await becomesTrue { renderer.sampleTime >= end }
                    output.stop()
                } == 0
        }
        #expect(isWhole)
        let (offline, live) = try (contents("\(folder)/offline.wav"), contents("\(folder)/live.wav"))
        let count = min(offline[0].count, live[0].count)
        #expect(count > 24_000)
        for channel in 0..<2 {
            #expect(offline[channel][..<count].contains { abs($0) > 0.01 })
            // The offline side keeps denormals that the live side flushes; nothing else may differ.
            let difference = largestDifference(Array(offline[channel][..<count]), Array(live[channel][..<count]))
            #expect(difference < 1e-6)
        }
    }

    private func contents(_ path: String) throws -> [[Float]] {
        var reader = try AudioFileReader(path: path)
        var block = AudioBlock(channels: reader.info.channelCount, frames: Int(reader.info.frameCount))
        _ = try reader.read(into: &block)
        return (0..<block.channelCount).map { block.array($0) }
    }
}
