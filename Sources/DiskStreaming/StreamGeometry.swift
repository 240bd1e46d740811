internal import AudioFiles

/// The frames of a file that a stream gives, and their rate: the arithmetic, exact, for every thread.
///
/// A *pass* is one time through the region; the first begins at `start`, the others at the region's beginning. Frames of
/// the stream count from 0 at the renderer's rate, and frame *n* is the file at the time *n* × `down` / `up`, counted in
/// frames of the file that were heard. A stream that plays at another tempo is one of a file with another rate.
package struct StreamGeometry: Sendable, Hashable, BitwiseCopyable {
    /// The region's first frame, and the one behind its last.
    package let lower, upper: Int64
    /// The first frame of the first pass.
    package let start: Int64
    /// The number of times that the region is heard; `.max` without end.
    package let passes: Int64
    /// The ratio of the renderer's rate to the file's, reduced.
    package let up, down: Int64
    /// Frames of the stream; `.max` if it never ends.
    package let end: Int64

    /// Creates the geometry of the frames `lower..<upper` of a file, from `start` on, `passes` times, at
    /// `tempo` times the speed.
    package init(
        lower: Int64, upper: Int64, start: Int64, passes: Int64, fileRate: Double, outputRate: Double,
        tempo: Double = 1
    ) {
        self.lower = max(0, lower)
        self.upper = max(self.lower, upper)
        let inside = max(self.lower, min(start, self.upper))
        // Nothing is left of a first pass that begins at the end: it begins again.
        self.start = inside == self.upper && passes > 1 ? self.lower : inside
        self.passes = self.upper == self.lower ? 1 : max(1, passes)
        // Thousandths of a hertz: sample rates need not be whole numbers. Whole ones if the product of the two would be too large.
        let parts: Double = outputRate * fileRate * tempo < 9e12 ? 1_000 : 1
        let (to, from) = (Int64((outputRate * parts).rounded()), Int64((fileRate * tempo * parts).rounded()))
        let common = StreamGeometry.commonDivisor(to, from)
        (up, down) = (to / common, from / common)
        let (rest, tooLong) = (self.upper - self.lower).multipliedReportingOverflow(by: self.passes - 1)
        let total = self.upper - self.start
        if self.passes == .max || tooLong || rest > 1 << 50 {
            end = .max
        } else {
            end = StreamGeometry.scaled(total + rest, by: up, over: down, roundedUp: true)
        }
    }

    /// Numbers that were a geometry before.
    @_noLocks @_noAllocation
    init(lower: Int64, upper: Int64, start: Int64, passes: Int64, up: Int64, down: Int64, end: Int64) {
        self.lower = lower
        self.upper = upper
        self.start = start
        self.passes = passes
        self.up = up
        self.down = down
        self.end = end
    }

    /// The geometry of no frames.
    package static var nothing: StreamGeometry {
        @_noLocks @_noAllocation get {
            StreamGeometry(lower: 0, upper: 0, start: 0, passes: 1, up: 1, down: 1, end: 0)
        }
    }

    /// Frames in a whole pass, in the file.
    package var length: Int64 { @_noLocks @_noAllocation get { upper &- lower } }
    /// Frames in the first pass, in the file.
    var firstLength: Int64 { @_noLocks @_noAllocation get { upper &- start } }
    /// Indicates whether the file has the renderer's rate.
    package var isAtRate: Bool { @_noLocks @_noAllocation get { up == down } }

    /// Returns the frames of the file that have been heard before a frame of the stream.
    @_noLocks @_noAllocation
    package func input(at frame: Int64) -> Int64 {
        StreamGeometry.scaled(frame, by: down, over: up, roundedUp: false)
    }

    /// Returns the number of passes that have ended at a frame or before: the frame itself is then in the next one.
    @_noLocks @_noAllocation
    package func passesEnded(at frame: Int64) -> Int64 {
        if frame < 0 || length == 0 { return 0 }
        let heard = input(at: frame)
        return heard < firstLength ? 0 : (heard &- firstLength) / length &+ 1
    }

    /// Returns the frame of the stream at which a pass, counted from 1, has ended; `.max` for never.
    @_noLocks @_noAllocation
    package func end(ofPass pass: Int64) -> Int64 {
        if pass >= passes || pass > (1 &<< 50) / (length > 0 ? length : 1) { return end }
        return StreamGeometry.scaled(firstLength &+ (pass &- 1) &* length, by: up, over: down, roundedUp: true)
    }

    /// Returns the frame of the file that is heard at a frame of the stream.
    @_noLocks @_noAllocation
    package func position(at frame: Int64) -> Int64 {
        let heard = input(at: frame > 0 ? frame : 0)
        if heard < firstLength || length == 0 { return heard < firstLength ? start &+ heard : upper }
        if passes != .max && (heard &- firstLength) / length >= passes &- 1 { return upper }
        return lower &+ (heard &- firstLength) % length
    }

    /// Returns the frame of this geometry that has the same place in the file as a frame of another one, as long as
    /// that place lies in the region; else the nearest one of the first pass. It is exact if a frame of both falls on
    /// one of the file.
    @_noLocks @_noAllocation
    package func frame(like frame: Int64, of other: StreamGeometry) -> Int64 {
        let frame = frame > 0 ? frame : 0
        let place = other.position(at: frame)
        var heard: Int64 = 0
        if place >= start && place < upper {
            heard = place &- start
        } else if passes > 1 && place >= lower && place < upper {
            heard = firstLength &+ (place &- lower)
        } else {
            // Behind the end a loop begins again; a file that is heard once is over.
            if place < upper || passes > 1 && start == lower { return 0 }
            return StreamGeometry.scaled(firstLength, by: up, over: down, roundedUp: true)
        }
        // The position between two frames of the file, in parts of one.
        let part = other.up == up ? frame % up &* other.down % up : 0
        let (whole, rest) = (heard / down, heard % down)
        return whole &* up &+ (rest &* up &+ part) / down
    }

    /// Returns whether the stream has a frame of the file; for a frame outside of the region, the nearest one inside.
    @_noLocks @_noAllocation
    package func includes(_ place: Int64) -> Bool { passes > 1 || start == lower || place >= start }

    /// Returns a frame of the file that lies on one of the stream, so many frames or a few more before one of the
    /// stream.
    package func place(before frame: Int64, by distance: Int64) -> Int64 {
        let earlier = max(0, frame - distance) / up
        let heard = earlier * down
        if heard < firstLength || length == 0 { return heard < firstLength ? start + heard : upper }
        return lower + (heard - firstLength) % length
    }

    /// Returns `number * factor / divisor`, without losing anything on the way.
    @_noLocks @_noAllocation
    static func scaled(_ number: Int64, by factor: Int64, over divisor: Int64, roundedUp: Bool) -> Int64 {
        if factor == divisor { return number }
        // Whole parts first: the products stay below that of the two rates in thousandths, for which there is room.
        let (whole, rest) = (number / divisor, number % divisor)
        let part = rest &* factor
        let (product, isOver) = whole.multipliedReportingOverflow(by: factor)
        // Later than any clock gets: there is room to add to it.
        if isOver || product > 1 &<< 62 { return 1 &<< 62 }
        return product &+ part / divisor &+ (roundedUp && part % divisor != 0 ? 1 : 0)
    }

    private static func commonDivisor(_ a: Int64, _ b: Int64) -> Int64 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return max(1, a)
    }
}
