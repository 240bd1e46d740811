public import RenderCore
public import Supply
internal import Synchronization

/// A cycle of an output: the sound and the MIDI that come in and go out, the transport, and the times.
///
/// An output makes one before its first cycle, with all the memory that it needs, and uses it in every cycle: it says how long the
/// cycle is, fills in what has come, has the run render, and takes what goes out.
///
///     var cycle = OutputCycle(run, midiInputs: [keys], midiOutputs: [synth], frames: 1_024)
///     …
///     cycle.begin(frames: 256, hostTime: due)
///     var voice = cycle.input(0)
///     for frame in voice.indices { voice[frame] = … }
///     cycle.receive(.noteOn(channel: 0, note: 60, velocity: 100), at: 17, on: 0)
///     cycle.transport = Transport(isRolling: true, frame: position)
///     run.render(&cycle)
///     … cycle.output(0) …
///     cycle.forEachMessage(on: 0) { frame, bytes in … }
///
/// Channels count through all outputs of the renderer, and through all inputs. A MIDI port has the number of its place in the list
/// that the cycle was made with.
///
/// Threads: control.
@safe public struct OutputCycle: ~Copyable, @unchecked Sendable {
    // Unchecked because it alone leads to its memory, but for that of a driver, which vouches for it.

    /// The messages that a port takes in a cycle; those beyond are lost, which is reported.
    public static let messageLimit = 1_024
    /// The bytes of the longest system exclusive message that is sent.
    public static let longestMessage = 8_192

    /// The inputs for sound, in the order of their channels.
    public private(set) var inputs: [AudioInput]
    /// The channels of all outputs of the renderer.
    public let channelCount: Int
    /// The channels of all inputs.
    ///
    /// Threads: any.
    public var inputChannelCount: Int { @_noLocks @_noAllocation get { incoming.channelCount } }
    /// The frames of the cycle.
    public private(set) var frameCount = 0
    /// The time at which the first frame is heard, in nanoseconds of ``/Exchange/HostClock``.
    public var hostTime: Int64 = 0
    /// The time at which the first frame of the inputs was captured: at first ``hostTime``.
    public var captureTime: Int64 = 0
    /// Indicates whether the inputs bring sound: while they do not, an `AudioInput` is silent, and not connected.
    public var hasInput = true
    /// Indicates whether the cycle is rendered without a clock, as fast as the machine can.
    public private(set) var isFreewheeling = false
    /// Indicates whether the sample clock begins at 0 with this cycle, and every module anew: by itself in the first cycle of
    /// a freewheel, so that each bounce is the same.
    public var startsOver = false

    private let renderer: Renderer
    let news: MIDINews
    // They are kept alive: the memory below has their addresses.
    private let midiInputs: [MIDIInput]
    private let midiOutputs: [MIDIOutput]
    /// The inputs and their memory.
    package var incoming: CycleInputs
    /// Memory of its own for the sound.
    package let outputBlock: AudioBlock
    package let outputChannels: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    let lists: UnsafeMutablePointer<CycleSupply.Events>
    let events: UnsafeMutablePointer<MIDIEvent>
    let supply: UnsafeMutablePointer<CycleSupply>
    /// The notes and pedals that are held down at each input. Several sources may be mixed there, so the cycle does not know by whom.
    let held: UnsafeMutablePointer<HeldNotes>
    /// The place where a system exclusive message is put together, for each output, and its length so far.
    let messages: UnsafeMutablePointer<UInt8>
    let messageLengths: UnsafeMutablePointer<Int>
    /// The frames of a cycle for which there is memory.
    private var capacity: Int
    /// The time at which the cycle was begun.
    private(set) var began = HostClock.now
    /// The inputs whose notes end, the cycles until then, and how many these are at first.
    var ending: UInt64 = 0
    var endsIn = 0
    let patience: Int
    private var freewheelOrigin: Int64 = 0
    private var freewheelFrames: Int64 = 0
    private var lastHostTime: Int64 = 0

    /// Creates the memory of an output's cycles.
    ///
    /// - Parameters:
    ///   - run: The run that renders them.
    ///   - inputs: The inputs for sound; by default those that the renderer's loop runs.
    ///   - midiInputs: The inputs for events.
    ///   - midiOutputs: The outputs for events.
    ///   - frames: The frames of the longest cycle; 0 if the driver gives memory of its own for every channel in each cycle (see
    ///     ``setOutput(_:_:)``). With memory of its own a cycle has 64 channels at most in each direction.
    public init(
        _ run: OutputRun, inputs: [AudioInput]? = nil, midiInputs: [MIDIInput] = [], midiOutputs: [MIDIOutput] = [],
        frames: Int
    ) {
        self.init(
            run.renderer, run.midi, patience: 3, inputs: inputs ?? run.renderer.inputs, midiInputs: midiInputs,
            midiOutputs: midiOutputs, frames: frames)
    }

