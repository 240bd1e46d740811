/// The size of a renderer's stack. The stack is allocated once and never grows.
///
/// Threads: control.
public struct StackLayout: Sendable, Hashable {
    /// The number of buffers that can be on the stack at once: 1…1024. A number outside becomes the nearest one inside,
    /// here and below.
    public var slots: Int { didSet { slots = min(max(slots, 1), 1024) } }
    /// The number of channels that a buffer can have at most: 1…64.
    public var channels: Int { didSet { channels = min(max(channels, 1), 64) } }
    /// The longest slice in frames: 1…65,536. Longer cycles are rendered in slices of this length.
    public var frames: Int { didSet { frames = min(max(frames, 1), 65_536) } }

    /// Creates a layout. The default takes about 1 MB; its slices stay in the processor's first-level cache.
    ///
    /// - Parameters:
    ///   - slots: Buffers on the stack, 1…1024.
    ///   - channels: Channels in a buffer, 1…64.
    ///   - frames: Frames in a slice, 1…65,536.
    /// - Precondition: All three are in range.
    public init(slots: Int = 64, channels: Int = 8, frames: Int = 512) {
        demand((1...1024).contains(slots), "StackLayout: \(slots) slots; it must be 1…1024")
        demand((1...64).contains(channels), "StackLayout: \(channels) channels; it must be 1…64")
        demand((1...65_536).contains(frames), "StackLayout: \(frames) frames; it must be 1…65,536")
        self.slots = slots
        self.channels = channels
        self.frames = frames
    }

    /// Frames between two channels: whole lines of the cache, at least one more than a channel has. Where slices may be much
    /// shorter than the longest, channels begin 25 lines apart within the 64 that compete for the same places of a first-level
    /// cache, so that the parts of them that are used lie beside each other there.
    var stride: Int {
        let lines = (frames + 15) / 16 + 1
        return 16 * (lines <= 40 ? lines : lines + (89 - lines % 64) % 64)
    }
}
