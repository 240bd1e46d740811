internal import Music
import RenderCore

/// The values of a parameter over frames, seconds or beats: points, and the way from each to the next.
///
///     let opening = AutomationCurve(in: .beats, [0: 200, 16: 4_000], shape: .exponential)
///     let fade = AutomationCurve(in: .seconds, [.init(at: 0, 1), .init(at: 2.5, 0, .step), .init(at: 4, 1)])
///
/// Before its first point a curve has the first value, and behind its last point the last one. Two points at one position are a
/// jump; of more the first and the last count. An ``Automation`` sets a parameter by a curve. It has a form as text: ``text``.
///
/// Threads: control.
public struct AutomationCurve: Sendable, Hashable {
    /// The unit in which a curve counts positions.
    ///
    /// Threads: any.
    public enum TimeUnit: String, Sendable, Hashable, CaseIterable {
        /// Frames of the sample clock.
        case frames
        /// Seconds of the sample clock.
        case seconds
        /// Beats of `Renderer.tempo`.
        case beats
    }

    /// The way from a point to the next. With *u* from 0 at the first of them (value *a*) to 1 at the second (value *b*):
    ///
    /// Threads: any.
    public enum Shape: String, Sendable, Hashable, CaseIterable {
        /// *a* up to the next point.
        case step
        /// *a* + (*b* − *a*) *u*.
        case line
        /// *a* (*b* ⁄ *a*)ᵘ: for frequencies. Where *a* and *b* are not both above 0, or both below, it is a line.
        case exponential
        /// *a* + (*b* − *a*) (6 *u*⁵ − 15 *u*⁴ + 10 *u*³), which leaves and arrives without a corner.
        case smooth
    }

    /// A value at a position.
    ///
    /// Threads: control.
    public struct Point: Sendable, Hashable {
        /// The position, in the unit of the curve.
        public var position: Double
        /// The value there.
        public var value: Float
        /// The way from this point to the next.
        public var shape: Shape

        /// Creates a point.
        public init(at position: Double, _ value: Float, _ shape: Shape = .line) {
            self.position = position
            self.value = value
            self.shape = shape
        }
    }

    /// The unit in which it counts positions.
    public let unit: TimeUnit
    /// The points in their order.
    public let points: [Point]

    /// The positions that a point may have: -1e12…1e12.
    static var positions: ClosedRange<Double> { -1e12...1e12 }

    /// Creates a curve of points in any order.
    ///
    /// A point that is no number is left out, with a notice. A position beyond 1e12 becomes the nearest one that is allowed.
    public init(in unit: TimeUnit, _ points: [Point]) {
        var sorted: [Point] = []
        for var point in points {
            if point.position.isNaN || point.value.isNaN {
                StandardError.sayOnce(
                    "AutomationCurve: a point at \(point.position) with the value \(point.value); both must be numbers. "
                        + "It is left out")
                continue
            }
            let (low, high) = (Self.positions.lowerBound, Self.positions.upperBound)
            point.position = min(max(point.position, low), high)
            let most = Float.greatestFiniteMagnitude
            point.value = min(max(point.value, -most), most)
            sorted.append(point)
        }
        // Points at one position stay in their order.
        let order = sorted.indices.sorted { (sorted[$0].position, $0) < (sorted[$1].position, $1) }
        var kept: [Point] = []
        for index in order {
            let point = sorted[index]
            if kept.count > 1, kept[kept.count - 2].position == point.position { kept.removeLast() }
            kept.append(point)
        }
        self.unit = unit
        self.points = kept
    }

    /// Creates a curve of positions and values, with one shape for all ways.
    public init(in unit: TimeUnit, _ values: KeyValuePairs<Double, Float>, shape: Shape = .line) {
        self.init(in: unit, values.map { Point(at: $0.key, $0.value, shape) })
    }

    /// Returns the value at a position; 0 if the curve has no points. At a jump it is the value behind it.
    public func value(at position: Double) -> Double {
        let place = place(of: position)
        return points.isEmpty || position.isNaN ? 0 : segment(place).value(at: position)
    }

    /// Returns the number of points that are not behind a position.
    func place(of position: Double) -> Int {
        // A position that is no number is before all points.
        points.indices.partition { !(points[$0].position <= position) }
    }

    /// Returns the way that lies behind so many points.
    func segment(_ place: Int) -> AutomationSegment {
        guard let first = points.first, let last = points.last else { return AutomationSegment(holding: 0) }
        if place == 0 { return AutomationSegment(holding: first.value, until: first.position) }
        if place >= points.count { return AutomationSegment(holding: last.value, from: last.position) }
        return AutomationSegment(points[place - 1], points[place])
    }
}

