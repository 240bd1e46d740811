public import Synchronization

/// A pipe for audio between two threads: one writes, one reads, neither ever waits, and every block keeps its time.
///
/// Either side may be a render thread. Blocks need not be read in the sizes in which they were written: a block read in
/// part goes on with its time moved by as many frames. The ring is a value that is not copied; two threads share it as
/// a `let` of a class (a module), as here, where a tap hands the sound that it hears to the rest of the program:
///
///     // on the render thread
///     var grant = ring.reserve(frames: context.frameCount, time: context.time)
///     ring.write(samples, channel: 0, to: &grant)
///     ring.commit(grant)
///
///     // anywhere else
///     let chunk = ring.read(into: &block)         // chunk.frameCount frames, heard at chunk.time
///
/// **One thread on each side.** Two producers at a time (or two consumers) corrupt nothing: the call that comes second
/// is refused, does nothing and counts in ``faultCount``.
///
/// The ring refuses a block that does not fit as a whole, and counts it in ``overflowCount``.
///
/// - Complexity: A write or read costs its copy and a few atomic operations; nothing loops on another thread. Reading
///   also passes over the stamps of the blocks read, fewer than ``capacity`` / 16 + 16.
///
/// Threads: any.
public struct AudioRing: ~Copyable, Sendable {
    /// The number of frames that can be waiting in the ring.
    public let capacity: Int
    /// The number of channels that a frame has, 1 to 64.
    public let channelCount: Int
    /// Frames per second, which move the host time of a block that is read in part.
    public var sampleRate: Double {
        @_noLocks @_noAllocation get { Double(bitPattern: rateBits.load(ordering: .relaxed)) }
    }

    private let rateBits: Atomic<UInt64>
    package var nanosecondsPerFrame: Double { @_noLocks @_noAllocation get { 1e9 / sampleRate } }
    package let memory: ChannelMemory
    @usableFromInline package let stamps: StampTable
    package let producer = RingSide()
    @usableFromInline package let consumer = RingSide()
    /// The last stamp, as the producer needs it to see whether a block goes on where the one before ended.
    let lastStamp = LastStamp()
    private let overflows = Atomic<Int>(0)
    private let faults = Atomic<Int>(0)

    /// Creates an empty ring for `frames` frames.
    ///
    /// A sample rate outside of 1 Hz to 1 GHz becomes the nearest one, with a notice on standard error, here and below.
    ///
    /// - Precondition: At least one frame, 1 to 64 channels.
    ///
    /// Threads: control.
    public init(frames: Int, channels: Int, sampleRate: Double) {
        self.init(frames: frames, channels: channels, sampleRate: sampleRate, blocks: frames / 16 + 16)
    }

    /// Creates an empty ring for a producer whose blocks go on in time, but for that many of those that wait.
    package init(frames: Int, channels: Int, sampleRate: Double, blocks: Int) {
        demand(frames >= 1 && frames <= 1 << 40, "AudioRing holds 1 to 1,099,511,627,776 frames, not \(frames)")
        demand(channels >= 1 && channels <= 64, "AudioRing has 1 to 64 channels, not \(channels)")
        capacity = frames
        channelCount = channels
        rateBits = Atomic(AudioRing.nearest(sampleRate).bitPattern)
        memory = ChannelMemory(count: channels, frames: frames)
        stamps = StampTable(count: blocks)
    }

    /// Creates an empty ring for that many seconds of audio, rounded up to a frame.
    ///
    /// Threads: control.
    public init(seconds: Double, channels: Int, sampleRate: Double) {
        let frames = (seconds * AudioRing.nearest(sampleRate)).rounded(.up)
        demand(
            frames >= 1 && frames < 1e12,
            "AudioRing cannot hold \(seconds) s at \(sampleRate) Hz: give it more than 0 s, and less than fills the memory"
        )
        self.init(frames: Int(frames), channels: channels, sampleRate: sampleRate)
    }

    /// Sets another rate, for blocks that are written from now on. Blocks that wait keep the time of their first frame.
    ///
    /// - Parameter rate: Frames per second, from 1 Hz to 1 GHz.
    ///
    /// Threads: control.
    public func setSampleRate(_ rate: Double) {
        rateBits.store(AudioRing.nearest(rate).bitPattern, ordering: .relaxed)
    }

    private static func nearest(_ rate: Double) -> Double {
        SignalBlocks.nearest(
            to: rate, in: 1...1e9, insteadOfNaN: 48_000,
            "AudioRing: a sample rate of \(rate) Hz; it must be from 1 Hz to 1 GHz")
    }

    /// The number of writes that were refused because the ring, or its table of time stamps, was full.
    public var overflowCount: Int {
        @_noLocks @_noAllocation get { overflows.load(ordering: .relaxed) }
    }

    /// The number of calls that were refused because another thread was on the same side, or a grant or chunk was out
    /// of date.
    public var faultCount: Int {
        @_noLocks @_noAllocation get { faults.load(ordering: .relaxed) }
    }

