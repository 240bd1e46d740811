import RenderStack

/// The parameters of the synthesiser's sound.
enum Patch: Int, VoiceParameters {
    case wave, detune, cutoff, resonance, sweep, attack, decay, sustain, release

    static let waves = ["saw": 0, "square": 1, "triangle": 2, "sine": 3]
    /// The options of the program that set them.
    static let options: [(Patch, String)] = [
        (.detune, "detune"), (.cutoff, "cutoff"), (.resonance, "resonance"), (.sweep, "sweep"), (.attack, "attack"),
        (.decay, "decay"), (.sustain, "sustain"), (.release, "release"),
    ]

    func makeParameter() -> Parameter {
        switch self {
        case .wave: Parameter(0, in: 0...3, glide: .none)
        // Cents between the oscillators.
        case .detune: Parameter(8, in: 0...100)
        case .cutoff: Parameter(1_200, in: 50...20_000, unit: .hertz)
        case .resonance: Parameter(3, in: -3...24, unit: .decibels)
        // Octaves by which a note of the highest velocity opens the filter.
        case .sweep: Parameter(2, in: 0...8)
        case .attack: Parameter(0.003, in: 0.001...5, unit: .seconds, glide: .none)
        case .decay: Parameter(0.4, in: 0.005...10, unit: .seconds, glide: .none)
        case .sustain: Parameter(0.6, in: 0...1, glide: .none)
        case .release: Parameter(0.3, in: 0.005...10, unit: .seconds, glide: .none)
        }
    }

    /// The controllers that MIDI knows for them.
    static let controllers: [VoiceController<Patch>] = [
        VoiceController(71, .resonance),
        VoiceController(72, .release, 0.005...5, isExponential: true),
        VoiceController(73, .attack, 0.005...5, isExponential: true),
        VoiceController(74, .cutoff, isExponential: true),
        VoiceController(75, .decay, 0.005...5, isExponential: true),
    ]
}
