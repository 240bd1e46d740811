public import RenderCore
internal import Synchronization

/// Pushes the sound of a microphone, an instrument or another program, as one buffer.
///
///     let guitar = AudioInput(channels: 1, name: "guitar")
///     let renderer = try Renderer { context in
///         context.run(guitar)
///         context.run(delay)
///         context.output()
///     }
///     let output = JACKOutput(renderer)        // finds the input in the renderer, and makes a port for it
///
/// The buffer shows the sound that came in during the cycle that is being rendered, without a copy until it is edited,
/// and carries the time at which it was captured (``/RenderCore/AudioBuffer/time``). The input has no latency of its own. If
/// nothing drives the input, offline for instance, the buffer is silent.
///
/// An input belongs to one output, and sounds in the renderer that this output drives and in all that are inside of it: in that of a
/// ``/Composition/SubRenderer``, an ``/Composition/Insert`` or a `Splitter` and in one branch of a ``/Composition/Parallel`` exactly as
/// outside; in a `RateConverter`, a `Varispeed` or a `TimePitch` brought to the clock of the inner renderer. The inputs that an
/// ``/Composition/Insert`` is made with are different: they show the buffers that the outer loop has on its stack.
///
/// Threads: control.
public final class AudioInput: Generator {
    /// Channels of the buffer that is pushed: 1…64. Those of a whole device are 2 until an output has found how many it has.
    ///
    /// Threads: any.
    public var channelCount: Int { @_noLocks @_noAllocation get { channels.load(ordering: .relaxed) } }
    /// Indicates whether it has as many channels as the device that the output records from.
    public let isWholeDevice: Bool
    /// The name of the input's ports, and of the module in faults and statistics.
    public let name: String

    private let channels: Atomic<Int>
    private let enabled = Switch(true)
    private let active = Atomic<Bool>(false)

    /// Creates an input.
    ///
    /// - Parameters:
    ///   - channels: The number of channels, 1…64.
    ///   - name: A name for people: "voice".
    /// - Precondition: `channels` is in range.
    public convenience init(channels: Int = 2, name: String = "input") {
        demand((1...64).contains(channels), "AudioInput: \(channels) channels; it must have 1…64")
        self.init(channels, name, isWholeDevice: false)
    }

    private init(_ count: Int, _ name: String, isWholeDevice: Bool) {
        channels = Atomic(count)
        self.name = name
        self.isWholeDevice = isWholeDevice
    }

    /// Returns an input that has as many channels as the device that the output records from, up to 64: JACK's physical ports, those of
    /// the card, or those of PipeWire's source. Other inputs of the output take theirs first.
    ///
    ///     let interface = AudioInput.wholeDevice(name: "interface")
    ///     let renderer = try Renderer(layout: StackLayout(channels: 32)) { context in
    ///         context.run(interface)              // its buffer has the device's channels
    ///
    /// The output looks when it starts, when the input joins it, and when it comes to a device anew. The stack's layout says how many
    /// channels a buffer can have, and those beyond are left out.
    ///
    /// - Parameter name: A name for people.
    public static func wholeDevice(name: String = "input") -> AudioInput { AudioInput(2, name, isWholeDevice: true) }

    /// Gives the input of a whole device its channels, held to 1…64.
    package func settle(channels count: Int) { channels.store(max(1, min(64, count)), ordering: .relaxed) }

    /// Indicates whether the input is enabled: `true` at first. While it is not, the buffer is silent.
    public var isEnabled: Bool {
        get { enabled.isOn }
        set { enabled.isOn = newValue }
    }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [enabled.named("enabled")] }

    /// `true`: it shows the sound of the slice in each place.
    public var isRepeatable: Bool { true }

    /// Indicates whether sound came in at the last slice: `false` if it is disabled or nothing drives it.
    public var isConnected: Bool { active.load(ordering: .relaxed) }

    /// Pushes the input's sound, or silence.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        guard enabled.isOn(context), let sound = unsafe context.sound(for: identity) else {
            active.store(false, ordering: .relaxed)
            context.push(channels: channelCount)
            return
        }
        unsafe context.pushCaptured(sound)
        active.store(true, ordering: .relaxed)
    }

    /// Returns whether the input is enabled: a disabled one is silent, and need not be mixed.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool { enabled.isOn(context) }
}

extension RenderContext {
    /// Pushes the input's sound, stamped with the time of its capture.
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
