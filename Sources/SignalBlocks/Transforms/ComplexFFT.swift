internal import Glibc

/// The complex transform inside ``RealFFT``: Stockham's, self-sorting, from one pair of planes to another. After each pass the two
/// pairs change places, so that the numbers are in the first pair again.
///
/// A pass of radix `r` combines `r` numbers that lie `count / r` apart and writes them `stride` apart, so that every
/// access is to neighbours and no bit reversal is needed (Van Loan, Computational Frameworks for the Fast Fourier
/// Transform, 1.7). The first pass is of radix 4 and transposes 4 x 4; after it `stride` is a multiple of 4, and four
/// neighbours go through all further passes as one vector. `count` is f * 2^n with n >= 3 and f one of 1, 3, 5, 15.
struct ComplexFFT: ~Copyable, Sendable {
    let count: Int
    /// The number of passes, the first among them.
    let passCount: Int
    private let firstTwiddles: SampleMemory
    private let twiddles: SampleMemory

    init(count: Int) {
        self.count = count
        var first = SampleMemory(count: count / 4 * 6)
        for k in 1..<4 {
            for p in 0..<(count / 4) {
                let w = ComplexFFT.root(p * k, of: count)
                first[(2 * k - 2) * (count / 4) + p] = w.re
                first[(2 * k - 1) * (count / 4) + p] = w.im
            }
        }
        var table: [Float] = []
        var (passes, length) = (1, count / 4)
        while length > 1 {
            let radix = ComplexFFT.radix(for: length)
            for p in 0..<(length / radix) {
                for k in 1..<radix {
                    let w = ComplexFFT.root(p * k, of: length)
                    table += [w.re, w.im]
                }
            }
            passes += 1
            length /= radix
        }
        passCount = passes
        var others = SampleMemory(count: table.count)
        for i in table.indices { others[i] = table[i] }
        firstTwiddles = first
        twiddles = others
    }

    /// Returns `exp(-2 pi i k / n)`.
    static func root(_ k: Int, of n: Int) -> (re: Float, im: Float) {
        let angle = -2 * Double.pi * Double(k % n) / Double(n)
        return (Float(cos(angle)), Float(sin(angle)))
    }

    /// Returns the radix of the next pass over transforms of `length`: one 2 if it is needed, then 4s, then 3 and 5.
    @_noLocks @_noAllocation
    static func radix(for length: Int) -> Int {
        let twos = length.trailingZeroBitCount
        if twos & 1 == 1 { return 2 }
        if twos > 0 { return 4 }
        return length % 3 == 0 ? 3 : 5
    }

    /// The state of a transform that is made pass by pass.
    struct Progress: Sendable {
        fileprivate var length = 1
        fileprivate var stride = 4
        fileprivate var table = 0
    }

    /// Makes a half of the first of the ``passCount`` passes of a transform of the planes `a`, with `b` to work in. It takes as long
    /// as several of the others.
    ///
    /// - Parameter half: 0, then 1.
    @_noLocks @_noAllocation
    borrowing func begin(
        _ aRe: inout SampleMemory, _ aIm: inout SampleMemory, _ bRe: inout SampleMemory, _ bIm: inout SampleMemory,
        half: Int
    ) -> Progress {
        let middle = count / 32 &* 4
        firstPass(aRe, aIm, &bRe, &bIm, from: half == 0 ? 0 : middle, to: half == 0 ? middle : count / 4)
        if half == 1 { ComplexFFT.change(&aRe, &aIm, with: &bRe, &bIm) }
        return Progress(length: count / 4)
    }

    @_noLocks @_noAllocation
    private static func change(
        _ aRe: inout SampleMemory, _ aIm: inout SampleMemory, with bRe: inout SampleMemory, _ bIm: inout SampleMemory
    ) {
        swap(&aRe, &bRe)
        swap(&aIm, &bIm)
    }

    /// Makes the next pass.
    @_noLocks @_noAllocation
    borrowing func goOn(
        _ progress: inout Progress,
        _ aRe: inout SampleMemory, _ aIm: inout SampleMemory, _ bRe: inout SampleMemory, _ bIm: inout SampleMemory
    ) {
        let (length, stride, table) = (progress.length, progress.stride, progress.table)
        let radix = ComplexFFT.radix(for: length)
        switch radix {
        case 2: pass2(length, stride, table, aRe, aIm, &bRe, &bIm)
        case 3: pass3(length, stride, table, aRe, aIm, &bRe, &bIm)
        case 4: pass4(length, stride, table, aRe, aIm, &bRe, &bIm)
        default: pass5(length, stride, table, aRe, aIm, &bRe, &bIm)
        }
        ComplexFFT.change(&aRe, &aIm, with: &bRe, &bIm)
        progress.table &+= length / radix &* (radix &- 1) &* 2
        progress.length = length / radix
        progress.stride = stride &* radix
    }

