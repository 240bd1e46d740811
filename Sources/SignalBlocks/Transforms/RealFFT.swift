/// The Fourier transform of real samples, and back: the spectrum of a block, for analysis, filters and convolution.
///
///     var fft = RealFFT(size: 1_024)                            // allocates: in an `init`
///     fft.forward(samples, real: &real, imaginary: &imaginary)  // 513 bins
///     fft.inverse(real: real.samples, imaginary: imaginary.samples, into: &samples)
///
/// **Packing:** none. Bin `k` of ``bins`` (`size / 2 + 1`) is the frequency `k * rate / size`; bin 0 is DC, the last is
/// Nyquist, both with an imaginary part of 0.
///
/// **Scaling:** `forward` adds up, `X[k] = sum x[n] exp(-2 pi i k n / size)`, so that a sine of amplitude 1 has a
/// magnitude of `size / 2`; `inverse` divides by `size`, so that the two undo each other.
///
/// Sizes are 2^n, 3 * 2^n, 5 * 2^n and 15 * 2^n, each with n >= 4, up to 2^20. Against double precision the error of
/// white noise is below 2.5e-7 at every size (RMS, relative), and below 3e-7 there and back.
///
/// - Complexity: O(*size* log *size*); memory of about 5 *size* floats.
///
/// Threads: any.
public struct RealFFT: ~Copyable, Sendable {
    /// Samples in a block.
    public let size: Int
    private let fft: ComplexFFT
    private var progress = ComplexFFT.Progress()
    private var aRe: SampleMemory
    private var aIm: SampleMemory
    private var bRe: SampleMemory
    private var bIm: SampleMemory
    /// `exp(-2 pi i k / size)` for a little more than half of the bins.
    private var turnRe: SampleMemory
    private var turnIm: SampleMemory

    /// Allocates a transform of a supported size.
    ///
    /// - Precondition: ``isSupported(_:)`` is true of `size`.
    ///
    /// Threads: control.
    public init(size: Int) {
        demand(
            RealFFT.isSupported(size), "RealFFT: \(size) is not 2^n, 3*2^n, 5*2^n or 15*2^n with n >= 4, up to 2^20")
        self.size = size
        let half = size / 2
        fft = ComplexFFT(count: half)
        // A vector may begin at the last bin.
        aRe = SampleMemory(count: half + 4)
        aIm = SampleMemory(count: half + 4)
        bRe = SampleMemory(count: half + 4)
        bIm = SampleMemory(count: half + 4)
        turnRe = SampleMemory(count: half / 2 + 1)
        turnIm = SampleMemory(count: half / 2 + 1)
        for k in 0...(half / 2) {
            let w = ComplexFFT.root(k, of: size)
            turnRe[k] = w.re
            turnIm[k] = w.im
        }
    }

    /// Bins of a spectrum: `size / 2 + 1`.
    public var bins: Int { @_noLocks @_noAllocation get { size / 2 &+ 1 } }

    /// Returns whether there is a transform of this size.
    ///
    /// Threads: control.
    public static func isSupported(_ size: Int) -> Bool {
        guard size >= 16, size <= 1 << 20, size.trailingZeroBitCount >= 4 else { return false }
        return [1, 3, 5, 15].contains(size >> size.trailingZeroBitCount)
    }

    /// Returns the smallest supported size that holds `count` samples; `nil` above 2^20.
    ///
    /// Threads: control.
    public static func size(atLeast count: Int) -> Int? {
        var best: Int?
        for factor in [1, 3, 5, 15] {
            var size = factor << 4
            while size < count && size <= 1 << 20 { size <<= 1 }
            if size >= count && size <= 1 << 20 { best = min(best ?? size, size) }
        }
        return best
    }

    /// Analyses a block of samples.
    ///
    /// - Parameters:
    ///   - signal: The block. Missing samples count as silence; samples beyond ``size`` are ignored.
    ///   - real: Receives the real parts of ``bins`` bins, or of as many as it holds.
    ///   - imaginary: Receives the imaginary parts.
    @_noLocks @_noAllocation
    public mutating func forward(
        _ signal: borrowing Samples, real: inout MutableSpan<Float>, imaginary: inout MutableSpan<Float>
    ) {
        analyse(signal, from: 0, count: size)
        Signal.copy(aRe.samples, first: bins, into: &real)
        Signal.copy(aIm.samples, first: bins, into: &imaginary)
    }

