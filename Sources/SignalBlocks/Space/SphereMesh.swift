/// Triangles between directions: which three surround a direction, and with what shares.
package struct SphereMesh: ~Copyable, Sendable {
    /// Three directions by number, and their shares, which are 1 together.
    package struct Place: Sendable, BitwiseCopyable {
        package var corners: SIMD4<Int32>
        package var shares: SIMD4<Float>

        @_noLocks @_noAllocation
        package init(corners: SIMD4<Int32>, shares: SIMD4<Float>) { (self.corners, self.shares) = (corners, shares) }
    }

    private let corners: AlignedMemory<SIMD4<Int32>>
    /// The triangle on the other side of the edge that lies opposite to each corner.
    private let neighbours: AlignedMemory<SIMD4<Int32>>
    /// The rows of the matrix that makes shares of a direction: one for each corner.
    private let rows: AlignedMemory<SIMD4<Float>>
    /// A triangle near to the middle of each field of a cube around all.
    private let starts: AlignedMemory<Int32>
    private static var grid: Int { @_noLocks @_noAllocation get { 12 } }

    /// Returns a mesh; `nil` if the directions do not surround anything.
    ///
    /// - Parameter points: Directions of length 1, no two of them the same. For `n` of them it takes n² steps.
    package init?(_ points: [SIMD3<Double>]) {
        guard let triangles = SphereHull(points)?.triangles, !triangles.isEmpty else { return nil }
        corners = AlignedMemory(count: triangles.count)
        neighbours = AlignedMemory(count: triangles.count)
        rows = AlignedMemory(count: 3 * triangles.count)
        let fields = 6 * SphereMesh.grid * SphereMesh.grid
        starts = AlignedMemory(count: fields)
        var owner: [SIMD2<Int32>: Int32] = [:]
        for (index, t) in triangles.enumerated() {
            for edge in [SIMD2(t.x, t.y), SIMD2(t.y, t.z), SIMD2(t.z, t.x)] { owner[edge] = Int32(index) }
        }
        var centres: [SIMD3<Double>] = []
        for (index, t) in triangles.enumerated() {
            let here = Int32(index)
            unsafe corners.base[index] = SIMD4(t.x, t.y, t.z, 0)
            unsafe neighbours.base[index] = SIMD4(
                owner[SIMD2(t.z, t.y)] ?? here, owner[SIMD2(t.x, t.z)] ?? here, owner[SIMD2(t.y, t.x)] ?? here, 0)
            let (p, q, r) = (points[Int(t.x)], points[Int(t.y)], points[Int(t.z)])
            centres.append((p + q + r) / 3)
            let volume = (p * SphereHull.cross(q, r)).sum()
            let scale = abs(volume) > 1e-12 ? 1 / volume : 0
            let inverse = [SphereHull.cross(q, r), SphereHull.cross(r, p), SphereHull.cross(p, q)]
            for k in 0..<3 { unsafe rows.base[3 * index + k] = SIMD4<Float>(SIMD4<Double>(inverse[k] * scale, 0)) }
        }
        for field in 0..<fields {
            let direction = SphereMesh.middle(of: field)
            var (best, chosen) = (-Double.infinity, 0)
            for (index, centre) in centres.enumerated() {
                let nearness = (centre * direction).sum() / (centre * centre).sum().squareRoot()
                if nearness > best { (best, chosen) = (nearness, index) }
            }
            unsafe starts.base[field] = Int32(chosen)
        }
    }

    /// Returns whether directions surround the middle.
    static func surrounds(_ points: [SIMD3<Double>]) -> Bool { SphereHull(points) != nil }

    private static func middle(of field: Int) -> SIMD3<Double> {
        let (side, place) = (field / (grid * grid), field % (grid * grid))
        let u = (Double(place % grid) + 0.5) / Double(grid) * 2 - 1,
            v = (Double(place / grid) + 0.5) / Double(grid) * 2 - 1
        let sign: Double = side % 2 == 0 ? 1 : -1
        var point = SIMD3<Double>(repeating: 0)
        point[side / 2] = sign
        point[(side / 2 + 1) % 3] = u
        point[(side / 2 + 2) % 3] = v
        return point / (point * point).sum().squareRoot()
    }

    @_noLocks @_noAllocation
    private static func field(x: Float, y: Float, z: Float) -> Int {
        let (sizeX, sizeY, sizeZ) = (abs(x), abs(y), abs(z))
        var (side, main, u, v) = (0, x, y, z)
        if sizeY > sizeX && sizeY >= sizeZ { (side, main, u, v) = (2, y, z, x) }
        if sizeZ > sizeX && sizeZ > sizeY { (side, main, u, v) = (4, z, x, y) }
        let size = abs(main)
        if main < 0 { side &+= 1 }
        let half = Float(grid) * 0.5
        let column = Int((u / size + 1) * half), row = Int((v / size + 1) * half)
        let last = grid &- 1
        return (side &* grid &+ (row < last ? row : last)) &* grid &+ (column < last ? column : last)
    }

    /// Returns the triangle around a direction.
    ///
    /// - Parameters:
    ///   - x: The first number of the direction, which may have any length; one of length 0, or that is no number, is the
    ///     direction 1, 0, 0.
    ///   - y: The second.
    ///   - z: The third.
    @_noLocks @_noAllocation
    package func place(x: Float, y: Float, z: Float) -> Place {
        let length = x * x + y * y + z * z
        let isGood = length > 1e-12 && length < 1e12
        let (x, y, z) = isGood ? (x, y, z) : (1, 0, 0)
        var triangle = unsafe Int(starts.base[SphereMesh.field(x: x, y: y, z: z)])
        var shares = SIMD4<Float>(repeating: 0)
        // A walk across the edge that the direction lies furthest behind. At a corner, rounding puts it behind all edges.
        let slack = -1e-5 * Roots.root(x * x + y * y + z * z)
        var steps = 0
        while true {
            let row = unsafe rows.base + 3 &* triangle
            let (p, q, r) = unsafe (row[0], row[1], row[2])
            shares = SIMD4(
                p.x * x + p.y * y + p.z * z, q.x * x + q.y * y + q.z * z, r.x * x + r.y * y + r.z * z, 0)
            var (least, edge) = (shares.x, 0)
            if shares.y < least { (least, edge) = (shares.y, 1) }
            if shares.z < least { (least, edge) = (shares.z, 2) }
            if least >= slack || steps >= 96 { break }
            steps &+= 1
            triangle = unsafe Int(neighbours.base[triangle][edge])
        }
        shares.replace(with: 0, where: shares .< 0)
        let sum = shares.x + shares.y + shares.z
        if sum > 0 { shares /= sum } else { shares = SIMD4(1, 0, 0, 0) }
        return unsafe Place(corners: corners.base[triangle], shares: shares)
    }
}

