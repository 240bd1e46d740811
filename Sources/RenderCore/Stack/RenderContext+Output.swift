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
        unsafe addToBus(bus.pointee, 0, bus.pointee.channelCount, count)
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
        unsafe addToBus(bus.pointee, channels.lowerBound, channels.upperBound &- channels.lowerBound &+ 1, count)
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
    mutating func addToBus(_ bus: OutputBus, _ first: Int, _ channels: Int, _ count: Int) {
        var index = 0
        while index < count {
            if let entry = unsafe realEntry(index) {
                unsafe StackKernel.addChannels(
                    entry.pointee.channels, entry.pointee.channelCount, offset,
                    to: bus.channels + first, channels, core.pointee.outputOffset + offset, gain: 1, frameCount)
            }
            index &+= 1
        }
    }
}

/// The number of one of a renderer's outputs, which are declared when the renderer is made.
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
}
