extension Signal {
    /// Returns the largest magnitude of a channel, 0 when it is empty. Samples that are not a number do not count.
    @_noLocks @_noAllocation
    public static func peak(_ source: borrowing Samples) -> Float {
        var lanes = SIMD8<Float>(repeating: 0)
        var i = 0
        while i &+ 8 <= source.count {
            let samples = source.vector8(at: i)
            let magnitudes = samples.replacing(with: -samples, where: samples .< 0)
            lanes = lanes.replacing(with: magnitudes, where: magnitudes .> lanes)
            i &+= 8
        }
        var result: Float = 0
        for lane in 0..<8 where lanes[lane] > result { result = lanes[lane] }
        while i < source.count {
            let magnitude = abs(source[i])
            if magnitude > result { result = magnitude }
            i &+= 1
        }
        return result
    }

    /// Returns the sum of the squares of a channel, its energy: summed in double precision every 512 frames.
    @_noLocks @_noAllocation
    public static func sumOfSquares(_ source: borrowing Samples) -> Double {
        var sum = 0.0
        var i = 0
        while i &+ 8 <= source.count {
            let end = min(i &+ 512, source.count)
            var lanes = SIMD8<Float>(repeating: 0)
            while i &+ 8 <= end {
                let samples = source.vector8(at: i)
                lanes += samples * samples
                i &+= 8
            }
            for lane in 0..<8 { sum += Double(lanes[lane]) }
        }
        while i < source.count {
            sum += Double(source[i]) * Double(source[i])
            i &+= 1
        }
        return sum
    }

    /// Returns the root of the mean square of a channel, 0 when it is empty. A full-scale sine has 0.707.
    @_noLocks @_noAllocation
    public static func rms(_ source: borrowing Samples) -> Float {
        source.count == 0 ? 0 : Float(squareRoot(sumOfSquares(source) / Double(source.count)))
    }

    /// Returns a square root in double precision: `squareRoot()` is a foreign function to the compiler's check.
    /// Newton's method from the well-known guess at `1 / sqrt(x)`, whose error of 3 % four steps bring below 1e-15.
    @_noLocks @_noAllocation
    static func squareRoot(_ x: Double) -> Double {
        guard x > 0, x < .infinity else { return x }
        var inverse = Double(bitPattern: 0x5FE6_EB50_C7B5_37A9 &- x.bitPattern >> 1)
        for _ in 0..<4 { inverse *= 1.5 - 0.5 * x * inverse * inverse }
        return x * inverse
    }

    /// Returns whether no sample is louder than a threshold; an empty channel is silent, one that is not a number is
    /// not.
    @_noLocks @_noAllocation
    public static func isSilent(_ source: borrowing Samples, threshold: Float = 0) -> Bool {
        // Magnitudes compare like their bit patterns, with what is not a number above all: integers, unlike numbers,
        // let the loop become vector instructions.
        guard threshold >= 0 else { return source.count == 0 }
        let limit = Int32(bitPattern: threshold.bitPattern & 0x7FFF_FFFF)
        var loud: Int32 = 0
        for i in source.indices { loud |= Int32(bitPattern: source[i].bitPattern & 0x7FFF_FFFF) > limit ? 1 : 0 }
        return loud == 0
    }

    /// Returns whether every sample is a finite number. Three instructions for each vector of them: cheap enough for
    /// every buffer of every cycle.
    @_noLocks @_noAllocation
    public static func isFinite(_ source: borrowing Samples) -> Bool {
        unsafe Kernel.isFinite(source.base, source.count)
    }
}
