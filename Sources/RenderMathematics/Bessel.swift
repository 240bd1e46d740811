// For Kaiser windows, which are made on the control side.
extension RenderMath {
    /// Returns the modified Bessel function of the first kind and order 0, by its series: for arguments up to about 30.
    package static func bessel(_ x: Double) -> Double {
        var (sum, term) = (1.0, 1.0)
        for k in 1...40 {
            term *= (x / 2 / Double(k)) * (x / 2 / Double(k))
            sum += term
        }
        return sum
    }
}
