internal import CPluginMemory
internal import RenderCore
internal import Supply

/// The instances of a plug-in module, as its state: one, or of a mono plug-in one for each channel.
@safe struct PluginSeats: ~Copyable, @unchecked Sendable {
    // Unchecked because the view does not change.
    let view: PluginView
    private let output: MIDIOutput

    /// No instance, or those that a renderer of so many channels runs.
    init(
        _ instances: [any PluginInstance] = [], output: MIDIOutput, rate: Double = 48_000, frames: Int = 1,
        isLate: Bool = false, channelLimit: Int = 1
    ) {
        let seats = UnsafeMutablePointer<PluginSeat>.allocate(capacity: max(instances.count, 1))
        for (index, instance) in instances.enumerated() {
            unsafe (seats + index).initialize(
                to: PluginSeat(instance, rate: rate, frames: frames, isLate: isLate))
        }
        self.output = output
        unsafe view = PluginView(
            count: instances.count, channelLimit: channelLimit, frames: frames, seats: seats,
            sent: .allocate(capacity: PluginView.mostSent), output: Unmanaged.passUnretained(output).toOpaque())
    }

    deinit {
        unsafe view.seats.deinitialize(count: view.count)
        unsafe view.seats.deallocate()
        unsafe view.sent.deallocate()
    }
}

/// The instances as the render thread sees them, for a slice. All but `set` is foreign code itself, in which the compiler checks no
/// annotation.
@safe struct PluginView: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because only the render thread that has the state uses it.
    let count: Int
    /// The most channels that a buffer of the renderer can have.
    let channelLimit: Int
    /// The most frames that a run has.
    let frames: Int
    let seats: UnsafeMutablePointer<PluginSeat>
    /// Room for the messages of control code in a slice. On the stack it would be cleared in each.
    let sent: UnsafeMutablePointer<MIDIEvent>
    /// The address of the output for the plug-in's messages.
    let output: UnsafeRawPointer
    static var mostSent: Int { @_noLocks @_noAllocation get { 64 } }

    /// Sets the value of a control in all instances.
    @_noLocks @_noAllocation @inline(__always)
    func set(_ place: Int, _ value: Float) {
        var index = 0
        while index < count {
            unsafe seats[index].controls[place] = value
            index &+= 1
        }
    }

    /// Has all instances forget their sound.
    func reset(isOffline: Bool) {
        for index in 0..<count { unsafe seats[index].reset(isOffline: isOffline) }
    }

    /// Takes the instances for a run. `false`: one is being reset or restored, and none is taken.
    func begin(isOffline: Bool) -> Bool {
        for index in 0..<count where unsafe !seats[index].code.begin(isOffline: isOffline) {
            for taken in 0..<index { unsafe seats[taken].code.end() }
            return false
        }
        return true
    }

    /// Gives the instances back. `false`: one has written beyond its memory.
    func end() -> Bool {
        var isWhole = true
        for index in 0..<count {
            unsafe seats[index].code.end()
            if unsafe !cplugin_memory_is_whole(seats[index].memory) { isWhole = false }
        }
        return isWhole
    }

    func add(_ event: MIDIEvent) {
        for index in 0..<count { unsafe seats[index].code.add(event) }
    }

    func addPosition(_ context: borrowing RenderContext) {
        let (transport, beats) = (context.transport, context.beats)
        // A program without a session's transport plays by its own tempo, and rolls.
        let position = Transport(
            isRolling: transport.isRolling || !beats.isLed, frame: beats.isLed ? transport.frame : context.sampleTime,
            bars: transport.bars ?? beats.bars)
        for index in 0..<count { unsafe seats[index].code.add(position, frames: context.frameCount) }
    }

    /// Sends the messages that the plug-in, or the first of its copies, has sent.
    func sendMessages(_ context: borrowing RenderContext) {
        unsafe seats[0].code.forEachMessage { frame, message in
            _ = unsafe context.send(message, at: frame, to: output)
        }
    }

    /// Runs the plug-in on the buffers of the stack. The one of the side-chain stays.
    ///
    /// - Parameters:
    ///   - from: The part of the plug-in's sound in the result at the first frame; the rest is the input, as late as the sound.
    ///   - to: The part at the last frame.
    func render(_ context: inout RenderContext, inputs: Int, sides: Int, outputs: Int, part from: Float, to: Float) {
        let frames = min(context.frameCount, frames)
        let channels = context.channelCount()
        let sideChannels = sides > 0 && inputs > 0 ? context.channelCount(at: 1) : 0
        let isCopied = inputs == 1 && outputs == 1
        let isOther = inputs > 0 && outputs > 0 && !isCopied && channels != outputs
        for seat in 0..<(isCopied ? min(channels, count) : 1) {
            if sideChannels > 0 {
                // To a copy, a side-chain in mono is that of all channels.
                let (first, count) = isCopied ? (min(seat, sideChannels - 1), 1) : (0, sideChannels)
                unsafe seats[seat].take(context.buffer(at: 1), from: first, count: count, isSide: true, frames)
            }
            let (first, count) = isCopied ? (seat, 1) : (0, channels)
            if inputs > 0 { unsafe seats[seat].take(context.top, from: first, count: count, isSide: false, frames) }
            if isOther {
                // The result has another number of channels than the top.
                let time = context.top.time
                let before = context.bufferCount
                context.push(channels: outputs)
                guard context.bufferCount > before else { return }
                context.top.time = time
            }
            unsafe seats[seat].run(frames)
            if outputs > 0 {
                var top = context.top
                unsafe seats[seat].give(&top, from: first, count: isOther ? outputs : count, frames, part: from, to: to)
            }
            if isOther { context.remove(at: 1) }
        }
    }
}
