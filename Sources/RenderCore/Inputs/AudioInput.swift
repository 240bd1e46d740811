internal import Synchronization

/// The sound that comes into the machine: a microphone, an instrument, another program. Pushes one buffer.
///
///     let guitar = AudioInput(channels: 1, name: "guitar")
///     let renderer = try Renderer { context in
///         context.run(guitar)
///         context.run(delay)
///         context.output()
///     }
///     let output = try JACKOutput(renderer)        // finds the input in the renderer, and makes a port for it
///
/// The buffer shows what came in during the cycle that is being rendered, without a copy until it is edited, and carries
/// the time at which it was captured (``AudioBuffer/time``). It has no latency of its own. Where nothing
/// drives the input, offline for instance, the buffer is silent.
///
/// An input belongs to one output. In a renderer that this output does not drive, that of a ``SubRenderer`` too, it is
/// silent.
public final class AudioInput: Generator {
    /// Channels of the buffer that is pushed: 1…64.
    public let channelCount: Int
    /// What the output calls its ports, and what faults and statistics call it.
    public let name: String

    private let enabled = Atomic<Bool>(true)
    private let active = Atomic<Bool>(false)

    /// An input.
    ///
    /// - Parameters:
    ///   - channels: how many there are, 1…64.
    ///   - name: what it is, for people: "voice".
    /// - Precondition: `channels` is in range.
    public init(channels: Int = 2, name: String = "input") {
        precondition((1...64).contains(channels), "AudioInput: \(channels) channels; it must have 1…64")
        channelCount = channels
        self.name = name
    }

    /// Whether it is listened to: `true` at first. While it is not, the buffer is silent.
    public var isEnabled: Bool {
        get { enabled.load(ordering: .relaxed) }
        set { enabled.store(newValue, ordering: .relaxed) }
    }

    /// Whether sound came in at the last slice: `false` where it is disabled or nothing drives it.
    public var isConnected: Bool { active.load(ordering: .relaxed) }

    /// Pushes what came in, or silence.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        guard enabled.load(ordering: .relaxed), let sound = unsafe context.sound(for: identity) else {
            active.store(false, ordering: .relaxed)
            context.push(channels: channelCount)
            return
        }
        unsafe context.pushCaptured(sound)
        active.store(true, ordering: .relaxed)
    }

    /// What is silent need not be mixed.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool { enabled.load(ordering: .relaxed) }
}

extension RenderContext {
    /// Pushes what came in, stamped with the time of its capture.
    @_noLocks @_noAllocation
    @unsafe mutating func pushCaptured(_ sound: UnsafeMutablePointer<CycleSupply.Sound>) {
        guard let supply = unsafe core.pointee.supply else { return }
        let first = cycleOffset
        unsafe pushExternal(
            sound.pointee.channels, channels: sound.pointee.channelCount, from: first, of: supply.pointee.frameCount,
            isReadOnly: true)
        guard depth > 0, depth <= entryCount else { return }
        let time = unsafe sound.pointee.captureTime &+ RenderTime.nearest(Double(first) * 1e9 / sampleRate)
        unsafe (entries + (depth &- 1)).pointee.times[1] = time
    }
}
