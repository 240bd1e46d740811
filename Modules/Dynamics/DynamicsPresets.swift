internal import RenderCore

/// The numbers of a preset, for the parameters of a compressor, an expander, a gate or a band. A gate's knee is its hysteresis.
struct DynamicsCharacter {
    /// In dB.
    var threshold: Float
    var ratio: Float = 1
    /// In dB.
    var knee: Float
    /// In dB.
    var range: Float = 0
    /// In seconds.
    var attack, release: Float
    /// In seconds.
    var hold: Float = 0
    /// In dB.
    var makeUp: Float = 0
    var mix: Float = 1
}

extension DynamicsControls {
    /// Sets all parameters as a preset has them.
    func load(_ character: DynamicsCharacter) {
        threshold.value = character.threshold
        if shape != .gate { ratio.value = character.ratio }
        knee.value = character.knee
        if shape != .compress { range.value = character.range }
        attack.value = character.attack
        release.value = character.release
        hold.value = character.hold
        makeUp.value = character.makeUp
        mix.value = character.mix
    }
}
