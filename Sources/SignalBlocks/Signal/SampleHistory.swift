/// The last samples of some channels, each in a row: for delays and long filters, which then are plain loops.
///
///     history.makeRoom(frames)
///     for channel in 0..<2 { history.write(top.samples(channel), count: frames, in: channel) }
///     let row = history.samples(0)              // row[history.position - 100 + i]: frame i, 100 frames ago
///     history.advance(frames)
///
/// The rows are longer than the past, so that it is moved to their beginning only now and then.
///
/// Threads: any.
public struct SampleHistory: ~Copyable, Sendable {
    /// The frames before the present ones that are kept.
    public let past: Int
    /// The longest run of frames for one call.
    public let maximumFrameCount: Int
    /// The position in the rows of the first of the present frames.
    public private(set) var position: Int
    private let channelCount: Int
    private let length: Int
    private var memory: SampleMemory

    /// Allocates, with zeros in the past.
    ///
    /// - Parameters:
    ///   - channels: The number of channels.
    ///   - past: The frames that are kept.
    ///   - maximumFrameCount: The longest run of frames for one call.
    ///   - slack: Frames behind the present ones that may be read, whatever they hold.
    ///
    /// Threads: control.
    public init(channels: Int, past: Int, maximumFrameCount: Int, slack: Int = 0) {
        demand(
            channels >= 0 && past >= 0 && maximumFrameCount >= 0 && slack >= 0,
            "SampleHistory: \(channels) channels, \(past) and \(maximumFrameCount) frames; all must be 0 or more")
        (self.past, self.maximumFrameCount, position, channelCount) = (past, maximumFrameCount, past, channels)
        // Rows that do not compete for the same lines of the cache.
        length = ((past + max(past, maximumFrameCount) + maximumFrameCount + slack + 15) / 16 | 1) * 16
        memory = SampleMemory(count: channels * length)
        rowEnd = length - slack
    }

    private let rowEnd: Int

    /// Makes everything before zero.
    @_noLocks @_noAllocation
    public mutating func reset() {
        var all = memory.span
        Signal.silence(&all)
        position = past
    }

    /// Makes room for frames. To be called before any channel gets its frames.
    @_noLocks @_noAllocation
    public mutating func makeRoom(_ count: Int) {
        precondition(count >= 0 && count <= maximumFrameCount)
        if position <= rowEnd &- count { return }
        let distance = position &- past
        for channel in 0..<channelCount {
            let row = channel &* length
            // Forwards, where the ranges may overlap.
            for i in row..<(row &+ past) { memory[i] = memory[i &+ distance] }
        }
        position = past
    }

    /// Writes the present frames of a channel.
    @_noLocks @_noAllocation
    public mutating func write(_ samples: borrowing Samples, from first: Int = 0, count: Int, in channel: Int) {
        precondition(channel >= 0 && channel < channelCount && count >= 0 && position <= rowEnd &- count)
        precondition(first >= 0 && first <= samples.count &- count)
        let start = channel &* length &+ position
        unsafe (memory.base + start).copySamples(from: samples.base + first, count: count)
    }

    /// Makes the present frames of a channel zero.
    @_noLocks @_noAllocation
    public mutating func writeSilence(count: Int, in channel: Int) {
        precondition(channel >= 0 && channel < channelCount && count >= 0 && position <= rowEnd &- count)
        unsafe (memory.base + (channel &* length &+ position)).clearSamples(count: count)
    }

    /// The row of a channel. Frame `i` of the present ones is at ``position`` `+ i`.
    @_noLocks @_noAllocation @_lifetime(borrow self)
    public func samples(_ channel: Int) -> Samples {
        precondition(channel >= 0 && channel < channelCount)
        let view = unsafe Samples(at: UnsafePointer(memory.base + channel &* length), count: length)
        return unsafe _overrideLifetime(view, borrowing: self)
    }

    /// Makes the present frames past ones.
    @_noLocks @_noAllocation
    public mutating func advance(_ count: Int) {
        precondition(count >= 0 && position <= rowEnd &- count)
        position &+= count
    }
}
