public import RenderStack

/// Copies the sound that it hears into a ring, from which control code takes it in its own time. Reads the top.
///
///     let tap = RingTap(seconds: 2, channels: 2)
///     …
///     context.run(tap)
///     …
///     let chunk = tap.ring.read(into: &block)         // in one task of yours, a few times a second
///
/// Frames that find the ring full are left out and counted: `ring.overflowCount`. A buffer with fewer channels than the
/// ring is mono to all of them, or leaves the others silent.
public final class RingTap: Tap {
    /// The frames that were heard and not yet taken.
    public let ring: AudioRing

    /// A tap.
    ///
    /// - Parameters:
    ///   - seconds: The length of the ring in seconds.
    ///   - channels: Channels of the ring.
    ///   - sampleRate: That of the renderer, for the time stamps.
    public init(seconds: Double, channels: Int = 2, sampleRate: Double = 48_000) {
        ring = AudioRing(seconds: seconds, channels: channels, sampleRate: sampleRate)
    }

    /// Copies the top into the ring.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        var grant = ring.reserve(frames: context.frameCount, time: context.time)
        let channels = context.channelCount()
        var channel = 0
        while channel < ring.channelCount {
            if channels == 1 {
                ring.write(context.samples(0), channel: channel, to: &grant)
            } else if channel < channels {
                ring.write(context.samples(channel), channel: channel, to: &grant)
            }
            channel &+= 1
        }
        ring.commit(grant)
    }
}

extension RingTap {
    /// All that it has heard, a channel at a time, and the frame of the first.
    public func takeAll() -> (first: Int64, channels: [[Float]]) {
        var block = AudioBlock(channels: ring.channelCount, frames: ring.availableFrames)
        var done = 0
        var first: Int64?
        while done < block.frameCount {
            let chunk = ring.read(into: &block, frames: block.frameCount - done, at: done)
            if chunk.frameCount == 0 { break }
            if first == nil { first = chunk.time.sampleTime }
            done += chunk.frameCount
        }
        return (first ?? -1, (0..<ring.channelCount).map { Array(block.array($0).prefix(done)) })
    }
}
