import RenderStack

extension Voices {
    /// W2 with one module for all voices.
    static func bank(_ count: Int) throws -> Renderer {
        let bank = VoiceBank(
            Score.voices(count).map { voice in
                VoiceBank.Voice(
                    frequency: voice.frequency, level: voice.level, pan: voice.position, center: voice.center)
            })
        return try Renderer { context in
            context.run(bank)
            context.output()
        }
    }
}
