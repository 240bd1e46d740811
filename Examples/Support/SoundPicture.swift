public import RenderStack

/// A sound file, drawn: its waveform above, its spectrogram below.
public struct SoundPicture {
    private var picture = Picture(width: 960, height: 540)
    private let plot = 84...871
    private let rate: Double
    private let frames: Int64
    private let time: Axis

    /// Draws a file of one or two channels; of more the first two are seen.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - seconds: The length to draw, in seconds from its beginning; by default all.
    ///   - title: The title above it; by default the name of the file.
    /// - Throws: An error if the file cannot be read.
    public static func draw(
        _ path: String, seconds: Double? = nil, title: String? = nil
    ) throws(AudioFileError) -> Picture {
        var reader = try AudioFileReader(path: path)
        let rate = reader.info.sampleRate
        let frames = seconds.map { min(reader.info.frameCount, Int64($0 * rate)) } ?? reader.info.frameCount
        var drawing = SoundPicture(rate: rate, frames: frames)
        let name = title ?? path.split(separator: "/").last.map(String.init) ?? path
        drawing.picture.write(name, x: drawing.plot.lowerBound, y: 20)
        let columns = try drawing.columns(of: &reader, channels: min(2, reader.info.channelCount))
        for (channel, lane) in columns.enumerated() {
            drawing.drawWave(lane, lane: channel, of: columns.count)
        }
        try drawing.drawSpectrogram(&reader)
        return drawing.picture
    }

    private init(rate: Double, frames: Int64) {
        self.rate = rate
        self.frames = max(1, frames)
        time = Axis(0...max(1, Double(frames)) / rate, from: plot.lowerBound, to: plot.upperBound)
    }

    // MARK: Waveform

    /// The samples behind a column of pixels.
    private struct Column {
        var low = Float.infinity
        var high = -Float.infinity
        var squares = 0.0
        var count = 0

        mutating func reach(_ sample: Float) {
            low = min(low, sample)
            high = max(high, sample)
        }
    }

    private func columns(
        of reader: inout AudioFileReader, channels: Int
    ) throws(AudioFileError) -> [[Column]] {
        var columns = [[Column]](repeating: Array(repeating: Column(), count: plot.count), count: channels)
        var block = AudioBlock(channels: reader.info.channelCount, frames: 8_192)
        var first: Int64 = 0
        while first < frames {
            let count = try reader.read(into: &block, frames: Int(min(8_192, frames - first)))
            if count == 0 { break }
            for channel in 0..<channels {
                var before = Self.drawable(block[channel, 0])
                for frame in 0..<count {
                    let place = min(plot.count - 1, Int((first + Int64(frame)) * Int64(plot.count) / frames))
                    let sample = Self.drawable(block[channel, frame])
                    // From the sample before, so that a line has no gaps.
                    if columns[channel][place].count == 0 { columns[channel][place].reach(before) }
                    columns[channel][place].reach(sample)
                    before = sample
                    columns[channel][place].squares += Double(sample) * Double(sample)
                    columns[channel][place].count += 1
                }
            }
            first += Int64(count)
        }
        return columns
    }

    /// Returns the sample, limited for the drawing. A sample that is no number is silence.
    fileprivate static func drawable(_ sample: Float) -> Float { sample.isFinite ? max(-1e3, min(1e3, sample)) : 0 }

    private mutating func drawWave(_ columns: [Column], lane: Int, of lanes: Int) {
        let height = lanes > 1 ? 68 : 156
        let top = 44 + lane * (height + 20)
        let peak = Double(max(0, columns.map { max($0.high, -$0.low) }.max() ?? 0))
        let reach = [0.1, 0.2, 0.5, 1, 2].first { $0 >= peak } ?? peak
        let axis = Axis(-reach...reach, from: top + height - 1, to: top)
        for mark in [-reach, 0, reach] {
            picture.fill(plot, axis.pixel(mark)...axis.pixel(mark), .grid)
            picture.write(Axis.label(mark), x: plot.lowerBound - 10, y: axis.pixel(mark), .right)
        }
        for (x, column) in zip(plot, columns) where column.count > 0 {
            // So few that it is a curve.
            let isCurve = column.count < 64
            let rms = (column.squares / Double(column.count)).squareRoot()
            let extent = axis.pixel(Double(column.high))...axis.pixel(Double(column.low))
            picture.fill(x...x, extent, isCurve ? .blue : .lightBlue)
            let body = (low: max(-rms, Double(column.low)), high: min(rms, Double(column.high)))
            if body.high > body.low && !isCurve {
                picture.fill(x...x, axis.pixel(body.high)...axis.pixel(body.low), .blue)
            }
        }
    }

    // MARK: Spectrogram

    private static let size = 4_096
    /// The levels of black and of the lightest colour, in decibels of full scale.
    private static let levels = -90.0...0

