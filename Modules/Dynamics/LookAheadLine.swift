internal import RenderCore

/// Delays channels by a whole number of frames and multiplies them by gains: the way of the sound through a compressor.
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

    /// Delays a channel and multiplies it by gains.
    @_noLocks @_noAllocation
    mutating func process(_ sound: inout MutableSpan<Float>, channel: Int, gains: borrowing RenderMemory<Float>) {
        let count = sound.count
        guard count <= gains.count else { return }
        if frames == 0 {
            for i in sound.indices { sound[i] *= gains[i] }
            return
        }
        guard channel >= 0 && channel < channels else { return }
        let base = channel &* frames
        var (place, done) = (position, 0)
        while done < count {
            let length = min(count &- done, frames &- place)
            for i in 0..<length {
                let sample = sound[done &+ i]
                sound[done &+ i] = samples[base &+ place &+ i] * gains[done &+ i]
                samples[base &+ place &+ i] = sample
            }
            done &+= length
            place = place &+ length == frames ? 0 : place &+ length
        }
    }

    /// Delays a channel, multiplies it by gains, and writes it or adds it to another.
    @_noLocks @_noAllocation
    mutating func process(
        _ sound: borrowing Samples, channel: Int, gains: borrowing RenderMemory<Float>,
        to sum: inout MutableSpan<Float>, adds: Bool
    ) {
        let count = sound.count
        guard count <= gains.count && count == sum.count else { return }
        if frames == 0 {
            if adds {
                for i in sum.indices { sum[i] += sound[i] * gains[i] }
            } else {
                for i in sum.indices { sum[i] = sound[i] * gains[i] }
            }
            return
        }
        guard channel >= 0 && channel < channels else { return }
        let base = channel &* frames
        var place = position
        for i in sum.indices {
            let sample = samples[base &+ place] * gains[i]
            samples[base &+ place] = sound[i]
            sum[i] = adds ? sum[i] + sample : sample
            place = place &+ 1 == frames ? 0 : place &+ 1
        }
    }

    /// Delays a channel.
    @_noLocks @_noAllocation
    mutating func process(_ sound: inout MutableSpan<Float>, channel: Int) {
        guard frames > 0 && channel >= 0 && channel < channels else { return }
        let base = channel &* frames
        var place = position
        for i in sound.indices {
            let sample = sound[i]
            sound[i] = samples[base &+ place]
            samples[base &+ place] = sample
            place = place &+ 1 == frames ? 0 : place &+ 1
        }
    }
}
