import ExampleSupport
import RenderStack

/// The ways of the listener and of the balls, with their levels, for a picture.
struct Track: Sendable {
    private struct Point: Sendable {
        let time: Double
        let place: SIMD2<Double>
        /// The level at the listener by distance, and by walls in between, in dB.
        let level: Double
    }
    private var listener: [SIMD2<Double>] = []
    private var balls: [Int: [Point]] = [:]
    private var end = 0.0

    /// Keeps where all are.
    mutating func add(_ world: World, at time: Double) {
        // An hour live would need too much: only the first five minutes are drawn.
        guard time < 300 else { return }
        end = time
        listener.append(world.listener)
        for ball in world.balls {
            let way = ball.place - world.listener
            let distance = max(2, (way * way).sum().squareRoot())
            let walls: Double =
                switch world.way(from: ball.place) {
                case .free: 0
                case .obstructed: -4
                case .occluded: -20.0 / 3
                }
            let level = Double(RenderMath.decibels(amplitude: Float(2 / distance))) + walls
            balls[ball.number, default: []].append(Point(time: time, place: ball.place, level: level))
        }
    }

    private func colour(_ number: Int) -> Picture.Colour { .heat(0.15 + 0.7 * Double((number - 1) % 6) / 5) }

    /// Draws the ways on the plan, and the levels below.
    func draw() -> Picture {
        var picture = Picture(width: 960, height: 720)
        drawWays(on: &picture)
        drawLevels(on: &picture)
        return picture
    }

    private func drawWays(on picture: inout Picture) {
        let scale = 28.0
        func pixel(_ place: SIMD2<Double>) -> (x: Int, y: Int) {
            (84 + Int(place.x * scale), 20 + Int(place.y * scale))
        }
        for (row, line) in World.plan.enumerated() {
            for (column, character) in line.enumerated() where character == "#" {
                let (x, y) = pixel(SIMD2(Double(column) / 2, Double(row)))
                picture.fill(x...x + Int(scale) / 2 - 1, y...y + Int(scale) - 1, .grid)
            }
        }
        for (number, points) in balls {
            for (one, next) in zip(points, points.dropFirst()) {
                for step in 0..<8 {
                    let (x, y) = pixel(one.place + (next.place - one.place) * (Double(step) / 8))
                    picture.fill(x...x + 1, y...y + 1, colour(number))
                }
            }
            if let first = points.first {
                let (x, y) = pixel(first.place)
                picture.write("\(number)", x: x, y: y - 12, .centre, colour(number))
            }
        }
        for place in listener {
            let (x, y) = pixel(place)
            picture.fill(x - 2...x + 3, y - 2...y + 3, .blue)
        }
    }

    private func drawLevels(on picture: inout Picture) {
        let (plot, top, bottom) = (84...924, 470, 680)
        let time = Axis(0...max(1, end), from: plot.lowerBound, to: plot.upperBound)
        let level = Axis(-40...0, from: bottom, to: top)
        for mark in stride(from: 0.0, through: -40, by: -10) {
            picture.fill(plot, level.pixel(mark)...level.pixel(mark), .grid)
            picture.write(Axis.label(mark), x: plot.lowerBound - 10, y: level.pixel(mark), .right)
        }
        picture.write("dB", x: 4, y: (top + bottom) / 2)
        for (number, points) in balls {
            for (one, next) in zip(points, points.dropFirst()) {
                let (a, b) = (level.pixel(max(-40, one.level)), level.pixel(max(-40, next.level)))
                let x = time.pixel(one.time)
                picture.fill(x...max(x, time.pixel(next.time)), min(a, b)...max(a, b) + 1, colour(number))
            }
        }
        for mark in time.marks(8) {
            let x = time.pixel(mark)
            picture.fill(x...x, bottom + 1...bottom + 6, .ink)
            if x < plot.upperBound - 30 { picture.write(Axis.label(mark), x: x, y: bottom + 18, .centre) }
        }
        picture.write("s", x: plot.upperBound, y: bottom + 18, .right)
    }
}
