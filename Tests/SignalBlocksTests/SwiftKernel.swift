@testable import SignalBlocks

/// The loops of ``Kernel`` in plain Swift, one sample after the other: they define what the kernels have to give.
enum SwiftKernel {
    static func add(
        _ source: UnsafePointer<Float>, to sum: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count { sum[i] += source[i] }
    }

    static func add(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, _ c: UnsafePointer<Float>,
        to sum: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count { sum[i] = ((sum[i] + a[i]) + b[i]) + c[i] }
    }

    static func add(
        _ source: UnsafePointer<Float>, gain: Float, to sum: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count { sum[i] += source[i] * gain }
    }

    static func scale(_ samples: UnsafeMutablePointer<Float>, _ gain: Float, _ count: Int) {
        for i in 0..<count { samples[i] *= gain }
    }

    static func scale(
        _ samples: UnsafeMutablePointer<Float>, inTurn factors: SIMD4<Float>, _ count: Int
    ) {
        for i in 0..<count {
            samples[i] = ((samples[i] * factors[0]) * factors[1]) * factors[2] * factors[3]
        }
    }

    static func fill(_ samples: UnsafeMutablePointer<Float>, _ value: Float, _ count: Int) {
        for i in 0..<count { samples[i] = value }
    }

    static func spread(
        _ left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, _ gains: (Float, Float), _ count: Int
    ) {
        for i in 0..<count {
            let sample = left[i]
            left[i] = sample * gains.0
            right[i] = sample * gains.1
        }
    }

    static func convert(_ integers: UnsafePointer<Int16>, to samples: UnsafeMutablePointer<Float>, _ count: Int) {
        for i in 0..<count { samples[i] = Float(integers[i]) * 0x1p-15 }
    }

    static func isWithinScale(_ sample: Float) -> Int32 { abs(sample) <= 1 ? 1 : 0 }

    static func integer(_ sample: Float) -> Int16 {
        let scaled = sample * 32_768
        // Written so that what is not a number passes neither comparison, and becomes 0.
        let lower = scaled > -32_768 ? scaled : (scaled <= -32_768 ? -32_768 : 0)
        let held = lower < 32_767 ? lower : 32_767
        // 1.5 * 2^23: the sum has no bits left for fractions, so that the processor rounds, and its lowest bits are the
        // integer.
        return Int16(truncatingIfNeeded: (held + 12_582_912).bitPattern)
    }

    static func convert(
        _ samples: UnsafePointer<Float>, to integers: UnsafeMutablePointer<Int16>, _ count: Int
    ) -> Int {
        var fine: Int32 = 0
        for i in 0..<count {
            let sample = samples[i]
            fine &+= isWithinScale(sample)
            integers[i] = integer(sample)
        }
        return count &- Int(fine)
    }

    static func convert(
        pairs: UnsafePointer<Int16>, to left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        for i in 0..<count {
            left[i] = Float(pairs[2 &* i]) * 0x1p-15
            right[i] = Float(pairs[2 &* i &+ 1]) * 0x1p-15
        }
    }

    static func convert(
        _ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>, toPairs pairs: UnsafeMutablePointer<Int16>,
        _ count: Int
    ) -> Int {
        var fine: Int32 = 0
        for i in 0..<count {
            let (one, two) = (left[i], right[i])
            fine &+= isWithinScale(one) &+ isWithinScale(two)
            pairs[2 &* i] = integer(one)
            pairs[2 &* i &+ 1] = integer(two)
        }
        return 2 &* count &- Int(fine)
    }

    static func isFinite(_ samples: UnsafePointer<Float>, _ count: Int) -> Bool {
        // An exponent of all ones carries into the sign bit; nothing else does.
        var carry: UInt32 = 0
        for i in 0..<count { carry |= (samples[i].bitPattern & 0x7FFF_FFFF) &+ 0x0080_0000 }
        return carry & 0x8000_0000 == 0
    }

    static func start(
        _ source: UnsafePointer<Float>, sum: UnsafeMutablePointer<Float>, _ count: Int
    ) -> Bool {
        for i in 0..<count { sum[i] = 0 + source[i] }
        return isFinite(source, count)
    }

    static func sine(
        _ phase: UInt64, _ step: UInt64, _ level: Float, _ samples: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        var now = phase
        for i in 0..<count {
            samples[i] = RenderMath.sin(phase: UInt32(truncatingIfNeeded: now &>> 32)) * level
            now &+= step
        }
    }

    static func combine(
        _ weights: UnsafePointer<Float>, _ taps: Int, _ past: UnsafePointer<Float>,
        _ output: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count { output[i] = 0 }
        for tap in 0..<taps {
            let weight = weights[tap]
            let from = past + (taps &- 1 &- tap)
            for i in 0..<count { output[i] += weight * from[i] }
        }
    }

    static func feed(
        echo: UnsafePointer<Float>, round: UnsafePointer<Float>, feedback: UnsafePointer<Float>,
        mix: UnsafePointer<Float>, _ samples: UnsafeMutablePointer<Float>, _ line: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        for i in 0..<count {
            let input = samples[i]
            let fed = input + feedback[i] * Kernel.heldInLoop(round[i])
            line[i] = Kernel.keptInLoop(fed)
            samples[i] = input * (1 - mix[i]) + echo[i] * mix[i]
        }
    }

