/// The frame of a cycle at which an event lies that came in at some time, and the time of an event that a cycle sends.
///
/// An input event is heard a fixed time later, which is the length of the device's memory: so keys that are pressed
/// evenly are heard evenly, wherever the cycles lie. Times are nanoseconds of the host clock.
struct SequencerTiming: Sendable, Hashable {
    /// The time at which the first frame of the cycle is heard, as far as the device's memory tells.
    var heard: Int64
    /// The length of the device's memory, as a time.
    var latency: Int64
    /// The time that the device adds to it.
    var extra: Int64 = 0
    var nanosecondsPerFrame: Double
    /// The length of the cycle in frames.
    var frames: Int

    /// Returns the frame of an event that came in at a time; `nil` if it belongs to a later cycle. A late event is in
    /// the first frame.
    func frame(of hostTime: Int64) -> Int? {
        let frame = (Double(hostTime + latency - heard) / nanosecondsPerFrame).rounded(.down)
        return frame < 0 ? 0 : frame < Double(frames) ? Int(frame) : nil
    }

    /// Returns the time at which a frame of this cycle is heard.
    func hostTime(of frame: Int) -> Int64 { heard + extra + Int64((Double(frame) * nanosecondsPerFrame).rounded()) }
}

/// The time at which cycles are due, without the jitter of the wake-ups and of the device's own steps.
///
/// A delay-locked loop of second order (F. Adriaensen, "Using a DLL to filter time", Linux Audio Conference 2005).
struct CycleClock {
    /// The longest distance of a cycle from its expected time, in seconds, before everything begins anew: a gap.
    private static var patience: Double { 0.02 }
    /// The speed with which the clock follows in the long run, in Hz: it starts faster, and takes its time as it comes
    /// to know the cycles.
    private static var bandwidth: Double { 0.1 }
    private var next = 0.0
    private var step = 0.0
    private var period = 0.0
    private var elapsed = 0.0

    /// Returns the filtered time of a cycle that was measured to be due at a time.
    mutating func update(_ measured: Int64, frames: Int, rate: Double) -> Int64 {
        let period = Double(frames) / rate
        defer { self.period = period }
        let time = Double(measured) * 1e-9
        let error = time - next
        // Cycles of another length, or a gap.
        guard abs(error) < max(Self.patience, period / 2), period == self.period else {
            step = period
            next = time + period
            elapsed = 0
            return measured
        }
        elapsed += period
        let bandwidth = max(Self.bandwidth, 0.5 / elapsed)
        let speed = min(0.5, 2 * Double.pi * bandwidth * period)
        let filtered = next
        next += 2.0.squareRoot() * speed * error + step
        step += speed * speed * error
        return Int64((filtered * 1e9).rounded())
    }
}

/// The distance between the queue of ALSA's sequencer and the host clock.
struct QueueClock: Sendable, Hashable {
    /// Host time of the queue's zero.
    private(set) var origin: Int64

    /// Creates a measurement: the queue said `queue` between two looks at the host clock.
    init(queue: Int64, before: Int64, after: Int64) { origin = before + (after - before) / 2 - queue }

    /// Returns the host time of a stamp of the queue.
    func hostTime(seconds: UInt32, nanoseconds: UInt32) -> Int64 {
        origin + Int64(seconds) * 1_000_000_000 + Int64(nanoseconds)
    }

    /// Returns the queue's time at a host time; its zero for anything before.
    func queueTime(_ hostTime: Int64) -> (seconds: UInt32, nanoseconds: UInt32) {
        let time = max(0, hostTime - origin)
        return (UInt32(truncatingIfNeeded: time / 1_000_000_000), UInt32(time % 1_000_000_000))
    }
}
