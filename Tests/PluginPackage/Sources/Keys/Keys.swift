import RenderStack
import RenderStackPlugin

/// An instrument of one voice.
public let plugin = Plugin(
    uri: "https://example.org/keys", name: "Keys", inputs: 0, outputs: 1, category: .instrument, author: "A. Uthor",
    license: "http://opensource.org/licenses/MIT"
) { rate in
    let keys = MIDIInput(), tone = Oscillator(.saw, frequency: 220, level: 0), filter = LowPass(cutoff: 2_000)
    return .generator(parameters: [filter.cutoff.named("Cut-off")], midiInput: keys) { context in
        context.forEachEvent(from: keys) { event, context in
            switch event.message {
            case .noteOn(_, let note, _):
                tone.frequency.value = 440 * RenderMath.exp2((Float(note) - 69) / 12)
                tone.level.value = 0.3
            case .noteOff: tone.level.value = 0
            default: break
            }
        }
        context.run(tone)
        context.run(filter)
    }
}
