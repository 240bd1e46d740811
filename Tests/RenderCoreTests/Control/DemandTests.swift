import RenderStack
import Testing

/// A mistake that a programmer can make in an initializer, and the sentence for it.
private struct Mistake {
    let sentence: String
    let make: @Sendable () -> Void

    static let all = [
        Mistake(sentence: "StackLayout: 0 channels; it must be 1…64") { _ = StackLayout(channels: 0) },
        Mistake(sentence: "StackLayout: 1000 channels; it must be 1…64") { _ = StackLayout(channels: 1_000) },
        Mistake(sentence: "Renderer: an output of 65 channels; it must have 1…64") { _ = Renderer(channels: 65) },
        Mistake(sentence: "Processors/LowPass.swift:") { _ = LowPass(cutoff: .nan) },
        Mistake(sentence: "Parameter: a value of nan in 10.0…192000.0; all three must be finite") {
            _ = LowPass(cutoff: .nan)
        },
        Mistake(sentence: "Modulation/Tremolo.swift:") { _ = Tremolo(rate: .nan) },
        Mistake(sentence: "Modulation/Tremolo.swift:") { _ = Tremolo(beats: .infinity) },
        Mistake(sentence: "Dynamics/MultibandCompressor.swift:") { _ = MultibandCompressor(crossovers: [.nan]) },
        Mistake(sentence: "Tones/Oscillator.swift:") { _ = Oscillator(frequency: .infinity) },
        Mistake(sentence: "AudioBlock has 1 to 64 channels, not 65") { _ = AudioBlock(channels: 65, frames: 1) },
        Mistake(sentence: "AudioBlock has 0 to 1,099,511,627,776 frames, not 9223372036854775807") {
            _ = AudioBlock(channels: 1, frames: .max)
        },
        Mistake(sentence: "AudioRing has 1 to 64 channels, not 0") {
            _ = AudioRing(frames: 1, channels: 0, sampleRate: 48_000)
        },
        Mistake(sentence: "AudioRing cannot hold inf s") { _ = LoudnessMeter(seconds: .infinity) },
        Mistake(sentence: "AudioInput: 0 channels; it must have 1…64") { _ = AudioInput(channels: 0) },
        Mistake(sentence: "Bus: 1000 channels; it must be 1…64") { _ = Bus(channels: 1_000) },
        Mistake(sentence: "VoiceBank: 9223372036854775807 voices; it must be 1…65,536") { _ = VoiceBank(count: .max) },
        Mistake(sentence: "VoiceBank: voice 7 of 7; the first is 0") { _ = VoiceBank(count: 7)[7] },
        Mistake(sentence: "ParametricEQ: 9223372036854775807 bands; it must be 1…256") {
            _ = ParametricEQ(bands: .max)
        },
        Mistake(sentence: "Delay: a maximum time of nan s; it must be more than 0 and up to 3,600") {
            _ = Delay(maximumTime: .nan)
        },
        Mistake(sentence: "BufferTap: buffers of 0 frames; they must have 1…16,777,216") { _ = BufferTap(frames: 0) },
        Mistake(sentence: "SpectrumTap: a size of -1 frames") { _ = SpectrumTap(size: -1) },
        Mistake(sentence: "LoudnessMeasurement: 65 channels; it must be 1…64") {
            _ = LoudnessMeasurement(sampleRate: 48_000, channels: 65).momentary
        },
        Mistake(sentence: "Balance: channels [64] on the left and [] on the right; they must be 0…63") {
            _ = Balance(left: [64])
        },
        Mistake(sentence: "MessagePort: a capacity of 0; it must be 1…65,536") {
            _ = MessagePort<Int>(capacity: 0).capacity
        },
    ]
}

// In a debug build `precondition` says its sentence too; in a release build `demand` alone does.
@Suite struct DemandTests {
    @Test(
        "A mistake in an initialiser ends the program with a sentence, in every build",
        arguments: Mistake.all.indices)
    func sentence(number: Int) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [number = number as Int] in
            Mistake.all[number].make()
        }
        let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(said.contains(Mistake.all[number].sentence), "\(said)")
    }
}
