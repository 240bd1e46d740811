/// The ways in which a sound gets softer with its distance, as OpenAL defines them.
///
/// The distance counts from `minimum`, nearer than which nothing gets louder, to `maximum`, beyond which nothing gets softer.
///
/// Threads: any.
public enum DistanceModel: Int, Sendable, Hashable, CaseIterable {
    /// `minimum / (minimum + rollOff * (distance - minimum))`: half as loud at twice the distance.
    case inverse
    /// `1 - rollOff * (distance - minimum) / (maximum - minimum)`: silent at the maximum.
    case linear
    /// `(distance / minimum) ^ -rollOff`.
    case exponential
    /// The distance makes no difference.
    case none

    /// Returns the amplitude factor at a distance, 0…1.
    ///
    /// - Parameters:
    ///   - distance: In metres.
    ///   - minimum: In metres, more than 0.
    ///   - maximum: In metres. One that is not more than the minimum counts as the minimum.
    ///   - rollOff: A factor, 0 or more.
    @_noLocks @_noAllocation
    public func level(distance: Float, minimum: Float, maximum: Float, rollOff: Float) -> Float {
        let least = minimum > 1e-6 ? minimum : 1e-6
        let most = maximum > least ? maximum : least
        // Also a distance that is no number is the nearest.
        let distance = distance > least ? (distance < most ? distance : most) : least
        let level: Float =
            switch self {
            case .inverse: least / (least + rollOff * (distance - least))
            case .linear: most > least ? 1 - rollOff * (distance - least) / (most - least) : 1
            case .exponential: RenderMath.exp2(-rollOff * RenderMath.log2(distance / least))
            case .none: 1
            }
        return level > 0 ? (level < 1 ? level : 1) : 0
    }

    /// Returns the factors at four distances, as ``level(distance:minimum:maximum:rollOff:)`` does.
    @_noLocks @_noAllocation
    package func levels(
        distances: SIMD4<Float>, minimum: Float, maximum: Float, rollOff: Float
    ) -> SIMD4<Float> {
        guard self == .inverse else {
            var levels = SIMD4<Float>(repeating: 0)
            for k in 0..<4 {
                levels[k] = level(distance: distances[k], minimum: minimum, maximum: maximum, rollOff: rollOff)
            }
            return levels
        }
        let least = minimum > 1e-6 ? minimum : 1e-6
        let most = maximum > least ? maximum : least
        var held = SIMD4<Float>(repeating: most)
        held.replace(with: distances, where: distances .< most)
        // Also a distance that is no number is the nearest.
        held.replace(with: SIMD4(repeating: least), where: .!(distances .> least))
        var levels = SIMD4(repeating: least) / (least + rollOff * (held - least))
        levels.replace(with: SIMD4(repeating: 0), where: .!(levels .> 0))
        levels.replace(with: SIMD4(repeating: 1), where: levels .> 1)
        return levels
    }
}
