internal import RenderCore

/// The control side's window of the sound that a tap heard: so many frames of one channel or of the average of all, and
/// how it moves on.
struct HopWindow: ~Copyable {
    /// Frames in the window.
    let size: Int
    /// Frames from one window to the next, not more than a window has.
    let hop: Int
    /// Frames of silence before the first, and before the first behind a gap.
    private let lead: Int
    private let channel: Int?
    private var block: AudioBlock
    private var frames: [Float] = []
    /// The place of the window among the frames, and its first frame on the renderer's clock.
    private var start = 0
    private var first: Int64 = 0

    /// - Parameter channel: The channel to look at; by default the average of all.
    init(size: Int, hop: Int, lead: Int = 0, channels: Int, channel: Int?) {
        self.size = size
        self.hop = min(size, max(1, hop))
        self.lead = lead
        self.channel = channel
        block = AudioBlock(channels: channels, frames: 1024)
        frames.reserveCapacity(4 * size)
    }

    /// The outcome of an attempt to fill the window.
    enum Progress {
        /// There are not enough frames.
        case waits
        /// The window is full and can be looked at.
        case full
        /// There was a gap in the sound: the next window begins behind it.
        case gap
    }

    /// Takes frames from a tap until the window is full. After `full`, call ``moveOn()``.
    ///
    /// - Parameter limit: The number of frames that may be taken, less those that are.
    mutating func fill(from feed: borrowing TapFeed, atMost limit: inout Int) -> Progress {
        while frames.count - start < size {
            let chunk = feed.ring.peekContiguous(frames: min(block.frameCount, limit))
            if chunk.frameCount == 0 { return .waits }
            let next = first + Int64(frames.count - start)
            let time = chunk.time.sampleTime ?? next
            if frames.count > start && time != next {
                frames = []
                start = 0
                return .gap
            }
            if frames.count == start {
                frames = Array(repeating: 0, count: lead)
                start = 0
                first = time - Int64(lead)
            }
            feed.ring.copy(chunk, into: &block)
            feed.ring.consume(chunk)
            limit -= chunk.frameCount
            let channels = channel.map { $0...$0 } ?? 0...(block.channelCount - 1)
            let gain = 1 / Float(channels.count)
            for i in 0..<chunk.frameCount {
                var sum: Float = 0
                for channel in channels { sum += block[channel, i] }
                frames.append(sum * gain)
            }
        }
        return .full
    }

    /// The renderer's frame at which the window begins.
    var firstFrame: Int64 { first }

    /// The frames of the window.
    var samples: [Float] { Array(frames[start..<start + size]) }

    /// Moves on by a hop.
    mutating func moveOn() {
        start += hop
        first += Int64(hop)
        if start > 3 * size {
            frames.removeFirst(start)
            start = 0
        }
    }
}
