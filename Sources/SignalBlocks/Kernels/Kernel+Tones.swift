#if arch(x86_64)
    internal import CKernels
#endif

// The waves of tones. Phases and steps count 2^64 to the turn.

extension Kernel {
    @_noLocks @_noAllocation @inline(__always)
    static func saw(_ phase: UInt64, _ step: UInt64, _ samples: UnsafeMutablePointer<Float>, _ count: Int) {
        #if arch(x86_64)
            unsafe kernel_saw(phase, step, samples, count)
        #else
            unsafe SwiftKernel.saw(phase, step, samples, count)
        #endif
    }

    @_noLocks @_noAllocation @inline(__always)
    static func triangle(_ phase: UInt64, _ step: UInt64, _ samples: UnsafeMutablePointer<Float>, _ count: Int) {
        #if arch(x86_64)
            unsafe kernel_triangle(phase, step, samples, count)
        #else
            unsafe SwiftKernel.triangle(phase, step, samples, count)
        #endif
    }

    /// Writes a pulse that is 2 above its low for a width of 2^32 to the turn.
    @_noLocks @_noAllocation @inline(__always)
    static func pulse(
        _ phase: UInt64, _ step: UInt64, width: UInt32, low: Float, _ samples: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_pulse(phase, step, width, low, samples, count)
        #else
            unsafe SwiftKernel.pulse(phase, step, width: width, low: low, samples, count)
        #endif
    }

    /// Adds four rows of a table, each with its weight. One begins `apart` numbers behind the other.
    @_noLocks @_noAllocation @inline(__always)
    static func addEdge(
        _ rows: UnsafePointer<Float>, apart: Int, _ weights: SIMD4<Float>, to samples: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_edge(rows, apart, weights[0], weights[1], weights[2], weights[3], samples, count)
        #else
            unsafe SwiftKernel.addEdge(rows, apart: apart, weights, to: samples, count)
        #endif
    }
}

// The same in Swift: for other processors, and for the tests.

extension SwiftKernel {
    @_noLocks @_noAllocation
    static func saw(_ phase: UInt64, _ step: UInt64, _ samples: UnsafeMutablePointer<Float>, _ count: Int) {
        for i in 0..<count {
            let now = phase &+ step &* UInt64(truncatingIfNeeded: i)
            unsafe samples[i] = Float(Int32(truncatingIfNeeded: now &>> 32)) * 0x1p-31
        }
    }

    @_noLocks @_noAllocation
    static func triangle(_ phase: UInt64, _ step: UInt64, _ samples: UnsafeMutablePointer<Float>, _ count: Int) {
        for i in 0..<count {
            let now = phase &+ step &* UInt64(truncatingIfNeeded: i)
            let fromCrest = Float(Int32(truncatingIfNeeded: (now &>> 32) &- (1 << 30))) * 0x1p-30
            unsafe samples[i] = 1 - (fromCrest < 0 ? -fromCrest : fromCrest)
        }
    }

    @_noLocks @_noAllocation
    static func pulse(
        _ phase: UInt64, _ step: UInt64, width: UInt32, low: Float, _ samples: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        for i in 0..<count {
            let now = phase &+ step &* UInt64(truncatingIfNeeded: i)
            unsafe samples[i] = UInt32(truncatingIfNeeded: now &>> 32) < width ? low + 2 : low
        }
    }

    @_noLocks @_noAllocation
    static func addEdge(
        _ rows: UnsafePointer<Float>, apart: Int, _ weights: SIMD4<Float>, to samples: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        for i in 0..<count {
            var sum = unsafe rows[i] * weights[0] + rows[apart &+ i] * weights[1]
            unsafe sum += rows[2 &* apart &+ i] * weights[2]
            unsafe sum += rows[3 &* apart &+ i] * weights[3]
            unsafe samples[i] += sum
        }
    }
}
