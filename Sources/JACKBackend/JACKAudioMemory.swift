internal import CJACK
internal import RenderCore
internal import Supply

/// The audio ports of a connection, and where their buffers are in this cycle.
@safe final class JACKAudioMemory {
    private let outputPorts: UnsafeMutablePointer<OpaquePointer>
    private let outputBuffers: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    private let outputCount: Int
    private let inputPorts: UnsafeMutablePointer<OpaquePointer>
    private let inputBuffers: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
    private let inputCount: Int
    /// One for each input of the renderer.
    let sounds: UnsafeMutablePointer<CycleSupply.Sound>
    private let soundCount: Int
    /// The samples to which the tables point before the first cycle; they are never rendered into.
    private let nothing: UnsafeMutablePointer<Float>

    init(_ ports: [JACKPort], inputs: [AudioInput]) {
        let outputs = ports.filter { !$0.plan.isInput && !$0.plan.isMIDI }
        let captures = ports.filter { $0.plan.isInput && !$0.plan.isMIDI }
        unsafe nothing = .allocate(capacity: 1)
        outputCount = outputs.count
        inputCount = captures.count
        unsafe outputPorts = .allocate(capacity: max(1, outputCount))
        unsafe outputBuffers = .allocate(capacity: max(1, outputCount))
        unsafe inputPorts = .allocate(capacity: max(1, inputCount))
        unsafe inputBuffers = .allocate(capacity: max(1, inputCount))
        for index in 0..<outputCount {
            unsafe (outputPorts + index).initialize(to: outputs[index].port)
            unsafe (outputBuffers + index).initialize(to: nothing)
        }
        for index in 0..<inputCount {
            unsafe (inputPorts + index).initialize(to: captures[index].port)
            unsafe (inputBuffers + index).initialize(to: nothing)
        }
        soundCount = inputs.count
        unsafe sounds = .allocate(capacity: max(1, inputs.count))
        var first = 0
        for (index, input) in inputs.enumerated() {
            unsafe (sounds + index).initialize(
                to: CycleSupply.Sound(
                    identity: UnsafeRawPointer(Unmanaged.passUnretained(input).toOpaque()),
                    channels: UnsafePointer(inputBuffers + first), channelCount: input.channelCount, captureTime: 0))
            first += input.channelCount
        }
    }

    deinit {
        unsafe outputPorts.deallocate()
        unsafe outputBuffers.deallocate()
        unsafe inputPorts.deallocate()
        unsafe inputBuffers.deallocate()
        unsafe sounds.deallocate()
        unsafe nothing.deallocate()
    }

    /// The channels to render into: JACK's own memory.
    var channels: UnsafeBufferPointer<UnsafeMutablePointer<Float>> {
        unsafe UnsafeBufferPointer(start: UnsafePointer(outputBuffers), count: outputCount)
    }

    /// Asks where the buffers are: they move when the cycle's length changes. `false`: JACK does not give one.
    @unsafe func findBuffers(_ frames: UInt32) -> Bool {
        for index in 0..<outputCount {
            guard let buffer = unsafe jack_port_get_buffer(outputPorts[index], frames) else { return false }
            unsafe outputBuffers[index] = buffer.assumingMemoryBound(to: Float.self)
        }
        for index in 0..<inputCount {
            guard let buffer = unsafe jack_port_get_buffer(inputPorts[index], frames) else { return false }
            unsafe inputBuffers[index] = buffer.assumingMemoryBound(to: Float.self)
        }
        return true
    }

    /// Sets the time at which the present input was captured.
    @unsafe func stamp(_ time: Int64) {
        for index in 0..<soundCount { unsafe sounds[index].captureTime = time }
    }
}