    /// Makes a block of samples from its spectrum.
    ///
    /// - Parameters:
    ///   - real: The real parts of ``bins`` bins. Missing ones count as 0.
    ///   - imaginary: The imaginary parts. Those of bin 0 and of the last one are not looked at.
    ///   - signal: Receives the block, or as much of it as it holds.
    @_noLocks @_noAllocation
    public mutating func inverse(
        real: borrowing Samples, imaginary: borrowing Samples, into signal: inout MutableSpan<Float>
    ) {
        RealFFT.load(real, into: &aRe, count: bins)
        RealFFT.load(imaginary, into: &aIm, count: bins)
        synthesise()
        unpack(into: &signal)
    }
}

// The steps, for those that work on the spectrum where it is. A spectrum and a block are always found in the planes `a`.
extension RealFFT {
    /// The number of steps of an analysis that is made step by step, each in about the same time.
    var analysisSteps: Int { @_noLocks @_noAllocation get { fft.passCount &+ 3 } }

    /// Transforms a part of a signal to its spectrum in `a`.
    @_noLocks @_noAllocation
    mutating func analyse(_ signal: borrowing Samples, from start: Int, count: Int) {
        for step in 0..<analysisSteps { analyse(signal, from: start, count: count, step: step) }
    }

    /// Does one of the ``analysisSteps``. Until the last one the transform must serve for nothing else.
    @_noLocks @_noAllocation
    mutating func analyse(_ signal: borrowing Samples, from start: Int, count: Int, step: Int) {
        switch step {
        case 0: RealFFT.unzip(signal, from: start, count: min(count, size), into: &aRe, &aIm)
        case 1, 2: progress = fft.begin(&aRe, &aIm, &bRe, &bIm, half: step &- 1)
        case _ where step <= fft.passCount &+ 1: fft.goOn(&progress, &aRe, &aIm, &bRe, &bIm)
        default: RealFFT.split(&aRe, &aIm, turnRe, turnIm, half: size / 2)
        }
    }

    /// Transforms the first `count` samples of a memory to their spectrum in `a`.
    @_noLocks @_noAllocation
    mutating func analyse(_ memory: borrowing SampleMemory, count: Int) {
        analyse(memory.samples, from: 0, count: count)
    }

    /// Transforms the spectrum in `a` to a block there.
    @_noLocks @_noAllocation
    private mutating func synthesise() {
        for step in 0...fft.passCount &+ 1 { synthesise(step: step) }
    }

    /// Does one of the steps of that: before the passes it turns the spectrum to that of pairs.
    @_noLocks @_noAllocation
    private mutating func synthesise(step: Int) {
        // Planes exchanged, the same transform is the inverse one.
        switch step {
        case 0: RealFFT.merge(&aRe, &aIm, turnRe, turnIm, half: size / 2)
        case 1, 2: progress = fft.begin(&aIm, &aRe, &bIm, &bRe, half: step &- 1)
        default: fft.goOn(&progress, &aIm, &aRe, &bIm, &bRe)
        }
    }

    /// Multiplies the spectrum in `a` with another one and makes a block of the product.
    @_noLocks @_noAllocation
    mutating func synthesise(multipliedBy re: borrowing SampleMemory, _ im: borrowing SampleMemory) {
        var k = 0
        while k < bins {
            (ComplexVector(aRe, aIm, at: k) * ComplexVector(re, im, at: k)).store(&aRe, &aIm, at: k)
            k &+= 4
        }
        synthesise()
    }

    /// Copies the spectrum in `a`, for ``synthesise(multipliedBy:_:)``.
    @_noLocks @_noAllocation
    borrowing func copySpectrum(into re: inout SampleMemory, _ im: inout SampleMemory) {
        var k = 0
        while k < bins {
            ComplexVector(aRe, aIm, at: k).store(&re, &im, at: k)
            k &+= 4
        }
    }

    /// Copies the spectrum in `a` to two planes that lie `stride` floats apart.
    @_noLocks @_noAllocation
    borrowing func copySpectrum(to planes: UnsafeMutablePointer<Float>, stride: Int) {
        unsafe planes.copySamples(from: aRe.base, count: bins)
        unsafe (planes + stride).copySamples(from: aIm.base, count: bins)
    }

    /// The number of steps of a synthesis that is made step by step.
    var synthesisSteps: Int { @_noLocks @_noAllocation get { fft.passCount &+ 3 } }

