/// Four complex numbers, real and imaginary parts apart, for the passes of a Fourier transform.
struct ComplexVector {
    var re: SIMD4<Float>
    var im: SIMD4<Float>

    @_noLocks @_noAllocation
    @inline(__always) init(_ re: SIMD4<Float>, _ im: SIMD4<Float>) {
        self.re = re
        self.im = im
    }

    /// Creates a vector of four numbers of a plane pair.
    @_noLocks @_noAllocation
    @inline(__always) init(_ re: borrowing SampleMemory, _ im: borrowing SampleMemory, at position: Int) {
        self.re = re.vector4(at: position)
        self.im = im.vector4(at: position)
    }

    /// Creates a vector of one number, four times.
    @_noLocks @_noAllocation
    @inline(__always) init(repeating re: Float, _ im: Float) {
        self.re = SIMD4(repeating: re)
        self.im = SIMD4(repeating: im)
    }

    @_noLocks @_noAllocation
    @inline(__always) func store(_ re: inout SampleMemory, _ im: inout SampleMemory, at position: Int) {
        re.store(self.re, at: position)
        im.store(self.im, at: position)
    }

    @_noLocks @_noAllocation
    @inline(__always) static func + (a: ComplexVector, b: ComplexVector) -> ComplexVector {
        ComplexVector(a.re + b.re, a.im + b.im)
    }

    @_noLocks @_noAllocation
    @inline(__always) static func - (a: ComplexVector, b: ComplexVector) -> ComplexVector {
        ComplexVector(a.re - b.re, a.im - b.im)
    }

    @_noLocks @_noAllocation
    @inline(__always) static func * (a: ComplexVector, b: ComplexVector) -> ComplexVector {
        ComplexVector(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
    }

    @_noLocks @_noAllocation
    @inline(__always) static func * (a: ComplexVector, factor: Float) -> ComplexVector {
        ComplexVector(a.re * factor, a.im * factor)
    }

    /// Times -i: a quarter turn backwards.
    var turnedBack: ComplexVector {
        @_noLocks @_noAllocation @inline(__always) get { ComplexVector(im, -re) }
    }

    var conjugate: ComplexVector {
        @_noLocks @_noAllocation @inline(__always) get { ComplexVector(re, -im) }
    }

    /// Last first.
    var reversed: ComplexVector {
        @_noLocks @_noAllocation @inline(__always) get {
            ComplexVector(SIMD4(re.w, re.z, re.y, re.x), SIMD4(im.w, im.z, im.y, im.x))
        }
    }
}
