internal import Glibc

/// The clock of every host time here: nanoseconds of `CLOCK_MONOTONIC`, the clock of JACK and ALSA too.
///
/// Reading it is not a system call (the kernel maps the clock into the process), so the render thread may read it.
///
/// Threads: any.
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

    /// Returns a number of nanoseconds in seconds.
    public static func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }

    /// Returns a number of seconds in nanoseconds, to the nearest one. More than 292 years become so many, and a value
    /// that is not a number becomes 0.
    public static func nanoseconds(_ seconds: Double) -> Int64 {
        Int64(saturating: (seconds * 1e9).rounded())
    }
}
