/// Which frames of a file a stream gives, at which rate: the arithmetic, exact, for every thread.
///
/// A *pass* is one time through the region; the first begins at `start`, the others at the region's beginning. Frames of
/// the stream count from 0 at the renderer's rate, and frame *n* is the file at the time *n* × `down` / `up`, counted in
/// frames of the file that were heard.
package struct StreamGeometry: Sendable, Hashable, BitwiseCopyable {
    /// The region's first frame, and the one behind its last.
    package let lower, upper: Int64
    /// The first frame of the first pass.
    package let start: Int64
    /// How often the region is heard; `.max` for ever.
    package let passes: Int64
    /// The ratio of the renderer's rate to the file's, reduced.
    package let up, down: Int64
    /// Frames of the stream; `.max` where it never ends.
    package let end: Int64

    /// The frames `lower..<upper` of a file, from `start` on, `passes` times.
    package init(
        lower: Int64, upper: Int64, start: Int64, passes: Int64, fileRate: Double, outputRate: Double
    ) {
        self.lower = max(0, lower)
        self.upper = max(self.lower, upper)
        let inside = max(self.lower, min(start, self.upper))
        // Nothing is left of a first pass that begins at the end: it begins again.
        self.start = inside == self.upper && passes > 1 ? self.lower : inside
        self.passes = self.upper == self.lower ? 1 : max(1, passes)
        // Thousandths of a hertz: sample rates need not be whole numbers.
        let (to, from) = (Int64((outputRate * 1000).rounded()), Int64((fileRate * 1000).rounded()))
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

    /// Frames in a whole pass, in the file.
    package var length: Int64 { @_noLocks @_noAllocation get { upper &- lower } }
    /// Frames in the first pass, in the file.
    var firstLength: Int64 { @_noLocks @_noAllocation get { upper &- start } }
    /// Whether the file has the renderer's rate.
    package var isAtRate: Bool { @_noLocks @_noAllocation get { up == down } }

    /// The frames of the file that have been heard before a frame of the stream.
    @_noLocks @_noAllocation
    package func input(at frame: Int64) -> Int64 {
        StreamGeometry.scaled(frame, by: down, over: up, roundedUp: false)
    }

    /// How many passes have ended at a frame or before: the frame itself is then in the next one.
    @_noLocks @_noAllocation
    package func passesEnded(at frame: Int64) -> Int64 {
        if frame < 0 || length == 0 { return 0 }
        let heard = input(at: frame)
        return heard < firstLength ? 0 : (heard &- firstLength) / length &+ 1
    }

    /// The frame of the stream at which a pass, counted from 1, has ended; `.max` where that is never.
    @_noLocks @_noAllocation
    package func end(ofPass pass: Int64) -> Int64 {
        if pass >= passes || pass > (1 &<< 50) / (length > 0 ? length : 1) { return end }
        return StreamGeometry.scaled(firstLength &+ (pass &- 1) &* length, by: up, over: down, roundedUp: true)
    }

    /// The frame of the file that is heard at a frame of the stream.
    @_noLocks @_noAllocation
    package func position(at frame: Int64) -> Int64 {
        let heard = input(at: frame > 0 ? frame : 0)
        if heard < firstLength || length == 0 { return heard < firstLength ? start &+ heard : upper }
        if passes != .max && (heard &- firstLength) / length >= passes &- 1 { return upper }
        return lower &+ (heard &- firstLength) % length
    }

    /// `number * factor / divisor`, without losing anything on the way.
    @_noLocks @_noAllocation
    static func scaled(_ number: Int64, by factor: Int64, over divisor: Int64, roundedUp: Bool) -> Int64 {
        if factor == divisor { return number }
        // Whole parts first: the products stay below the square of a rate in thousandths.
        let (whole, rest) = (number / divisor, number % divisor)
        let part = rest &* factor
        return whole &* factor &+ part / divisor &+ (roundedUp && part % divisor != 0 ? 1 : 0)
    }

    private static func commonDivisor(_ a: Int64, _ b: Int64) -> Int64 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return max(1, a)
    }
}
