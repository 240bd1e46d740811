/// A moment: on the sample clock of a renderer, on the clock of the machine, or on both.
///
///     player.play(at: .now + .milliseconds(500))          // half a second from now
///     renderer.schedule(at: .sample(48_000)) { context in … }
///     let stamp = context.time                             // knows both
///
/// Where a time is asked for, ``immediately`` means "as soon as you can".
public struct RenderTime: Sendable, Hashable, BitwiseCopyable, CustomStringConvertible {
    /// What stands in a part that is not known.
    @usableFromInline static var unknown: Int64 { @_noLocks @_noAllocation get { .min } }

    @usableFromInline var sample: Int64
    @usableFromInline var host: Int64
    /// Nanoseconds that were added after the fact; a sample time cannot take them in before the sample rate is known.
    @usableFromInline var offset: Int64

    /// A moment of which both are known.
    @_noLocks @_noAllocation
    @inlinable public init(sampleTime: Int64, hostTime: Int64) {
        sample = sampleTime
        host = hostTime
        offset = 0
    }

    /// No particular time: as soon as possible.
    @inlinable public static var immediately: RenderTime {
        RenderTime(sampleTime: unknown, hostTime: unknown)
    }

    /// This moment on the clock of the machine.
    public static var now: RenderTime { .host(HostClock.now) }

    /// A frame of the renderer's sample clock, which starts at 0 and never wraps.
    @inlinable public static func sample(_ frame: Int64) -> RenderTime {
        RenderTime(sampleTime: frame, hostTime: unknown)
    }

    /// Nanoseconds of ``HostClock``.
    @inlinable public static func host(_ nanoseconds: Int64) -> RenderTime {
        RenderTime(sampleTime: unknown, hostTime: nanoseconds)
    }

    /// Whether this is ``immediately``.
    @inlinable public var isImmediate: Bool {
        @_noLocks @_noAllocation get { sample == RenderTime.unknown && host == RenderTime.unknown }
    }

    /// The frame on the renderer's clock, where it is known.
    public var sampleTime: Int64? {
        @_noLocks @_noAllocation get { sample == RenderTime.unknown || offset != 0 ? nil : sample }
    }

    /// Nanoseconds of ``HostClock``, where they are known.
    public var hostTime: Int64? {
        @_noLocks @_noAllocation get { host == RenderTime.unknown ? nil : host &+ offset }
    }

    /// The parts that are known.
    public var description: String {
        if isImmediate { return "immediately" }
        let sample = sampleTime.map { "frame \($0)" } ?? (sample == RenderTime.unknown ? nil : "frame \(sample)")
        let later = offset == 0 || host != RenderTime.unknown ? "" : " + \(Double(offset) * 1e-9) s"
        return [sample.map { $0 + later }, hostTime.map { "\(Double($0) * 1e-9) s of the host clock" }]
            .compactMap { $0 }.joined(separator: ", ")
    }

    /// A later (or, with a negative duration, earlier) moment. ``immediately`` plus a duration counts from now.
    public static func + (time: RenderTime, duration: Duration) -> RenderTime {
        var result = time.isImmediate ? .now : time
        let (seconds, attoseconds) = duration.components
        result.offset &+= seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
        return result
    }

    /// An earlier moment.
    public static func - (time: RenderTime, duration: Duration) -> RenderTime { time + (.zero - duration) }

    /// The frame, with what was added to it; `nil` where only the host time is known.
    @_noLocks @_noAllocation
    func sampleKey(_ rate: Double) -> Int64? {
        if sample == RenderTime.unknown { return nil }
        return offset == 0 ? sample : sample &+ RenderTime.nearest(Double(offset) * rate * 1e-9)
    }

    /// The nearest whole number; `rounded()` is a call that the compiler's checks refuse in debug builds.
    @_noLocks @_noAllocation
    static func nearest(_ number: Double) -> Int64 {
        let limited = number > 9e15 ? 9e15 : number < -9e15 ? -9e15 : number
        return Int64(limited + (limited < 0 ? -0.5 : 0.5))
    }

    /// The host time, with what was added to it.
    var hostKey: Int64 { @_noLocks @_noAllocation get { host &+ offset } }
}
