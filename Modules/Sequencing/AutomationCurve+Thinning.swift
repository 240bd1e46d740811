import RenderCore

extension AutomationCurve {
    /// Returns the curve with fewer points: at no position does it differ by more than `error` from this one.
    ///
    /// It leaves out points between lines, and points between exponential ways (by the algorithm of Ramer, Douglas and Peucker, with
    /// the distance in the value alone). Steps, smooth ways and jumps stay as they are. An error of 0
    /// leaves out what changes nothing but the rounding of a `Float`.
    ///
    /// - Parameter error: In the unit of the values. One that is not above 0, or no number, counts as 0.
    public func thinned(within error: Float) -> AutomationCurve {
        let error = error > 0 ? Double(error) : 0
        var kept: [Point] = []
        var first = 0
        while first < points.count {
            // A run: ways of one shape, without a jump, from `first` to `last`.
            let kind = Self.kind(points, first)
            var last = first
            while kind != nil && last + 1 < points.count && Self.kind(points, last) == kind { last += 1 }
            if last > first + 1, let kind {
                kept += Self.thinned(points[first..<last + 1], isExponential: kind == .exponential, error).dropLast()
                first = last
            } else {
                kept.append(points[first])
                first += 1
            }
        }
        return AutomationCurve(in: unit, kept)
    }

    /// Returns the shape of the way behind a point, as far as points along it can be left out.
    private static func kind(_ points: [Point], _ place: Int) -> Shape? {
        guard place + 1 < points.count, points[place].position < points[place + 1].position else { return nil }
        let (a, b) = (points[place].value, points[place + 1].value)
        switch points[place].shape {
        case .line: return .line
        case .exponential: return a > 0 && b > 0 ? .exponential : nil
        case .step, .smooth: return nil
        }
    }

    private static func thinned(_ run: ArraySlice<Point>, isExponential: Bool, _ error: Double) -> [Point] {
        let points = Array(run)
        let error = max(error, points.reduce(0) { max($0, abs(Double($1.value))) } * 0x1p-22)
        var isKept = [Bool](repeating: false, count: points.count)
        isKept[0] = true
        isKept[points.count - 1] = true
        var open = [(0, points.count - 1)]
        while let (first, last) = open.popLast() {
            if last - first < 2 { continue }
            let whole = AutomationSegment(points[first], points[last])
            var (worst, place) = (0.0, first)
            var before = (distance: 0.0, size: Double(points[first].value))
            for i in first + 1...last {
                let (value, other) = (Double(points[i].value), whole.value(at: points[i].position))
                var distance = abs(value - other)
                if isExponential {
                    // Between two points the logarithms differ by a line, most at one of them: by d at most. The values then differ
                    // by no more than 1 - exp(-d) of the greater one.
                    let ratio = i == last ? 0 : abs(RenderMath.log2(value / other))
                    let size = max(value, other)
                    distance = max(size, before.size) * (1 - RenderMath.exp2(-max(ratio, before.distance)))
                    before = (ratio, size)
                }
                // The last point is no choice: what lies before it is the fault of the one before.
                let candidate = i == last ? i - 1 : i
                if distance > worst { (worst, place) = (distance, candidate) }
            }
            if worst <= error { continue }
            isKept[place] = true
            open.append((first, place))
            open.append((place, last))
        }
        return points.indices.filter { isKept[$0] }.map { points[$0] }
    }
}
