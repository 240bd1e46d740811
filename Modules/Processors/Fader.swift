public import Composition
public import RenderCore

/// A mixer's channel strip in one: volume, balance, mute. Edits the top.
///
///     let fader = Fader(decibels: -6)
///     fader.position = 0.8                        // of its travel: 0 dB
///     fader.isMuted = true                        // in 5 ms, without a click
///
/// Mono becomes stereo while the balance is not in the middle; more than two channels take the volume alone, and
/// ``Balance`` does the rest. Latency: none.
///
/// Threads: control.
public final class Fader: Effect, ScalingEffect {
    /// An amplitude factor, 0…4 (+12 dB). A change glides for 10 ms.
    public let volume: Parameter
    /// The balance from left (-1) to right (1): the far side gets quieter, the near one stays as it is.
    public let balance: Parameter

    @usableFromInline let mute = Switch(glide: .linear(.milliseconds(5)))

    /// Creates a fader.
    ///
    /// - Parameters:
    ///   - volume: An amplitude factor, 0…4.
    ///   - balance: -1…1.
    public init(volume: Float = 1, balance: Float = 0) {
        self.volume = Parameter(volume, in: 0...4)
        self.balance = Parameter(balance, in: -1...1)
    }

    /// Creates a fader.
    ///
    /// - Parameters:
    ///   - decibels: The volume, up to 12; -infinity is silence.
    ///   - balance: -1…1.
    public convenience init(decibels: Float, balance: Float = 0) {
        self.init(volume: min(RenderMath.amplitude(decibels: decibels), 4), balance: balance)
    }

    /// The volume in decibels; -infinity for silence.
    public var decibels: Float {
        get { RenderMath.decibels(amplitude: volume.value) }
        set { volume.value = RenderMath.amplitude(decibels: newValue) }
    }

    /// The position of the fader, from 0 (bottom: silence) over 0.8 (0 dB) to 1 (top: +6 dB).
    public var position: Float {
        get { RenderMath.faderPosition(decibels: decibels) }
        set { volume.value = RenderMath.amplitude(decibels: RenderMath.decibels(faderPosition: newValue)) }
    }

    /// Indicates whether the fader is muted, whatever the volume.
    public var isMuted: Bool {
        get { mute.isOn }
        set { mute.isOn = newValue }
    }

    /// `true`: the module keeps no memory of the sound.
    public var isRepeatable: Bool { true }

    /// The parameters by name.
    public var parameters: [ParameterReference] {
        [volume.named("volume"), balance.named("balance"), mute.named("mute")]
    }

    /// The volume, while nothing glides, the fader is not muted, and the balance is in the middle.
    @_noLocks @_noAllocation
    @inlinable package func factorAtRest(_ context: borrowing RenderContext) -> Float? {
        guard mute.restsOff(context), balance.atRest(context) == 0 else { return nil }
        return volume.atRest(context)
    }

    /// Weights the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let audible = mute.glide(context).complement
        context.fade(volume: volume, balance: balance)
        if audible.isFlat && audible.end == 0 { context.silence() } else { context.gain(audible) }
    }
}

extension RenderContext {
    /// Runs faders, one after the other. While nothing of them glides and their balance is in the middle, four of them read and
    /// write each sample once.
    @inlinable public mutating func run(_ faders: [Fader]) { runScaling(faders) }
}