    /// Returns the factor in the table at `position`, for all four lanes.
    @_noLocks @_noAllocation
    @inline(__always) private borrowing func twiddle(_ position: Int) -> ComplexVector {
        ComplexVector(repeating: twiddles[position], twiddles[position &+ 1])
    }

    @_noLocks @_noAllocation
    private borrowing func firstPass(
        _ xr: borrowing SampleMemory, _ xi: borrowing SampleMemory,
        _ yr: inout SampleMemory, _ yi: inout SampleMemory, from first: Int, to end: Int
    ) {
        let quarter = count / 4
        var p = first
        while p &+ 4 <= end {
            let a0 = ComplexVector(xr, xi, at: p)
            let a1 = ComplexVector(xr, xi, at: p &+ quarter)
            let a2 = ComplexVector(xr, xi, at: p &+ 2 &* quarter)
            let a3 = ComplexVector(xr, xi, at: p &+ 3 &* quarter)
            let (s, d, t, u) = (a0 + a2, a0 - a2, a1 + a3, (a1 - a3).turnedBack)
            let w1 = ComplexVector(firstTwiddles.vector4(at: p), firstTwiddles.vector4(at: quarter &+ p))
            let w2 = ComplexVector(
                firstTwiddles.vector4(at: 2 &* quarter &+ p), firstTwiddles.vector4(at: 3 &* quarter &+ p))
            let w3 = ComplexVector(
                firstTwiddles.vector4(at: 4 &* quarter &+ p), firstTwiddles.vector4(at: 5 &* quarter &+ p))
            let (y0, y1, y2, y3) = (s + t, (d + u) * w1, (s - t) * w2, (d - u) * w3)
            ComplexFFT.storeTransposed(y0.re, y1.re, y2.re, y3.re, &yr, at: 4 &* p)
            ComplexFFT.storeTransposed(y0.im, y1.im, y2.im, y3.im, &yi, at: 4 &* p)
            p &+= 4
        }
        while p < end {
            let sr = xr[p] + xr[p &+ 2 &* quarter], si = xi[p] + xi[p &+ 2 &* quarter]
            let dr = xr[p] - xr[p &+ 2 &* quarter], di = xi[p] - xi[p &+ 2 &* quarter]
            let tr = xr[p &+ quarter] + xr[p &+ 3 &* quarter], ti = xi[p &+ quarter] + xi[p &+ 3 &* quarter]
            let ui = xr[p &+ 3 &* quarter] - xr[p &+ quarter], ur = xi[p &+ quarter] - xi[p &+ 3 &* quarter]
            let re = SIMD4(sr + tr, dr + ur, sr - tr, dr - ur)
            let im = SIMD4(si + ti, di + ui, si - ti, di - ui)
            let wr = SIMD4(1, firstTwiddles[p], firstTwiddles[2 &* quarter &+ p], firstTwiddles[4 &* quarter &+ p])
            let wi = SIMD4(
                0, firstTwiddles[quarter &+ p], firstTwiddles[3 &* quarter &+ p], firstTwiddles[5 &* quarter &+ p])
            (ComplexVector(re, im) * ComplexVector(wr, wi)).store(&yr, &yi, at: 4 &* p)
            p &+= 1
        }
    }

    @_noLocks @_noAllocation
    @inline(__always) private static func storeTransposed(
        _ a: SIMD4<Float>, _ b: SIMD4<Float>, _ c: SIMD4<Float>, _ d: SIMD4<Float>,
        _ y: inout SampleMemory, at position: Int
    ) {
        let first = SIMD8(lowHalf: a, highHalf: b), second = SIMD8(lowHalf: c, highHalf: d)
        // a.x, a.z, b.x, b.z and so on.
        let even = SIMD8(lowHalf: first.evenHalf, highHalf: second.evenHalf)
        let odd = SIMD8(lowHalf: first.oddHalf, highHalf: second.oddHalf)
        y.store(even.evenHalf, at: position)
        y.store(odd.evenHalf, at: position &+ 4)
        y.store(even.oddHalf, at: position &+ 8)
        y.store(odd.oddHalf, at: position &+ 12)
    }

    @_noLocks @_noAllocation
    private borrowing func pass2(
        _ length: Int, _ stride: Int, _ table: Int, _ xr: borrowing SampleMemory, _ xi: borrowing SampleMemory,
        _ yr: inout SampleMemory, _ yi: inout SampleMemory
    ) {
        let m = length / 2
        let apart = stride &* m
        for p in 0..<m {
            let w = twiddle(table &+ 2 &* p)
            var x = stride &* p
            var y = 2 &* x
            let end = x &+ stride
            while x < end {
                let a = ComplexVector(xr, xi, at: x)
                let b = ComplexVector(xr, xi, at: x &+ apart)
                (a + b).store(&yr, &yi, at: y)
                ((a - b) * w).store(&yr, &yi, at: y &+ stride)
                x &+= 4
                y &+= 4
            }
        }
    }

