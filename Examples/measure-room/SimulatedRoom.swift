import RenderStack

/// A room that is known: a click that comes straight, 5 ms after it was sent, and noise behind it that decays by 60 dB in a
/// time.
enum SimulatedRoom {
    static func response(decay: Double, sampleRate: Double) throws -> ImpulseResponse {
        let (way, frames) = (Int(0.005 * sampleRate), Int(1.3 * decay * sampleRate))
        var block = AudioBlock(channels: 1, frames: way + frames)
        var state: UInt64 = 2_026
        for frame in 0..<frames {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let noise = Float(Int32(truncatingIfNeeded: state >> 32)) / 0x1p31
            block[0, way + frame] =
                0.1 * noise * RenderMath.exp(Float(-6.907755 * Double(frame) / (decay * sampleRate)))
        }
        block[0, way] = 0.3
        return try ImpulseResponse(block, sampleRate: sampleRate)
    }

    /// The level of what differs between two responses, against the known one, between 50 Hz and 16 kHz, in dB.
    static func difference(_ found: ImpulseResponse, _ known: ImpulseResponse) -> Double {
        let size = RealFFT.size(atLeast: max(found.frameCount, known.frameCount)) ?? 1 << 20
        var fft = RealFFT(size: max(1_024, size))
        func spectrum(_ response: ImpulseResponse) -> ([Float], [Float]) {
            var (real, imaginary) = ([Float](repeating: 0, count: fft.bins), [Float](repeating: 0, count: fft.bins))
            let samples = response.array(0)
            var re = real.mutableSpan
            var im = imaginary.mutableSpan
            fft.forward(Samples(samples.span), real: &re, imaginary: &im)
            return (real, imaginary)
        }
        let (a, b) = (spectrum(found), spectrum(known))
        var (error, all) = (0.0, 0.0)
        for bin in 0..<fft.bins {
            let frequency = Double(bin) * known.sampleRate / Double(fft.size)
            if frequency < 50 || frequency > 16_000 { continue }
            let (x, y) = (Double(a.0[bin] - b.0[bin]), Double(a.1[bin] - b.1[bin]))
            error += x * x + y * y
            all += Double(b.0[bin] * b.0[bin] + b.1[bin] * b.1[bin])
        }
        return 4.342944819032518 * RenderMath.log(error / all)
    }
}
