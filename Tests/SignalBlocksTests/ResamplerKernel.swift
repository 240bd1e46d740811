/// The inner loops of ``Resampler`` in plain Swift.
enum ResamplerKernel {
    /// Returns one frame of one channel.
    static func frame(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, _ samples: UnsafePointer<Float>
    ) -> Float {
        let x = SIMD8<Float>(repeating: place)
        var sum = SIMD8<Float>(repeating: 0)
        var row = UnsafeRawPointer(table)
        var source = UnsafeRawPointer(samples)
        var group = 0
        while group < groups {
            sum += taps(row, x) * source.loadUnaligned(as: SIMD8<Float>.self)
            row += 128
            source += 32
            group &+= 1
        }
        return total(sum)
    }

    /// Returns one frame of two channels: the taps are computed once.
    static func frame(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, _ left: UnsafePointer<Float>,
        _ right: UnsafePointer<Float>
    ) -> (Float, Float) {
        let x = SIMD8<Float>(repeating: place)
        var leftSum = SIMD8<Float>(repeating: 0)
        var rightSum = SIMD8<Float>(repeating: 0)
        var row = UnsafeRawPointer(table)
        var leftSource = UnsafeRawPointer(left)
        var rightSource = UnsafeRawPointer(right)
        var group = 0
        while group < groups {
            let taps = taps(row, x)
            leftSum += taps * leftSource.loadUnaligned(as: SIMD8<Float>.self)
            rightSum += taps * rightSource.loadUnaligned(as: SIMD8<Float>.self)
            row += 128
            leftSource += 32
            rightSource += 32
            group &+= 1
        }
        return (total(leftSum), total(rightSum))
    }

    /// Computes the taps for one place, for more channels than two.
    static func row(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, into taps: UnsafeMutablePointer<Float>
    ) {
        let x = SIMD8<Float>(repeating: place)
        var row = UnsafeRawPointer(table)
        var target = UnsafeMutableRawPointer(taps)
        var group = 0
        while group < groups {
            target.storeBytes(of: self.taps(row, x), as: SIMD8<Float>.self)
            row += 128
            target += 32
            group &+= 1
        }
    }

    /// Computes one frame of one channel, with the taps at hand: the same arithmetic, so the same bits.
    static func sum(
        _ taps: UnsafePointer<Float>, _ groups: Int, _ samples: UnsafePointer<Float>
    ) -> Float {
        var sum = SIMD8<Float>(repeating: 0)
        var row = UnsafeRawPointer(taps)
        var source = UnsafeRawPointer(samples)
        var group = 0
        while group < groups {
            sum += row.load(as: SIMD8<Float>.self) * source.loadUnaligned(as: SIMD8<Float>.self)
            row += 32
            source += 32
            group &+= 1
        }
        return total(sum)
    }

    /// Returns eight taps: cubic polynomials in the place inside of the part, -1…1.
    private static func taps(_ row: UnsafeRawPointer, _ x: SIMD8<Float>) -> SIMD8<Float> {
        let c0 = row.load(as: SIMD8<Float>.self)
        let c1 = row.load(fromByteOffset: 32, as: SIMD8<Float>.self)
        let c2 = row.load(fromByteOffset: 64, as: SIMD8<Float>.self)
        let c3 = row.load(fromByteOffset: 96, as: SIMD8<Float>.self)
        return ((c3 * x + c2) * x + c1) * x + c0
    }

    private static func total(_ sum: SIMD8<Float>) -> Float {
        let four = sum.lowHalf + sum.highHalf
        let two = four.lowHalf + four.highHalf
        return two[0] + two[1]
    }
}
