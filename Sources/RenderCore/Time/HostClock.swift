internal import Glibc

/// The clock that every host time here is read from: nanoseconds of `CLOCK_MONOTONIC`, the clock of JACK and ALSA too.
///
/// Reading it is not a system call (the kernel maps the clock into the process), so the render thread may.
public enum HostClock {
    /// Nanoseconds since some moment at or before the start of the machine.
    public static var now: Int64 {
        @_noLocks @_noAllocation get {
            // `clock_gettime` is foreign to the compiler; it neither locks nor allocates (vDSO).
            unsafe _unsafePerformance {
                var time = timespec()
                unsafe clock_gettime(CLOCK_MONOTONIC, &time)
                return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
            }
        }
    }

    /// A number of nanoseconds in seconds.
    public static func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }

    /// A number of seconds in nanoseconds, to the nearest one.
    ///
    /// - Precondition: `seconds` is a number between -292 and 292 years.
    public static func nanoseconds(_ seconds: Double) -> Int64 {
        precondition(abs(seconds) < 9.2e9, "HostClock.nanoseconds: \(seconds) s is not a time within 292 years")
        return Int64((seconds * 1e9).rounded())
    }
}
