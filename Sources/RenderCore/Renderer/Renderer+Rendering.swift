internal import CRender

// Driving a renderer.

extension Renderer {
    /// Renders a cycle of any length into memory. From any one thread at a time, and not while an output drives the
    /// renderer: then it gives silence, and a fault.
    ///
    /// The block's channels are those of the first output, then those of the others. Channels that the block lacks are
    /// not rendered, and channels that it has beyond are silent.
    ///
    /// - Parameters:
    ///   - block: The block to fill; its samples are overwritten.
    ///   - first: The first frame of the block to write.
    ///   - frames: The number of frames; by default up to the end of the block. Frames outside of the block are not
    ///     rendered, which is a ``/Exchange/Fault``.
    ///   - hostTime: The time at which the first frame is due, within seventy years of 0; by default now.
    ///   - isOffline: `true` to render as fast as the machine can, with no listener waiting.
    ///
    /// Threads: any.
    public func render(
        into block: inout AudioBlock, from first: Int = 0, frames: Int? = nil, hostTime: Int64? = nil,
        isOffline: Bool = false
    ) {
        render(into: &block, from: first, frames: frames, hostTime: hostTime, isOffline: isOffline, driver: 0)
    }

    /// Seventy years. Sums and differences of host times have room beyond it.
    private static let latestHostTime = Int64.max / 4
    package static func held(_ hostTime: Int64) -> Int64 { min(max(hostTime, -latestHostTime), latestHostTime) }

    /// Renders a cycle into a block, for an output that drives the renderer.
    package func render(
        into block: inout AudioBlock, from first: Int, frames: Int?, hostTime: Int64?, isOffline: Bool, driver: UInt
    ) {
        let (wanted, start) = (frames, first)
        let first = max(0, min(first, block.frameCount))
        let frames = max(0, min(wanted ?? .max, block.frameCount - first))
        if first != start || frames != wanted ?? frames { state.log.addShort(wanted: wanted ?? 0, found: frames) }
        unsafe withUnsafeTemporaryAllocation(
            of: UnsafeMutablePointer<Float>.self, capacity: block.channelCount
        ) { channels in
            for channel in channels.indices {
                unsafe channels.initializeElement(at: channel, to: block.pointers[channel] + first)
            }
            unsafe render(
                frames: frames, into: UnsafeBufferPointer(channels),
                hostTime: hostTime.map(Self.held) ?? HostClock.now,
                isOffline: isOffline, driver: driver)
        }
    }

    /// Renders a cycle into channels somewhere in memory, for a driver that has them there.
    ///
    /// - Parameters:
    ///   - supply: The sound, events and transport that the driver brings into the cycle.
    ///   - startsOver: `true` if the sample clock begins at 0 with this cycle, and every module anew.
    ///   - driver: The number from ``beginDriving(as:)``; 0 for a caller that has not asked.
    @unsafe package func render(
        frames: Int, into channels: UnsafeBufferPointer<UnsafeMutablePointer<Float>>, hostTime: Int64,
        isOffline: Bool = false, supply: UnsafeMutablePointer<CycleSupply>? = nil, startsOver: Bool = false,
        driver: UInt = 0
    ) {
        crender_cycle_begins(isOffline ? 0 : UInt64(Double(frames) * 1e9 / state.sampleRate))
        unsafe state.render(
            frames: frames, into: channels, hostTime: hostTime, isOffline: isOffline,
            supply: PassedSupply(supply: supply), startsOver: startsOver, driver: driver)
        crender_cycle_ends()
    }

    /// Indicates whether the calling thread renders at this moment: in a render loop, a module, or a job that helps with them, of any
    /// renderer. For code that both sides use, such as a helper that may allocate only on one of them.
    ///
    /// Threads: any.
    public static var isOnRenderThread: Bool {
        @_noLocks @_noAllocation get { isInCycle() }
    }

    // It reads a number of its thread, which the compiler does not see.
    @_semantics("no_performance_analysis") @inline(never)
    private static func isInCycle() -> Bool { crender_is_in_cycle() }

    // MARK: Driving

    /// Takes the renderer for one output, from its start to its end. Two would both take cycles, and play at double speed.
    ///
    /// - Parameter name: The name of the output, for the error of another one.
    /// - Returns: A number for the output to give with each cycle, and to ``endDriving(_:)``.
    /// - Throws: A sentence, if another output has it.
    package func beginDriving(as name: String) throws(OutputError) -> UInt {
        guard let driver = state.drivers.begin(name) else {
            throw OutputError(
                "The renderer is driven by \(state.drivers.name) already. Stop that output first, or give each output a "
                    + "renderer of its own.")
        }
        return driver
    }

    /// Gives the renderer back.
    package func endDriving(_ driver: UInt) { state.drivers.end(driver) }

    /// Returns a sentence about a cycle that does not end: in which module it is.
    package func endlessCycle() -> String? {
        guard let endless = reporter.endlessCycle() else { return nil }
        return RenderEvent.endless(module: endless.module, nanoseconds: endless.nanoseconds).description
    }
}