/// The convex hull of directions, built up point by point.
private struct SphereHull {
    /// Corners, anticlockwise as seen from outside.
    var triangles: [SIMD3<Int32>] = []
    private var normals: [SIMD3<Double>] = []
    private var offsets: [Double] = []

    static func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
    }

    init?(_ exact: [SIMD3<Double>]) {
        guard exact.count >= 4 else { return nil }
        // Directions on a grid lie on common planes. Moved by a hundred-thousandth they do not.
        var seed: UInt64 = 1
        func shift() -> Double {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (Double(seed >> 40) / Double(1 << 24) - 0.5) * 2e-5
        }
        let points = exact.map { point in
            let moved = point + SIMD3(shift(), shift(), shift())
            return moved / (moved * moved).sum().squareRoot()
        }
        guard let first = SphereHull.tetrahedron(points) else { return nil }
        let inside = (points[first[0]] + points[first[1]] + points[first[2]] + points[first[3]]) / 4
        for t in [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]] {
            add(Int32(first[t[0]]), Int32(first[t[1]]), Int32(first[t[2]]), points, inside)
        }
        for (index, point) in points.enumerated() where !first.contains(index) {
            insert(Int32(index), point, points, inside)
        }
        // The middle must lie inside.
        guard offsets.allSatisfy({ $0 > 0 }) else { return nil }
    }

    private static func tetrahedron(_ points: [SIMD3<Double>]) -> [Int]? {
        func farthest(_ distance: (SIMD3<Double>) -> Double) -> Int? {
            let best = points.indices.max { distance(points[$0]) < distance(points[$1]) }
            return best.flatMap { distance(points[$0]) > 1e-3 ? $0 : nil }
        }
        let a = points[0]
        guard let one = farthest({ (($0 - a) * ($0 - a)).sum() }) else { return nil }
        let ab = points[one] - a
        guard
            let two = farthest({
                let c = cross(ab, $0 - a); return (c * c).sum()
            })
        else { return nil }
        let normal = cross(ab, points[two] - a)
        guard let three = farthest({ abs((normal * ($0 - a)).sum()) }) else { return nil }
        return [0, one, two, three]
    }

    private mutating func add(_ a: Int32, _ b: Int32, _ c: Int32, _ points: [SIMD3<Double>], _ inside: SIMD3<Double>) {
        let (p, q, r) = (points[Int(a)], points[Int(b)], points[Int(c)])
        var normal = SphereHull.cross(q - p, r - p)
        let turns = (normal * (p - inside)).sum() < 0
        if turns { normal = -normal }
        triangles.append(turns ? SIMD3(a, c, b) : SIMD3(a, b, c))
        normals.append(normal)
        offsets.append((normal * p).sum())
    }

    private mutating func insert(
        _ index: Int32, _ point: SIMD3<Double>, _ points: [SIMD3<Double>], _ inside: SIMD3<Double>
    ) {
        var edges: Set<SIMD2<Int32>> = []
        var kept = 0
        for t in triangles.indices {
            if (normals[t] * point).sum() > offsets[t] {
                let corners = triangles[t]
                for edge in [SIMD2(corners.x, corners.y), SIMD2(corners.y, corners.z), SIMD2(corners.z, corners.x)] {
                    // An edge between two that are seen is gone.
                    if edges.remove(SIMD2(edge.y, edge.x)) == nil { edges.insert(edge) }
                }
            } else {
                (triangles[kept], normals[kept], offsets[kept]) = (triangles[t], normals[t], offsets[t])
                kept += 1
            }
        }
        triangles.removeLast(triangles.count - kept)
        normals.removeLast(normals.count - kept)
        offsets.removeLast(offsets.count - kept)
        // In an order that is the same in each run.
        for edge in edges.sorted(by: { ($0.x, $0.y) < ($1.x, $1.y) }) { add(edge.x, edge.y, index, points, inside) }
    }
}
