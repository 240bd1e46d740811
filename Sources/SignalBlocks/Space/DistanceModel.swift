/// The ways in which a sound gets softer with its distance, as OpenAL defines them.
///
/// The distance counts from `minimum`, nearer than which nothing gets louder, to `maximum`, beyond which nothing gets softer.
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
}
