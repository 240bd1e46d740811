import RenderStack

/// A house of three rooms in which balls fly: places, walls, and nothing that sounds.
///
/// A row of the plan is a metre, and a column half a metre. x goes to the right and z down, as in an ``Environment`` that is
/// seen from above.
struct World: Sendable {
    /// A ball on its way, at the height of the listener's ears.
    struct Ball: Sendable {
        let number: Int
        var place: SIMD2<Double>
        var velocity: SIMD2<Double>
        /// Seconds since it was launched.
        var age = 0.0

        var speed: Double { (velocity * velocity).sum().squareRoot() }
    }

    /// The obstacles between a ball and the listener.
    enum Way: Sendable { case free, obstructed, occluded }

    /// A room, by its columns and rows, and how it sounds.
    struct Room: Sendable {
        let name: String
        let columns: ClosedRange<Int>
        let rows: ClosedRange<Int>
        let reverb: Reverb.Preset
    }

    static let plan = """
        ############################################################
        #                              #                           #
        #                              #                           #
        #         ##                   #                           #
        #         ##                                               #
        #                                                          #
        #                              #                           #
        #                              #############################
        #                              #                           #
        #                              #                           #
        #                  ##                                      #
        #                  ##                                      #
        #                              #                           #
        #                              #                           #
        ############################################################
        """.split(separator: "\n").map { Array($0) }
    static let rooms = [
        Room(name: "the hall", columns: 0...30, rows: 0...14, reverb: .largeHall),
        Room(name: "the chamber", columns: 31...59, rows: 0...7, reverb: .mediumChamber),
        Room(name: "the small room", columns: 31...59, rows: 8...14, reverb: .smallRoom),
    ]
    /// In metres.
    static let size = SIMD2(Double(plan[0].count) / 2, Double(plan.count))
    /// The share of its speed that a ball keeps at a wall.
    private static let bounce = 0.85
    /// Slower balls stop, in metres per second.
    private static let slowest = 2.0
    private static let longestLife = 30.0

    private(set) var balls: [Ball] = []
    private(set) var listener = SIMD2(4.0, 9.5)
    /// Degrees to the right; 0 looks up on the plan.
    private(set) var yaw = 60.0
    private var launched = 0

    static func isWall(_ place: SIMD2<Double>) -> Bool {
        let (row, column) = (Int(place.y.rounded(.down)), Int((2 * place.x).rounded(.down)))
        return !plan.indices.contains(row) || !plan[row].indices.contains(column) || plan[row][column] == "#"
    }

    static func room(of place: SIMD2<Double>) -> Int {
        let (row, column) = (Int(place.y.rounded(.down)), Int((2 * place.x).rounded(.down)))
        return rooms.firstIndex { $0.columns.contains(column) && $0.rows.contains(row) } ?? 0
    }

    private var forward: SIMD2<Double> {
        let (sine, cosine) = RenderMath.sincos(yaw * .pi / 180)
        return SIMD2(sine, -cosine)
    }

    /// Walks, back if the distance is below 0. A wall stops the listener.
    ///
    /// - Returns: `true` if no wall is in the way.
    mutating func walk(_ metres: Double) -> Bool {
        let place = listener + forward * metres
        let isFree = !Self.isWall(place)
        if isFree { listener = place }
        return isFree
    }

    /// Turns the listener by degrees to the right.
    mutating func turn(_ degrees: Double) { yaw = (yaw + degrees + 360).truncatingRemainder(dividingBy: 360) }

    /// Launches a ball ahead, at 12 m a second.
    mutating func launch() -> Ball {
        launched += 1
        let start = listener + forward * 0.4
        let ball = Ball(number: launched, place: Self.isWall(start) ? listener : start, velocity: forward * 12)
        balls.append(ball)
        return ball
    }

    /// Takes the oldest ball away.
    mutating func removeOldest() { if !balls.isEmpty { balls.removeFirst() } }

    /// Takes all balls away.
    mutating func clear() { balls = [] }

    /// Lets time pass.
    ///
    /// - Returns: The balls that hit a wall, with the speed that they had.
    mutating func step(seconds: Double) -> [(ball: Ball, speed: Double)] {
        var hits: [(ball: Ball, speed: Double)] = []
        let steps = max(1, Int((seconds / 0.005).rounded(.up)))
        let time = seconds / Double(steps)
        for index in balls.indices {
            for _ in 0..<steps {
                let speed = balls[index].speed
                if balls[index].fly(seconds: time, bounce: Self.bounce) { hits.append((balls[index], speed)) }
            }
        }
        balls.removeAll { $0.speed < Self.slowest || $0.age > Self.longestLife }
        return hits
    }

    /// Returns what is in a straight line between a place and the listener.
    func way(from place: SIMD2<Double>) -> Way {
        let line = listener - place
        let steps = Int((line * line).sum().squareRoot() / 0.2) + 1
        for step in 1..<max(2, steps) where Self.isWall(place + line * (Double(step) / Double(steps))) {
            return Self.room(of: place) == Self.room(of: listener) ? .obstructed : .occluded
        }
        return .free
    }

    /// The plan with the listener and the balls, as lines of text.
    var map: [String] {
        var lines = Self.plan
        func put(_ character: Character, _ place: SIMD2<Double>) {
            let (row, column) = (Int(place.y.rounded(.down)), Int((2 * place.x).rounded(.down)))
            if lines.indices.contains(row), lines[row].indices.contains(column) { lines[row][column] = character }
        }
        for ball in balls { put("o", ball.place) }
        let arrows: [Character] = ["↑", "↗", "→", "↘", "↓", "↙", "←", "↖"]
        put(arrows[Int((yaw / 45).rounded()) % 8], listener)
        return lines.map { String($0) }
    }
}

extension World.Ball {
    /// Flies on, and turns round at walls.
    ///
    /// - Returns: `true` if the ball met a wall.
    fileprivate mutating func fly(seconds: Double, bounce: Double) -> Bool {
        age += seconds
        var isHit = false
        for axis in 0..<2 {
            var next = place
            next[axis] += velocity[axis] * seconds
            if World.isWall(next) {
                velocity[axis] = -velocity[axis]
                velocity *= bounce
                isHit = true
            } else {
                place = next
            }
        }
        return isHit
    }
}
