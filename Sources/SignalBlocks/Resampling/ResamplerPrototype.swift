/// The low-pass filter of ``Resampler``, as a function of time.
///
/// An even function on -56…56 input frames, zero outside of it, and a sum of cosines inside:
///
///     h(t) = (1 / 56) · Σ gain[k] · cos(π k t / 56)
///
/// which makes the gains samples of its frequency response, 1/112 of the sample rate apart. They are the solution of a
/// linear programme (`scripts/tools/design-resampler`): flat to 20 of 22.05 kHz within ±0.007 dB, 103 dB down from half of the
/// sample rate on, 144 dB where images of the pass band lie. A Kaiser window needs 154 taps for the first two and
/// 130 dB; this has 112.
enum ResamplerPrototype {
    /// Half of its length, in input frames.
    static let halfLength = 56

    static let gains: [Double] = [
        0.5, 1.00069679061, 0.99927132428, 1.00071238679, 0.9993244067, 1.00062654816, 0.99943092093, 1.00050518177,
        0.99956419878, 1.00036119347, 0.9997188364, 1.00019523569, 0.99989734099, 1.00000102399, 1.00009958328,
        0.99980753659, 1.00027945304, 0.99963907097, 1.00043690785, 0.99949290506, 1.0005708441, 0.99937287519,
        1.00067451529, 0.99928879112, 1.00073493168, 0.99926234476, 1.00072188002, 0.99930837033, 1.00064763848,
        0.99940956548, 1.00052058142, 0.99956118061, 1.00034617696, 0.99975593957, 1.00013431734, 0.99998073218,
        0.99990169874, 1.00021518326, 0.99967215763, 1.00043254913, 0.99947443701, 1.00060336759, 0.99933702618,
        1.00070232759, 0.99927909444, 1.00072067826, 0.99929221901, 1.00069501642, 0.99931772495, 1.00071975421,
        0.99932075163, 0.99397532092, 0.8409127036, 0.44801459779, 0.11406439364, 0.00891827242, 0.00000630957,
        -0.00000544525, 0.00000581123, -0.00000507497, 0.00000625292, 0.000000261, 0.00000004261,
    ]

    /// Its values at four times, in input frames from the middle, by Clenshaw's recurrence.
    static func values(
        at times: SIMD4<Double>, _ gains: UnsafeBufferPointer<Double>, halfLength: Int = halfLength
    ) -> SIMD4<Double> {
        let half = Double(halfLength)
        let angles = times * (.pi / half)
        let cosine = SIMD4(
            RenderMath.cos(angles[0]), RenderMath.cos(angles[1]), RenderMath.cos(angles[2]), RenderMath.cos(angles[3]))
        let twice = cosine + cosine
        var next = SIMD4<Double>(repeating: 0)
        var afterNext = next
        var k = gains.count - 1
        while k > 0 {
            let value = unsafe twice * next - afterNext + gains[k]
            (next, afterNext) = (value, next)
            k -= 1
        }
        let sum = unsafe cosine * next - afterNext + gains[0]
        return (sum / half).replacing(with: 0, where: (times .>= half) .| (times .<= -half))
    }
}