    /// - Parameter patience: The cycles until the notes end of a source that is gone: its last event may come meanwhile.
    package init(
        _ renderer: Renderer, _ news: MIDINews, patience: Int, inputs: [AudioInput], midiInputs: [MIDIInput],
        midiOutputs: [MIDIOutput], frames: Int
    ) {
        self.renderer = renderer
        self.news = news
        self.patience = patience
        (self.midiInputs, self.midiOutputs) = (midiInputs, midiOutputs)
        let limit = frames > 0 ? 64 : Int.max
        capacity = max(0, frames)
        channelCount = min(limit, renderer.outputChannelCounts.reduce(0, +))
        incoming = CycleInputs(inputs, frames: capacity)
        self.inputs = inputs
        outputBlock = AudioBlock(channels: max(1, min(64, channelCount)), frames: capacity)
        unsafe outputChannels = .allocate(capacity: max(1, channelCount))
        for channel in 0..<channelCount {
            unsafe (outputChannels + channel).initialize(to: outputBlock.pointers[min(channel, 63)])
        }
        var ports = unsafe midiInputs.map { unsafe UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }
        unsafe ports += midiOutputs.map { unsafe UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }
        unsafe lists = .allocate(capacity: max(1, ports.count))
        unsafe events = .allocate(capacity: max(1, ports.count * Self.messageLimit))
        unsafe events.initialize(repeating: MIDIEvent(.clock), count: ports.count * Self.messageLimit)
        for index in unsafe ports.indices {
            unsafe (lists + index).initialize(
                to: CycleSupply.Events(
                    identity: ports[index], events: events + index * Self.messageLimit, capacity: Self.messageLimit))
        }
        unsafe held = .allocate(capacity: max(1, midiInputs.count))
        unsafe held.initialize(repeating: HeldNotes(), count: midiInputs.count)
        unsafe messages = .allocate(capacity: max(1, midiOutputs.count * Self.longestMessage))
        unsafe messages.initialize(repeating: 0, count: midiOutputs.count * Self.longestMessage)
        unsafe messageLengths = .allocate(capacity: max(1, midiOutputs.count))
        unsafe messageLengths.initialize(repeating: 0, count: midiOutputs.count)
        unsafe supply = .allocate(capacity: 1)
        unsafe supply.initialize(to: CycleSupply())
        unsafe supply.pointee.received = lists
        unsafe supply.pointee.receivedCount = midiInputs.count
        unsafe supply.pointee.sent = lists + midiInputs.count
        unsafe supply.pointee.sentCount = midiOutputs.count
    }

    deinit {
        unsafe outputChannels.deallocate()
        unsafe lists.deallocate()
        unsafe events.deallocate()
        unsafe held.deallocate()
        unsafe messages.deallocate()
        unsafe messageLengths.deallocate()
        unsafe supply.deallocate()
    }

    /// The places of the inputs' channels.
    package var inputChannels: UnsafeMutablePointer<UnsafeMutablePointer<Float>> {
        @_noLocks @_noAllocation get { unsafe incoming.channels }
    }

    /// Indicates whether there is memory for these inputs, as many channels as they have now.
    package func isMade(for inputs: [AudioInput]) -> Bool {
        incoming.isCurrent && incoming.all.elementsEqual(inputs, by: ===)
    }

    /// Takes other inputs, and gives those of before. Before ``begin(frames:hostTime:isFreewheeling:)``.
    package mutating func exchange(_ other: inout CycleInputs) {
        swap(&incoming, &other)
        // Kept apart: the thread sanitizer's compiler falls over a way through the memory. The other one holds the list of before.
        inputs = incoming.all
    }

    /// The transport at the first frame of the cycle. It stays as it is until an output sets another one.
    ///
    /// Threads: any.
    public var transport: Transport {
        @_noLocks @_noAllocation get { unsafe supply.pointee.transport }
        @_noLocks @_noAllocation set { unsafe supply.pointee.transport = newValue }
    }

