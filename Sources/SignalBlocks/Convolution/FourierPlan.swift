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
    /// The factors of the passes: see ``start(_:)``.
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
        passCount = (count.trailingZeroBitCount - 5) / 2 + 1
        var table = SampleMemory(count: 3 * count + 64)
        for pass in 0..<passCount {
            let span = FourierPlan.span(pass, count)
            let (start, parts) = (FourierPlan.start(span), span.trailingZeroBitCount & 1 == 0 ? 4 : 2)
            FourierPlan.fill(&table, from: start, span, parts)
            if span == 64 { FourierPlan.fill(&table, from: start + 96, 16, 4) }
        }
        twiddles = table
    }

    /// Writes the factors for a span that is cut into parts, for sixteen butterflies at a time: a part's real parts, and its
    /// imaginary ones. The span of 16 is transformed four times at once.
    private static func fill(_ table: inout SampleMemory, from start: Int, _ span: Int, _ parts: Int) {
        var place = start
        for first in stride(from: 0, to: max(16, span / parts), by: 16) {
            for part in 1..<parts {
                for i in first..<(first + 16) {
                    let angle = -2 * Double.pi * Double(i % (span / parts) * part) / Double(span)
                    table[place + i - first] = Float(cos(angle))
                    table[place + i - first + 16] = Float(sin(angle))
                }
                place += 32
            }
        }
    }

    /// Returns the numbers that a pass transforms together.
    @_noLocks @_noAllocation
    private static func span(_ pass: Int, _ count: Int) -> Int {
        pass == 0 ? count : (count &<< (count.trailingZeroBitCount & 1)) &>> (2 &* pass)
    }

    /// Returns where the factors for a span begin.
    @_noLocks @_noAllocation
    private static func start(_ span: Int) -> Int { span &<< (span.trailingZeroBitCount & 1) }

    /// Computes some of the `count / 4` butterflies of a pass: from `first` on, those before `end`.
    @_noLocks @_noAllocation
    func pass(_ index: Int, _ first: Int, _ end: Int, _ re: inout SampleMemory, _ im: inout SampleMemory) {
        precondition(re.count >= count && im.count >= count)
        precondition(index >= 0 && index < passCount && first >= 0 && end <= count / 4)
        let span = FourierPlan.span(index, count)
        unsafe kernel_fourier_pass(twiddles.base + FourierPlan.start(span), span, first, end, re.base, im.base)
    }

    /// Computes some of the butterflies of a pass of the inverse transform, whose first pass is the last one.
    @_noLocks @_noAllocation
    func passBack(_ index: Int, _ first: Int, _ end: Int, _ re: inout SampleMemory, _ im: inout SampleMemory) {
        precondition(re.count >= count && im.count >= count)
        precondition(index >= 0 && index < passCount && first >= 0 && end <= count / 4)
        let span = FourierPlan.span(index, count)
        // The planes are exchanged.
        unsafe kernel_fourier_pass_back(twiddles.base + FourierPlan.start(span), span, first, end, im.base, re.base)
    }
}