    @_noLocks @_noAllocation
    private borrowing func pass3(
        _ length: Int, _ stride: Int, _ table: Int, _ xr: borrowing SampleMemory, _ xi: borrowing SampleMemory,
        _ yr: inout SampleMemory, _ yi: inout SampleMemory
    ) {
        let m = length / 3
        let apart = stride &* m
        for p in 0..<m {
            let w1 = twiddle(table &+ 4 &* p), w2 = twiddle(table &+ 4 &* p &+ 2)
            var x = stride &* p
            var y = 3 &* x
            let end = x &+ stride
            while x < end {
                let a = ComplexVector(xr, xi, at: x)
                let b = ComplexVector(xr, xi, at: x &+ apart)
                let c = ComplexVector(xr, xi, at: x &+ 2 &* apart)
                let sum = b + c
                let middle = a - sum * 0.5
                let side = ((b - c) * 0.866025403784438647).turnedBack
                (a + sum).store(&yr, &yi, at: y)
                ((middle + side) * w1).store(&yr, &yi, at: y &+ stride)
                ((middle - side) * w2).store(&yr, &yi, at: y &+ 2 &* stride)
                x &+= 4
                y &+= 4
            }
        }
    }

    @_noLocks @_noAllocation
    private borrowing func pass4(
        _ length: Int, _ stride: Int, _ table: Int, _ xr: borrowing SampleMemory, _ xi: borrowing SampleMemory,
        _ yr: inout SampleMemory, _ yi: inout SampleMemory
    ) {
        let m = length / 4
        let apart = stride &* m
        for p in 0..<m {
            let w1 = twiddle(table &+ 6 &* p), w2 = twiddle(table &+ 6 &* p &+ 2), w3 = twiddle(table &+ 6 &* p &+ 4)
            var x = stride &* p
            var y = 4 &* x
            let end = x &+ stride
            while x < end {
                let a = ComplexVector(xr, xi, at: x)
                let b = ComplexVector(xr, xi, at: x &+ apart)
                let c = ComplexVector(xr, xi, at: x &+ 2 &* apart)
                let d = ComplexVector(xr, xi, at: x &+ 3 &* apart)
                let (s, e, t, u) = (a + c, a - c, b + d, (b - d).turnedBack)
                (s + t).store(&yr, &yi, at: y)
                ((e + u) * w1).store(&yr, &yi, at: y &+ stride)
                ((s - t) * w2).store(&yr, &yi, at: y &+ 2 &* stride)
                ((e - u) * w3).store(&yr, &yi, at: y &+ 3 &* stride)
                x &+= 4
                y &+= 4
            }
        }
    }

    @_noLocks @_noAllocation
    private borrowing func pass5(
        _ length: Int, _ stride: Int, _ table: Int, _ xr: borrowing SampleMemory, _ xi: borrowing SampleMemory,
        _ yr: inout SampleMemory, _ yi: inout SampleMemory
    ) {
        // cos and sin of 72 and 144 degrees.
        let (c1, s1): (Float, Float) = (0.309016994374947424, 0.951056516295153572)
        let (c2, s2): (Float, Float) = (-0.809016994374947424, 0.587785252292473129)
        let m = length / 5
        let apart = stride &* m
        for p in 0..<m {
            let w1 = twiddle(table &+ 8 &* p), w2 = twiddle(table &+ 8 &* p &+ 2)
            let w3 = twiddle(table &+ 8 &* p &+ 4), w4 = twiddle(table &+ 8 &* p &+ 6)
            var x = stride &* p
            var y = 5 &* x
            let end = x &+ stride
            while x < end {
                let a = ComplexVector(xr, xi, at: x)
                let b = ComplexVector(xr, xi, at: x &+ apart)
                let c = ComplexVector(xr, xi, at: x &+ 2 &* apart)
                let d = ComplexVector(xr, xi, at: x &+ 3 &* apart)
                let e = ComplexVector(xr, xi, at: x &+ 4 &* apart)
                let (outer, inner) = (b + e, c + d)
                let (outerTurn, innerTurn) = ((b - e).turnedBack, (c - d).turnedBack)
                let m1 = a + outer * c1 + inner * c2, m2 = a + outer * c2 + inner * c1
                let n1 = outerTurn * s1 + innerTurn * s2, n2 = outerTurn * s2 - innerTurn * s1
                (a + outer + inner).store(&yr, &yi, at: y)
                ((m1 + n1) * w1).store(&yr, &yi, at: y &+ stride)
                ((m2 + n2) * w2).store(&yr, &yi, at: y &+ 2 &* stride)
                ((m2 - n2) * w3).store(&yr, &yi, at: y &+ 3 &* stride)
                ((m1 - n1) * w4).store(&yr, &yi, at: y &+ 4 &* stride)
                x &+= 4
                y &+= 4
            }
        }
    }
}
