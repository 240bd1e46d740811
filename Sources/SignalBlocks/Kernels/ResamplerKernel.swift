/// The inner loops of ``Resampler``, over raw memory, in Swift: used where ``Kernel`` has no form for the processor.
enum ResamplerKernel {
    /// Returns one frame of one channel.
    @_noLocks @_noAllocation @inline(__always)
    static func frame(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, _ samples: UnsafePointer<Float>
    ) -> Float {
        let x = SIMD8<Float>(repeating: place)
        var sum = SIMD8<Float>(repeating: 0)
        var row = unsafe UnsafeRawPointer(table)
        var source = unsafe UnsafeRawPointer(samples)
        var group = 0
        while group < groups {
            sum += unsafe taps(row, x) * source.loadUnaligned(as: SIMD8<Float>.self)
            unsafe row += 128
            unsafe source += 32
            group &+= 1
        }
        return total(sum)
    }

    /// Returns one frame of two channels: the taps are computed once.
    @_noLocks @_noAllocation @inline(__always)
    static func frame(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, _ left: UnsafePointer<Float>,
        _ right: UnsafePointer<Float>
    ) -> (Float, Float) {
        let x = SIMD8<Float>(repeating: place)
        var leftSum = SIMD8<Float>(repeating: 0)
        var rightSum = SIMD8<Float>(repeating: 0)
        var row = unsafe UnsafeRawPointer(table)
        var leftSource = unsafe UnsafeRawPointer(left)
        var rightSource = unsafe UnsafeRawPointer(right)
        var group = 0
        while group < groups {
            let taps = unsafe taps(row, x)
            leftSum += unsafe taps * leftSource.loadUnaligned(as: SIMD8<Float>.self)
            rightSum += unsafe taps * rightSource.loadUnaligned(as: SIMD8<Float>.self)
            unsafe row += 128
            unsafe leftSource += 32
            unsafe rightSource += 32
            group &+= 1
        }
        return (total(leftSum), total(rightSum))
    }

    /// Computes the taps for one place, for more channels than two.
    @_noLocks @_noAllocation @inline(__always)
    static func row(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, into taps: UnsafeMutablePointer<Float>
    ) {
        let x = SIMD8<Float>(repeating: place)
        var row = unsafe UnsafeRawPointer(table)
        var target = UnsafeMutableRawPointer(taps)
        var group = 0
        while group < groups {
            unsafe target.storeBytes(of: self.taps(row, x), as: SIMD8<Float>.self)
            unsafe row += 128
            unsafe target += 32
            group &+= 1
        }
    }

    /// Computes one frame of one channel, with the taps at hand: the same arithmetic, so the same bits.
    @_noLocks @_noAllocation @inline(__always)
    static func sum(
        _ taps: UnsafePointer<Float>, _ groups: Int, _ samples: UnsafePointer<Float>
    ) -> Float {
        var sum = SIMD8<Float>(repeating: 0)
        var row = unsafe UnsafeRawPointer(taps)
        var source = unsafe UnsafeRawPointer(samples)
        var group = 0
        while group < groups {
            sum += unsafe row.load(as: SIMD8<Float>.self) * source.loadUnaligned(as: SIMD8<Float>.self)
            unsafe row += 32
            unsafe source += 32
            group &+= 1
        }
        return total(sum)
    }

    /// Returns eight taps: cubic polynomials in the place inside of the part, -1…1.
    @_noLocks @_noAllocation @inline(__always)
    private static func taps(_ row: UnsafeRawPointer, _ x: SIMD8<Float>) -> SIMD8<Float> {
        let c0 = unsafe row.load(as: SIMD8<Float>.self)
        let c1 = unsafe row.load(fromByteOffset: 32, as: SIMD8<Float>.self)
        let c2 = unsafe row.load(fromByteOffset: 64, as: SIMD8<Float>.self)
        let c3 = unsafe row.load(fromByteOffset: 96, as: SIMD8<Float>.self)
        return ((c3 * x + c2) * x + c1) * x + c0
    }

    @_noLocks @_noAllocation @inline(__always)
    private static func total(_ sum: SIMD8<Float>) -> Float {
        let four = sum.lowHalf + sum.highHalf
        let two = four.lowHalf + four.highHalf
        return two[0] + two[1]
    }
}
