internal import CPluginMemory
internal import RenderCore
internal import SignalBlocks

/// An instance as the render thread has it: with its channels, and its input's past for the bypass. All but the initialiser belongs to
/// the foreign code, in which the compiler checks no annotation.
@safe struct PluginSeat: ~Copyable {
    private let instance: any PluginInstance
    var code: any PluginCode
    let memory: OpaquePointer
    /// For the render thread, which sets the controls outside of the foreign code.
    let controls: UnsafeMutablePointer<Float>
    private let inputs, sides, outputs: cplugin_channels
    /// The input, for a plug-in whose sound is late or may come to be: half a second at least, and a minute at most.
    private var past: DelayRing

    init(_ instance: any PluginInstance, rate: Double, frames: Int, isLate: Bool) {
        // Locals: see `HostedPlugin.init`.
        let memory = unsafe instance.memory.pointer
        let channels = unsafe cplugin_memory_channels(memory, CPLUGIN_INPUT)
        let results = unsafe cplugin_memory_channels(memory, CPLUGIN_OUTPUT)
        let isKept = unsafe isLate && channels.count > 0 && results.count > 0
        let longest = min(max(instance.code.latency, Int(rate / 2)), Int(rate * 60))
        self.instance = instance
        code = instance.code
        unsafe self.memory = memory
        unsafe controls = instance.controls
        unsafe (inputs, outputs) = (channels, results)
        unsafe sides = cplugin_memory_channels(memory, CPLUGIN_SIDE)
        past = DelayRing(channels: unsafe isKept ? channels.count : 0, frames: isKept ? longest : 0, atOnce: frames)
    }

    /// Copies channels of a buffer in, from `first` on: one goes to all of the instance's, and into one of them all are summed; those
    /// without a counterpart become silent.
    func take(_ buffer: borrowing AudioBuffer, from first: Int, count: Int, isSide: Bool, _ frames: Int) {
        let channels = unsafe isSide ? sides : inputs
        for channel in unsafe 0..<channels.count {
            let target = unsafe channels.samples[channel]
            if count == 1 || channel < count {
                unsafe target.copySamples(from: buffer.memory(count == 1 ? first : first + channel), count: frames)
            } else {
                unsafe target.clearSamples(count: frames)
            }
        }
        guard unsafe channels.count == 1, count > 1 else { return }
        for channel in 1..<count {
            unsafe channels.samples[0].addSamples(from: buffer.memory(first + channel), count: frames)
        }
    }

    /// Runs the plug-in.
    mutating func run(_ frames: Int) {
        for channel in 0..<past.channelCount {
            unsafe past.write(inputs.samples[channel], count: frames, in: channel, frame: 0)
        }
        past.advance(by: frames)
        code.render(frames: frames)
    }

    /// Copies the result of a run into channels of a buffer, from `first` on.
    ///
    /// - Parameters:
    ///   - from: The part of the plug-in's sound in it at the first frame; the rest is the input, as late as the sound.
    ///   - to: The part at the last frame.
    func give(_ buffer: inout AudioBuffer, from first: Int, count: Int, _ frames: Int, part from: Float, to: Float) {
        buffer.makeOwn()
        for channel in unsafe 0..<min(count, outputs.count) {
            let (wet, out) = unsafe (outputs.samples[channel], buffer.memory(first + channel))
            if from == 1 && to == 1 {
                unsafe out.copySamples(from: wet, count: frames)
                continue
            }
            if unsafe inputs.count > 0 {
                unsafe copyInput(min(channel, inputs.count - 1), to: out, frames)
            } else {
                unsafe out.clearSamples(count: frames)
            }
            if from == 0 && to == 0 { continue }
            let step = frames > 1 ? (to - from) / Float(frames - 1) : 0
            for frame in 0..<frames {
                let without = unsafe out[frame]
                unsafe out[frame] = without + (from + step * Float(frame)) * (wet[frame] - without)
            }
        }
    }

    /// Copies what an input has brought, as late as the plug-in's sound.
    private func copyInput(_ input: Int, to output: UnsafeMutablePointer<Float>, _ frames: Int) {
        let latency = code.latency
        if past.channelCount == 0 || latency <= 0 || latency + frames > past.length {
            unsafe output.copySamples(from: inputs.samples[input], count: frames)
        } else {
            unsafe past.copy(input, delay: latency + frames, to: output, count: frames)
        }
    }

    /// Has the plug-in forget its sound.
    mutating func reset(isOffline: Bool) {
        past.reset()
        code.reset(isOffline: isOffline)
    }
}
