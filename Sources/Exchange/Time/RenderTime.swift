/// A moment: on the sample clock of a renderer, on the clock of the machine, or on both.
///
///     player.play(at: .now + .milliseconds(500))          // half a second from now
///     renderer.schedule(at: .sample(48_000)) { context in … }
///     let stamp = context.time                             // knows both
///
/// As an argument ``immediately`` means "as soon as you can".
///
/// Threads: any.
public struct RenderTime: Sendable, Hashable, BitwiseCopyable, CustomStringConvertible {
    /// The number that stands in a part that is not known.
    @usableFromInline package static var unknown: Int64 { @_noLocks @_noAllocation get { .min } }

    @usableFromInline package var sample: Int64
    @usableFromInline package var host: Int64
    /// Nanoseconds that were added after the fact; a sample time cannot take them in before the sample rate is known.
    @usableFromInline package var offset: Int64

    /// Creates a moment with both times.
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

    /// Returns a frame of the renderer's sample clock, which starts at 0 and never wraps.
    @inlinable public static func sample(_ frame: Int64) -> RenderTime {
        RenderTime(sampleTime: frame, hostTime: unknown)
    }

    /// Returns a moment in nanoseconds of ``HostClock``.
    @inlinable public static func host(_ nanoseconds: Int64) -> RenderTime {
        RenderTime(sampleTime: unknown, hostTime: nanoseconds)
    }

    /// Indicates whether this is ``immediately``.
    @inlinable public var isImmediate: Bool {
        @_noLocks @_noAllocation get { sample == RenderTime.unknown && host == RenderTime.unknown }
    }

    /// The frame on the renderer's clock; `nil` if it is not known.
    public var sampleTime: Int64? {
        @_noLocks @_noAllocation get { sample == RenderTime.unknown || offset != 0 ? nil : sample }
    }

    /// The time in nanoseconds of ``HostClock``; `nil` if it is not known.
    public var hostTime: Int64? {
        @_noLocks @_noAllocation get { host == RenderTime.unknown ? nil : hostKey }
    }

    /// A text with the parts that are known.
    ///
    /// Threads: control.
    public var description: String {
        if isImmediate { return "immediately" }
        let sample = sampleTime.map { "frame \($0)" } ?? (sample == RenderTime.unknown ? nil : "frame \(sample)")
        let later = offset == 0 || host != RenderTime.unknown ? "" : " + \(Double(offset) * 1e-9) s"
        return [sample.map { $0 + later }, hostTime.map { "\(Double($0) * 1e-9) s of the host clock" }]
            .compactMap { $0 }.joined(separator: ", ")
    }

    /// Returns a later (or, with a negative duration, earlier) moment. ``immediately`` plus a duration counts from now.
    /// A moment further off than 292 years is as good as never.
    public static func + (time: RenderTime, duration: Duration) -> RenderTime {
        var result = time.isImmediate ? .now : time
        result.offset = result.offset.addingSaturated(duration.inNanoseconds)
        return result
    }

    /// Returns an earlier moment.
    public static func - (time: RenderTime, duration: Duration) -> RenderTime {
        var result = time.isImmediate ? .now : time
        result.offset = result.offset.subtractingSaturated(duration.inNanoseconds)
        return result
    }

    /// Returns the frame, with the offset added; `nil` if only the host time is known.
    @_noLocks @_noAllocation
    package func sampleKey(_ rate: Double) -> Int64? {
        if sample == RenderTime.unknown { return nil }
        return offset == 0 ? sample : sample.addingSaturated(RenderTime.nearest(Double(offset) * rate * 1e-9))
    }

    /// Returns the nearest whole number; `rounded()` is a call that the compiler's checks refuse in debug builds.
    @_noLocks @_noAllocation
    @inlinable package static func nearest(_ number: Double) -> Int64 {
        let limited = number > 9e15 ? 9e15 : number < -9e15 ? -9e15 : number == number ? number : 0
        return Int64(limited + (limited < 0 ? -0.5 : 0.5))
    }

    /// The host time, with the offset added.
    package var hostKey: Int64 { @_noLocks @_noAllocation get { offset == 0 ? host : host.addingSaturated(offset) } }
}
