import CBench
import Foundation
import RenderStack

/// W1: three stereo files, one through a band-pass, two mixed through an echo, everything into a file of 16 bits.
enum Flow {
    /// The time of a run.
    struct Time {
        var processor: Double
        var wall: Double
    }

    static func ours(_ paths: [String], output: String, frames: Int) async throws -> Time {
        let score = Score.Flow()
        let (first, second, third) = (
            try FilePlayer(path: paths[0]), try FilePlayer(path: paths[1]), try FilePlayer(path: paths[2])
        )
        let bandpass = Bandpass(center: score.center, octaves: score.octaves)
        let delay = Delay(
            time: Float(Double(score.delay) / Score.sampleRate), feedback: score.feedback, cutoff: 24_000,
            mix: score.mix, maximumTime: 1)
        let renderer = try Renderer(layout: StackLayout(slots: 8, channels: 2, frames: 512)) { context in
            context.run(first)
            context.run(bandpass)
            context.run(second)
            context.run(third)
            context.mix(2)
            context.run(delay)
            context.mix(2)
            context.output()
        }
        for player in [first, second, third] { player.play() }
        let file = try FileOutput(renderer, path: output, format: .wav(.int16))
        let (start, wall) = (bench_process_time(), HostClock.now)
        _ = try await file.run(for: .seconds(Double(frames) / Score.sampleRate), cycle: Score.cycle)
        try await file.finish()
        let time = Time(processor: Double(bench_process_time() - start), wall: Double(HostClock.now - wall))
        if renderer.faultCount > 0 { stop("the flow has \(renderer.faultCount) faults") }
        return time
    }

    static func tuned(_ tuned: Tuned, _ paths: [String], output: String, frames: Int) -> Time {
        let score = Score.Flow()
        let (start, wall) = (bench_process_time(), HostClock.now)
        let done = unsafe paths[0].withCString { first in
            unsafe paths[1].withCString { second in
                unsafe paths[2].withCString { third in
                    unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: 3) { table in
                        unsafe table.initializeElement(at: 0, to: first)
                        unsafe table.initializeElement(at: 1, to: second)
                        unsafe table.initializeElement(at: 2, to: third)
                        return unsafe bench_flow_files(
                            tuned.kernels, table.baseAddress, output, Tuned.filter((score.b0, score.a1, score.a2)),
                            Int32(score.delay), score.feedback, score.mix, frames)
                    }
                }
            }
        }
        if done != frames { stop("the flow in C read \(done) of \(frames) frames") }
        return Time(processor: Double(bench_process_time() - start), wall: Double(HostClock.now - wall))
    }
}
