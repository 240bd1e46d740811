// Angles in double precision taken to within π/4 of a multiple of π/2, with the remainder in two parts.
extension RenderMath.Approximation {
    /// An angle as a multiple of π/2 (its last two bits count) and what remains, `high + low`.
    @usableFromInline struct Reduced: BitwiseCopyable {
        @usableFromInline var quadrant: UInt64
        @usableFromInline var high: Double
        @usableFromInline var low: Double

        @inlinable @inline(__always) @_noLocks @_noAllocation
        init(quadrant: UInt64, high: Double, low: Double) {
            self.quadrant = quadrant
            self.high = high
            self.low = low
        }
    }

    @inlinable static var twoOverPi: Double { @_noLocks @_noAllocation get { 0x1.45f306dc9c883p-1 } }

    /// Returns the remainder of a finite angle, right to about 2⁻¹⁰⁷ and to 60 bits even where it is tiny.
    ///
    /// Up to 2²¹ after Cody and Waite: π/2 in four parts; three of them have exact products with the multiple.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func reduce(_ x: Double) -> Reduced {
        if x.magnitude > 0x1p21 { return reduceLarge(x) }
        let shifted = x * twoOverPi + bias
        let k = shifted - bias
        // x - k·part is exact for the first part; the rounding errors of the next two are kept.
        let first = x - k * halfPiHigh
        let second = k * 0x1.0b4611a6p-34
        let afterSecond = first - second
        let secondError = differenceError(first, second, afterSecond)
        let third = k * 0x1.3198a2ep-69
        let afterThird = afterSecond - third
        let thirdError = differenceError(afterSecond, third, afterThird)
        let rest = (secondError + thirdError) - k * 0x1.b839a252049c1p-104
        let high = afterThird + rest
        return Reduced(quadrant: shifted.bitPattern, high: high, low: (afterThird - high) + rest)
    }

    /// Returns the remainder of any finite angle of at least 1, after Payne and Hanek: the angle's 53 bits times those
    /// 192 bits of 2/π that matter for it, in integers. (M. Payne, R. Hanek: Radian reduction for trigonometric
    /// functions, SIGNUM 18, 1983.)
    @inline(never) @usableFromInline @_noLocks @_noAllocation
    static func reduceLarge(_ x: Double) -> Reduced {
        let pattern = x.bitPattern
        let mantissa = (pattern & 0x000F_FFFF_FFFF_FFFF) | 0x0010_0000_0000_0000
        let exponent = (pattern &>> 52) & 0x7FF
        // The angle is mantissa · 2^(exponent - 1075). Bits of 2/π that weigh 4 or more in the product are left out;
        // the table starts with 64 zero bits, which makes the position positive.
        let position = exponent &- 1075 &- 2 &+ 64
        let word = position &>> 6
        let shift = position & 63
        let w0 = window(word, shift)
        let w1 = window(word &+ 1, shift)
        let w2 = window(word &+ 2, shift)

        // The low 192 bits of the product: a fraction of four quadrants.
        let p2 = mantissa.multipliedFullWidth(by: w2)
        let p1 = mantissa.multipliedFullWidth(by: w1)
        let low = p2.low
        let (middle, carry) = p1.low.addingReportingOverflow(p2.high)
        let high = (mantissa &* w0) &+ p1.high &+ (carry ? 1 : 0)

        // Goes to the nearest quadrant: the remainder is a signed fraction of 2^190.
        let quadrant = (high &+ 0x2000_0000_0000_0000) &>> 62
        let isNegative = high & 0x2000_0000_0000_0000 != 0
        var f0 = high & 0x3FFF_FFFF_FFFF_FFFF
        var f1 = middle
        var f2 = low
        if isNegative {
            f0 = ~f0 & 0x3FFF_FFFF_FFFF_FFFF
            f1 = ~f1
            f2 = ~f2  // one unit of 2^-190 too little: of no consequence
        }
        // The highest 64 bits from the first one that is set; no angle needs more than one word skipped.
        var scale = 2
        if f0 == 0 {
            f0 = f1
            f1 = f2
            scale &-= 64
        }
        let zeros = f0.leadingZeroBitCount
        let top = zeros == 0 ? f0 : (f0 &<< UInt64(zeros)) | (f1 &>> UInt64(64 &- zeros))
        // Times π/2: the product of two 64-bit fractions, cut into a part of at most 53 bits and the rest.
        let product = top.multipliedFullWidth(by: 0xC90F_DAA2_2168_C235).high
        let unit = powerOfTwo(scale &- zeros &- 63)
        let signedUnit = isNegative ? -unit : unit
        var result = Reduced(
            quadrant: quadrant,
            high: Double(product & ~0x7FF) * signedUnit,
            low: Double(product & 0x7FF) * signedUnit)
        if x < 0 {
            result.quadrant = 0 &- quadrant
            result.high = -result.high
            result.low = -result.low
        }
        return result
    }

    /// Returns 64 bits of 2/π from `shift` bits after the start of a word.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    static func window(_ word: UInt64, _ shift: UInt64) -> UInt64 {
        let next = shift == 0 ? 0 : twoOverPiBits(word &+ 1) &>> (64 &- shift)
        return (twoOverPiBits(word) &<< shift) | next
    }

    /// Returns 2/π in 64-bit words after one word of zeros. A switch, because a table in a `static let` would lock.
    @inlinable @_noLocks @_noAllocation
    static func twoOverPiBits(_ word: UInt64) -> UInt64 {
        switch word {
        case 1: 0xA2F9_836E_4E44_1529
        case 2: 0xFC27_57D1_F534_DDC0
        case 3: 0xDB62_9599_3C43_9041
        case 4: 0xFE51_63AB_DEBB_C561
        case 5: 0xB724_6E3A_424D_D2E0
        case 6: 0x0649_2EEA_09D1_921C
        case 7: 0xFE1D_EB1C_B129_A73E
        case 8: 0xE882_35F5_2EBB_4484
        case 9: 0xE99C_7026_B45F_7E41
        case 10: 0x3991_D639_8353_39F4
        case 11: 0x9C84_5F8B_BDF9_283B
        case 12: 0x1FF8_97FF_DE05_980F
        case 13: 0xEF2F_118B_5A0A_6D1F
        case 14: 0x6D36_7ECF_27CB_09B7
        case 15: 0x4F46_3F66_9E5F_EA2D
        case 16: 0x7527_BAC7_EBE5_F17B
        case 17: 0x3D07_39F7_8A52_92EA
        case 18: 0x6BFB_5FB1_1F8D_5D08
        case 19: 0x5603_3046_FC7B_6BAB
        case 20: 0xF0CF_BC20_9AF4_361D
        default: 0
        }
    }
}
