import CBench
import RenderStack

/// The cost of a frame of resampling: the live form beside the library's, in one run.
struct Resampling {
    let name: String
    /// Nanoseconds per output frame, one value a round.
    var samples: [Double] = []
    private let run: () -> Int

    init(_ name: String, _ run: @escaping () -> Int) {
        self.name = name
        self.run = run
    }

    mutating func measure() {
        let start = bench_thread_time()
        let frames = run()
        samples.append(Double(bench_thread_time() - start) / Double(frames))
    }

    /// In cycles of 64 frames, as on the render thread.
    private static func live(_ name: String, channels: Int, steps: ClosedRange<Double>, step: Double) -> Resampling {
        let line = LiveLine(Resampler(channels: channels, steps: steps), channels: channels)
        return Resampling("Resampler, \(name)") { line.run(Resampler.Step(step)) }
    }

    /// In blocks of 4,096 frames, which suits it best.
    private static func library(
        _ name: String, channels: Int, from: Double, to: Double, quality: SampleRateConverter.Quality
    ) -> Resampling {
        let line = LibraryLine(
            SampleRateConverter(from: from, to: to, channels: channels, quality: quality), channels: channels)
        return Resampling("soxr, \(name)") { line.run() }
    }

    static func all() -> [Resampling] {
        let up = 44_100.0 / 48_000, down = 48_000.0 / 44_100
        return [
            live("44.1 to 48 kHz, stereo", channels: 2, steps: up...up, step: up),
            library("44.1 to 48 kHz, stereo, standard", channels: 2, from: 44_100, to: 48_000, quality: .standard),
            library("44.1 to 48 kHz, stereo, best", channels: 2, from: 44_100, to: 48_000, quality: .best),
            live("44.1 to 48 kHz, mono", channels: 1, steps: up...up, step: up),
            library("44.1 to 48 kHz, mono, standard", channels: 1, from: 44_100, to: 48_000, quality: .standard),
            live("44.1 to 48 kHz, 8 channels", channels: 8, steps: up...up, step: up),
            library("44.1 to 48 kHz, 8 channels, standard", channels: 8, from: 44_100, to: 48_000, quality: .standard),
            live("48 to 44.1 kHz, stereo", channels: 2, steps: down...down, step: down),
            library("48 to 44.1 kHz, stereo, standard", channels: 2, from: 48_000, to: 44_100, quality: .standard),
            live("96 to 48 kHz, stereo", channels: 2, steps: 2...2, step: 2),
            library("96 to 48 kHz, stereo, standard", channels: 2, from: 96_000, to: 48_000, quality: .standard),
            live("varispeed × 0.9, stereo", channels: 2, steps: 0.25...4, step: 0.9),
            live("varispeed × 1.5, stereo", channels: 2, steps: 0.25...4, step: 1.5),
            live("varispeed × 4, stereo", channels: 2, steps: 0.25...4, step: 4),
        ]
    }
}

private func noise(channels: Int, frames: Int) -> AudioBlock {
    AudioBlock((0..<channels).map { noise(frames, seed: UInt64($0 + 1)) })
}

final class LiveLine {
    private var resampler: Resampler
    private let input: AudioBlock
    private var output: AudioBlock

    init(_ resampler: consuming Resampler, channels: Int) {
        self.resampler = resampler
        input = noise(channels: channels, frames: 1_024)
        output = AudioBlock(channels: channels, frames: 64)
    }

    func run(_ step: Resampler.Step) -> Int {
        for _ in 0..<150 {
            var done = 0
            while done < 64 {
                resampler.push(input, frames: resampler.framesNeeded(for: 64 - done, at: step))
                done += resampler.pull(64 - done, at: step, into: &output, from: done)
            }
        }
        return 150 * 64
    }
}

private final class LibraryLine {
    private var converter: SampleRateConverter
    private let input: AudioBlock
    private var output: AudioBlock

    init(_ converter: consuming SampleRateConverter, channels: Int) {
        self.converter = converter
        input = noise(channels: channels, frames: 4_096)
        output = AudioBlock(channels: channels, frames: 8_192)
    }

    func run() -> Int {
        var frames = 0
        for _ in 0..<8 { frames += converter.convert(input, into: &output).produced }
        return frames
    }
}
