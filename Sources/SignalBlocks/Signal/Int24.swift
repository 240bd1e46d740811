/// An integer of 24 bits in three bytes, the lowest first: as cards and WAV files have it.
///
/// Threads: any.
public struct Int24: BitwiseCopyable, Sendable, Hashable {
    private let low: UInt8
    private let middle: UInt8
    private let high: UInt8

    /// Creates an integer; one beyond -8,388,608…8,388,607 becomes the nearest of them.
    @_noLocks @_noAllocation
    public init(_ value: Int32) {
        let value = Swift.max(-0x80_0000, Swift.min(0x7F_FFFF, value))
        low = UInt8(truncatingIfNeeded: value)
        middle = UInt8(truncatingIfNeeded: value &>> 8)
        high = UInt8(truncatingIfNeeded: value &>> 16)
    }

    /// The integer: -8,388,608…8,388,607.
    public var value: Int32 {
        @_noLocks @_noAllocation get {
            Int32(bitPattern: UInt32(low) &<< 8 | UInt32(middle) &<< 16 | UInt32(high) &<< 24) &>> 8
        }
    }
}
