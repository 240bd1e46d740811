/// The loops of ``Kernel`` in Swift, which define the results, and are used where CKernels has no form of its own.
@usableFromInline package enum SwiftKernel {
    @_noLocks @_noAllocation
    @usableFromInline package static func add(
        _ source: UnsafePointer<Float>, to sum: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count { unsafe sum[i] += source[i] }
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func add(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ c: UnsafePointer<Float>,
        to sum: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count { unsafe sum[i] = ((sum[i] + a[i]) + b[i]) + c[i] }
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func add(
        _ source: UnsafePointer<Float>, gain: Float, to sum: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count { unsafe sum[i] += source[i] * gain }
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func scale(_ samples: UnsafeMutablePointer<Float>, _ gain: Float, _ count: Int) {
        for i in 0..<count { unsafe samples[i] *= gain }
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func scale(
        _ samples: UnsafeMutablePointer<Float>, inTurn factors: SIMD4<Float>, _ count: Int
    ) {
        for i in 0..<count {
            unsafe samples[i] = ((samples[i] * factors[0]) * factors[1]) * factors[2] * factors[3]
        }
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func fill(_ samples: UnsafeMutablePointer<Float>, _ value: Float, _ count: Int) {
        for i in 0..<count { unsafe samples[i] = value }
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func spread(
        _ left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, _ gains: (Float, Float), _ count: Int
    ) {
        for i in 0..<count {
            let sample = unsafe left[i]
            unsafe left[i] = sample * gains.0
            unsafe right[i] = sample * gains.1
        }
    }

    @_noLocks @_noAllocation
    static func convert(_ integers: UnsafePointer<Int16>, to samples: UnsafeMutablePointer<Float>, _ count: Int) {
        for i in 0..<count { unsafe samples[i] = Float(integers[i]) * 0x1p-15 }
    }

    @_noLocks @_noAllocation
    @inline(__always) static func isWithinScale(_ sample: Float) -> Int32 { abs(sample) <= 1 ? 1 : 0 }

    @_noLocks @_noAllocation
    @inline(__always) static func integer(_ sample: Float) -> Int16 {
        let scaled = sample * 32_768
        // Written so that what is not a number passes neither comparison, and becomes 0.
        let lower = scaled > -32_768 ? scaled : (scaled <= -32_768 ? -32_768 : 0)
        let held = lower < 32_767 ? lower : 32_767
        // 1.5 * 2^23: the sum has no bits left for fractions, so that the processor rounds, and its lowest bits are the
        // integer.
        return Int16(truncatingIfNeeded: (held + 12_582_912).bitPattern)
    }

    @_noLocks @_noAllocation
    static func convert(
        _ samples: UnsafePointer<Float>, to integers: UnsafeMutablePointer<Int16>, _ count: Int
    ) -> Int {
        var fine: Int32 = 0
        for i in 0..<count {
            let sample = unsafe samples[i]
            fine &+= isWithinScale(sample)
            unsafe integers[i] = integer(sample)
        }
        return count &- Int(fine)
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func convert(
        pairs: UnsafePointer<Int16>, to left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        for i in 0..<count {
            unsafe left[i] = Float(pairs[2 &* i]) * 0x1p-15
            unsafe right[i] = Float(pairs[2 &* i &+ 1]) * 0x1p-15
        }
    }

    @_noLocks @_noAllocation
    static func convert(
        _ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>, toPairs pairs: UnsafeMutablePointer<Int16>,
        _ count: Int
    ) -> Int {
        var fine: Int32 = 0
        for i in 0..<count {
            let (one, two) = unsafe (left[i], right[i])
            fine &+= isWithinScale(one) &+ isWithinScale(two)
            unsafe pairs[2 &* i] = integer(one)
            unsafe pairs[2 &* i &+ 1] = integer(two)
        }
        return 2 &* count &- Int(fine)
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func isFinite(_ samples: UnsafePointer<Float>, _ count: Int) -> Bool {
        // An exponent of all ones carries into the sign bit; nothing else does.
        var carry: UInt32 = 0
        for i in 0..<count { unsafe carry |= (samples[i].bitPattern & 0x7FFF_FFFF) &+ 0x0080_0000 }
        return carry & 0x8000_0000 == 0
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func start(
        _ source: UnsafePointer<Float>, sum: UnsafeMutablePointer<Float>, _ count: Int
    ) -> Bool {
        for i in 0..<count { unsafe sum[i] = 0 + source[i] }
        return unsafe isFinite(source, count)
    }

    @_noLocks @_noAllocation
    static func sine(
        _ phase: UInt64, _ step: UInt64, _ level: Float, _ samples: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        var now = phase
        for i in 0..<count {
            unsafe samples[i] = RenderMath.sin(phase: UInt32(truncatingIfNeeded: now &>> 32)) * level
            now &+= step
        }
    }

    @_noLocks @_noAllocation
    static func combine(
        _ weights: UnsafePointer<Float>, _ taps: Int, _ past: UnsafePointer<Float>,
        _ output: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count { unsafe output[i] = 0 }
        for tap in 0..<taps {
            let weight = unsafe weights[tap]
            let from = unsafe past + (taps &- 1 &- tap)
            for i in 0..<count { unsafe output[i] += weight * from[i] }
        }
    }

    @_noLocks @_noAllocation
    static func feed(
        echo: UnsafePointer<Float>, round: UnsafePointer<Float>, feedback: UnsafePointer<Float>,
        mix: UnsafePointer<Float>, _ samples: UnsafeMutablePointer<Float>, _ line: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        for i in 0..<count {
            let input = unsafe samples[i]
            let fed = unsafe input + feedback[i] * Kernel.heldInLoop(round[i])
            unsafe line[i] = Kernel.keptInLoop(fed)
            unsafe samples[i] = input * (1 - mix[i]) + echo[i] * mix[i]
        }
    }

    @_noLocks @_noAllocation
    static func sweep(
        _ ring: UnsafePointer<Float>, mask: Int32, position: Int32, _ delays: UnsafePointer<Float>, voices: Int,
        anchors: UnsafePointer<Int32>, level: Float, _ output: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count {
            var sum: Float = 0
            for voice in 0..<voices {
                let delay = unsafe delays[64 &* voice &+ i]
                let whole = Int32(truncatingIfNeeded: Int(delay))
                let t = delay - Float(whole)
                let start = unsafe position &+ Int32(truncatingIfNeeded: i) &- 3 &- anchors[i]
                let x = unsafe ring + Int((start &- whole) & mask)
                // The products of (t + 2) (t - 3), (t + 1) (t - 2) and t (t - 1), of which each weight has two.
                let inner = t * t - t
                let (middle, outer) = (inner - 2, inner - 6)
                let far = middle * inner * (1 / 120)
                let near = outer * inner * (1 / 24)
                let next = outer * middle * (1 / 12)
                let old = unsafe ((t + 2) * far * x[0] - (t + 1) * near * x[1]) + t * next * x[2]
                let young = unsafe ((1 - t) * next * x[3] + (t - 2) * near * x[4]) - (t - 3) * far * x[5]
                sum += old + young
            }
            unsafe output[i] = sum * level
        }
    }

    @_noLocks @_noAllocation
    static func hardClip(
        _ samples: UnsafeMutablePointer<Float>, past: UnsafeMutablePointer<Double>, gain: Float, _ count: Int
    ) {
        let limit = ShapedWindow.limit
        for i in 0..<count {
            unsafe samples[i] *= gain
            let sample = unsafe Double(samples[i])
            let held = sample < limit ? (sample > -limit ? sample : -limit) : limit
            let shaped = unsafe ShapedWindow(past[1], past[0], held).hardClipped
            // A sample that is not a number stays one; a finite sample adds 0 here.
            unsafe samples[i] = Float(shaped) + (samples[i] - samples[i])
            unsafe (past[1], past[0]) = (past[0], held)
        }
    }

    @_noLocks @_noAllocation
    @usableFromInline package static func filter(
        _ numbers: UnsafePointer<Double>, _ u: UnsafeMutablePointer<Double>, _ w: UnsafeMutablePointer<Double>,
        _ pending: UnsafeMutablePointer<Float>, _ pendingCount: Int, _ samples: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        var start = pendingCount
        var done = 0
        while done < count {
            let taken = min(8 &- start, count &- done)
            for i in start..<8 { unsafe pending[i] = i &- start < taken ? samples[done &+ i &- start] : 0 }
            for i in 0..<taken {
                unsafe samples[done &+ i] = Float(answer(numbers, u.pointee, w.pointee, pending, start &+ i))
            }
            if start &+ taken == 8 { unsafe (u.pointee, w.pointee) = next(numbers, u.pointee, w.pointee, pending) }
            done &+= taken
            start = 0
        }
    }

    /// Returns the output in one frame of a block: from its state, and from its frames in their order.
    @_noLocks @_noAllocation
    private static func answer(
        _ numbers: UnsafePointer<Double>, _ u: Double, _ w: Double, _ block: UnsafeMutablePointer<Float>, _ frame: Int
    ) -> Double {
        var sum = unsafe numbers[12 &+ frame] * u + numbers[20 &+ frame] * w
        for i in 0...frame { unsafe sum += Double(block[i]) * numbers[4 &+ frame &- i] }
        return sum
    }

    /// Returns the state after a block.
    @_noLocks @_noAllocation
    private static func next(
        _ numbers: UnsafePointer<Double>, _ u: Double, _ w: Double, _ block: UnsafeMutablePointer<Float>
    ) -> (Double, Double) {
        let (ofU, ofW) = unsafe (driven(numbers + 28, block), driven(numbers + 36, block))
        return unsafe ((numbers[44] * u + numbers[46] * w) + ofU, (numbers[45] * u + numbers[47] * w) + ofW)
    }

    @_noLocks @_noAllocation
    private static func driven(_ numbers: UnsafePointer<Double>, _ block: UnsafeMutablePointer<Float>) -> Double {
        // The order in which lanes of four add up.
        let pairs = unsafe SIMD4(
            Double(block[0]) * numbers[0] + Double(block[4]) * numbers[4],
            Double(block[1]) * numbers[1] + Double(block[5]) * numbers[5],
            Double(block[2]) * numbers[2] + Double(block[6]) * numbers[6],
            Double(block[3]) * numbers[3] + Double(block[7]) * numbers[7])
        return (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])
    }
}
