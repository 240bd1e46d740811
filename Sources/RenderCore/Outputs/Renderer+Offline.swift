internal import Synchronization

// Rendering without a clock: as fast as it goes, into memory.

extension Renderer {
    /// Renders a number of frames into memory, as fast as it goes.
    ///
    /// The renderer goes on from where it was; ``sampleTime`` says where that is. The same closure gives the same samples
    /// as live.
    ///
    /// - Parameters:
    ///   - frames: how many, 0 or more.
    ///   - cycle: frames in a cycle, 1 or more: makes no difference to the sound.
    /// - Returns: the channels of the first output, then those of the others.
    /// - Precondition: the numbers are in range.
    public func renderOffline(frames: Int, cycle: Int = 512) -> AudioBlock {
        precondition(frames >= 0 && cycle >= 1, "renderOffline: \(frames) frames in cycles of \(cycle)")
        var block = AudioBlock(channels: min(64, outputChannelCounts.reduce(0, +)), frames: frames)
        renderOffline(into: &block, from: 0, frames: frames, cycle: cycle)
        return block
    }

    /// Renders until a condition is true, and hands every cycle over.
    ///
    ///     renderer.renderOffline { renderer.sampleTime >= 48_000 } each: { block in try file.write(block) }
    ///
    /// - Parameters:
    ///   - cycle: frames in a cycle, 1 or more.
    ///   - isDone: asked before each cycle.
    ///   - consume: gets each cycle; if it throws, that is the end.
    public func renderOffline<Failure: Error>(
        cycle: Int = 512, until isDone: () -> Bool, each consume: (borrowing AudioBlock) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(cycle >= 1, "renderOffline: cycles of \(cycle) frames")
        var block = AudioBlock(channels: min(64, outputChannelCounts.reduce(0, +)), frames: cycle)
        while !isDone() {
            render(into: &block, hostTime: offlineHostTime, isOffline: true)
            try consume(block)
        }
    }

    /// Renders into a part of a block, for drivers that keep theirs.
    package func renderOffline(into block: inout AudioBlock, from first: Int, frames: Int, cycle: Int) {
        var done = 0
        while done < frames {
            let count = min(cycle, frames - done)
            render(into: &block, from: first + done, frames: count, hostTime: offlineHostTime, isOffline: true)
            done += count
        }
    }

    /// Host times offline follow the sample clock, so that what is scheduled by them falls on the same frames each time.
    /// They go on from the last live cycle's.
    private var offlineHostTime: Int64 {
        let elapsed = RenderTime.nearest(Double(sampleTime) * 1e9 / state.sampleRate)
        var origin = state.offlineOrigin.load(ordering: .relaxed)
        if origin == .min {
            origin = (nextRenderTime ?? HostClock.now) - elapsed
            state.offlineOrigin.store(origin, ordering: .relaxed)
        }
        return origin + elapsed
    }
}
