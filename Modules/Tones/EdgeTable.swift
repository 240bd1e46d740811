internal import RenderCore

/// The difference between an ideal edge and one that a sampled signal can have: the band-limited step (or corner) less
/// the sharp one.
///
/// A wave with sharp edges, plus this around each of them, is the wave through a low-pass filter: its harmonics are
/// where they were and nothing folds back (E. Brandt, "Hard sync without aliasing", 2001; here with the residual of both
/// sides, which a wave of known phase knows ahead of time, so that there is no latency).
///
/// The filter is a sinc in a Kaiser window over 112 frames: -0.08 dB at 0.4535 of the sample rate (20 kHz of 44.1 kHz),
/// -94 dB from half of it on. It is the same at every rate. The residual is kept at 32 positions to the frame and read
/// with a cubic through four of them: errors below -120 dB. 16 kB; making one takes about half a millisecond.
///
/// Threads: control.
public struct EdgeTable: ~Copyable, Sendable {
    /// Frames before and after an edge that it changes.
    @usableFromInline static var reach: Int { @_noLocks @_noAllocation get { 56 } }
    /// Positions in a frame.
    static var density: Int { @_noLocks @_noAllocation get { 32 } }

    /// Rows of one position each, a frame from one number to the next; one row more at either end for the cubic.
    private let rows: RenderMemory<Float>

    /// Creates the table that the edges of a wave need: a sine has none, and its table is empty.
    public init(for wave: Waveform) {
        switch wave {
        case .sine: rows = RenderMemory(repeating: 0, count: 0)
        case .saw, .square: rows = Self.rows(isCorner: false)
        case .triangle: rows = Self.rows(isCorner: true)
        }
    }

    /// Adds an edge of a height to a run of samples.
    ///
    /// - Parameters:
    ///   - height: The height of the jump; of a corner, the change of its slope in a frame.
    ///   - since: The distance from the edge to the first frame after it, in parts of `step`.
    ///   - tap: The frame of the table for the first sample.
    @_noLocks @_noAllocation
    func add(
        _ height: Float, since: Int64, step: Int64, from tap: Int, count: Int, at first: Int,
        to samples: inout MutableSpan<Float>
    ) {
        let (row, weights) = position(height, since, step)
        Signal.addEdge(rows, row: row &+ tap, apart: 112, weights: weights, to: &samples, at: first, count: count)
    }

    /// Returns the value at one frame.
    @_noLocks @_noAllocation
    func value(_ height: Float, since: Int64, step: Int64, tap: Int) -> Float {
        let (row, weights) = position(height, since, step)
        return value(row &+ tap, weights)
    }

    @_noLocks @_noAllocation
    private func value(_ table: Int, _ weights: SIMD4<Float>) -> Float {
        var sum = rows.value(at: table) * weights[0]
        sum += rows.value(at: table &+ 112) * weights[1]
        sum += rows.value(at: table &+ 224) * weights[2]
        return sum + rows.value(at: table &+ 336) * weights[3]
    }

    /// Returns the first of four rows and Lagrange's weights of the cubic through them, times the height.
    @_noLocks @_noAllocation
    private func position(_ height: Float, _ since: Int64, _ step: Int64) -> (row: Int, weights: SIMD4<Float>) {
        let place = Double(since) / Double(step) * 32
        let row = place < 31 ? Int(place) : 31
        let x = Float(place - Double(row))
        let (low, high) = ((x + 1) * x * height, (x - 1) * (x - 2) * height)
        let weights = SIMD4<Float>(
            x * high * (-1.0 / 6), (x + 1) * high * 0.5, low * (x - 2) * -0.5, low * (x - 1) * (1.0 / 6))
        return (row &* 112, weights)
    }

    // MARK: Making it

    private static func rows(isCorner: Bool) -> RenderMemory<Float> {
        let intervals = reach * density
        // The integrals of h and of v h from 0 on, interval by interval.
        var (areas, moments) = ([0.0], [0.0])
        let gauss = gauss
        for interval in 0..<intervals {
            var (area, moment) = (0.0, 0.0)
            for node in gauss {
                let v = (Double(interval) + 0.5 + 0.5 * node.x) / Double(density)
                let h = impulse(v) * node.weight
                area += h
                moment += v * h
            }
            areas.append(areas[interval] + area)
            moments.append(moments[interval] + moment)
        }
        let total = 2 * areas[intervals]
        let taps = 2 * reach
        var rows = RenderMemory<Float>(repeating: 0, count: (density + 3) * taps)
        for row in 0..<(density + 3) {
            for tap in 0..<taps {
                // The frame itself says which side of the edge it is on, so that each row goes on smoothly past it.
                let isAfter = tap >= reach
                let position = (tap - reach) * density + row - 1
                let u = Double(position) / Double(density)
                let interval = min(abs(position), intervals)
                let half = areas[interval] / total
                let step = position < 0 ? 0.5 - half : 0.5 + half
                let moment = (moments[interval] - moments[intervals]) / total
                let rounded = isCorner ? u * step - moment : step
                let sharp = isAfter ? (isCorner ? u : 1) : 0
                rows[row * taps + tap] = Float(rounded - sharp)
            }
        }
        return rows
    }

    /// Returns the filter: a sinc with its corner at 0.473 of the sample rate, in a Kaiser window (beta 9.5). Both were
    /// found by a search for the least loss at 0.4535 with -94 dB at 0.5.
    private static func impulse(_ frames: Double) -> Double {
        let corner = 0.473
        let x = 2 * Double.pi * corner * frames
        let place = frames / Double(reach)
        return RenderMath.sin(x) / x * RenderMath.bessel(9.5 * (1 - place * place).squareRoot())
    }

    /// Gauss and Legendre's nodes and weights of four points.
    private static var gauss: [(x: Double, weight: Double)] {
        let inner = (3.0 / 7 - 2.0 / 7 * 1.2.squareRoot()).squareRoot()
        let outer = (3.0 / 7 + 2.0 / 7 * 1.2.squareRoot()).squareRoot()
        let (large, small) = ((18 + 30.0.squareRoot()) / 36, (18 - 30.0.squareRoot()) / 36)
        return [(-outer, small), (-inner, large), (inner, large), (outer, small)]
    }
}
