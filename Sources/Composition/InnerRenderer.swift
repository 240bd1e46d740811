package import RenderCore

/// A renderer as the render thread of another one sees it. Modules that run a renderer of their own hold one.
@safe package struct InnerRenderer: ~Copyable, @unchecked Sendable {
    // Unchecked because of the two references, which lead to Sendable objects. They are not counted, so that a value in
    // a render loop is not either.
    let state: Unmanaged<CycleState>
    /// It keeps `state` alive.
    private let renderer: Unmanaged<Renderer>

    package init(_ renderer: Renderer) {
        unsafe self.renderer = .passRetained(renderer)
        unsafe state = .passUnretained(renderer.state)
    }

    deinit { unsafe renderer.release() }

    /// The renderer for the time until the end of the slice: values that are swapped are not freed before.
    package var reference: Reference { @_noLocks @_noAllocation get { unsafe Reference(state: state) } }
}

extension InnerRenderer {
    /// A renderer for the time of a slice.
    @safe package struct Reference {
        let state: Unmanaged<CycleState>?

        @_noLocks @_noAllocation
        init(state: Unmanaged<CycleState>) { unsafe self.state = state }

        /// Creates a reference to no renderer, which renders nothing.
        @_noLocks @_noAllocation
        package init() { unsafe state = nil }
    }
}

extension InnerRenderer.Reference {
    /// Pushes a slice of it, brought from its sample rate to the outer one's.
    ///
    /// - Parameters:
    ///   - resampler: The resampler that brings it there, with the channels that are pushed.
    ///   - step: Input frames per output frame.
    ///   - rate: The inner sample rate.
    ///   - resets: `true` if its modules are reset before; `false` when that is done.
    @_noLocks @_noAllocation
    package func push(
        through resampler: inout Resampler, at step: Resampler.Step, rate: Double, resets: inout Bool,
        _ context: inout RenderContext
    ) {
        context.pushUninitialized(channels: resampler.channelCount)
        let (frames, due, isOffline) = (context.frameCount, context.hostTime, context.isOffline)
        let beats = context.beatSource()
        let outerNanoseconds = 1e9 / context.sampleRate
        let innerNanoseconds = 1e9 / rate
        var top = context.top
        var done = 0
        while done < frames {
            var needed = resampler.framesNeeded(for: frames &- done, at: step, from: done)
            if needed > 0 {
                // The next frames will be heard behind the frames that wait in the resampler.
                let wait = Double(done) * outerNanoseconds + resampler.lead * innerNanoseconds
                let ahead = wait / outerNanoseconds
                needed = render(
                    needed, into: &resampler, hostTime: due &+ Int64(wait), isOffline: isOffline,
                    beats.converted(after: ahead, sampleRate: rate), resets: resets)
                resets = false
            }
            let made = resampler.pull(frames &- done, at: step, into: &top, from: done)
            // If a slice is longer than the resampler has room for, input and output take turns. One of them always
            // makes progress.
            if needed == 0 && made == 0 { return }
            done &+= made
        }
    }

    /// Renders as many frames as there is room for, and returns how many those are.
    @_noLocks @_noAllocation
    private func render(
        _ frames: Int, into resampler: inout Resampler, hostTime: Int64, isOffline: Bool, _ beats: BeatSource,
        resets: Bool
    ) -> Int {
        let (channels, offset, length) = unsafe resampler.place(for: frames)
        let count = resampler.channelCount
        if unsafe !render(length, channels, count, offset, hostTime, isOffline, beats, resets) { return 0 }
        resampler.advance(length)
        return length
    }

    /// Renders frames to addresses. Returns `false` if there is no renderer.
    @_noLocks @_noAllocation
    private func render(
        _ frames: Int, _ channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ count: Int, _ offset: Int,
        _ hostTime: Int64, _ isOffline: Bool, _ beats: BeatSource, _ resets: Bool
    ) -> Bool {
        guard let state = unsafe self.state else { return false }
        // The compiler cannot see into the inner renderer's loop, as it cannot see into the outer one's: both are
        // the watchdog's to judge.
        unsafe _unsafePerformance {
            unsafe run(state, frames, channels, count, offset, hostTime, isOffline, beats, resets)
        }
        return true
    }
}

extension InnerRenderer.Reference {
    /// Pushes a slice of it at another tempo and another pitch.
    ///
    /// - Parameters:
    ///   - stretch: The stretcher that changes them. It has as many channels as are pushed.
    ///   - settings: The rate and the pitch.
    ///   - resets: `true` if its modules are reset before; `false` when that is done.
    @_noLocks @_noAllocation
    package func push(
        through stretch: inout TimeStretch, with settings: TimeStretch.Settings, resets: inout Bool,
        _ context: inout RenderContext
    ) {
        context.pushUninitialized(channels: stretch.channelCount)
        let (frames, due, isOffline) = (context.frameCount, context.hostTime, context.isOffline)
        let beats = context.beatSource()
        let rate = context.sampleRate
        var top = context.top
        var done = 0
        while done < frames {
            let needed = stretch.framesNeeded(settings, from: done)
            var count = 0
            if needed > 0 {
                // The next frames will be heard behind those that wait.
                let pace = settings.pace(done)
                let ahead = Double(done) + stretch.lead / pace
                count = render(
                    needed, into: &stretch, hostTime: due &+ Int64(ahead * 1e9 / rate), isOffline: isOffline,
                    beats.converted(after: ahead, sampleRate: rate * pace), resets: resets)
                resets = false
            }
            let made = stretch.pull(frames &- done, settings, into: &top, from: done)
            if count == 0 && made == 0 { return }
            done &+= made
        }
    }

    /// Renders as many frames as there is room for, and returns how many those are.
    @_noLocks @_noAllocation
    private func render(
        _ frames: Int, into stretch: inout TimeStretch, hostTime: Int64, isOffline: Bool, _ beats: BeatSource,
        resets: Bool
    ) -> Int {
        let (channels, offset, length) = unsafe stretch.place(for: frames)
        let count = stretch.channelCount
        if unsafe !render(length, channels, count, offset, hostTime, isOffline, beats, resets) { return 0 }
        stretch.advance(length)
        return length
    }
}

private func run(
    _ state: Unmanaged<CycleState>, _ frames: Int, _ channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    _ count: Int, _ offset: Int, _ hostTime: Int64, _ isOffline: Bool, _ beats: BeatSource,
    _ resets: Bool
) {
    unsafe withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<Float>.self, capacity: count) { table in
        for channel in 0..<count { unsafe table.initializeElement(at: channel, to: channels[channel] + offset) }
        unsafe state._withUnsafeGuaranteedRef { state in
            unsafe state.render(
                frames: frames, into: UnsafeBufferPointer(table), hostTime: hostTime, isOffline: isOffline,
                beats: beats,
                resets: resets)
        }
    }
}
