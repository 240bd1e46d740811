/// Smooths the times of an output's cycles.
///
/// The thread wakes up some time after the device has moved, and many devices move in steps: so the times that are
/// measured jitter, by a few hundred microseconds on a card that moves by whole periods. The card's clock itself does
/// not. This is a delay-locked loop: it expects a cycle one period after the last one, and lets each measurement
/// correct that a little, the time and the speed.
struct CycleTimes {
    private let nanosecondsPerFrame: Double
    private let period: Double
    /// A time that is further off than this from the expected one is no jitter. The next one shows whether it was a
    /// gap.
    private let tolerance: Double
    /// Cycles per radian of the loop's bandwidth, a fifth of a hertz.
    private let angle: Double
    /// The time that is expected, after ``origin``: so that it keeps its precision however long the machine has been up.
    private var next = 0.0
    private var origin: Int64 = 0
    /// The difference between the length of a period and the one that it should have, in nanoseconds.
    private var excess = 0.0
    /// The number of cycles that have been measured since the start.
    private var count = 0
    private var isAstray = false

    /// - Parameters:
    ///   - rate: The device's frames per second.
    ///   - period: Its frames in a cycle.
    init(rate: Double, period: Int) {
        nanosecondsPerFrame = 1e9 / rate
        self.period = Double(max(1, period)) * nanosecondsPerFrame
        tolerance = max(2e6, self.period)
        angle = min(0.25, 2 * Double.pi * 0.2 * self.period * 1e-9)
    }

    /// Returns by how many nanoseconds a cycle is later than the clock says.
    ///
    /// - Parameters:
    ///   - now: The time by the clock.
    ///   - position: The number of frames by which the device's memory reaches ahead of now.
    ///   - startsAnew: `true` if there was a gap before the cycle.
    mutating func correction(at now: Int64, position: Int, _ startsAnew: Bool = false) -> Int64 {
        let measured = now &+ Int64((Double(position) * nanosecondsPerFrame).rounded())
        if startsAnew { count = 0 }
        let error = count == 0 ? 0 : Double(measured &- origin) - next
        let isFar = abs(error) > tolerance
        if count == 0 || isFar && isAstray {
            (origin, next, count) = (measured, 0, 0)
        } else if !isFar {
            // At first the mean of all measurements is best; later those of the last second count most.
            let share = max(1 / Double(count + 1), 2 * angle)
            next += share * error
            if share == 2 * angle { excess = max(-0.002 * period, min(0.002 * period, excess + angle * angle * error)) }
        }
        isAstray = isFar
        count += 1
        let time = origin &+ Int64(next.rounded())
        next += period + excess
        return time &- measured
    }
}
