/// Gains by which a ring of loudspeakers gives a sound its direction: vector base amplitude panning (Pulkki 1997) between the
/// two that are nearest, with a power of 1 in all.
package struct SpeakerRing: Sendable, BitwiseCopyable {
    /// The first speaker of each pair, by channel, and the other.
    private var left = SIMD16<Int32>(repeating: 0)
    private var right = SIMD16<Int32>(repeating: 0)
    /// The inverse of the matrix of each pair's directions.
    private var a = SIMD16<Float>(repeating: 0)
    private var b = SIMD16<Float>(repeating: 0)
    private var c = SIMD16<Float>(repeating: 0)
    private var d = SIMD16<Float>(repeating: 0)
    private var count: Int
    /// 1 for a channel with a speaker on the ring.
    private var isOnRing = SIMD16<Float>(repeating: 0)
    /// The directions by channel: to the right and to the front.
    private var sides = SIMD16<Float>(repeating: 0)
    private var fronts = SIMD16<Float>(repeating: 0)

    /// Creates a ring.
    ///
    /// - Parameter speakers: Channels and their directions in degrees, to the right of the front: 3…16 of them.
    package init(_ speakers: [(channel: Int, azimuth: Double)]) {
        demand(
            (3...16).contains(speakers.count) && speakers.allSatisfy { (0..<16).contains($0.channel) },
            "SpeakerRing: \(speakers.count) speakers; it must be 3…16, on channels 0…15")
        let sorted = speakers.sorted { $0.azimuth < $1.azimuth }
        count = sorted.count
        for index in 0..<count {
            let (one, two) = (sorted[index], sorted[(index + 1) % count])
            let (x1, y1) = (RenderMath.sin(one.azimuth * .pi / 180), RenderMath.cos(one.azimuth * .pi / 180))
            let (x2, y2) = (RenderMath.sin(two.azimuth * .pi / 180), RenderMath.cos(two.azimuth * .pi / 180))
            let determinant = x1 * y2 - x2 * y1
            let scale = abs(determinant) > 1e-6 ? 1 / determinant : 0
            (left[index], right[index]) = (Int32(one.channel), Int32(two.channel))
            (a[index], b[index]) = (Float(y2 * scale), Float(-x2 * scale))
            (c[index], d[index]) = (Float(-y1 * scale), Float(x1 * scale))
            isOnRing[one.channel] = 1
            (sides[one.channel], fronts[one.channel]) = (Float(x1), Float(y1))
        }
    }

    /// Returns the share of a channel of an ambisonic sound: with that without a direction 1 / n of each of n speakers, with the
    /// others √2 times the cosine of the angle as much.
    ///
    /// - Parameters:
    ///   - direction: Right, up and back.
    ///   - isOmni: `true` for the sound without a direction.
    ///   - channel: That of the speaker.
    @_noLocks @_noAllocation
    package func share(of direction: SIMD4<Float>, isOmni: Bool, at channel: Int) -> Float {
        let part = isOnRing[channel] / Float(Int32(truncatingIfNeeded: count))
        if isOmni { return part }
        return part * 1.414_213_6 * (direction.x * sides[channel] - direction.z * fronts[channel])
    }

    /// Returns the gain of each channel.
    ///
    /// - Parameters:
    ///   - x: The direction to the right, -1…1.
    ///   - y: The direction to the front. Where the two are shorter than 1 (above, below, or inside the head) the rest of the
    ///     power goes to all speakers alike.
    @_noLocks @_noAllocation
    package func gains(x: Float, y: Float) -> SIMD16<Float> {
        let length = x * x + y * y
        let share = length < 1 ? length : 1
        var powers = isOnRing * ((1 - share) / Float(count))
        if share > 0 {
            var (best, chosen, first, second) = (-Float.infinity, 0, Float(0), Float(0))
            for pair in 0..<count {
                let (one, two) = (a[pair] * x + b[pair] * y, c[pair] * x + d[pair] * y)
                let least = one < two ? one : two
                if least > best && one + two > 0 { (best, chosen, first, second) = (least, pair, one, two) }
            }
            (first, second) = (first > 0 ? first : 0, second > 0 ? second : 0)
            let power = first * first + second * second
            if power > 0 {
                powers[Int(left[chosen])] += share * first * first / power
                powers[Int(right[chosen])] += share * second * second / power
            }
        }
        for channel in 0..<16 { powers[channel] = Roots.root(powers[channel]) }
        return powers
    }
}
