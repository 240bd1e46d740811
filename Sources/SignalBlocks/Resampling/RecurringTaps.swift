/// A resampler's taps for places between input frames that come round again. If a step stays and is a ratio of small
/// whole numbers, as 147 : 160 is, the same places recur. Then the taps are kept and need only be weighed, which takes
/// half of the time.
///
/// A step is given a try when it has stayed for some thousand frames, and left alone if its places do not recur. The
/// taps are the same numbers either way, so the sound has the same bits.
struct RecurringTaps: ~Copyable, Sendable {
    /// The number of places that 44.1 and 48 kHz have between each other; evenly spread places all fit.
    private static var rowCount: UInt64 { @_noLocks @_noAllocation get { 160 } }
    /// Longer filters are not kept: it would be more memory than there is gain.
    private static var longestRow: Int { @_noLocks @_noAllocation get { 256 } }
    /// Frames for which a step has to stay.
    private static var trialBegin: Int { @_noLocks @_noAllocation get { 4_096 } }
    /// The trial ends when this many more places are new than recur.
    private static var trialLength: Int { @_noLocks @_noAllocation get { 320 } }

    private let width: Int
    private let taps: AlignedMemory<Float>
    /// The place to which the taps of each row belong.
    private let places: AlignedMemory<UInt64>
    private var step = -1.0
    /// Frames since the step came, or since the last trial.
    private var stayed = 0
    private var credit = 0

    /// Makes rows of `width` taps.
    init(width: Int) {
        self.width = width
        taps = AlignedMemory(count: width <= Self.longestRow ? Int(Self.rowCount) * width : 0)
        places = AlignedMemory(count: Int(Self.rowCount))
        for row in 0..<Int(Self.rowCount) { unsafe places.base[row] = .max }
    }

    /// Indicates whether taps are kept and used at present.
    var areInUse: Bool { @_noLocks @_noAllocation get { credit > 0 } }

    /// Notes that so many frames of one step follow.
    @_noLocks @_noAllocation
    mutating func stay(at step: Double, frames: Int) {
        if width > Self.longestRow || credit > 0 && step == self.step { return }
        if step != self.step {
            self.step = step
            stayed = 0
            credit = 0
        }
        stayed &+= frames
        if stayed < Self.trialBegin { return }
        stayed = 0
        credit = Self.trialLength
    }

    /// Notes that the step moves.
    @_noLocks @_noAllocation
    mutating func leave() {
        step = -1
        credit = 0
    }

    /// Returns the row for a place, and whether its taps are those of that place already; if not, the caller writes
    /// them now.
    ///
    /// - Parameters:
    ///   - fraction: The place between two input frames, 2^64 to one.
    ///   - place: The place, as finely as taps tell places apart, and the table that they are from.
    @_noLocks @_noAllocation
    mutating func row(at fraction: UInt64, place: UInt64) -> (taps: UnsafeMutablePointer<Float>, areThere: Bool) {
        let number = Int(truncatingIfNeeded: ((fraction &>> 32) &* Self.rowCount) &>> 32)
        let areThere = unsafe places.base[number] == place
        if areThere {
            if credit < Self.trialLength { credit &+= 1 }
        } else {
            credit &-= 1
            unsafe places.base[number] = place
        }
        return unsafe (taps.base + number &* width, areThere)
    }
}
