import CBench
import RenderStack

/// W2: voices, each a sine through its own band-pass to its own place.
enum Voices {
    /// Makes the voices in the way of a user: three modules a voice.
    static func modules(_ count: Int) throws -> Renderer {
        struct Modules: Sendable {
            let tone: Oscillator
            let filter: Bandpass
            let pan: Pan
        }
        let voices = Score.voices(count).map { voice in
            Modules(
                tone: Oscillator(frequency: voice.frequency, level: voice.level),
                filter: Bandpass(center: voice.center, octaves: 1), pan: Pan(voice.position))
        }
        return try Renderer(layout: StackLayout(slots: 8, channels: 2, frames: 512)) { context in
            context.push(channels: 2)
            context.forEach(voices) { context, voice in
                context.run(voice.tone)
                context.run(voice.filter)
                context.run(voice.pan)
                context.mix(2)
            }
            context.output()
        }
    }

    static func contestants(_ count: Int, inLanes: Bool, ours: Renderer?) -> [any Line] {
        var lines: [any Line] = []
        if let ours { lines.append(RendererLine("RenderStack", ours)) }
        for tuned in Tuned.all { lines.append(BankLine(tuned, Score.voices(count), inLanes: inLanes)) }
        return lines
    }
}

/// Something that renders stereo cycles: to be timed, and to be compared with others.
protocol Line: AnyObject {
    var name: String { get }
    func render(frames: Int)
    var left: [Float] { get }
    var right: [Float] { get }
}

extension Line {
    /// Everything for a number of frames.
    func render(_ frames: Int, cycle: Int = Score.cycle) -> [[Float]] {
        var channels: [[Float]] = [[], []]
        while channels[0].count < frames {
            let count = min(cycle, frames - channels[0].count)
            render(frames: count)
            channels[0] += left.prefix(count)
            channels[1] += right.prefix(count)
        }
        return channels
    }
}

final class RendererLine: Line {
    let name: String
    let renderer: Renderer
    private var block: AudioBlock

    init(_ name: String, _ renderer: Renderer) {
        self.name = name
        self.renderer = renderer
        block = AudioBlock(channels: renderer.channelCount, frames: 4_096)
    }

    func render(frames: Int) { renderer.render(into: &block, frames: frames, hostTime: 0) }
    var left: [Float] { block.array(0) }
    var right: [Float] { block.array(block.channelCount - 1) }
}

@safe final class BankLine: Line {
    let name: String
    private let bank: OpaquePointer
    private let tuned: Tuned
    /// Eight voices at a time, or one after the other.
    private let inLanes: Bool
    private let (a, b) = (Floats(4_096), Floats(4_096))

    init(_ tuned: Tuned, _ voices: [Score.Voice], inLanes: Bool) {
        name = tuned.name
        self.tuned = tuned
        self.inLanes = inLanes
        let numbers = voices.map { voice in
            bench_voice(
                step: UInt32((Double(voice.frequency) / Score.sampleRate * 0x1p32).rounded()), level: voice.level,
                left: Float(voice.left), right: Float(voice.right),
                filter: Tuned.filter((voice.b0, voice.a1, voice.a2)))
        }
        unsafe bank = bench_bank_make(numbers, Int32(numbers.count))
    }

    deinit { unsafe bench_bank_free(bank) }

    func render(frames: Int) {
        if inLanes {
            unsafe tuned.kernels.pointee.bank(bank, a.start, b.start, Int32(frames))
        } else {
            unsafe tuned.kernels.pointee.voices(bank, a.start, b.start, Int32(frames))
        }
    }

    var left: [Float] { a.array }
    var right: [Float] { b.array }
}
