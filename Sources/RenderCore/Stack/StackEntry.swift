/// One position of the index stack: which memory, how many channels, when.
@safe @usableFromInline struct StackEntry {
    /// Where the channels are: a table of the slot's, with a place for each channel that a buffer may have.
    @usableFromInline var channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    /// The slot's own memory; `nil` where there is none (see ``silent``).
    @usableFromInline var home: UnsafeMutablePointer<Float>?
    /// How many channels, and above that what the memory is: what is nearly always so, ``monoOwn`` or ``stereoOwn``, is seen
    /// by one comparison.
    @usableFromInline var shape: UInt64
    /// Which frames of external memory may be read.
    var validFrom: Int32 = 0
    var validTo: Int32 = 0
    /// How deep inside of parts of a slice it was pushed: outside of that part its samples are nobody's.
    @usableFromInline var level: Int32 = 0
    /// In a dry run: where what is in it comes from, as a number in ``SignalPaths``; 0 is nowhere.
    @usableFromInline var path: Int32 = 0
    @usableFromInline var sampleTime: Int64
    @usableFromInline var hostTime: Int64
    /// A line of the processor's cache each.
    private var padding: Int64 = 0

    /// Takes the time of another. (Compared first: read as a pair just after they were written one by one, the processor
    /// would wait for them.)
    @_noLocks @_noAllocation
    @inlinable @inline(__always) mutating func takeTime(of other: UnsafeMutablePointer<StackEntry>) {
        let (sample, host) = unsafe (other.pointee.sampleTime, other.pointee.hostTime)
        if sample != sampleTime { sampleTime = sample }
        if host != hostTime { hostTime = host }
    }

    /// Entries that stand in for buffers that are not there: three for views that are open at once, one for channels.
    static var sinkCount: Int { @_noLocks @_noAllocation get { 4 } }

    @_noLocks @_noAllocation
    init(
        channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, home: UnsafeMutablePointer<Float>?, shape: UInt64
    ) {
        unsafe self.channels = channels
        unsafe self.home = home
        self.shape = shape
        sampleTime = 0
        hostTime = 0
    }

    /// A shape of so many channels.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) static func shape(_ channels: Int, _ kind: UInt8) -> UInt64 {
        UInt64(kind) << 32 | UInt64(UInt32(truncatingIfNeeded: channels))
    }

    @inlinable var channelCount: Int {
        @_noLocks @_noAllocation @inline(__always) get { Int(UInt32(truncatingIfNeeded: shape)) }
        @_noLocks @_noAllocation @inline(__always) set { shape = StackEntry.shape(newValue, kind) }
    }

    @inlinable var kind: UInt8 {
        @_noLocks @_noAllocation @inline(__always) get { UInt8(truncatingIfNeeded: shape &>> 32) }
        @_noLocks @_noAllocation @inline(__always) set { shape = StackEntry.shape(channelCount, newValue) }
    }

    /// One and two channels of the slot's own memory.
    @inlinable static var monoOwn: UInt64 { @_noLocks @_noAllocation @inline(__always) get { 1 } }
    @inlinable static var stereoOwn: UInt64 { @_noLocks @_noAllocation @inline(__always) get { 2 } }

    // What the memory behind an entry is. Bare numbers, because comparing enum cases is a call to the compiler's checks.

    /// The slot's own.
    @usableFromInline static var own: UInt8 { @_noLocks @_noAllocation get { 0 } }
    /// Somebody else's, and the caller said that it may be edited.
    @usableFromInline static var external: UInt8 { @_noLocks @_noAllocation get { 1 } }
    /// Somebody else's, to be copied at the first edit.
    @usableFromInline static var readOnly: UInt8 { @_noLocks @_noAllocation get { 2 } }
    /// None: pushed when the stack was full. It reads as silence, and what is written to it is lost.
    @usableFromInline static var silent: UInt8 { @_noLocks @_noAllocation get { 3 } }
}
