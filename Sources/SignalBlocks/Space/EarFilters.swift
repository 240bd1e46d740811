internal import CKernels

/// The filters of both ears between measured directions, which go along in 128 frames as a ``Course`` does.
package struct EarFilters: ~Copyable, Sendable {
    /// Three pairs of filters, left and right, that were aimed at, with zeros behind.
    private var taps: SampleMemory
    /// For each ear the filter at the beginning of the block, that at its end, and the bend between them.
    private var course: SampleMemory
    /// The samples at each ear, behind those before.
    private var past: SampleMemory
    private var place = SphereMesh.Place(corners: SIMD4(repeating: -1), shares: SIMD4(repeating: 0))
    private var share: Float = -1
    /// The pairs of the block before, of this one and of the next; and the taps of each pair.
    private var (before, now, next) = (0, 0, 0)
    private var counts = SIMD4<Int32>(repeating: 0)
    private var version = 0
    /// The taps that the filters have, the longest of the three.
    private var used = 0
    private var isMoving = false
    /// Indicates for each ear whether the filters bend so much that it is heard where the next block begins.
    private var bends = SIMD2<Float>(repeating: 0)
    /// The share of each eight taps, and the taps that are wanted: they come and go in 8 blocks.
    private var window = SIMD32<Float>(repeating: 0)
    private var wanted = 0
    private var isOpening = false
    /// The samples before the present ones that are kept: as many as the filters need.
    private var kept = 0

    /// The sum of a bend's taps beneath which it is left out: where two blocks join, that changes a sample by less than 4e-7 in a frame.
    private static var leastBend: Float { @_noLocks @_noAllocation get { 2e-5 } }
    private static var longest: Int { @_noLocks @_noAllocation get { HeadTable.longest } }
    private static var row: Int { @_noLocks @_noAllocation get { HeadTable.longest + 2 * MovingLine.block } }

    /// Creates filters that have heard nothing. On the control side: it allocates.
    package init() {
        taps = SampleMemory(count: 6 * EarFilters.longest)
        course = SampleMemory(count: 6 * EarFilters.longest)
        past = SampleMemory(count: 2 * EarFilters.row)
    }

    /// Forgets the sound and the direction.
    @_noLocks @_noAllocation
    package mutating func reset() {
        for i in 0..<past.count { past[i] = 0 }
        share = -1
        isMoving = false
        (used, kept) = (0, 0)
    }

    /// Aims at the filters of a direction, at the beginning of a block.
    ///
    /// - Parameters:
    ///   - share: The share of that direction, 0…1; the rest is the front's.
    ///   - length: The taps, a multiple of 8.
    ///   - isBegun: `false` if nothing was heard before: there is nothing to fade from.
    @_noLocks @_noAllocation
    package mutating func aim(
        _ table: HeadTableBox.Reference, _ new: SphereMesh.Place, share: Float, taps length: Int, isBegun: Bool
    ) {
        if !isBegun { reset() }
        let hasOpened = wanted != length || isOpening || !isBegun
        let length = hasOpened ? open(to: length, atOnce: !isBegun) : Int(counts[next])
        let stays = !hasOpened && share == self.share && version == table.version && isAt(new)
        (before, now) = (now, next)
        if !stays {
            next = 0
            while next == before || next == now { next &+= 1 }
            write(table, new, share: share, length: length, hasOpened: hasOpened)
        }
        if !isBegun { (before, now) = (next, next) }
        isMoving = before != now || now != next
        used = Int(max(counts[before], max(counts[now], counts[next])))
        keep()
        if !isMoving { return }
        for ear in 0..<2 {
            let start = 3 &* ear &* EarFilters.longest
            bends[ear] = unsafe kernel_bend(
                filter(before, ear), filter(now, ear), filter(next, ear), course.base + start,
                course.base + start + EarFilters.longest, course.base + start + 2 &* EarFilters.longest, used)
        }
    }

    /// Writes the filters of a direction in the place of the next pair.
    @_noLocks @_noAllocation
    private mutating func write(
        _ table: HeadTableBox.Reference, _ new: SphereMesh.Place, share: Float, length: Int, hasOpened: Bool
    ) {
        let old = Int(counts[next])
        counts[next] = Int32(truncatingIfNeeded: length)
        (place, self.share, version) = (new, share, table.version)
        for ear in 0..<2 {
            let start = (2 &* next &+ ear) &* EarFilters.longest
            table.blend(new, ear: ear, taps: length, by: share, adds: false, into: &taps, at: start)
            if share < 1 {
                table.blend(
                    table.place(x: 0, y: 0, z: -1), ear: ear, taps: length, by: 1 - share, adds: true, into: &taps,
                    at: start)
            }
            if hasOpened {
                for tap in 0..<length { taps[start &+ tap] *= window[tap / 8] }
            }
            var tap = length
            while tap < old {
                taps[start &+ tap] = 0
                tap &+= 1
            }
        }
    }

    @_noLocks @_noAllocation
    @inline(__always) private func filter(_ pair: Int, _ ear: Int) -> UnsafeMutablePointer<Float> {
        unsafe taps.base + (2 &* pair &+ ear) &* EarFilters.longest
    }

    /// Opens or closes the window by a step, and returns the taps that are heard.
    @_noLocks @_noAllocation
    private mutating func open(to length: Int, atOnce: Bool) -> Int {
        wanted = length
        isOpening = false
        // In seven steps: a course begins half a block before the first and ends half a block after the last.
        let step: Float = atOnce ? 1 : 1 / 7
        var heard = 8
        for eight in 0..<32 {
            let rest = (8 &* eight < length ? 1 : 0) - window[eight]
            window[eight] += rest > step ? step : (rest < -step ? -step : rest)
            if abs(rest) > step { isOpening = true }
            if window[eight] > 0 { heard = 8 &* eight &+ 8 }
        }
        return heard
    }

    /// Keeps as many samples as the filters need: of those that were not kept, zeros.
    @_noLocks @_noAllocation
    private mutating func keep() {
        let (behind, wanted) = (EarFilters.longest &- 1, used &- 1)
        var sample = behind &- wanted
        while sample < behind &- kept {
            past[sample] = 0
            past[EarFilters.row &+ sample] = 0
            sample &+= 1
        }
        kept = wanted
    }

    @_noLocks @_noAllocation
    @inline(__always) private func isAt(_ new: SphereMesh.Place) -> Bool {
        place.corners.x == new.corners.x && place.corners.y == new.corners.y && place.corners.z == new.corners.z
            && place.shares.x == new.shares.x && place.shares.y == new.shares.y && place.shares.z == new.shares.z
    }

    /// Returns the filter to which an ear fades, or that it has. On the control side: it allocates.
    package func response(ear: Int) -> [Float] {
        (0..<Int(counts[next])).map { taps[(2 * next + ear) * EarFilters.longest + $0] }
    }

    /// Returns the place where the samples at an ear are to be written before they are filtered: at most 128.
    @_noLocks @_noAllocation
    @inline(__always) func entrance(ear: Int) -> UnsafeMutablePointer<Float> {
        precondition(ear >= 0 && ear < 2)
        return unsafe past.base + ear &* EarFilters.row + (EarFilters.longest &- 1)
    }

    /// Filters a part of a block, whose samples are in the ear's entrance.
    ///
    /// - Precondition: There are `count` samples, at most 128 less the phase; the output has room for 128.
    @_noLocks @_noAllocation
    mutating func filter(ear: Int, count: Int, phase: Int, into output: UnsafeMutablePointer<Float>) {
        precondition(count >= 0 && phase >= 0 && phase <= Course.frames &- count)
        let entrance = unsafe self.entrance(ear: ear)
        if used > 0 {
            let begin = unsafe course.base + 3 &* ear &* EarFilters.longest
            let end = unsafe isMoving ? begin + EarFilters.longest : filter(next, ear)
            unsafe kernel_fade_filters(
                entrance, isMoving ? begin : nil, end,
                bends[ear] > EarFilters.leastBend ? begin + 2 &* EarFilters.longest : nil, used,
                Int32(truncatingIfNeeded: phase), output, count)
        } else {
            unsafe output.copySamples(from: entrance, count: count)
        }
        unsafe kernel_slide(entrance - kept, count, kept)
    }
}
