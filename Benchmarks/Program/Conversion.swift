import CBench
import RenderStack

/// W5: 44.1 to 48 kHz, stereo, in cycles of 64 frames, as on the render thread.
enum Conversion {
    static let step = 44_100.0 / 48_000

    /// Ours, with a ratio that may change, as `Varispeed` and the ALSA backend's drift follower use it.
    final class Ours: Line {
        let name = "RenderStack"
        private var resampler = Resampler(channels: 2, steps: 0.9...1.1)
        private var input: AudioBlock
        private var output = AudioBlock(channels: 2, frames: 64)
        private var pushed = 0

        init(_ input: [[Float]]) { self.input = AudioBlock(input) }

        func render(frames: Int) {
            var done = 0
            let step = Resampler.Step(Conversion.step)
            while done < frames {
                let needed = resampler.framesNeeded(for: frames - done, at: step)
                if pushed + needed > input.frameCount { pushed = 0 }
                resampler.push(input, from: pushed, frames: needed)
                pushed += needed
                done += resampler.pull(frames - done, at: step, into: &output, from: done)
            }
        }

        var left: [Float] { output.array(0) }
        var right: [Float] { output.array(1) }
    }

    @safe final class TunedLine: Line {
        let name: String
        private let tuned: Tuned
        private let resampler: OpaquePointer
        private let input: [Floats]
        private let output = [Floats(64), Floats(64)]
        private var pushed = 0

        init(_ tuned: Tuned, _ input: [[Float]]) {
            name = tuned.name
            self.tuned = tuned
            self.input = input.map { channel in Floats(channel.count) { channel[$0] } }
            unsafe resampler = bench_resampler_make(Conversion.step)
        }

        deinit { unsafe bench_resampler_free(resampler) }

        func render(frames: Int) {
            let needed = unsafe bench_resampler_needs(resampler, Int32(frames))
            if pushed + Int(needed) > input[0].count { pushed = 0 }
            unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<Float>?.self, capacity: 2) { from in
                unsafe withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<Float>?.self, capacity: 2) { into in
                    for channel in 0..<2 {
                        unsafe from.initializeElement(at: channel, to: UnsafePointer(input[channel].start + pushed))
                        unsafe into.initializeElement(at: channel, to: output[channel].start)
                    }
                    unsafe bench_resampler_cycle(
                        tuned.kernels, resampler, from.baseAddress, needed, into.baseAddress, Int32(frames))
                }
            }
            pushed += Int(needed)
        }

        var left: [Float] { output[0].array }
        var right: [Float] { output[1].array }
    }

    static func lines(_ input: [[Float]]) -> [Line] {
        [Ours(input)] + Tuned.all.map { TunedLine($0, input) }
    }
}
