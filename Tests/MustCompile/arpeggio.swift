// A module that reads MIDI events and sends others, with the compiler's proof.
import RenderStack

final class Octaves: Generator {
    private let keys: MIDIReader
    private let synth: MIDISender
    private let level = RenderState<Float>(0)
    private let counts = RenderState(RenderMemory(repeating: 0, count: 128))

    init(from input: MIDIInput, to output: MIDIOutput) {
        keys = MIDIReader(input)
        synth = MIDISender(output)
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        var events = keys.events
        var frame = 0
        while let event = events.next(context) {
            write(&context, from: frame, to: event.frame)
            frame = event.frame
            if case .noteOn(let channel, let note, let velocity) = event.message {
                level.write(Float(velocity) / 127, context)
                counts.with(&context) { counts, _ in counts[Int(note) & 127] += 1 }
                synth.send(.noteOn(channel: channel, note: note ^ 12, velocity: velocity), at: frame, context)
            }
        }
        write(&context, from: frame, to: context.frameCount)
        var late = keys.events
        while let event = late.next(context, upTo: 3) { _ = event.message }
    }

    @_noLocks @_noAllocation
    private func write(_ context: inout RenderContext, from first: Int, to end: Int) {
        let level = level.read(context)
        var top = context.top
        var samples = top[0]
        for i in first..<end { samples[i] = level }
    }
}
