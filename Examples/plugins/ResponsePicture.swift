import ExampleSupport
import RenderStack

#if Everything || LV2
    /// The response of an effect to each frequency: the spectrum of its answer to one sample.
    enum ResponsePicture {
        private static let size = 65_536
        private static let rate = 48_000.0

        static func draw(_ plugin: LV2Plugin, path: String) throws {
            guard plugin.stackEffect == .edits else {
                throw LV2Error("\(plugin.name) is no effect of one sound; a response is drawn of those.")
            }
            let levels = try response(of: plugin)
            var picture = Picture(width: 960, height: 420)
            let (plot, top, bottom) = (70...940, 50, 370)
            let frequency = Axis(20...20_000, from: plot.lowerBound, to: plot.upperBound, isLogarithmic: true)
            let level = Axis(-48...24, from: bottom, to: top)
            picture.write("\(plugin.name): gain in dB by frequency in Hz", x: plot.lowerBound, y: 24)
            for mark in level.marks(6) {
                picture.fill(plot, level.pixel(mark)...level.pixel(mark), .grid)
                picture.write(Axis.label(mark), x: plot.lowerBound - 10, y: level.pixel(mark), .right)
            }
            for mark in frequency.marks(10) {
                picture.fill(frequency.pixel(mark)...frequency.pixel(mark), bottom + 1...bottom + 6, .ink)
                picture.write(Axis.label(mark, thousands: true), x: frequency.pixel(mark), y: bottom + 20, .centre)
            }
            var last: Int?
            for x in plot {
                let bin = frequency.value(Double(x)) * Double(size) / rate
                let value = min(max(Double(levels[min(max(Int(bin.rounded()), 1), size / 2)]), -48), 24)
                let y = level.pixel(value)
                picture.fill(x...x, min(y, (last ?? y) + 1)...max(y, last ?? y), .blue)
                last = y
            }
            try picture.write(to: path)
            for mark in [100.0, 1_000, 10_000] {
                let value = levels[Int((mark * Double(size) / rate).rounded())]
                print("\(Axis.label(mark)) Hz: \((Double(value) * 10).rounded() / 10) dB")
            }
            print(path)
        }

        /// Returns the gain in dB of each bin, of the first channel. The plug-in first hears a second of silence.
        private static func response(of plugin: LV2Plugin) throws -> [Float] {
            let start = Int64(rate)
            let height: Float = 0.5
            let impulse = ClosureModule(.generates, name: "Impulse") { context in
                context.push(channels: 2)
                let frame = start - context.sampleTime
                guard frame >= 0, frame < Int64(context.frameCount) else { return }
                var top = context.top
                for channel in 0..<2 {
                    var samples = top[channel]
                    samples[Int(frame)] = height
                }
            }
            let renderer = try Renderer(sampleRate: rate) { context in
                context.run(impulse)
                context.run(plugin)
                context.output()
            }
            let sound = renderer.renderOffline(frames: Int(start) + size)
            let answer = AudioBlock([Array(sound.array(0)[Int(start)...])])
            var transform = RealFFT(size: size)
            var real = [Float](repeating: 0, count: transform.bins)
            var imaginary = real
            var a = real.mutableSpan
            var b = imaginary.mutableSpan
            transform.forward(answer.samples(0), real: &a, imaginary: &b)
            return real.indices.map { bin in
                let power = (real[bin] * real[bin] + imaginary[bin] * imaginary[bin]) / (height * height)
                return 10 * RenderMath.log10(max(power, 1e-20))
            }
        }
    }
#endif
