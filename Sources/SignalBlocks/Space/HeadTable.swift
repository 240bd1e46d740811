internal import CKernels
private import Synchronization

/// The responses of a head at one sample rate: filters of minimum phase and the time between the ears, apart from each other,
/// for any direction between those that were measured.
package struct HeadTable: ~Copyable, Sendable {
    /// The most taps that a filter has.
    package static var longest: Int { @_noLocks @_noAllocation get { 256 } }

    /// A pair of measured responses.
    package struct Measurement: Sendable {
        /// Right, up and back.
        package var direction: SIMD3<Double>
        package var left: [Float]
        package var right: [Float]
        /// The frames by which the right response begins later, besides the zeros that it holds.
        package var delay = 0.0

        package init(direction: SIMD3<Double>, left: [Float], right: [Float], delay: Double = 0) {
            (self.direction, self.left, self.right, self.delay) = (direction, left, right, delay)
        }
    }

    private let mesh: SphereMesh
    /// For each direction a filter of the left ear and one of the right.
    private var filters: SampleMemory
    /// For each direction the frames by which the right ear hears it later.
    private var delays: SampleMemory
    /// The factor by which noise from all around has as much power in both ears together as it had.
    private var level: Float = 1

    /// Returns a table; `nil` if the directions do not surround the head.
    ///
    /// - Parameters:
    ///   - measurements: The responses, no two of them of the same direction. Where none is near to the pole above or below
    ///     the head, the mean of those that are nearest stands in for it.
    ///   - sampleRate: In hertz.
    package init?(_ measurements: [Measurement], sampleRate: Double) {
        let longest = measurements.reduce(1) { max($0, $1.left.count, $1.right.count) }
        var workplace = MinimumPhase(length: longest, sampleRate: sampleRate)
        let taps = HeadTable.longest
        var points: [SIMD3<Double>] = []
        var all: [[Float]] = []
        var times: [Double] = []
        let levels = workplace.levels(measurements)
        for one in measurements {
            let left = workplace.filter(one.left, taps: taps, levels: levels)
            let right = workplace.filter(one.right, taps: taps, levels: levels)
            let inside = workplace.delay(left: left, right: right)
            points.append(one.direction)
            all.append(left + right)
            times.append(workplace.delay(left: one.left, right: one.right) + one.delay - inside)
        }
        for pole in HeadTable.missingPoles(points) {
            let nearness = measurements.map { ($0.direction * pole).sum() }
            let nearest = nearness.max() ?? 0
            let ring = nearness.indices.filter { nearness[$0] > nearest - 0.01 }
            points.append(pole)
            all.append((0..<2 * taps).map { tap in ring.reduce(0) { $0 + all[$1][tap] } / Float(ring.count) })
            times.append(ring.reduce(0) { $0 + times[$1] } / Double(ring.count))
        }
        guard let mesh = SphereMesh(points) else { return nil }
        self.mesh = mesh
        filters = SampleMemory(count: all.count * 2 * taps)
        delays = SampleMemory(count: all.count)
        for (index, pair) in all.enumerated() {
            for tap in pair.indices { filters[index * 2 * taps + tap] = pair[tap] }
            delays[index] = Float(min(max(times[index], -0.002 * sampleRate), 0.002 * sampleRate))
        }
        level = levels.power > 1e-20 ? Float(1 / levels.power.squareRoot()) : 0
    }

    /// Returns the directions above and below the head near to which nothing was measured.
    private static func missingPoles(_ points: [SIMD3<Double>]) -> [SIMD3<Double>] {
        [SIMD3<Double>(0, 1, 0), SIMD3<Double>(0, -1, 0)].filter { pole in
            points.allSatisfy { ($0 * pole).sum() < 0.94 }
        }
    }

    /// Returns whether directions, with the poles that stand in, surround the head: whether a table can be made of them.
    package static func surrounds(_ points: [SIMD3<Double>]) -> Bool {
        SphereMesh.surrounds(points + missingPoles(points))
    }

    /// Returns the measured directions around a direction: right, up and back.
    @_noLocks @_noAllocation
    @inline(__always) package func place(x: Float, y: Float, z: Float) -> SphereMesh.Place {
        mesh.place(x: x, y: y, z: z)
    }

    /// Returns how much later the right ear hears a sound, in frames.
    @_noLocks @_noAllocation
    @inline(__always) package func delay(_ place: SphereMesh.Place) -> Float {
        let corners = place.corners
        return place.shares.x * delays[Int(corners.x)] + place.shares.y * delays[Int(corners.y)]
            + place.shares.z * delays[Int(corners.z)]
    }

    /// Writes the filter of an ear, 0 (left) or 1, or adds it.
    ///
    /// - Precondition: The taps are a multiple of 8 and at most ``longest``, and there is room.
    @_noLocks @_noAllocation
    @inline(__always) func blend(
        _ place: SphereMesh.Place, ear: Int, taps: Int, by share: Float, adds: Bool, into filter: inout SampleMemory,
        at start: Int
    ) {
        precondition(taps & 7 == 0 && taps <= HeadTable.longest && start >= 0 && start <= filter.count &- taps)
        let shares = place.shares * (share * level)
        let first = (2 &* Int(place.corners.x) &+ ear) &* HeadTable.longest
        let second = (2 &* Int(place.corners.y) &+ ear) &* HeadTable.longest
        let third = (2 &* Int(place.corners.z) &+ ear) &* HeadTable.longest
        let last = filters.count &- taps
        precondition(first >= 0 && first <= last && second >= 0 && second <= last && third >= 0 && third <= last)
        unsafe kernel_blend(
            filters.base + first, filters.base + second, filters.base + third, shares.x, shares.y, shares.z, adds,
            filter.base + start, taps)
    }
}

