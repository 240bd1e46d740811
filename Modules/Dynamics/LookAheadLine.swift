internal import RenderCore

/// Delays channels by a whole number of frames: the way of the sound through a compressor.
struct LookAheadLine: ~Copyable, Sendable {
    /// The delay in frames.
    let frames: Int
    private let channels: Int
    /// A ring for each channel.
    private var samples: RenderMemory<Float>
    private var position = 0

    init(channels: Int, frames: Int) {
        self.frames = max(0, frames)
        self.channels = channels
        samples = RenderMemory(repeating: 0, count: channels * self.frames)
    }

    /// Forgets the sound.
    @_noLocks @_noAllocation
    mutating func reset() {
        for i in 0..<samples.count { samples[i] = 0 }
        position = 0
    }

    /// Forgets the sound of one channel.
    @_noLocks @_noAllocation
    mutating func reset(channel: Int) {
        guard channel >= 0 && channel < channels else { return }
        for i in 0..<frames { samples[channel &* frames &+ i] = 0 }
    }

    /// Goes on to the next slice, when all channels have been through.
    @_noLocks @_noAllocation
    mutating func advance(by count: Int) { if frames > 0 { position = (position &+ count) % frames } }

    /// Delays a channel.
    ///
    /// - Parameters:
    ///   - sound: The memory of its samples.
    ///   - first: The place of the first.
    ///   - count: Their number.
    ///   - channel: The number of its ring.
    @_noLocks @_noAllocation
    mutating func delay(_ sound: inout MutableSpan<Float>, from first: Int = 0, count: Int, channel: Int) {
        guard frames > 0, channel >= 0, channel < channels, first >= 0, first &+ count <= sound.count else { return }
        let base = channel &* frames
        var (place, done) = (position, 0)
        while done < count {
            let length = min(count &- done, frames &- place)
            LookAheadLine.exchange(&sound, from: first &+ done, &samples, from: base &+ place, length)
            done &+= length
            place = place &+ length == frames ? 0 : place &+ length
        }
    }

    @_noLocks @_noAllocation
    private static func exchange(
        _ sound: inout MutableSpan<Float>, from first: Int, _ samples: inout RenderMemory<Float>, from place: Int,
        _ count: Int
    ) {
        var ring = samples.span
        for i in 0..<count {
            let sample = sound[first &+ i]
            sound[first &+ i] = ring[place &+ i]
            ring[place &+ i] = sample
        }
    }
}
