/// The effect of a rigid sphere on sound that passes it: the delay of each ear and a filter with a pole and a zero, after Brown
/// and Duda (1998).
///
/// The ears are at the ends of one axis. With θ between that of an ear and the direction of the sound, the delay against the
/// middle of the head is `-(a/c) cos θ` before the ear and `(a/c)(θ - π/2)` behind it, and the level above 1 kHz or so goes
/// from +6 dB to -20 dB, while low frequencies pass as they are.
package struct SphericalHead: Sendable, BitwiseCopyable {
    /// The pole, which is the same for all directions: `w[n] = x[n] - pole * w[n - 1]`.
    package let pole: Float
    private let low: Double
    private let high: Double
    /// The frames that sound needs for the radius of the head.
    private let radiusFrames: Double

    /// Creates the model of a head.
    ///
    /// - Parameters:
    ///   - radius: In metres; a head has 0.0875.
    ///   - speedOfSound: In metres per second.
    ///   - sampleRate: In hertz.
    @_noLocks @_noAllocation
    package init(radius: Double = 0.0875, speedOfSound: Double = 343, sampleRate: Double) {
        let beta = 2 * speedOfSound / radius
        let sum = beta + 2 * sampleRate
        pole = Float((beta - 2 * sampleRate) / sum)
        low = beta / sum
        high = 2 * sampleRate / sum
        radiusFrames = radius / speedOfSound * sampleRate
    }

    /// The filter of one ear: `y[n] = first * w[n] + second * w[n - 1]`.
    package struct Ear: Sendable, BitwiseCopyable {
        package var first: Float
        package var second: Float
        /// The delay against the middle of the head in frames: less than 0 for the ear that is nearer.
        package var delay: Double
    }

    /// Returns the filter of an ear.
    ///
    /// - Parameter cosine: Of the angle between the ear's axis and the sound, -1…1; held to that.
    @_noLocks @_noAllocation
    package func ear(cosine: Double) -> Ear {
        let cosine = cosine > -1 ? (cosine < 1 ? cosine : 1) : -1
        let angle = SphericalHead.arccosine(cosine)
        let alpha = 1.05 + 0.95 * RenderMath.cos(angle * 1.2)
        let delay = cosine >= 0 ? -cosine : angle - 0.5 * .pi
        return Ear(first: Float(low + alpha * high), second: Float(low - alpha * high), delay: delay * radiusFrames)
    }

    /// Returns the angle of a cosine in radians, within 3e-8 (Abramowitz and Stegun 4.4.46).
    @_noLocks @_noAllocation
    package static func arccosine(_ cosine: Double) -> Double {
        let x = min(abs(cosine), 1)
        var p = -0.001_262_491_1
        p = p * x + 0.006_670_090_1
        p = p * x - 0.017_088_125_6
        p = p * x + 0.030_891_881_0
        p = p * x - 0.050_174_304_6
        p = p * x + 0.088_978_987_4
        p = p * x - 0.214_598_801_6
        p = p * x + 1.570_796_305_0
        let angle = Roots.root(1 - x) * p
        return cosine < 0 ? .pi - angle : angle
    }
}