    /// The number of frames that wait to be read. The consumer can rely on it: it only grows until it reads.
    public var availableFrames: Int {
        @_noLocks @_noAllocation get {
            // The consumer's position first: asked from a third thread, the answer is then never negative.
            let read = consumer.position.load(ordering: .acquiring)
            let waiting = producer.position.load(ordering: .acquiring) &- read
            return waiting < capacity ? waiting : capacity
        }
    }

    /// The number of frames that can be written. The producer can rely on it: it only grows until it writes.
    public var freeFrames: Int {
        @_noLocks @_noAllocation get { capacity &- availableFrames }
    }

    @_noLocks @_noAllocation
    func countOverflow() { overflows.wrappingAdd(1, ordering: .relaxed) }

    @_noLocks @_noAllocation
    package func countFault() { faults.wrappingAdd(1, ordering: .relaxed) }

    /// Takes a side for one call. Not a lock: where it is taken, the call gives up.
    @_noLocks @_noAllocation
    package func enter(_ side: borrowing RingSide) -> Bool {
        if !side.busy.exchange(true, ordering: .acquiring) { return true }
        countFault()
        return false
    }

    @_noLocks @_noAllocation
    package func leave(_ side: borrowing RingSide) {
        side.busy.store(false, ordering: .releasing)
    }

    /// Returns a stamp, moved to a later frame: counted from the block's start each time, so that errors do not add up.
    @_noLocks @_noAllocation
    package func advance(_ stamp: RingStamp, to position: Int) -> RingStamp {
        let frames = position &- stamp.position
        var moved = stamp
        moved.position = position
        if stamp.sample != RenderTime.unknown { moved.sample &+= Int64(frames) }
        if stamp.host != RenderTime.unknown { moved.host &+= RenderTime.nearest(Double(frames) * nanosecondsPerFrame) }
        return moved
    }
}

/// The counters that one side of a ring owns. Positions count frames since the ring was made; they never wrap.
@usableFromInline package struct RingSide: ~Copyable, Sendable {
    /// The producer's: frames written. The consumer's: frames read.
    @usableFromInline package let position = Atomic<Int>(0)
    /// The producer's: stamps written. The consumer's: the stamp that holds for its position.
    package let stamp = Atomic<Int>(0)
    let busy = Atomic<Bool>(false)
    /// The consumer's place in the ring's memory: what is left of its position by the capacity.
    @usableFromInline package let place = Atomic<Int>(0)
    /// Keeps the two sides on cache lines (and pairs of them) of their own.
    private let padding = InlineArray<12, Int>(repeating: 0)
}

/// The time of a frame: it holds from there on until the next stamp.
@usableFromInline package struct RingStamp: BitwiseCopyable, Sendable {
    package var position: Int
    package var sample: Int64
    package var host: Int64

    @_noLocks @_noAllocation
    init(position: Int, sample: Int64, host: Int64) {
        self.position = position
        self.sample = sample
        self.host = host
    }

    /// No frame, and no time.
    package static var none: RingStamp {
        @_noLocks @_noAllocation get {
            RingStamp(position: 0, sample: RenderTime.unknown, host: RenderTime.unknown)
        }
    }
}

/// The ring's stamps. A stamp is written before the position that publishes it, and read only while it is published.
@usableFromInline
@safe package struct StampTable: ~Copyable, Sendable {
    @usableFromInline let count: Int
    /// `count` less 1 if that is a power of two, so that no stamp takes a division; else 0.
    @usableFromInline let mask: Int
    @usableFromInline let memory: AlignedMemory<RingStamp>

    init(count: Int) {
        self.count = count
        mask = count & (count - 1) == 0 ? count - 1 : 0
        memory = AlignedMemory(count: count)
    }

    @_noLocks @_noAllocation
    @inlinable @inline(__always) func index(_ number: Int) -> Int { mask > 0 ? number & mask : number % count }

    @inlinable package subscript(_ number: Int) -> RingStamp {
        @_noLocks @_noAllocation get { unsafe memory.base[index(number)] }
    }

    @_noLocks @_noAllocation
    func set(_ number: Int, _ stamp: RingStamp) {
        unsafe memory.base[index(number)] = stamp
    }
}

/// The producer's copy of the last stamp. Only a producer that has its side touches it, so relaxed is enough.
struct LastStamp: ~Copyable, Sendable {
    private let position = Atomic<Int>(0)
    private let sample = Atomic<Int64>(0)
    private let host = Atomic<Int64>(0)

    @_noLocks @_noAllocation
    func load() -> RingStamp {
        RingStamp(
            position: position.load(ordering: .relaxed), sample: sample.load(ordering: .relaxed),
            host: host.load(ordering: .relaxed))
    }

    @_noLocks @_noAllocation
    func store(_ stamp: RingStamp) {
        position.store(stamp.position, ordering: .relaxed)
        sample.store(stamp.sample, ordering: .relaxed)
        host.store(stamp.host, ordering: .relaxed)
    }
}
