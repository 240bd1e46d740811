internal import CPluginHost
internal import RenderCore
internal import Supply

/// A run of a plug-in's instances in a slice: the foreign code itself, in which the compiler checks no annotation.
@safe struct LV2Run {
    private let view: LV2View
    private let frames: Int32
    private let isOffline: Bool
    private let from: Float
    private let to: Float

    init(_ view: LV2View, _ context: borrowing RenderContext, from: Float, to: Float) {
        self.view = view
        frames = Int32(truncatingIfNeeded: context.frameCount)
        isOffline = context.isOffline
        self.from = from
        self.to = to
    }

    /// Takes the instances. `false`: one is being reset or restored, and none is taken.
    func begin() -> Bool {
        var index = 0
        while index < view.count {
            if unsafe !clv2_begin(view.instances[index], isOffline) {
                while index > 0 {
                    index &-= 1
                    _ = unsafe clv2_end(view.instances[index])
                }
                return false
            }
            index &+= 1
        }
        return true
    }

    /// Gives the instances back. `false`: one has written beyond its memory.
    func end() -> Bool {
        var isWhole = true
        var index = 0
        while index < view.count {
            if unsafe !clv2_end(view.instances[index]) { isWhole = false }
            index &+= 1
        }
        return isWhole
    }

    func add(_ event: MIDIEvent) {
        let frame = Int32(truncatingIfNeeded: event.frame)
        unsafe event.message.withBytes { bytes, count, ends in
            for index in 0..<view.count {
                unsafe clv2_add_midi(view.instances[index], frame, bytes, Int32(count), ends)
            }
        }
    }

    func addPosition(_ context: borrowing RenderContext) {
        let (transport, beats) = (context.transport, context.beats)
        let bars = transport.bars ?? beats.bars
        // A program without a session's transport plays by its own tempo, and rolls.
        let isRolling = transport.isRolling || !beats.isLed
        var position = clv2_position(
            frame: beats.isLed ? transport.frame : context.sampleTime, speed: isRolling ? 1 : 0,
            bar_beat: Double(bars.beat - 1) + bars.fraction, beats_per_bar: bars.beatsPerBar,
            beats_per_minute: bars.beatsPerMinute, bar: Int64(bars.bar - 1), beat_unit: Int32(bars.beatType))
        var index = 0
        while index < view.count {
            unsafe clv2_add_position(view.instances[index], &position, frames)
            index &+= 1
        }
    }

    /// Pointers to the channels of a buffer.
    private typealias Table = UnsafeMutablePointer<UnsafeMutablePointer<Float>?>

    /// Runs the plug-in on the buffers of the stack. The one of the side-chain stays.
    func render(_ context: inout RenderContext, inputs: Int, sides: Int, outputs: Int) {
        // Two, since a larger one would be allocated on the heap; bytes, since Swift would put the type of an optional pointer
        // together at the first call, under a lock.
        let stride = MemoryLayout<UInt>.stride
        unsafe withUnsafeTemporaryAllocation(byteCount: 128 * stride, alignment: stride) { memory in
            unsafe withUnsafeTemporaryAllocation(byteCount: 64 * stride, alignment: stride) { more in
                guard let first = memory.baseAddress, let second = more.baseAddress else { return }
                let (main, side) = unsafe (table(first), table(second))
                var channels = unsafe clv2_channels(
                    input: main, input_count: 0, side: side, side_count: 0, output: main + 64, output_count: 0)
                if sides > 0 && inputs > 0 { unsafe channels.side_count = show(&context, at: 1, in: side) }
                if inputs > 0 { unsafe channels.input_count = show(&context, at: 0, in: main) }
                if outputs > 0 { unsafe channels.output_count = show(&context, at: 0, in: main + 64) }
                if inputs == 1 && outputs == 1 { return unsafe runCopies(channels) }
                guard unsafe inputs > 0 && outputs > 0 && channels.output_count != Int32(outputs) else {
                    return unsafe clv2_run(view.instances[0], &channels, frames, from, to)
                }
                // The result has another number of channels than the top.
                let time = context.top.time
                let before = context.bufferCount
                context.push(channels: outputs)
                guard context.bufferCount > before else { return }
                context.top.time = time
                unsafe channels.output_count = show(&context, at: 0, in: main + 64)
                unsafe clv2_run(view.instances[0], &channels, frames, from, to)
                context.remove(at: 1)
            }
        }
    }

    private func table(_ memory: UnsafeMutableRawPointer) -> Table {
        unsafe memory.assumingMemoryBound(to: UnsafeMutablePointer<Float>?.self)
    }

    /// Runs a plug-in of one channel: an instance for each channel.
    private func runCopies(_ channels: clv2_channels) {
        var one = unsafe channels
        unsafe (one.input_count, one.output_count) = (1, 1)
        unsafe one.side_count = min(channels.side_count, 1)
        for channel in unsafe 0..<min(Int(channels.input_count), view.count) {
            unsafe one.input = channels.input.map { unsafe $0 + channel }
            unsafe one.output = channels.output.map { unsafe $0 + channel }
            // A side-chain in mono is that of all channels.
            if unsafe channel < Int(channels.side_count) { unsafe one.side = channels.side.map { unsafe $0 + channel } }
            unsafe clv2_run(view.instances[channel], &one, frames, from, to)
        }
    }

    /// Writes pointers to the channels of a buffer into a table, and returns their number.
    private func show(_ context: inout RenderContext, at index: Int, in table: Table) -> Int32 {
        let count = min(context.channelCount(at: index), 64)
        var buffer = context.buffer(at: index)
        unsafe buffer.withUnsafeChannels { channels, _ in
            for channel in 0..<count { unsafe table[channel] = channels[channel] }
        }
        return Int32(count)
    }

    /// Calls `body` with the messages that the plug-in, or the first of its copies, has sent.
    func forEachMessage(_ body: (Int, MIDIMessage) -> Void) {
        var cursor: UInt32 = 0
        var (frame, count): (Int32, Int32) = (0, 0)
        var bytes: UnsafePointer<UInt8>?
        while unsafe clv2_next_midi(view.instances[0], &cursor, &frame, &bytes, &count) {
            unsafe MIDIMessage.read(UnsafeRawBufferPointer(start: bytes, count: Int(count))) { body(Int(frame), $0) }
        }
    }
}

/// The output of a plug-in's messages, for code in which no reference may be counted. The module keeps the output alive.
@safe struct LV2Port: BitwiseCopyable, @unchecked Sendable {
    // Unchecked because the reference never changes, and leads to a Sendable object.
    private let output: Unmanaged<MIDIOutput>

    init(_ output: MIDIOutput) { unsafe self.output = .passUnretained(output) }

    func send(_ message: MIDIMessage, at frame: Int, _ context: inout RenderContext) {
        _ = unsafe output._withUnsafeGuaranteedRef { context.send(message, at: frame, to: $0) }
    }
}