/// A part of a curve from a point to the next.
struct AutomationSegment: BitwiseCopyable, Sendable {
    /// The positions at which it begins and ends.
    let start, end: Double
    private let perPosition: Double
    private let from: Double
    /// The whole way: in octaves if it is exponential.
    private let way: Double
    private let kind: UInt8
    /// The jumps that the curve has had before this segment, and at its beginning.
    var jumps: Int32 = 0

    /// Creates one in which the value stays.
    init(holding value: Float, from start: Double = -.infinity, until end: Double = .infinity) {
        (self.start, self.end, perPosition) = (start, end, 0)
        (from, way, kind) = (Double(value), 0, 0)
    }

    init(_ first: AutomationCurve.Point, _ second: AutomationCurve.Point) {
        (start, end, from) = (first.position, second.position, Double(first.value))
        let length = second.position - first.position
        let goal = Double(second.value)
        perPosition = length > 0 ? 1 / length : 0
        if first.shape == .step || length <= 0 || goal == from || !perPosition.isFinite {
            (way, kind) = (0, 0)
        } else if first.shape == .exponential && goal != 0 && goal / from > 0 {
            (way, kind) = (RenderMath.log2(goal / from), 2)
        } else {
            (way, kind) = (goal - from, first.shape == .smooth ? 3 : 1)
        }
    }

    /// Indicates whether it has one value.
    var isConstant: Bool { @_noLocks @_noAllocation get { kind == 0 } }

    /// Returns the value at a position; before its start that of the start, and behind its end that of the end.
    @_noLocks @_noAllocation
    func value(at position: Double) -> Double {
        if kind == 0 { return from }
        let part = (position - start) * perPosition
        let u = part > 0 ? (part < 1 ? part : 1) : 0
        switch kind {
        case 1: return from + way * u
        case 2: return from * RenderMath.exp2(way * u)
        default: return from + way * AutomationSegment.smooth(u)
        }
    }

    /// Returns whether the value jumps from this segment to the next, by more than a rounding of it.
    func jumps(to next: AutomationSegment) -> Bool {
        let (from, to) = (value(at: end), next.value(at: next.start))
        return abs(from - to) > 1e-6 * max(abs(from), abs(to))
    }

    /// The polynomial that leaves 0 and arrives at 1 without a corner.
    @_noLocks @_noAllocation
    static func smooth(_ u: Double) -> Double { u * u * u * (10 + u * (6 * u - 15)) }
}

/// The unit of a curve, as the render thread can compare it.
struct AutomationClock: BitwiseCopyable, Sendable {
    let isBeats, isSeconds: Bool

    @_noLocks @_noAllocation
    func isEqual(to other: AutomationClock) -> Bool { isBeats == other.isBeats && isSeconds == other.isSeconds }

    static var frames: AutomationClock {
        @_noLocks @_noAllocation get { AutomationClock(isBeats: false, isSeconds: false) }
    }
}

extension AutomationCurve.TimeUnit {
    var clock: AutomationClock { AutomationClock(isBeats: self == .beats, isSeconds: self == .seconds) }
}

/// A curve as the render thread reads it.
struct AutomationImage: ~Copyable, Sendable {
    let segments: OwnedArray<AutomationSegment>
    let unit: AutomationClock
    /// Different for each curve that an automation gets.
    let version: Int
    /// Indicates whether there is nothing to set.
    let isEmpty: Bool

    init(_ curve: AutomationCurve, version: Int) {
        var jumps: Int32 = 0
        var before: AutomationSegment?
        segments = OwnedArray(count: curve.points.count + 1) { place in
            var segment = curve.segment(place)
            if let before, before.jumps(to: segment) { jumps &+= 1 }
            segment.jumps = jumps
            before = segment
            return segment
        }
        unit = curve.unit.clock
        isEmpty = curve.points.isEmpty
        self.version = version
    }

    /// Returns the place of the segment in which a position lies.
    ///
    /// - Parameter place: A place that is likely.
    @_noLocks @_noAllocation
    func place(of position: Double, near place: Int) -> Int {
        let last = segments.count &- 1
        let near = place > last ? last : place
        if position >= segments[near].start {
            if near == last || position < segments[near].end { return near }
            if near &+ 1 == last || position < segments[near &+ 1].end { return near &+ 1 }
        }
        // The number of segments that end at the position or before.
        var (low, high) = (0, last)
        while low < high {
            let middle = (low &+ high) / 2
            if segments[middle].end <= position { low = middle &+ 1 } else { high = middle }
        }
        return low
    }
}