    private mutating func drawSpectrogram(_ reader: inout AudioFileReader) throws(AudioFileError) {
        let top = 224, bottom = 506
        let highest = min(20_000, rate / 2)
        let axis = Axis(40...highest, from: bottom, to: top, isLogarithmic: true)
        // The frequencies behind the rows of pixels, in bins.
        let rows = (top...bottom).map { row -> ClosedRange<Double> in
            let low = axis.value(Double(row) + 0.5), high = axis.value(Double(row) - 0.5)
            return low * Double(Self.size) / rate...min(high, rate / 2) * Double(Self.size) / rate
        }
        var spectrum = ShortSpectrum(size: Self.size)
        // Two pixels wide: narrower ones would be hardly different.
        for x in stride(from: plot.lowerBound, through: plot.upperBound, by: 2) {
            let middle = Int64((time.value(Double(x) + 0.5) * rate).rounded())
            let bins = try spectrum.decibels(of: &reader, around: middle)
            for (row, range) in zip(top...bottom, rows) {
                let level = Self.level(bins, range)
                let share = (level - Self.levels.lowerBound) / (Self.levels.upperBound - Self.levels.lowerBound)
                picture.fill(x...x + 1, row...row, .heat(share))
            }
        }
        for mark in axis.marks(0) where [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000].contains(mark) {
            picture.fill(plot.lowerBound - 6...plot.lowerBound - 1, axis.pixel(mark)...axis.pixel(mark), .ink)
            picture.write(Axis.label(mark, thousands: true), x: plot.lowerBound - 10, y: axis.pixel(mark), .right)
        }
        picture.write("Hz", x: 4, y: top - 1 + (bottom - top) / 2)
        for mark in time.marks(8) {
            let x = time.pixel(mark)
            picture.fill(x...x, bottom + 1...bottom + 6, .ink)
            if x < plot.upperBound - 40 { picture.write(Axis.label(mark), x: x, y: bottom + 18, .centre) }
        }
        picture.write("s", x: plot.upperBound, y: bottom + 18, .right)
        drawScale(top, bottom)
    }

    /// The loudest of a few bins; between two where there is less than one.
    private static func level(_ bins: [Double], _ range: ClosedRange<Double>) -> Double {
        let first = Int(range.lowerBound.rounded(.up)), last = Int(range.upperBound.rounded(.down))
        if first <= last { return bins[min(first, bins.count - 1)...min(last, bins.count - 1)].max() ?? 0 }
        let middle = (range.lowerBound + range.upperBound) / 2, below = min(Int(middle), bins.count - 2)
        return bins[below] + (bins[below + 1] - bins[below]) * (middle - Double(below))
    }

    /// Draws the scale of colours for levels.
    private mutating func drawScale(_ top: Int, _ bottom: Int) {
        let axis = Axis(Self.levels, from: bottom, to: top)
        for row in top...bottom {
            let share = Double(bottom - row) / Double(bottom - top)
            picture.fill(plot.upperBound + 12...plot.upperBound + 24, row...row, .heat(share))
        }
        for mark in stride(from: 0.0, through: Self.levels.lowerBound, by: -20) {
            picture.write(Axis.label(mark), x: 956, y: axis.pixel(mark), .right)
        }
        picture.write("dB", x: 956, y: bottom + 18, .right)
    }
}

/// The spectrum of a place in a file.
private struct ShortSpectrum: ~Copyable {
    private var fft: RealFFT
    private let window: [Float]
    private var frames: [Float]

    init(size: Int) {
        fft = RealFFT(size: size)
        // Hann's, scaled so that a sine shows its amplitude.
        window = (0..<size).map { Float(2 * (1 - RenderMath.cos(2 * .pi * Double($0) / Double(size))) / Double(size)) }
        frames = Array(repeating: 0, count: size)
    }

    /// Returns the bins in decibels of full scale. Frames before the file and behind it are silent.
    mutating func decibels(
        of reader: inout AudioFileReader, around middle: Int64
    ) throws(AudioFileError) -> [Double] {
        var block = AudioBlock(channels: reader.info.channelCount, frames: frames.count)
        let start = middle - Int64(frames.count / 2)
        let missing = Int(max(0, -start))
        try reader.seek(to: min(reader.info.frameCount, max(0, start)))
        let count = missing < frames.count ? try reader.read(into: &block, at: missing) : 0
        for frame in frames.indices {
            var sum: Float = 0
            if frame >= missing && frame < missing + count {
                for channel in 0..<block.channelCount { sum += SoundPicture.drawable(block[channel, frame]) }
            }
            frames[frame] = sum / Float(block.channelCount) * window[frame]
        }
        return spectrum()
    }

    private mutating func spectrum() -> [Double] {
        let frames = frames
        var real = [Float](repeating: 0, count: fft.bins), imaginary = real
        var realSpan = real.mutableSpan
        var imaginarySpan = imaginary.mutableSpan
        fft.forward(Samples(frames.span), real: &realSpan, imaginary: &imaginarySpan)
        return real.indices.map { bin in
            let magnitude = (real[bin] * real[bin] + imaginary[bin] * imaginary[bin]).squareRoot()
            return Double(RenderMath.decibels(amplitude: magnitude, floor: -150))
        }
    }
}
