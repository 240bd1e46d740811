internal import Synchronization

// Rendering without a clock: as fast as it goes, into memory.

extension Renderer {
    /// Renders a number of frames into memory, as fast as the machine can. While an output drives the renderer this
    /// gives silence, and a fault.
    ///
    /// The renderer goes on from its present ``sampleTime``. The same render loop gives the same samples as live. Faults are sent
    /// to the listeners before it returns.
    ///
    /// - Parameters:
    ///   - frames: The number of frames, 0 or more. A number outside becomes the nearest one, with a notice, here and
    ///     below.
    ///   - cycle: The frames in a cycle, 1 or more: it makes no difference to the sound.
    /// - Returns: The channels of the first output, then those of the others.
    public func renderOffline(frames: Int, cycle: Int = 512) -> AudioBlock {
        let frames = nearest(
            to: frames, in: 0...1 << 40, "renderOffline: \(frames) frames; it must be 0…2^40", tell: tell)
        let cycle = nearest(
            to: cycle, in: 1...Int.max, "renderOffline: cycles of \(cycle) frames; they must have 1 or more", tell: tell
        )
        var block = AudioBlock(channels: min(64, outputChannelCounts.reduce(0, +)), frames: frames)
        renderOffline(into: &block, from: 0, frames: frames, cycle: cycle)
        tellFaults()
        return block
    }

    /// Renders until a condition is true, and hands every cycle over.
    ///
    ///     renderer.renderOffline { renderer.sampleTime >= 48_000 } each: { block in try file.write(block) }
    ///
    /// - Parameters:
    ///   - cycle: Frames in a cycle, 1…16,777,216.
    ///   - isDone: Asked before each cycle.
    ///   - consume: Gets each cycle; if it throws, that is the end.
    public func renderOffline<Failure: Error>(
        cycle: Int = 512, until isDone: () -> Bool, each consume: (borrowing AudioBlock) throws(Failure) -> Void
    ) throws(Failure) {
        let cycle = nearest(
            to: cycle, in: 1...1 << 24, "renderOffline: cycles of \(cycle) frames; they must have 1…16,777,216",
            tell: tell)
        var block = AudioBlock(channels: min(64, outputChannelCounts.reduce(0, +)), frames: cycle)
        defer { tellFaults() }
        while !isDone() {
            render(into: &block, hostTime: offlineHostTime, isOffline: true)
            try consume(block)
        }
    }

    /// Renders into a part of a block, for drivers that keep theirs.
    package func renderOffline(
        into block: inout AudioBlock, from first: Int, frames: Int, cycle: Int, driver: UInt = 0
    ) {
        demand(
            first >= 0 && frames >= 0 && frames <= block.frameCount - first,
            "Renderer.renderOffline: \(frames) frames from frame \(first) on, of a block of \(block.frameCount)")
        unsafe withUnsafeTemporaryAllocation(
            of: UnsafeMutablePointer<Float>.self, capacity: block.channelCount
        ) { channels in
            for channel in channels.indices {
                unsafe channels.initializeElement(at: channel, to: block.pointers[channel] + first)
            }
            var done = 0
            while done < frames {
                let count = min(cycle, frames - done)
                unsafe render(
                    frames: count, into: UnsafeBufferPointer(channels), hostTime: Renderer.held(offlineHostTime),
                    isOffline: true, driver: driver)
                for channel in channels.indices { unsafe channels[channel] += count }
                done += count
            }
        }
    }

    /// Host times offline follow the sample clock, so that jobs that are scheduled by them fall on the same frames each
    /// time. They go on from the last live cycle's.
    private var offlineHostTime: Int64 {
        let elapsed = RenderTime.nearest(Double(sampleTime) * 1e9 / state.sampleRate)
        var origin = state.offlineOrigin.load(ordering: .relaxed)
        if origin == .min {
            origin = (nextRenderTime ?? HostClock.now).subtractingSaturated(elapsed)
            state.offlineOrigin.store(origin, ordering: .relaxed)
        }
        return origin.addingSaturated(elapsed)
    }
}