/// A ``HeadTable`` that several owners keep while others read it.
@safe package final class HeadTableBox: @unchecked Sendable {
    // Unchecked because nothing writes to a table after it was made.
    private let table: UnsafeMutablePointer<HeadTable>
    private static let count = Atomic<Int>(0)
    /// The responses that are to be read.
    package let reference: Reference

    /// Takes a table. On the control side: it allocates.
    package init(_ table: consuming HeadTable) {
        unsafe self.table = .allocate(capacity: 1)
        unsafe self.table.initialize(to: table)
        let version = HeadTableBox.count.wrappingAdd(1, ordering: .relaxed).newValue
        reference = unsafe Reference(table: self.table, version: version)
    }

    deinit {
        unsafe table.deinitialize(count: 1)
        unsafe table.deallocate()
    }

    /// A table for the time of a cycle, in which its owners keep it alive.
    @safe package struct Reference: BitwiseCopyable, @unchecked Sendable {
        // Unchecked because a table is only read.
        fileprivate let table: UnsafeMutablePointer<HeadTable>
        /// The number of the table: no two have the same.
        package let version: Int

        @_noLocks @_noAllocation
        fileprivate init(table: UnsafeMutablePointer<HeadTable>, version: Int) {
            unsafe self.table = table
            self.version = version
        }

        /// Returns the measured directions around a direction: right, up and back.
        @_noLocks @_noAllocation
        package func place(x: Float, y: Float, z: Float) -> SphereMesh.Place {
            unsafe table.pointee.place(x: x, y: y, z: z)
        }

        /// Returns how much later the right ear hears a sound, in frames.
        @_noLocks @_noAllocation
        package func delay(_ place: SphereMesh.Place) -> Float { unsafe table.pointee.delay(place) }

        @_noLocks @_noAllocation
        func blend(
            _ place: SphereMesh.Place, ear: Int, taps: Int, by share: Float, adds: Bool,
            into filter: inout SampleMemory, at start: Int
        ) {
            unsafe table.pointee.blend(
                place, ear: ear, taps: taps, by: share, adds: adds, into: &filter, at: start)
        }
    }
}
