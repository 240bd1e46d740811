/// Finds out that a device moves by more frames at once than its buffer holds, as a sound server does whose cycles are
/// longer.
///
/// No device that follows a clock takes frames in less than half of their time. One that has done so, and has then
/// failed for want of more, was not given them too late: the program cannot be in time for it.
struct StepWatch {
    /// The time of the last look at the device, and the frames by which it could move then before it would fail.
    private var look: (time: Int64, margin: Int)?
    /// The time of the last such failure, or of the opening of a buffer that has grown.
    private var last: Int64?

    /// Nanoseconds of sound by which a device that moves too slowly is behind; and the time of its last cycle.
    private var behind: Int64 = 0
    private var lastCycle: Int64?

    /// The time in which a second failure shows that the first was no accident, in nanoseconds. A server's longest cycles
    /// take a sixth of a second.
    private static let memory: Int64 = 1_000_000_000

    /// Begins to watch a device.
    ///
    /// - Parameter openedAnew: The time, if the buffer has just grown: it grows again at the first failure then.
    init(openedAnew: Int64?) { last = openedAnew }

    /// Notes what the device holds.
    mutating func note(margin: Int, at now: Int64) { look = (now, margin) }

    /// Notes a cycle. Returns `true` if the device takes less than three quarters of the frames that it should, and that for
    /// seconds: PipeWire up to 1.0 takes eight periods at once, however many it needs, and plays silence instead of the rest.
    mutating func noteCycle(at now: Int64, nanoseconds: Double) -> Bool {
        // A pause of the whole machine says nothing.
        let passed = min(500_000_000, now - (lastCycle ?? now))
        lastCycle = now
        behind = max(0, behind + passed - passed / 4 - Int64(nanoseconds))
        return behind > 1_500_000_000
    }

    /// Notes that the device has failed for want of frames, or of room for them. Returns `true` if its buffer is too
    /// short for the steps by which it moves.
    mutating func noteFailure(at now: Int64, rate: Double) -> Bool {
        (behind, lastCycle) = (0, nil)
        guard let look, look.margin > 0, Double(now - look.time) * rate < 0.5e9 * Double(look.margin) else {
            return false
        }
        self.look = nil
        defer { last = now }
        return last.map { now - $0 < Self.memory } ?? false
    }
}
