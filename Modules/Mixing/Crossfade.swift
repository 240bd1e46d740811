public import RenderCore

/// Fades from one sound to another. 2 in, 1 out.
///
///     let scenes = Crossfade(.equalPower)
///     …
///     context.run(day)                // heard at position 0
///     context.run(night)              // heard at position 1
///     context.run(scenes)
///     …
///     scenes.position.value = 1
///
/// At both ends one sound is heard exactly as it is and the other not at all. The result has the channels of the wider
/// one, by the rule of every mix.
///
/// Threads: control.
public final class Crossfade: Module {
    /// The relation of the two amounts.
    ///
    /// Threads: any.
    public enum Curve: Sendable, Hashable {
        /// Their sum is 1: for sounds that are alike, such as two takes of one.
        case linear
        /// The sum of their squares is 1: for sounds that have nothing in common.
        case equalPower
    }

    /// The position: 0 is the sound that was pushed first, 1 the second (the top). Glides for 20 ms.
    public let position: Parameter
    private let hasEqualPower: Bool

    /// Creates a crossfade.
    ///
    /// - Parameters:
    ///   - curve: The relation of the two amounts.
    ///   - position: 0…1.
    public init(_ curve: Curve = .equalPower, position: Float = 0) {
        self.position = Parameter(position, in: 0...1, glide: .linear(.milliseconds(20)))
        hasEqualPower = curve == .equalPower
    }

    /// Takes two buffers, leaves one.
    public var stackEffect: StackEffect { StackEffect(pops: 2, pushes: 1) }

    /// The parameters by name.
    public var parameters: [ParameterReference] { [position.named("position")] }

    /// Fades and mixes.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        let position = position.glide(context)
        let hasEqualPower = hasEqualPower
        context.withTop2 { second, first in
            for channel in 0..<first.channelCount {
                var samples = first[channel]
                scale(&samples, position, rises: false, hasEqualPower)
            }
            for channel in 0..<second.channelCount {
                var samples = second[channel]
                scale(&samples, position, rises: true, hasEqualPower)
            }
        }
        context.mix(2)
    }
}

@_noLocks @_noAllocation
private func scale(_ samples: inout MutableSpan<Float>, _ position: Glide, rises: Bool, _ hasEqualPower: Bool) {
    if position.isFlat {
        let gain = amount(rises ? position.end : 1 - position.end, hasEqualPower)
        if gain == 1 { return }
        for i in samples.indices { samples[i] *= gain }
    } else {
        for i in samples.indices { samples[i] *= amount(rises ? position[i] : 1 - position[i], hasEqualPower) }
    }
}

/// Returns the amount of a sound: 0 and 1 exactly at the ends.
@_noLocks @_noAllocation
private func amount(_ position: Float, _ hasEqualPower: Bool) -> Float {
    if !hasEqualPower || position <= 0 || position >= 1 { return position }
    return RenderMath.sin(turns: 0.25 * position)
}
