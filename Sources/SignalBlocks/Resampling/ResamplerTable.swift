internal import Synchronization

/// The filter of a ``Resampler``, or of a ``PitchFilter``, for one band limit, in pieces: a cubic polynomial for each
/// tap and each part of a frame.
///
/// A table is never written after it was made, and is shared by all that need the same.
final class ResamplerTable: Sendable {
    /// Input frames per output frame that it is made for: its band ends at half of the output's rate. At least 1.
    let design: Double
    /// The taps reach from `halfLength - 1` frames before a position to `halfLength` behind it.
    let halfLength: Int
    /// A frame is cut into 2 to the power of so many parts.
    let partBits: Int
    /// Part by part, eight taps by eight: eight coefficients of degree 0, eight of degree 1, 2 and 3.
    let coefficients: AlignedMemory<Float>

    /// Tables that are in use, by their design.
    private static let all = Lock<[Double: Weak]>([:])
    private struct Weak {
        weak var table: ResamplerTable?
    }

    /// Returns the table for a band limit. On the control side.
    static func table(for design: Double) -> ResamplerTable {
        all.withLock { all in
            if let table = all[design]?.table { return table }
            all = all.filter { $0.value.table != nil }
            let table = make(design)
            all[design] = Weak(table: table)
            return table
        }
    }

    /// Returns how far the filter for a band limit reaches: whole vectors of eight taps.
    static func halfLength(_ design: Double) -> Int {
        Int((Double(ResamplerPrototype.halfLength) * design / 4).rounded(.up)) * 4
    }

    private static func make(_ design: Double) -> ResamplerTable {
        // 32 parts where the filter is shortest: with cubic pieces the error is below -144 dB at 20 of 44.1 kHz, with 16
        // parts -132 dB. A longer filter changes more slowly.
        let bits = design < 2 ? 5 : design < 4 ? 4 : 3
        return unsafe ResamplerPrototype.gains.withUnsafeBufferPointer { gains in
            ResamplerTable(design: design, halfLength: halfLength(design), partBits: bits) { times in
                unsafe ResamplerPrototype.values(at: times / design, gains) / design
            }
        }
    }

    /// Creates a table for an even function of time.
    ///
    /// - Parameters:
    ///   - design: The input frames per output frame that it is made for.
    ///   - half: Its reach, a multiple of 4.
    ///   - bits: 2 to the power of so many parts, 1 or more.
    ///   - values: The function at four times, in input frames.
    init(
        design: Double, halfLength half: Int, partBits bits: Int, _ values: (SIMD4<Double>) -> SIMD4<Double>
    ) {
        self.design = design
        let parts = 1 << bits, taps = 2 * half
        coefficients = AlignedMemory(count: parts * taps * 4)
        (halfLength, partBits) = (half, bits)
        // The filter is even: the part at the same distance from the end of the frame, and the tap from the other end,
        // have the same polynomial backwards.
        for part in 0..<parts / 2 {
            for tap in 0..<taps {
                // The distance from a position in the middle of the part to the tap.
                let middle = (Double(part) + 0.5) / Double(parts) + Double(half - 1 - tap)
                let cubic = ResamplerTable.cubic(values(middle + ResamplerTable.nodes * (0.5 / Double(parts))))
                store(cubic, part, tap)
                store(cubic * SIMD4(1, -1, 1, -1), parts - 1 - part, taps - 1 - tap)
            }
        }
    }

    private func store(_ cubic: SIMD4<Double>, _ part: Int, _ tap: Int) {
        let place = (part * 2 * halfLength / 8 + tap / 8) * 32 + tap % 8
        for degree in 0..<4 { unsafe coefficients.base[place + degree * 8] = Float(cubic[degree]) }
    }

    /// The zeros of the fourth Chebyshev polynomial, sqrt(2 ± sqrt(2)) / 2: the cubic through a function's values there
    /// is nearly the one that errs least on -1…1.
    private static let nodes = SIMD4(outer, inner, -inner, -outer)
    private static let outer = 0.92387953251128676
    private static let inner = 0.38268343236508977

    /// Returns the coefficients of the cubic that has these values at the nodes.
    private static func cubic(_ values: SIMD4<Double>) -> SIMD4<Double> {
        let (a, b, c, d) = (values[0], values[1], values[2], values[3])
        // The series of Chebyshev polynomials of degree 0, 1, 2, 3.
        let t0 = (a + b + c + d) / 4
        let t1 = (outer * (a - d) + inner * (b - c)) / 2
        let t2 = 0.70710678118654752 * (a - b - c + d) / 2
        let t3 = (inner * (a - d) - outer * (b - c)) / 2
        return SIMD4(t0 - t2, t1 - 3 * t3, 2 * t2, 4 * t3)
    }
}

/// The tables that one ``Resampler`` needs: one where its ratio is fixed, else one for each sixth of an octave.
@safe struct ResamplerTables: ~Copyable, @unchecked Sendable {
    // Unchecked because no thread writes to a table, and each is held until this value goes.

    /// A table as the render thread sees it.
    @safe struct View {
        let coefficients: UnsafePointer<Float>
        let halfLength: Int
        let partBits: Int
        let keeper: Unmanaged<ResamplerTable>
    }

    /// The tables that filter a step: one, or two that are mixed.
    struct Place {
        let index: Int
        /// The share of the next table.
        let next: Float
    }

    private let views: UnsafeMutablePointer<View>
    /// The number of tables; 0 if there is nothing to filter.
    let count: Int
    /// The reach of the longest.
    let halfLength: Int
    /// The largest step that the first is made for.
    let firstDesign: Double

    /// Returns the band limits that a range of steps needs.
    static func designs(for steps: ClosedRange<Double>) -> [Double] {
        let first = max(1, steps.lowerBound), last = max(1, steps.upperBound)
        if steps == 1...1 { return [] }
        if last < first * 1.02 { return [last] }
        var designs = [first]
        while let design = designs.last, design < last {
            designs.append(first * RenderMath.exp2(Double(designs.count) / 6))
        }
        return designs
    }

    /// Tables for steps in a range.
    init(_ steps: ClosedRange<Double>) {
        let designs = ResamplerTables.designs(for: steps)
        count = designs.count
        firstDesign = designs.first ?? 1
        unsafe views = .allocate(capacity: max(1, count))
        var half = 0
        for (index, design) in designs.enumerated() {
            let table = ResamplerTable.table(for: design)
            half = max(half, table.halfLength)
            let view = unsafe View(
                coefficients: UnsafePointer(table.coefficients.base), halfLength: table.halfLength,
                partBits: table.partBits, keeper: .passRetained(table))
            unsafe (views + index).initialize(to: view)
        }
        halfLength = half
    }

    deinit {
        for index in 0..<count { unsafe views[index].keeper.release() }
        unsafe views.deallocate()
    }

    @_noLocks @_noAllocation
    func view(_ index: Int) -> View { unsafe views[index] }

    /// Returns the tables that filter a step. They change over gradually, so that a glide does not click.
    @_noLocks @_noAllocation
    func place(of step: Double) -> Place {
        if count < 2 || step <= firstDesign { return Place(index: 0, next: 0) }
        let sixths = 6 * RenderMath.log2(Float(step / firstDesign))
        let index = Int(sixths)
        return index < count &- 1 ? Place(index: index, next: sixths - Float(index)) : Place(index: count &- 1, next: 0)
    }
}
