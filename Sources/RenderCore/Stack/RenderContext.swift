public import Synchronization

/// The view that a render loop has of its cycle: the buffer stack, the time, the outputs.
///
/// A context exists only while a renderer calls the render loop. Only a renderer can make one, and it cannot be copied,
/// kept or sent away. So all that you reach through it is safe without a lock.
///
///     let renderer = try Renderer { context in
///         context.run(oscillator)      // pushes a buffer
///         context.run(filter)          // edits the top
///         context.output()             // adds the top to the output
///     }
///
/// **When something is missing.** No stack operation crashes. An operation that does not find what it needs (an empty
/// stack, a full one, a wrong index) counts as a ``/Exchange/Fault``, is reported with the name of the module, and leaves silence
/// in the place of its result.
///
/// Threads: render.
@safe public struct RenderContext: ~Copyable, ~Escapable {
    /// The memory that the context rarely needs, and that outlives the slice.
    @usableFromInline package let core: UnsafeMutablePointer<CycleMemory>
    @usableFromInline package let entries: UnsafeMutablePointer<StackEntry>
    /// The number of entries, with and without a slot.
    @usableFromInline package let entryCount: Int
    @usableFromInline package let channelLimit: Int

    /// The number of buffers on the stack, with those that the running module cannot reach.
    @usableFromInline package var depth = 0
    /// The number of buffers at the bottom of the stack that the running module cannot reach.
    @usableFromInline package var floor = 0
    /// The frame of its buffers at which this context begins; not 0 inside ``subBlock(offset:length:_:)`` only.
    @usableFromInline package var offset = 0
    /// The number of ``subBlock(offset:length:_:)`` that this is inside of, as it stands in the shape of an entry: 0 is
    /// none.
    @usableFromInline package var place: UInt64 = 0
    /// The module that is expected to run next.
    @usableFromInline package var cursor: UnsafeMutablePointer<ModuleRecord>
    @usableFromInline package var mode: Mode

    /// The number of frames to render now: at least 1, at most the layout's, and different from call to call.
    public internal(set) var frameCount: Int
    /// ``sampleRate``, as parameters compare it.
    @usableFromInline let rateBits: UInt64
    /// The first frame of this slice on the renderer's own clock, which starts at 0 and never wraps.
    @inlinable public internal(set) var sampleTime: Int64 {
        @_noLocks @_noAllocation get { times[0] }
        @_noLocks @_noAllocation set { times[0] = newValue }
    }
    /// The time at which the first frame of this slice is due, in nanoseconds of ``/Exchange/HostClock``.
    @inlinable public internal(set) var hostTime: Int64 {
        @_noLocks @_noAllocation get { times[1] }
        @_noLocks @_noAllocation set { times[1] = newValue }
    }
    /// ``sampleTime`` and ``hostTime``, which each push writes to the buffer.
    @usableFromInline var times: SIMD2<Int64>

    @_lifetime(immortal)
    @_noLocks @_noAllocation
    init(
        _ core: UnsafeMutablePointer<CycleMemory>, mode: Mode, frames: Int, sampleTime: Int64, hostTime: Int64
    ) {
        unsafe self.core = core
        unsafe entries = core.pointee.entries
        entryCount = unsafe core.pointee.entryCount
        channelLimit = unsafe core.pointee.channelLimit
        unsafe cursor = core.pointee.records
        self.mode = mode
        unsafe CycleMemory.setSlow(mode.slowsModules, in: core)
        frameCount = frames
        rateBits = unsafe core.pointee.sampleRate.bitPattern
        times = SIMD2(sampleTime, hostTime)
    }

    /// The token of the owner that may touch a ``RenderState`` now: the running module's, else the renderer's own.
    @usableFromInline package var owner: UInt {
        @_noLocks @_noAllocation @inlinable get {
            unsafe core.pointee.current.pointee.token.load(ordering: .relaxed)
        }
    }

    /// Frames per second.
    @inlinable public var sampleRate: Double {
        @_noLocks @_noAllocation get { Double(bitPattern: rateBits) }
    }

    /// The time at which the first frame of this slice is due, on both clocks.
    public var time: RenderTime {
        @_noLocks @_noAllocation get { RenderTime(sampleTime: sampleTime, hostTime: hostTime) }
    }

    /// The number of buffers that the render loop (or the running module) finds on the stack.
    @inlinable public var bufferCount: Int {
        @_noLocks @_noAllocation get { depth &- floor }
    }

    /// Indicates whether this is a dry run, which only finds the render loop's modules. Modules do not process then,
    /// and nothing is heard.
    @inlinable public var isDryRun: Bool {
        @_noLocks @_noAllocation get { mode.has(.dry) }
    }

    /// Indicates whether the sound is rendered to memory or a file, as fast as the machine can, and no device waits for
    /// it.
    @inlinable public var isOffline: Bool {
        @_noLocks @_noAllocation get { mode.has(.offline) }
    }

    /// The conditions of a slice that are out of the ordinary. Zero on the fast path.
    @usableFromInline package struct Mode: Sendable {
        @usableFromInline var bits: UInt8
        @_noLocks @_noAllocation @inlinable init(bits: UInt8) { self.bits = bits }

        @usableFromInline package enum Bit: UInt8 {
            case dry = 1
            case offline = 2
            /// The context searches every module's buffers for samples that are not finite.
            case inspecting = 4
            /// The context measures the time of modules: see ``CycleMemory/beginTiming(_:)``.
            case timing = 8
        }
        @_noLocks @_noAllocation
        @inlinable package func has(_ bit: Bit) -> Bool { bits & bit.rawValue != 0 }
        @_noLocks @_noAllocation
        mutating func add(_ bit: Bit) { bits |= bit.rawValue }
        @_noLocks @_noAllocation
        mutating func remove(_ bit: Bit) { bits &= ~bit.rawValue }
        static var plain: Mode { @_noLocks @_noAllocation get { Mode(bits: 0) } }
        static var dry: Mode { Mode(bits: Bit.dry.rawValue) }
        static var offline: Mode { Mode(bits: Bit.offline.rawValue) }
        /// Indicates whether `context.run` has more to do than to call the module.
        @inlinable var slowsModules: Bool {
            @_noLocks @_noAllocation get { bits & ~2 != 0 }
        }
    }

    /// Brings the context back to its state at the start of the slice.
    @_noLocks @_noAllocation
    mutating func cleanUp() {
        depth = 0
        floor = 0
        offset = 0
        place = 0
        unsafe cursor = core.pointee.records
        unsafe CycleMemory.forgetModules(core)
    }
}
