public import RenderCore

/// A mixer's channel strip in one: volume, balance, mute. Edits the top.
///
///     let fader = Fader(decibels: -6)
///     fader.position = 0.8                        // of its travel: 0 dB
///     fader.isMuted = true                        // in 5 ms, without a click
///
/// Mono becomes stereo while the balance is not in the middle; more than two channels take the volume alone, and
/// ``Balance`` does the rest. Latency: none.
public final class Fader: Effect {
    /// An amplitude factor, 0…4 (+12 dB). A change glides for 10 ms.
    public let volume: Parameter
    /// From left (-1) to right (1): the far side gets quieter, the near one stays as it is.
    public let balance: Parameter

    private let mute = Parameter(1, in: 0...1, glide: .linear(.milliseconds(5)))

    /// A fader.
    ///
    /// - Parameters:
    ///   - volume: an amplitude factor, 0…4.
    ///   - balance: -1…1.
    public init(volume: Float = 1, balance: Float = 0) {
        self.volume = Parameter(volume, in: 0...4)
        self.balance = Parameter(balance, in: -1...1)
    }

    /// A fader.
    ///
    /// - Parameters:
    ///   - decibels: the volume, up to 12; -infinity is silence.
    ///   - balance: -1…1.
    public convenience init(decibels: Float, balance: Float = 0) {
        self.init(volume: RenderMath.amplitude(decibels: decibels), balance: balance)
    }

    /// The volume in decibels; -infinity where it is silent.
    public var decibels: Float {
        get { RenderMath.decibels(amplitude: volume.value) }
        set { volume.value = RenderMath.amplitude(decibels: newValue) }
    }

    /// Where the fader stands, from 0 (bottom: silence) over 0.8 (0 dB) to 1 (top: +6 dB).
    public var position: Float {
        get { RenderMath.faderPosition(decibels: decibels) }
        set { volume.value = RenderMath.amplitude(decibels: RenderMath.decibels(faderPosition: newValue)) }
    }

    /// Whether it is silent for now, whatever the volume.
    public var isMuted: Bool {
        get { mute.value == 0 }
        set { mute.value = newValue ? 0 : 1 }
    }

    /// Weights the top.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let mute = mute.glide(context)
        context.fade(volume: volume, balance: balance)
        if mute.isFlat && mute.end == 0 { context.silence() } else { context.gain(mute) }
    }
}
