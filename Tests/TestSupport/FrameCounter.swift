public import RenderStack

/// Counts frames: every sample tells which one it is, exactly.
public final class FrameCounter: Generator {
    private let channels: Int

    /// Pushes a buffer of so many channels, which tell themselves apart too.
    public init(channels: Int = 1) { self.channels = channels }

    /// Returns the sample of a frame.
    public static func sample(_ frame: Int64, _ channel: Int = 0) -> Float {
        Float(frame & 0xFFFF) * 0x1p-17 + 0x1p-18 + Float(channel) * 0.5
    }

    /// Pushes the numbers of the frames.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channels)
        let now = context.sampleTime
        var top = context.top
        var channel = 0
        while channel < channels {
            var samples = top[channel]
            for i in samples.indices {
                samples[i] = Float((now &+ Int64(i)) & 0xFFFF) * 0x1p-17 + 0x1p-18 + Float(channel) * 0.5
            }
            channel &+= 1
        }
    }
}
