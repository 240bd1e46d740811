// The way from the stack to the outputs.

extension RenderContext {
    /// Adds the buffers on top to the output; the stack stays as it is.
    ///
    /// Mono goes to every channel of the output, a mono output gets the sum of all channels, and otherwise channel 0
    /// goes to channel 0 and so on.
    ///
    /// - Parameters:
    ///   - count: The number of buffers, from the top down.
    ///   - output: The output; by default the renderer's first one.
    @_noLocks @_noAllocation
    public mutating func output(_ count: Int = 1, to output: OutputID = .main) {
        guard let bus = unsafe bus(output, count) else { return }
        if mode.has(.dry) { notePaths(count, to: output) }
        unsafe addToBus(bus, 0, bus.pointee.channelCount, count)
    }

    /// Adds the buffers on top to some channels of an output.
    ///
    ///     context.output(channels: 2...3)          // the third and fourth channel
    @_noLocks @_noAllocation
    public mutating func output(_ count: Int = 1, to output: OutputID = .main, channels: ClosedRange<Int>) {
        guard let bus = unsafe bus(output, count) else { return }
        if mode.has(.dry) { notePaths(count, to: output) }
        guard channels.lowerBound >= 0, unsafe channels.upperBound < bus.pointee.channelCount else {
            unsafe fault(.wrongChannels, .output, wanted: channels.upperBound, found: bus.pointee.channelCount)
            return
        }
        unsafe addToBus(bus, channels.lowerBound, channels.upperBound &- channels.lowerBound &+ 1, count)
    }

    /// Adds every buffer that the render loop (or the running module) can reach to the output; an empty stack is no
    /// fault.
    @_noLocks @_noAllocation
    public mutating func outputAll(to output: OutputID = .main) {
        if bufferCount > 0 { self.output(bufferCount, to: output) }
    }

    /// Returns the number of channels of an output; 0 if there is no such output.
    @_noLocks @_noAllocation
    public func outputChannelCount(_ output: OutputID = .main) -> Int {
        unsafe output.index >= 0 && output.index < core.pointee.busCount
            ? core.pointee.buses[output.index].channelCount : 0
    }

    @_noLocks @_noAllocation
    mutating func bus(_ output: OutputID, _ count: Int) -> UnsafeMutablePointer<OutputBus>? {
        guard count >= 1 && count <= depth &- floor else {
            fault(count < 1 ? .badArgument : .underflow, .output, wanted: count, found: depth &- floor)
            return nil
        }
        guard output.index >= 0, unsafe output.index < core.pointee.busCount else {
            unsafe fault(.wrongIndex, .output, wanted: output.index, found: core.pointee.busCount)
            return nil
        }
        return unsafe core.pointee.buses + output.index
    }

    @_noLocks @_noAllocation
    mutating func addToBus(
        _ bus: UnsafeMutablePointer<OutputBus>, _ first: Int, _ channels: Int, _ count: Int
    ) {
        let start = unsafe core.pointee.outputOffset &+ offset
        let end = start &+ frameCount
        var index = 0
        while index < count {
            if let entry = unsafe realEntry(index) {
                let (sources, sourceCount) = unsafe (entry.pointee.channels, entry.pointee.channelCount)
                let sums = unsafe bus.pointee.channels + first
                // What comes first, and to every channel, is written: nothing has to be cleared for it, nor looked at
                // again.
                if unsafe bus.pointee.filled == start && channels == bus.pointee.channelCount,
                    sourceCount == 1 || channels > 1 && sourceCount >= channels
                {
                    let isFinite = unsafe Kernel.startChannels(
                        sources, sourceCount, offset, sums: sums, channels, start, frameCount)
                    unsafe bus.pointee.filled = end
                    if !isFinite { unsafe bus.pointee.isFinite = false }
                } else {
                    unsafe OutputBus.fill(bus, to: end)
                    unsafe bus.pointee.isFinite = false
                    unsafe Kernel.addChannels(
                        sources, sourceCount, offset, to: sums, channels, start, gain: 1, frameCount)
                }
            }
            index &+= 1
        }
    }
}

/// The number of one of a renderer's outputs, which are declared when the renderer is made.
///
/// Threads: any.
public struct OutputID: Sendable, Hashable, BitwiseCopyable {
    let index: Int
    @_noLocks @_noAllocation
    init(index: Int) { self.index = index }

    /// The renderer's first output.
    public static var main: OutputID { @_noLocks @_noAllocation get { OutputID(index: 0) } }

    /// Returns the number of an auxiliary output: 1 is the first.
    @_noLocks @_noAllocation
    public static func auxiliary(_ number: Int) -> OutputID { OutputID(index: number) }
}

/// The channels of one output in this cycle.
@safe struct OutputBus {
    var channels: UnsafePointer<UnsafeMutablePointer<Float>>
    /// Channels there are in this cycle: as many as it has, or fewer if the driver gave fewer.
    var channelCount: Int
    let fullCount: Int
    /// The frame of the cycle up to which all channels have their samples. What is behind it is anything.
    var filled = 0
    /// Indicates whether the samples of this slice are known to be finite.
    var isFinite = true

    /// Clears all channels from where they have no samples up to a frame.
    @_noLocks @_noAllocation
    static func fill(_ bus: UnsafeMutablePointer<OutputBus>, to end: Int) {
        let filled = unsafe bus.pointee.filled
        if filled >= end { return }
        var channel = 0
        while unsafe channel < bus.pointee.channelCount {
            unsafe Kernel.fill(bus.pointee.channels[channel] + filled, 0, end &- filled)
            channel &+= 1
        }
        unsafe bus.pointee.filled = end
    }
}
