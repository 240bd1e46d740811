/// A resampler's taps for places between input frames that come round again. Where a step stays and is a ratio of small whole
/// numbers, as 147 : 160 is, the same places recur, and taps that are kept need only be weighed: half of the time.
///
/// A step is given a try when it has stayed for some thousand frames, and left alone where its places do not recur. The taps
/// are the same numbers either way, so the sound has the same bits.
struct RecurringTaps: ~Copyable, Sendable {
    /// As many places as 44.1 and 48 kHz have between each other; evenly spread places all fit.
    private static var rowCount: UInt64 { @_noLocks @_noAllocation get { 160 } }
    /// Longer filters are not kept: it would be more memory than there is gain.
    private static var longestRow: Int { @_noLocks @_noAllocation get { 256 } }
    /// Frames for which a step has to stay.
    private static var trialBegin: Int { @_noLocks @_noAllocation get { 4_096 } }
    /// How many more places may be new than recur.
    private static var trialLength: Int { @_noLocks @_noAllocation get { 320 } }

    private let width: Int
    private let taps: AlignedMemory<Float>
    /// Whose taps a row has.
    private let places: AlignedMemory<UInt64>
    private var step = -1.0
    /// Frames since the step came, or since the last trial.
    private var stayed = 0
    private var credit = 0

    /// Rows of so many taps.
    init(width: Int) {
        self.width = width
        taps = AlignedMemory(count: width <= Self.longestRow ? Int(Self.rowCount) * width : 0)
        places = AlignedMemory(count: Int(Self.rowCount))
        for row in 0..<Int(Self.rowCount) { unsafe places.base[row] = .max }
    }

    /// Whether taps are kept and used at present.
    var areInUse: Bool { @_noLocks @_noAllocation get { credit > 0 } }

    /// So many frames of one step follow.
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

    /// The step moves.
    @_noLocks @_noAllocation
    mutating func leave() {
        step = -1
        credit = 0
    }

    /// The row for a place, and whether the taps in it are those of that place already; if not, they are to be written now.
    ///
    /// - Parameters:
    ///   - fraction: where between two input frames, 2^64 to one.
    ///   - place: the same as finely as taps tell places apart, and the table that they are from.
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
