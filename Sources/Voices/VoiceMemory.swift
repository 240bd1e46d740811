public import RenderCore

/// The delay lines and tables of eight voices, for `next(_:_:)`.
///
/// Threads: render.
@safe public struct VoiceMemory: ~Copyable {
    // It is made by a LaneEnsemble alone for the time of one call, and cannot be copied: what it points to outlives it.
    @usableFromInline let line: UnsafeMutablePointer<Float>?
    /// Frames of a line, a power of two; less 1.
    @usableFromInline let lineMask: Int32
    @usableFromInline let tables: UnsafePointer<Float>?
    @usableFromInline let tableCount: Int32
    /// Bits of the length of a table.
    @usableFromInline let tableBits: UInt32
    /// The frame, counted from some moment.
    @usableFromInline var now: Int32

    @inlinable init() {
        unsafe (line, tables) = (nil, nil)
        (lineMask, tableCount, tableBits, now) = (0, 0, 0, 0)
    }

    @inlinable @inline(__always)
    init(
        line: UnsafeMutablePointer<Float>?, lineMask: Int32, tables: UnsafePointer<Float>?, tableCount: Int32,
        tableBits: UInt32, now: Int32
    ) {
        unsafe self.line = line
        self.lineMask = lineMask
        unsafe self.tables = tables
        self.tableCount = tableCount
        self.tableBits = tableBits
        self.now = now
    }

    /// Returns the sample of a line, or 0 if it is older than the line.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    func old(_ frames: Int32, _ lane: Int) -> Float {
        guard let line = unsafe line else { return 0 }
        return unsafe line[Int((now &- frames) & lineMask) &* 8 &+ lane]
    }

    /// Returns a sample of a table; beyond its end, that at its beginning.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    func wave(_ table: Int32, _ place: UInt32) -> Float {
        guard let tables = unsafe tables, table >= 0 && table < tableCount else { return 0 }
        let inside = Int(place & ((1 &<< tableBits) &- 1))
        return unsafe tables[Int(table) &<< Int(tableBits) &+ inside]
    }
}

/// Eight delay lines: for strings, and for other voices whose sound comes back to them some milliseconds later.
///
///     let heard = line.read(1 / notes.turns, memory)                           // in `next(_:_:)`
///     line.write(pluck + 0.996 * heard, &memory)
///
/// The voice says in `lineFrames(at:)` how far they reach back. It has one line; call ``write(_:_:)`` once in each frame.
///
/// Threads: any.
public struct DelayLanes: BitwiseCopyable, Sendable {
    /// Frames since the note began: what is older belongs to another note.
    @usableFromInline var written = SIMD8<Int32>.zero

    /// Creates empty lines.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Returns the sound of that many frames ago, between two frames by a straight line.
    ///
    /// - Parameters:
    ///   - frames: The delays: 1 up to the reach of the line, and held to that.
    ///   - memory: The memory that `next` was given.
    ///
    /// Threads: render.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public func read(_ frames: Lanes, _ memory: borrowing VoiceMemory) -> Lanes {
        // The last 64 frames are left out, so that a chunk can be computed again.
        let longest = Swift.max(1, Float(memory.lineMask) - 66)
        let held = LaneMath.clamp(frames, .one, Lanes(repeating: longest))
        let whole = LaneMath.floor(held)
        let part = held - whole
        var (near, far) = (Lanes.zero, Lanes.zero)
        for lane in 0..<8 {
            let ago = Int32(whole[lane])
            if ago <= written[lane] { near[lane] = memory.old(ago, lane) }
            if ago < written[lane] { far[lane] = memory.old(ago &+ 1, lane) }
        }
        return near + part * (far - near)
    }

    /// Writes a frame, and goes on.
    ///
    /// - Parameters:
    ///   - sound: The samples that go into the lines.
    ///   - memory: The memory that `next` was given.
    ///
    /// Threads: render.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func write(_ sound: Lanes, _ memory: inout VoiceMemory) {
        if let line = unsafe memory.line {
            let place = Int(memory.now & memory.lineMask) &* 8
            for lane in 0..<8 { unsafe line[place &+ lane] = sound[lane] }
        }
        // It stops long before it would wrap.
        written = written.replacing(with: written &+ 1, where: written .< 0x1000_0000)
    }
}

/// Eight readers of tables of waves.
///
///     sound = tone.next(notes.step, table: 3 * notes[.colour], memory)         // in `next(_:_:)`
///
/// The voice makes the tables in `makeTables()`. Their harmonics fold back where they pass half the sample rate: make
/// several tables with fewer and fewer of them, and choose by the pitch.
///
/// Threads: any.
public struct WavetableLanes: BitwiseCopyable, Sendable {
    /// The phase of the next frame: 2³² to the turn.
    public var phase = PhaseLanes.zero

    /// Creates readers at the beginning of the tables.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// Returns a frame, and goes on. Between the samples of a table, and between two tables, it goes in a straight line.
    ///
    /// - Parameters:
    ///   - step: The way to the next frame, 2³² to the turn.
    ///   - table: The number of the table, from 0; 2.5 is half of the third and half of the fourth.
    ///   - memory: The memory that `next` was given.
    ///
    /// Threads: render.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ step: PhaseLanes, table: Lanes, _ memory: borrowing VoiceMemory) -> Lanes {
        let last = Float(Swift.max(0, memory.tableCount &- 1))
        let held = LaneMath.clamp(table, .zero, Lanes(repeating: last))
        let whole = LaneMath.floor(held)
        let bits = memory.tableBits
        let places = phase &>> PhaseLanes(repeating: 32 &- bits)
        let part = Lanes(SIMD8<Int32>(truncatingIfNeeded: (phase &<< PhaseLanes(repeating: bits)) &>> 8)) * 0x1p-24
        var (a, b, c, d) = (Lanes.zero, Lanes.zero, Lanes.zero, Lanes.zero)
        for lane in 0..<8 {
            let (first, place) = (Int32(whole[lane]), places[lane])
            let second = Swift.min(first &+ 1, memory.tableCount &- 1)
            (a[lane], b[lane]) = (memory.wave(first, place), memory.wave(first, place &+ 1))
            (c[lane], d[lane]) = (memory.wave(second, place), memory.wave(second, place &+ 1))
        }
        phase &+= step
        let (lower, upper) = (a + part * (b - a), c + part * (d - c))
        return lower + (held - whole) * (upper - lower)
    }
}
