import ExampleSupport
import RenderStack

/// The decay of a response in octaves, drawn: the curves on the left, the figures of ISO 3382 on the right.
enum DecayPicture {
    static func draw(_ decays: [RoomDecay]) -> Picture {
        var picture = Picture(width: 960, height: 290)
        drawCurves(decays, on: &picture)
        drawFigures(decays, on: &picture)
        return picture
    }

    /// Black for all frequencies, and ever lighter with the octave.
    private static func colour(_ index: Int, of count: Int) -> Picture.Colour {
        index == 0 ? .ink : .heat(0.2 + 0.6 * Double(index - 1) / Double(max(1, count - 2)))
    }

    private static func drawCurves(_ decays: [RoomDecay], on picture: inout Picture) {
        let (plot, top, bottom) = (84...420, 30, 250)
        // To where the slowest one has fallen by 60 dB; a value every 10 ms.
        let values = decays.map { $0.curve.firstIndex { $0 < -60 } ?? $0.curve.count }.max() ?? 1
        let time = Axis(0...0.01 * Double(max(10, values)), from: plot.lowerBound, to: plot.upperBound)
        let level = Axis(-60...0, from: bottom, to: top)
        for mark in stride(from: 0.0, through: -60, by: -20) {
            picture.fill(plot, level.pixel(mark)...level.pixel(mark), .grid)
            picture.write(Axis.label(mark), x: plot.lowerBound - 10, y: level.pixel(mark), .right)
        }
        picture.write("dB", x: 4, y: (top + bottom) / 2)
        for (index, decay) in decays.enumerated().reversed() {
            var last: Int?
            for x in plot {
                let place = time.value(Double(x)) / 0.01
                guard place >= 0, Int(place) + 1 < decay.curve.count else { break }
                let (a, b) = (Double(decay.curve[Int(place)]), Double(decay.curve[Int(place) + 1]))
                let value = a + (b - a) * (place - Double(Int(place)))
                guard value >= -60 else { break }
                let y = level.pixel(value)
                picture.fill(x...x, min(y, (last ?? y) + 1)...max(y, last ?? y), colour(index, of: decays.count))
                last = y
            }
        }
        for mark in time.marks(5) {
            picture.fill(time.pixel(mark)...time.pixel(mark), bottom + 1...bottom + 6, .ink)
            if time.pixel(mark) < plot.upperBound - 30 {
                picture.write(Axis.label(mark), x: time.pixel(mark), y: bottom + 18, .centre)
            }
        }
        picture.write("s", x: plot.upperBound, y: bottom + 18, .right)
    }

    private static func drawFigures(_ decays: [RoomDecay], on picture: inout Picture) {
        let columns = [560, 640, 720, 800, 872, 948]
        for (name, x) in zip(["Hz", "EDT s", "T20 s", "T30 s", "C50", "C80"], columns) {
            picture.write(name, x: x, y: 20, .right)
        }
        for (index, decay) in decays.enumerated() {
            let y = 46 + 24 * index
            picture.fill(470...486, y - 3...y + 3, colour(index, of: decays.count))
            picture.write(decay.frequency.map { Axis.label($0, thousands: true) } ?? "all", x: columns[0], y: y, .right)
            let figures =
                [decay.edt, decay.t20, decay.t30].map { ($0, 100.0) } + [decay.c50, decay.c80].map { ($0, 10.0) }
            for ((value, parts), x) in zip(figures, columns.dropFirst()) {
                picture.write(value.map { Axis.label(($0 * parts).rounded() / parts) } ?? "-", x: x, y: y, .right)
            }
        }
        picture.write("C in dB", x: columns[5], y: 46 + 24 * decays.count, .right)
    }
}
