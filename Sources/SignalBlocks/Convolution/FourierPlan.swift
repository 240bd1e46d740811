internal import CKernels
internal import Glibc

/// The factors of a complex Fourier transform by the kernels of CKernels, and of the turns before and behind it, which make a
/// convolution of two real blocks out of one complex one: see Convolution.c.
@safe struct FourierPlan: ~Copyable, Sendable {
    /// The complex numbers in a transform: a power of two from 64 on.
    let count: Int
    /// The number of passes.
    let passCount: Int
    /// `exp(i pi k / 2 count)`: the real parts, and behind them the imaginary ones.
    let turns: SampleMemory
    private let twiddles: SampleMemory

    init(count: Int) {
        demand(
            count >= 64 && count <= 1 << 24 && count & (count - 1) == 0,
            "FourierPlan: \(count) numbers; it must be a power of two, 64…16,777,216")
        self.count = count
        var turns = SampleMemory(count: 2 * count)
        for k in 0..<count {
            let angle = Double.pi * Double(k) / Double(2 * count)
            turns[k] = Float(cos(angle))
            turns[count + k] = Float(sin(angle))
        }
        self.turns = turns
        var (passes, stride, size) = (0, 1, 0)
        while stride < count {
            if count / stride > 4 { size += stride <= 4 ? count / 4 * 6 : count / stride / 4 * 6 }
            passes += 1
            stride *= 4
        }
        passCount = passes
        var table = SampleMemory(count: size)
        stride = 1
        while count / stride > 4 {
            FourierPlan.fill(&table, from: FourierPlan.start(stride, count), count, stride)
            stride *= 4
        }
        twiddles = table
    }

    /// Writes the factors of a pass: for short strides as planes, one number for each butterfly; else six for each group.
    private static func fill(_ table: inout SampleMemory, from start: Int, _ count: Int, _ stride: Int) {
        let length = count / stride
        func factor(_ p: Int, _ j: Int) -> (Float, Float) {
            let angle = -2 * Double.pi * Double(p * j) / Double(length)
            return (Float(cos(angle)), Float(sin(angle)))
        }
        if stride <= 4 {
            for i in 0..<(count / 4) {
                for j in 1..<4 {
                    let w = factor(i / stride, j)
                    table[start + (2 * j - 2) * (count / 4) + i] = w.0
                    table[start + (2 * j - 1) * (count / 4) + i] = w.1
                }
            }
        } else {
            for p in 0..<(length / 4) {
                for j in 1..<4 { (table[start + 6 * p + 2 * j - 2], table[start + 6 * p + 2 * j - 1]) = factor(p, j) }
            }
        }
    }

    /// Returns where the factors of the pass of a stride begin.
    @_noLocks @_noAllocation
    private static func start(_ stride: Int, _ count: Int) -> Int {
        var (place, before) = (0, 1)
        while before < stride {
            place &+= before <= 4 ? count / 4 &* 6 : count / before / 4 &* 6
            before &*= 4
        }
        return place
    }

    /// Computes some of the `count / 4` butterflies of a pass: from `first` on, those before `end`.
    @_noLocks @_noAllocation
    func pass(
        _ index: Int, _ first: Int, _ end: Int, _ xr: borrowing SampleMemory, _ xi: borrowing SampleMemory,
        _ yr: inout SampleMemory, _ yi: inout SampleMemory
    ) {
        precondition(xr.count >= count && xi.count >= count && yr.count >= count && yi.count >= count)
        precondition(index >= 0 && index < passCount && first >= 0 && end <= count / 4)
        let stride = 1 &<< (2 &* index)
        unsafe kernel_fourier_pass(
            twiddles.base + FourierPlan.start(stride, count), count, stride, first, end,
            xr.base, xi.base, yr.base, yi.base)
    }
}
