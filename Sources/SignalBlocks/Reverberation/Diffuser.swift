internal import CKernels

/// All-pass filters of Schroeder's, some one after the other for each channel: what makes a cloud of one click.
///
///     var diffuser = Diffuser(delays: [[67, 83, 113, 139], [71, 89, 107, 149]])       // of two channels
///     diffuser.process(&rows, row: 0, channel: 0, gain: 0.6, count: count)
///     diffuser.process(&rows, row: 1, channel: 1, gain: 0.6, count: count)
///     diffuser.advance(by: count)
///
/// Threads: any.
public struct Diffuser: ~Copyable, Sendable {
    private let shortest: Int
    /// The most frames that may be processed next: those that are left of a block of 64, counted from the reset on, and no more than
    /// the shortest delay.
    public var room: Int { @_noLocks @_noAllocation get { min(SampleRows.length &- ring.frame, shortest) } }
    private let stages: Int
    private let delays: RenderMemory<Int32>
    private var ring: BlockRing

    /// Creates silent filters. It allocates.
    ///
    /// - Parameter delays: The delays in frames, a row for each channel: at most four, and as many in each row. Each is
    ///   1…16,777,216, and held to that.
    ///
    /// Threads: control.
    public init(delays: [[Int]]) {
        let stages = delays.first?.count ?? 0
        demand(
            stages <= 4 && delays.allSatisfy { $0.count == stages },
            "Diffuser: delays of \(delays); each row must have the same number of them, and 4 at most")
        let all = delays.joined().map { max(1, min($0, 1 << 24)) }
        self.stages = stages
        var memory = RenderMemory<Int32>(repeating: 1, count: all.count)
        for (place, delay) in all.enumerated() { memory[place] = Int32(delay) }
        self.delays = memory
        shortest = all.min() ?? SampleRows.length
        ring = BlockRing(channels: all.count, frames: all.max() ?? 1)
    }

    /// Forgets all sound, at no cost.
    @_noLocks @_noAllocation
    public mutating func reset() { ring.reset() }

    /// Moves on by frames that all channels have had.
    @_noLocks @_noAllocation
    public mutating func advance(by frames: Int) { ring.advance(by: frames) }

    /// Sends the first samples of a row through the filters of a channel.
    ///
    /// - Parameters:
    ///   - rows: The rows.
    ///   - row: The row that goes through.
    ///   - channel: The channel whose filters it goes through.
    ///   - gain: The share of the sound that goes round, -1…1: 0 makes plain delays of the filters.
    ///   - count: The number of samples, at most ``room``.
    @_noLocks @_noAllocation
    public mutating func process(_ rows: inout SampleRows, row: Int, channel: Int, gain: Float, count: Int) {
        process(&rows, row: row, channel: channel, gain: Ramp(gain), count: count)
    }

    @_noLocks @_noAllocation
    package mutating func process(_ rows: inout SampleRows, row: Int, channel: Int, gain: Ramp, count: Int) {
        precondition(channel >= 0 && count >= 0 && count <= room)
        ring.diffuse(
            &rows, row: row, channel: channel &* stages, stages: stages, delays: delays, gain: gain, count: count)
    }
}