    static func sweep(
        _ ring: UnsafePointer<Float>, mask: Int32, position: Int32, _ delays: UnsafePointer<Float>, voices: Int,
        anchors: UnsafePointer<Int32>, level: Float, _ output: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count {
            var sum: Float = 0
            for voice in 0..<voices {
                let delay = delays[64 &* voice &+ i]
                let whole = Int32(truncatingIfNeeded: Int(delay))
                let t = delay - Float(whole)
                let start = position &+ Int32(truncatingIfNeeded: i) &- 3 &- anchors[i]
                let x = ring + Int((start &- whole) & mask)
                // The products of (t + 2) (t - 3), (t + 1) (t - 2) and t (t - 1), of which each weight has two.
                let inner = t * t - t
                let (middle, outer) = (inner - 2, inner - 6)
                let far = middle * inner * (1 / 120)
                let near = outer * inner * (1 / 24)
                let next = outer * middle * (1 / 12)
                let old = ((t + 2) * far * x[0] - (t + 1) * near * x[1]) + t * next * x[2]
                let young = ((1 - t) * next * x[3] + (t - 2) * near * x[4]) - (t - 3) * far * x[5]
                sum += old + young
            }
            output[i] = sum * level
        }
    }

    static func hardClip(
        _ samples: UnsafeMutablePointer<Float>, past: UnsafeMutablePointer<Double>, gain: Float, _ count: Int
    ) {
        let limit = ShapedWindow.limit
        for i in 0..<count {
            samples[i] *= gain
            let sample = Double(samples[i])
            let held = sample < limit ? (sample > -limit ? sample : -limit) : limit
            let shaped = ShapedWindow(past[1], past[0], held).hardClipped
            // A sample that is not a number stays one; a finite sample adds 0 here.
            samples[i] = Float(shaped) + (samples[i] - samples[i])
            (past[1], past[0]) = (past[0], held)
        }
    }

    static func filter(
        _ numbers: UnsafePointer<Double>, _ u: UnsafeMutablePointer<Double>, _ w: UnsafeMutablePointer<Double>,
        _ pending: UnsafeMutablePointer<Float>, _ pendingCount: Int, _ samples: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        var start = pendingCount
        var done = 0
        while done < count {
            let taken = min(8 &- start, count &- done)
            for i in start..<8 { pending[i] = i &- start < taken ? samples[done &+ i &- start] : 0 }
            for i in 0..<taken {
                samples[done &+ i] = Float(answer(numbers, u.pointee, w.pointee, pending, start &+ i))
            }
            if start &+ taken == 8 { (u.pointee, w.pointee) = next(numbers, u.pointee, w.pointee, pending) }
            done &+= taken
            start = 0
        }
    }

    /// Returns the output in one frame of a block: from its state, and from its frames in their order.
    private static func answer(
        _ numbers: UnsafePointer<Double>, _ u: Double, _ w: Double, _ block: UnsafeMutablePointer<Float>, _ frame: Int
    ) -> Double {
        var sum = numbers[12 &+ frame] * u + numbers[20 &+ frame] * w
        for i in 0...frame { sum += Double(block[i]) * numbers[4 &+ frame &- i] }
        return sum
    }

    /// Returns the state after a block.
    private static func next(
        _ numbers: UnsafePointer<Double>, _ u: Double, _ w: Double, _ block: UnsafeMutablePointer<Float>
    ) -> (Double, Double) {
        let (ofU, ofW) = (driven(numbers + 28, block), driven(numbers + 36, block))
        return ((numbers[44] * u + numbers[46] * w) + ofU, (numbers[45] * u + numbers[47] * w) + ofW)
    }

    private static func driven(_ numbers: UnsafePointer<Double>, _ block: UnsafeMutablePointer<Float>) -> Double {
        // The order in which lanes of four add up.
        let pairs = SIMD4(
            Double(block[0]) * numbers[0] + Double(block[4]) * numbers[4],
            Double(block[1]) * numbers[1] + Double(block[5]) * numbers[5],
            Double(block[2]) * numbers[2] + Double(block[6]) * numbers[6],
            Double(block[3]) * numbers[3] + Double(block[7]) * numbers[7])
        return (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])
    }
}

// The waves of tones.

extension SwiftKernel {
    static func saw(_ phase: UInt64, _ step: UInt64, _ samples: UnsafeMutablePointer<Float>, _ count: Int) {
        for i in 0..<count {
            let now = phase &+ step &* UInt64(truncatingIfNeeded: i)
            samples[i] = Float(Int32(truncatingIfNeeded: now &>> 32)) * 0x1p-31
        }
    }

    static func triangle(_ phase: UInt64, _ step: UInt64, _ samples: UnsafeMutablePointer<Float>, _ count: Int) {
        for i in 0..<count {
            let now = phase &+ step &* UInt64(truncatingIfNeeded: i)
            let fromCrest = Float(Int32(truncatingIfNeeded: (now &>> 32) &- (1 << 30))) * 0x1p-30
            samples[i] = 1 - (fromCrest < 0 ? -fromCrest : fromCrest)
        }
    }

    static func pulse(
        _ phase: UInt64, _ step: UInt64, width: UInt32, low: Float, _ samples: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count {
            let now = phase &+ step &* UInt64(truncatingIfNeeded: i)
            samples[i] = UInt32(truncatingIfNeeded: now &>> 32) < width ? low + 2 : low
        }
    }

    static func addEdge(
        _ rows: UnsafePointer<Float>, apart: Int, _ weights: SIMD4<Float>, to samples: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        for i in 0..<count {
            var sum = rows[i] * weights[0] + rows[apart &+ i] * weights[1]
            sum += rows[2 &* apart &+ i] * weights[2]
            sum += rows[3 &* apart &+ i] * weights[3]
            samples[i] += sum
        }
    }
}
