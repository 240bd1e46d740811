internal import CRealtimeWatch

/// Tells the watchdog where the cycles of an audio thread begin and end.
///
/// A `Renderer` does this by itself. Other audio code needs two lines:
///
///     RealtimeWatch.enter("my synth", period: .seconds(Double(frames) / sampleRate))
///     …
///     RealtimeWatch.exit()
///
/// Run the program under `rtwatch`, and the code between them is judged: every call that allocates, locks, waits or
/// enters the kernel is reported with its Swift function and line. Without `rtwatch` each call costs about a nanosecond
/// and does nothing. None of them allocates, locks or waits.
///
/// Threads: control.
public enum RealtimeWatch {
    /// Indicates whether the program runs under `rtwatch`.
    public static var isPresent: Bool { crealtimewatch_is_present() }

    /// Begins a cycle on this thread.
    ///
    /// Calls nest: the outermost pair is the cycle.
    ///
    /// - Parameters:
    ///   - name: The name of the cycle in reports.
    ///   - period: The time that the cycle may take; zero if nothing waits for it.
    public static func enter(_ name: StaticString, period: Duration = .zero) {
        // A literal's memory is there for as long as the program, and ends in a zero.
        name.withUTF8Buffer { text in
            guard let start = text.baseAddress else { return }
            unsafe crealtimewatch_enter(
                UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self), nanoseconds(period))
        }
    }

    /// Ends the cycle.
    public static func exit() { crealtimewatch_exit() }

    /// Runs a closure as a cycle.
    public static func watched<Result: ~Copyable, Failure: Error>(
        _ name: StaticString, period: Duration = .zero, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        enter(name, period: period)
        defer { exit() }
        return try body()
    }

    /// Runs a closure that is not judged, inside of a cycle: for calls that you know about and accept.
    ///
    ///     RealtimeWatch.permitted { if isFirst { table.fill() } }
    public static func permitted<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        crealtimewatch_permit_begin()
        defer { crealtimewatch_permit_end() }
        return try body()
    }

    /// The severity of a violation.
    ///
    /// Threads: any.
    public enum Tier: Int32, Sendable, CaseIterable {
        /// It allocates, locks, waits, does input or output, or enters the kernel.
        case blocks = 1
        /// It wakes a thread, casts, or looks metadata up: slow now and then.
        case mayBlock = 2
        /// It retains, checks exclusivity or reads a clock: it costs, but does not wait.
        case notes = 3
    }

    /// Returns the number of violations of a tier that the cycles of this thread had. Permitted ones do not count.
    public static func count(_ tier: Tier) -> UInt64 { crealtimewatch_violations(tier.rawValue) }

    private static func nanoseconds(_ period: Duration) -> UInt64 {
        let parts = max(.zero, min(period, .seconds(Int64.max))).components
        let (seconds, overflow) = UInt64(clamping: parts.seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : seconds &+ UInt64(clamping: parts.attoseconds / 1_000_000_000)
    }
}
