public import RenderCore

/// Two sounds into one, from the first to the second. 2 in, 1 out.
///
///     let scenes = Crossfade(.equalPower)
///     …
///     context.run(day)                // heard at position 0
///     context.run(night)              // heard at position 1
///     context.run(scenes)
///     …
///     scenes.position.value = 1
///
/// At both ends the one is heard exactly as it is and the other not at all. The result has the channels of the wider one,
/// by the rule of every mix.
public final class Crossfade: Module {
    /// What the two amounts are.
    public enum Curve: Sendable, Hashable {
        /// Their sum is 1: for sounds that are alike, such as two takes of one.
        case linear
        /// The sum of their squares is 1: for sounds that have nothing in common.
        case equalPower
    }

    /// 0 is the first that was pushed, 1 the second (the top). Glides for 20 ms.
    public let position: Parameter
    private let hasEqualPower: Bool

    /// A crossfade.
    ///
    /// - Parameters:
    ///   - curve: what the two amounts are.
    ///   - position: 0…1.
    public init(_ curve: Curve = .equalPower, position: Float = 0) {
        self.position = Parameter(position, in: 0...1, glide: .linear(.milliseconds(20)))
        hasEqualPower = curve == .equalPower
    }

    /// Takes two, leaves one.
    public var stackEffect: StackEffect { StackEffect(pops: 2, pushes: 1) }

    /// Fades and mixes.
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

/// How much of a sound: 0 and 1 exactly at the ends.
@_noLocks @_noAllocation
private func amount(_ position: Float, _ hasEqualPower: Bool) -> Float {
    if !hasEqualPower || position <= 0 || position >= 1 { return position }
    return RenderMath.sin(turns: 0.25 * position)
}