    /// Begins a cycle, whose time runs from here. A server may bring sound and messages before, too.
    ///
    /// - Parameters:
    ///   - frames: The frames of the cycle; no more than there is memory for.
    ///   - hostTime: The time at which the first frame is due, in nanoseconds of ``/Exchange/HostClock``; by default now.
    ///   - isFreewheeling: `true` to render as fast as the machine can. Time follows the frames then, so that jobs that are
    ///     scheduled by it fall on the same frames each time.
    ///
    /// Threads: any.
    public mutating func begin(frames: Int, hostTime: Int64? = nil, isFreewheeling: Bool = false) {
        began = HostClock.now
        frameCount = max(0, min(frames, capacity))
        startsOver = isFreewheeling && !self.isFreewheeling
        self.isFreewheeling = isFreewheeling
        if startsOver { (freewheelOrigin, freewheelFrames) = (lastHostTime == 0 ? began : lastHostTime, 0) }
        if isFreewheeling {
            self.hostTime = freewheelOrigin &+ Int64(Double(freewheelFrames) * 1e9 / renderer.state.sampleRate)
            freewheelFrames += Int64(frameCount)
        } else {
            self.hostTime = Renderer.held(hostTime ?? began)
            lastHostTime = self.hostTime
        }
        captureTime = self.hostTime
        forgetSent()
        endNotes()
    }

    /// Renders the cycle.
    ///
    /// - Parameter driver: The number by which the renderer knows the output.
    package mutating func render(_ driver: UInt) {
        unsafe supply.pointee.frameCount = frameCount
        holdReceived()
        unsafe supply.pointee.sounds = incoming.sounds
        unsafe supply.pointee.soundCount = hasInput ? incoming.soundCount : 0
        for index in 0..<incoming.soundCount { unsafe incoming.sounds[index].captureTime = Renderer.held(captureTime) }
        unsafe renderer.render(
            frames: frameCount, into: UnsafeBufferPointer(start: UnsafePointer(outputChannels), count: channelCount),
            hostTime: Renderer.held(hostTime), isOffline: isFreewheeling, supply: supply, startsOver: startsOver,
            driver: driver)
        startsOver = false
        forgetReceived()
    }
}

// MARK: - Sound

extension OutputCycle {
    /// Returns a channel of the inputs, to fill before the cycle is rendered: the frames of the cycle.
    ///
    /// Threads: any.
    @_lifetime(&self)
    @_noLocks @_noAllocation
    public mutating func input(_ channel: Int) -> MutableSpan<Float> {
        precondition(channel >= 0 && channel < inputChannelCount)
        let span = unsafe MutableSpan(_unsafeStart: incoming.channels[channel], count: frameCount)
        return unsafe _overrideLifetime(span, mutating: &self)
    }

    /// Returns a channel of the outputs, to take when the cycle has been rendered: the frames of the cycle.
    ///
    /// Threads: any.
    @_lifetime(&self)
    @_noLocks @_noAllocation
    public mutating func output(_ channel: Int) -> MutableSpan<Float> {
        precondition(channel >= 0 && channel < channelCount)
        let span = unsafe MutableSpan(_unsafeStart: outputChannels[channel], count: frameCount)
        return unsafe _overrideLifetime(span, mutating: &self)
    }

    /// Has a channel of the inputs read where a driver has it, without a copy. Before ``begin(frames:hostTime:isFreewheeling:)``.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - samples: As many frames as the cycle has, until it has been rendered, or another place is set. Nothing writes there.
    ///
    /// Threads: any.
    @_noLocks @_noAllocation
    @unsafe public mutating func setInput(_ channel: Int, _ samples: UnsafeMutablePointer<Float>) {
        precondition(channel >= 0 && channel < inputChannelCount)
        unsafe incoming.channels[channel] = samples
        if incoming.block.frameCount == 0 { capacity = .max }
    }

    /// Has a channel of the outputs rendered where a driver wants it, without a copy. Before
    /// ``begin(frames:hostTime:isFreewheeling:)``.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - samples: Room for as many frames as the cycle has, until it has been rendered, or another place is set.
    ///
    /// Threads: any.
    @_noLocks @_noAllocation
    @unsafe public mutating func setOutput(_ channel: Int, _ samples: UnsafeMutablePointer<Float>) {
        precondition(channel >= 0 && channel < channelCount)
        unsafe outputChannels[channel] = samples
        if outputBlock.frameCount == 0 { capacity = .max }
    }

    /// Makes all outputs silent: for a driver whose memory is heard even if the cycle comes too late.
    ///
    /// Threads: any.
    @_noLocks @_noAllocation
    public mutating func silence() {
        var channel = 0
        while channel < channelCount {
            unsafe outputChannels[channel].clearSamples(count: frameCount)
            channel &+= 1
        }
    }
}
