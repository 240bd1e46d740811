package import RenderCore
package import Supply

/// The input of an inner renderer, by which it finds the frames that it gets.
package struct InputPlace: Sendable, BitwiseCopyable {
    fileprivate let address: UInt

    /// - Parameter input: Kept alive by the module that has it.
    package init(_ input: AudioInput) {
        address = unsafe UInt(bitPattern: Unmanaged.passUnretained(input).toOpaque())
    }
}

/// One call of an inner renderer that gets sound.
package struct InnerCall: Sendable, BitwiseCopyable {
    /// The input by which it gets the sound.
    package var input: InputPlace
    /// Channels that go in and come out.
    package var channels: Int
    /// Frames of the inner renderer.
    package var frames: Int
    /// The first frame, on its clock.
    package var sampleTime: Int64
    /// Frames of the outer slice that lie before this call.
    package var outerFrames: Int
    /// Indicates whether its modules are reset before.
    package var resets: Bool

    @_noLocks @_noAllocation
    package init(
        input: InputPlace, channels: Int, frames: Int, sampleTime: Int64, outerFrames: Int, resets: Bool
    ) {
        self.input = input
        self.channels = channels
        self.frames = frames
        self.sampleTime = sampleTime
        self.outerFrames = outerFrames
        self.resets = resets
    }
}

extension InnerRenderer.Reference {
    /// Renders frames of it, at a sample rate of its own.
    ///
    /// - Parameters:
    ///   - source: The frames that its input shows.
    ///   - target: The block that gets what it makes of them.
    ///   - rate: Its sample rate.
    @_noLocks @_noAllocation
    package func edit(
        _ source: inout AudioBlock, into target: inout AudioBlock, _ call: InnerCall, rate: Double,
        _ context: borrowing RenderContext
    ) {
        guard let state = unsafe self.state else { return }
        let due = context.hostTime &+ Int64(Double(call.outerFrames) * 1e9 / context.sampleRate)
        let beats = context.beatSource().converted(after: Double(call.outerFrames), sampleRate: rate)
        unsafe edit(state, source.pointers, target.pointers, call, due, context.isOffline, beats)
    }

    @_noLocks @_noAllocation
    private func edit(
        _ state: Unmanaged<CycleState>, _ source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
        _ target: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ call: InnerCall, _ hostTime: Int64,
        _ isOffline: Bool, _ beats: BeatSource
    ) {
        // As in `InnerRenderer.swift`: the closure, here that of a module of ours, is the watchdog's to judge.
        unsafe _unsafePerformance { unsafe run(state, source, target, call, hostTime, isOffline, beats) }
    }
}

private func run(
    _ state: Unmanaged<CycleState>, _ source: UnsafeMutablePointer<UnsafeMutablePointer<Float>>,
    _ target: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, _ call: InnerCall, _ hostTime: Int64,
    _ isOffline: Bool, _ beats: BeatSource
) {
    guard let identity = unsafe UnsafeRawPointer(bitPattern: call.input.address) else { return }
    var sound = unsafe CycleSupply.Sound(
        identity: identity, channels: UnsafePointer(source), channelCount: call.channels, captureTime: hostTime)
    unsafe withUnsafeMutablePointer(to: &sound) { sound in
        var supply = CycleSupply()
        supply.frameCount = call.frames
        unsafe supply.sounds = sound
        supply.soundCount = 1
        unsafe withUnsafeMutablePointer(to: &supply) { supply in
            unsafe state._withUnsafeGuaranteedRef { state in
                unsafe state.render(
                    frames: call.frames, into: UnsafeBufferPointer(start: target, count: call.channels),
                    hostTime: hostTime, isOffline: isOffline, beats: beats, supply: PassedSupply(supply: supply),
                    at: call.sampleTime, resets: call.resets)
            }
        }
    }
}
