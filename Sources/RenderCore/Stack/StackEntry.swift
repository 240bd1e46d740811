/// One position of the index stack: which memory, how many channels, when.
@safe @usableFromInline package struct StackEntry {
    /// The addresses of the channels: a table of the slot's, with a place for each channel that a buffer may have.
    @usableFromInline package var channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    /// The slot's own memory; `nil` if there is none (see ``silent``).
    @usableFromInline var home: UnsafeMutablePointer<Float>?
    /// ``channelCount`` (16 bits), ``kind`` (2), ``place`` (14) and ``path`` (32), so that a push is one store, and what is
    /// nearly always so is seen by one comparison.
    @usableFromInline package var shape: UInt64
    /// The range of the frames of external memory that may be read.
    var validFrom: Int32 = 0
    var validTo: Int32 = 0
    /// The time of its first frame: of the sample clock, and of the host's. Written and read together. With it an entry is
    /// a line of the processor's cache.
    @usableFromInline package var times = SIMD2<Int64>(0, 0)
    private var padding = SIMD2<Int64>(0, 0)

    /// Entries that stand in for buffers that are not there: three for views that are open at once, one for channels.
    static var sinkCount: Int { @_noLocks @_noAllocation get { 4 } }
    /// Entries besides the stack's, in which ``RenderContext/add(_:)`` keeps buffers that it has yet to add.
    @usableFromInline package static var spareCount: Int { @_noLocks @_noAllocation get { 2 } }

    @_noLocks @_noAllocation
    init(
        channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, home: UnsafeMutablePointer<Float>?, shape: UInt64
    ) {
        unsafe self.channels = channels
        unsafe self.home = home
        self.shape = shape
    }

    /// Returns a shape of that many channels.
    ///
    /// - Parameter place: The place, as in ``RenderContext/place``.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) static func shape(_ channels: Int, _ kind: UInt8, _ place: UInt64 = 0) -> UInt64 {
        UInt64(UInt16(truncatingIfNeeded: channels)) | UInt64(kind) << 16 | place
    }

    @inlinable package var channelCount: Int {
        @_noLocks @_noAllocation @inline(__always) get { Int(UInt16(truncatingIfNeeded: shape)) }
        @_noLocks @_noAllocation @inline(__always) set {
            shape = shape & ~0xFFFF | UInt64(UInt16(truncatingIfNeeded: newValue))
        }
    }

    @inlinable package var kind: UInt8 {
        @_noLocks @_noAllocation @inline(__always) get { UInt8(truncatingIfNeeded: shape &>> 16) & 3 }
        @_noLocks @_noAllocation @inline(__always) set { shape = shape & ~0x3_0000 | UInt64(newValue) << 16 }
    }

    /// The number of parts of a slice that the buffer was pushed inside of, at the bits where ``shape`` holds it.
    /// Outside of that part the buffer's frames have never been written.
    @inlinable package var place: UInt64 {
        @_noLocks @_noAllocation @inline(__always) get { shape & 0xFFFC_0000 }
        @_noLocks @_noAllocation @inline(__always) set { shape = shape & ~0xFFFC_0000 | newValue }
    }

    /// In a dry run, the origin of the buffer's sound, as a number in ``SignalPaths``; 0 for none.
    var path: Int32 {
        @_noLocks @_noAllocation get { Int32(truncatingIfNeeded: shape &>> 32) }
        @_noLocks @_noAllocation set { shape = shape & 0xFFFF_FFFF | UInt64(UInt32(bitPattern: newValue)) << 32 }
    }

    /// The number of channels and the kind of memory together, wherever the buffer was pushed: ``monoOwn``, say.
    @inlinable package var format: UInt64 { @_noLocks @_noAllocation @inline(__always) get { shape & 0x3_FFFF } }

    /// One and two channels of the slot's own memory.
    @inlinable package static var monoOwn: UInt64 { @_noLocks @_noAllocation @inline(__always) get { 1 } }
    @inlinable package static var stereoOwn: UInt64 { @_noLocks @_noAllocation @inline(__always) get { 2 } }

    /// The first channel of the slot's own memory.
    ///
    /// - Precondition: ``kind`` is ``own``.
    @inlinable package var first: UnsafeMutablePointer<Float> {
        @_noLocks @_noAllocation @inline(__always) get { unsafe home.unsafelyUnwrapped }
    }

    /// Exchanges the slot's own memory with that of another entry.
    ///
    /// - Precondition: ``kind`` of both is ``own``.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func exchangeMemory(with other: UnsafeMutablePointer<StackEntry>) {
        // Both addresses at once, because a later read of one of them waits for whatever was not written at once.
        unsafe withUnsafeMutableBytes(of: &self) { one in
            let two = UnsafeMutableRawPointer(other)
            let (mine, its) = unsafe (one.load(as: SIMD2<UInt>.self), two.load(as: SIMD2<UInt>.self))
            unsafe one.storeBytes(of: its, as: SIMD2<UInt>.self)
            unsafe two.storeBytes(of: mine, as: SIMD2<UInt>.self)
        }
    }

    // Kinds of memory behind an entry. They are bare numbers, because comparing enum cases is a call to the compiler's
    // checks.

    /// The slot's own.
    @usableFromInline package static var own: UInt8 { @_noLocks @_noAllocation get { 0 } }
    /// Memory of the caller's, which allowed edits in it.
    @usableFromInline static var external: UInt8 { @_noLocks @_noAllocation get { 1 } }
    /// Memory of the caller's, which is copied at the first edit.
    @usableFromInline package static var readOnly: UInt8 { @_noLocks @_noAllocation get { 2 } }
    /// No memory: the buffer was pushed when the stack was full. It reads as silence, and samples that are written to
    /// it are lost.
    @usableFromInline static var silent: UInt8 { @_noLocks @_noAllocation get { 3 } }
}
