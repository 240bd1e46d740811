import ExampleSupport
import RenderStack

/// The clipper's output for a sine of 5 kHz at several factors: measured, and drawn.
struct Comparison {
    static let factors = [1, 4, 8]
    /// Lines of 3.125 Hz, so that the sine and all that becomes of it lie in the middle of one.
    private static let size = 15_360
    private static let rate = 48_000.0
    private static let frequency = 5_000.0

    /// The levels of the lines, in decibels of full scale, for each factor.
    let spectra: [[Float]]

    init(drive: Float, level: Float) throws {
        spectra = try Self.factors.map { factor in try Self.spectrum(factor, drive, level) }
    }

    /// Returns the loudest frequency that does not belong there: one that is no multiple of the sine's.
    func alias(_ index: Int) -> Float {
        let lines = spectra[index].indices.filter { $0 > 0 && !Self.belongs($0) }
        return lines.map { spectra[index][$0] }.max() ?? -.infinity
    }

    /// The measurements, a line for each factor.
    var description: String {
        zip(Self.factors, spectra.indices).map { factor, index in
            "\(factor) ×: what is folded back has \((alias(index) * 10).rounded() / 10) dB at most"
        }.joined(separator: "\n")
    }

    private static func belongs(_ line: Int) -> Bool {
        (Double(line) * rate / Double(size)).truncatingRemainder(dividingBy: frequency) == 0
    }

    private static func spectrum(_ factor: Int, _ drive: Float, _ level: Float) throws -> [Float] {
        let tone = Oscillator(frequency: Float(frequency), level: 0.5)
        let clipper = Clipper()
        clipper.drive.value = drive
        clipper.level.value = level
        let oversampled = Oversampled(clipper, times: factor)
        let renderer = try Renderer(sampleRate: rate, channels: 1) { context in
            context.run(tone)  // pushes 1
            context.run(oversampled)  // edits the top
            context.output()  // onto the output
        }
        _ = renderer.renderOffline(frames: 4_800)
        let block = renderer.renderOffline(frames: size)
        var fft = RealFFT(size: size)
        var real = [Float](repeating: 0, count: fft.bins), imaginary = real
        var realSpan = real.mutableSpan
        var imaginarySpan = imaginary.mutableSpan
        fft.forward(block.samples(0), real: &realSpan, imaginary: &imaginarySpan)
        return real.indices.map { line in
            let magnitude = (real[line] * real[line] + imaginary[line] * imaginary[line]).squareRoot()
            return RenderMath.decibels(amplitude: magnitude * 2 / Float(size), floor: -150)
        }
    }

    /// Draws a panel for each factor: the frequencies that belong there in blue, those that are folded back in red.
    func picture() -> Picture {
        var picture = Picture(width: 960, height: 620)
        for index in spectra.indices { draw(index, top: 44 + 200 * index, height: 136, &picture) }
        return picture
    }

    private func draw(_ index: Int, top: Int, height: Int, _ picture: inout Picture) {
        let (left, right) = (70, 930)
        let frequencies = Axis(0...24_000, from: left, to: right)
        let levels = Axis(-100...0, from: top + height, to: top)
        picture.write("\(Self.factors[index])× the sample rate", x: left, y: top - 18)
        picture.write(
            "folded back: \((alias(index) * 10).rounded() / 10) dB", x: right, y: top - 18, .right,
            alias(index) > -100 ? .red : .ink)
        for mark in [0.0, -50, -100] {
            picture.fill(left...right, levels.pixel(mark)...levels.pixel(mark), .grid)
            picture.write(Axis.label(mark), x: left - 8, y: levels.pixel(mark), .right)
        }
        for (line, level) in spectra[index].enumerated() where level > -100 {
            let x = frequencies.pixel(Double(line) * Self.rate / Double(Self.size))
            let colour: Picture.Colour = Self.belongs(line) ? .blue : .red
            picture.fill(x - 1...x + 1, levels.pixel(Double(level))...top + height, colour)
        }
        for mark in stride(from: 0.0, through: 20_000, by: 5_000) {
            picture.write(Axis.label(mark, thousands: true), x: frequencies.pixel(mark), y: top + height + 14, .centre)
        }
        picture.write("Hz", x: right, y: top + height + 14, .right)
        picture.write("dB", x: 8, y: top + height / 4)
    }
}