    /// Does one of the ``synthesisSteps`` from a spectrum in two planes that lie `stride` floats apart to a block at an
    /// address. Until the last one the transform must serve for nothing else.
    @_noLocks @_noAllocation
    mutating func synthesise(
        from planes: UnsafePointer<Float>, stride: Int, into block: UnsafeMutablePointer<Float>, step: Int
    ) {
        if step > fft.passCount &+ 1 {
            var span = unsafe MutableSpan(_unsafeStart: block, count: size)
            unpack(into: &span)
            return
        }
        if step == 0 {
            unsafe aRe.base.copySamples(from: planes, count: bins)
            unsafe aIm.base.copySamples(from: planes + stride, count: bins)
        }
        synthesise(step: step)
    }

    /// The number of floats that ``copySpectrum(into:_:)`` needs.
    var spectrumMemory: Int { size / 2 + 4 }

    /// Copies the block in `a`, or its beginning.
    @_noLocks @_noAllocation
    borrowing func unpack(into signal: inout MutableSpan<Float>) {
        let count = min(signal.count, size)
        var i = 0
        while i &+ 8 <= count {
            let z = ComplexVector(aRe, aIm, at: i / 2)
            signal.store(SIMD8(z.re.x, z.im.x, z.re.y, z.im.y, z.re.z, z.im.z, z.re.w, z.im.w), at: i)
            i &+= 8
        }
        while i < count {
            signal[i] = i & 1 == 0 ? aRe[i / 2] : aIm[i / 2]
            i &+= 1
        }
    }

    /// Copies the block in `a` into a memory.
    @_noLocks @_noAllocation
    borrowing func unpack(into memory: inout SampleMemory) {
        var span = memory.span
        unpack(into: &span)
    }

    /// Copies even samples into one plane, odd ones into the other, with silence after them.
    @_noLocks @_noAllocation
    private static func unzip(
        _ signal: borrowing Samples, from start: Int, count: Int,
        into re: inout SampleMemory, _ im: inout SampleMemory
    ) {
        let available = max(0, min(count, signal.count &- start))
        let half = re.count &- 4
        var i = 0
        while 2 &* i &+ 8 <= available {
            let pairs = signal.vector8(at: start &+ 2 &* i)
            re.store(pairs.evenHalf, at: i)
            im.store(pairs.oddHalf, at: i)
            i &+= 4
        }
        while i < half {
            re[i] = 2 &* i < available ? signal[start &+ 2 &* i] : 0
            im[i] = 2 &* i &+ 1 < available ? signal[start &+ 2 &* i &+ 1] : 0
            i &+= 1
        }
    }

    @_noLocks @_noAllocation
    private static func load(_ source: borrowing Samples, into plane: inout SampleMemory, count: Int) {
        for i in 0..<count { plane[i] = i < source.count ? source[i] : 0 }
    }

    /// Turns the transform of pairs into that of the samples, in place: symmetry tells the parts of even and odd
    /// samples apart. Vectors from both ends meet in the middle bin, which both write alike.
    @_noLocks @_noAllocation
    private static func split(
        _ re: inout SampleMemory, _ im: inout SampleMemory,
        _ turnRe: borrowing SampleMemory, _ turnIm: borrowing SampleMemory, half: Int
    ) {
        var k = 1
        while k < half / 2 {
            let low = ComplexVector(re, im, at: k)
            let high = ComplexVector(re, im, at: half &- 3 &- k).reversed.conjugate
            let even = (low + high) * 0.5
            let odd = ((low - high) * 0.5).turnedBack * ComplexVector(turnRe, turnIm, at: k)
            (even + odd).store(&re, &im, at: k)
            (even - odd).conjugate.reversed.store(&re, &im, at: half &- 3 &- k)
            k &+= 4
        }
        let (even, odd) = (re[0], im[0])
        re[0] = even + odd
        re[half] = even - odd
        im[0] = 0
        im[half] = 0
    }

    /// Goes the way back from ``split(_:_:_:_:half:)``, and divides by the size.
    @_noLocks @_noAllocation
    private static func merge(
        _ re: inout SampleMemory, _ im: inout SampleMemory,
        _ turnRe: borrowing SampleMemory, _ turnIm: borrowing SampleMemory, half: Int
    ) {
        let scale = 1 / Float(2 &* half)
        let (first, last) = (re[0], re[half])
        var k = 1
        while k < half / 2 {
            let low = ComplexVector(re, im, at: k)
            let high = ComplexVector(re, im, at: half &- 3 &- k).reversed.conjugate
            let even = (low + high) * scale
            let odd = ((low - high) * scale * ComplexVector(turnRe, turnIm, at: k).conjugate).turnedBack
            (even - odd).store(&re, &im, at: k)
            (even + odd).conjugate.reversed.store(&re, &im, at: half &- 3 &- k)
            k &+= 4
        }
        re[0] = (first + last) * scale
        im[0] = (first - last) * scale
    }
}
