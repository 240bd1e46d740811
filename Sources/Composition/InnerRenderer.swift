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
    ///   - inputs: The supply of the outer renderer, on its way to this one.
    ///   - resets: `true` if its modules are reset before; `false` when that is done.
    @_noLocks @_noAllocation
    package func push(
        through resampler: inout Resampler, at step: Resampler.Step, rate: Double,
        carrying inputs: CarriedInputs.Reference,
        resets: inout Bool, _ context: inout RenderContext
    ) {
        guard let supply = unsafe inputs.supply else { return }
        context.pushUninitialized(channels: resampler.channelCount)
        unsafe supply.pointee.begin(context)
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
                let place = unsafe resampler.place(for: supply.pointee.limit(needed))
                let passed = unsafe supply.pointee.carry(
                    place.frames, resampler.inputTimes(at: step, from: done), isSteady: step.glide.isFlat, ahead: ahead)
                needed = unsafe render(
                    place, resampler.channelCount, due &+ Int64(wait), isOffline,
                    beats.converted(after: ahead, sampleRate: rate), passed, resets)
                unsafe supply.pointee.collect(ahead: ahead, pace: 1 / step.length(done, in: resampler.steps))
                resampler.advance(needed)
                resets = false
            }
            let made = resampler.pull(frames &- done, at: step, into: &top, from: done)
            // If a slice is longer than the resampler has room for, input and output take turns. One of them always
            // makes progress.
            if needed == 0 && made == 0 { break }
            done &+= made
        }
        unsafe supply.pointee.end()
    }

    /// Renders as many frames as a place has room for, and returns how many those are: none if there is no renderer.
    @_noLocks @_noAllocation
    private func render(
        _ place: (channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, offset: Int, frames: Int), _ count: Int,
        _ hostTime: Int64, _ isOffline: Bool, _ beats: BeatSource, _ supply: PassedSupply, _ resets: Bool
    ) -> Int {
        if unsafe place.frames == 0 { return 0 }
        guard let state = unsafe self.state else { return 0 }
        // The compiler cannot see into the inner renderer's loop, as it cannot see into the outer one's: both are
        // the watchdog's to judge.
        unsafe _unsafePerformance {
            unsafe fill(
                state, place.frames, place.channels, count, place.offset, hostTime, isOffline, beats, resets,
                supply)
        }
        return unsafe place.frames
    }
}

extension InnerRenderer.Reference {
    /// Pushes a slice of it at another tempo and another pitch.
    ///
    /// - Parameters:
    ///   - stretch: The stretcher that changes them. It has as many channels as are pushed.
    ///   - settings: The rate and the pitch.
    ///   - inputs: The supply of the outer renderer, on its way to this one.
    ///   - resets: `true` if its modules are reset before; `false` when that is done.
    @_noLocks @_noAllocation
    package func push(
        through stretch: inout TimeStretch, with settings: TimeStretch.Settings,
        carrying inputs: CarriedInputs.Reference,
        resets: inout Bool, _ context: inout RenderContext
    ) {
        guard let supply = unsafe inputs.supply else { return }
        context.pushUninitialized(channels: stretch.channelCount)
        unsafe supply.pointee.begin(context)
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
                let ahead = Double(done &+ stretch.outputLatency) + stretch.lead / pace
                let place = unsafe stretch.place(for: supply.pointee.limit(needed))
                let passed = unsafe supply.pointee.carry(
                    block: place.frames, missing: needed &- place.frames, at: done, pace: 1 / pace, ahead: ahead)
                count = unsafe render(
                    place, stretch.channelCount, due &+ Int64(ahead * 1e9 / rate), isOffline,
                    beats.converted(after: ahead, sampleRate: rate * pace), passed, resets)
                unsafe supply.pointee.collect(ahead: ahead, pace: 1 / pace)
                stretch.advance(count)
                resets = false
            }
            let made = stretch.pull(frames &- done, settings, into: &top, from: done)
            if count == 0 && made == 0 { break }
            done &+= made
        }
        unsafe supply.pointee.end()
    }
}

/// Has a renderer fill channels, from the frame `offset` on.
func fill(
    _ state: Unmanaged<CycleState>, _ frames: Int, _ channels: UnsafePointer<UnsafeMutablePointer<Float>>,
    _ count: Int, _ offset: Int, _ hostTime: Int64, _ isOffline: Bool, _ beats: BeatSource, _ resets: Bool,
    _ supply: PassedSupply, inside outer: OuterSlice? = nil
) {
    unsafe withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<Float>.self, capacity: count) { table in
        for channel in 0..<count { unsafe table.initializeElement(at: channel, to: channels[channel] + offset) }
        unsafe state._withUnsafeGuaranteedRef { state in
            unsafe state.render(
                frames: frames, into: UnsafeBufferPointer(table), hostTime: hostTime, isOffline: isOffline,
                inside: outer, beats: beats, supply: supply, resets: resets)
        }
    }
}
