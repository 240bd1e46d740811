import RenderStack
import Synchronization

/// The place that is heard, a preset or a response, and how much of it.
final class Place: Sendable {
    struct Choice {
        var isResponse: Bool
        var mix: Float
    }

    private let reverb: Reverb
    private let convolution: ConvolutionReverb?
    private let state: Mutex<Choice>

    /// Begins in the response, if there is one.
    init(_ reverb: Reverb, _ convolution: ConvolutionReverb?, mix: Float) {
        self.reverb = reverb
        self.convolution = convolution
        state = Mutex(Choice(isResponse: convolution != nil, mix: mix))
        change { _ in }
    }

    var choice: Choice { state.withLock { $0 } }

    /// Changes the choice: the mix of the one that is heard glides up, and that of the other one to 0.
    func change(_ edit: (inout Choice) -> Void) {
        let choice = state.withLock { choice in
            edit(&choice)
            choice.isResponse = choice.isResponse && convolution != nil
            return choice
        }
        reverb.mix.value = choice.isResponse ? 0 : choice.mix
        convolution?.mix.value = choice.isResponse ? choice.mix : 0
    }
}
