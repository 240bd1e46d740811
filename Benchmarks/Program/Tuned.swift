import CBench
import RenderStack

/// The kernels in C for one instruction set, with a safe face.
@safe struct Tuned {
    let kernels: UnsafePointer<bench_kernels>

    /// Those that this processor can run: the base first.
    static var all: [Tuned] {
        unsafe [bench_plain(), bench_fast(), bench_exact()].compactMap { kernels in
            unsafe kernels.map { unsafe Tuned(kernels: $0) }
        }
    }

    var name: String { unsafe String(cString: kernels.pointee.name) }

    static func filter(_ numbers: (b0: Double, a1: Double, a2: Double)) -> bench_bandpass {
        bench_bandpass(b0: Float(numbers.b0), a1: Float(numbers.a1), a2: Float(numbers.a2))
    }
}

/// Memory for kernels, with whatever alignment they like.
@safe final class Floats {
    let start: UnsafeMutablePointer<Float>
    let count: Int

    init(_ count: Int, _ value: (Int) -> Float = { _ in 0 }) {
        self.count = count
        unsafe start = UnsafeMutableRawPointer.allocate(byteCount: max(1, count) * 4, alignment: 64)
            .bindMemory(to: Float.self, capacity: count)
        for index in 0..<count { unsafe start[index] = value(index) }
    }

    deinit { unsafe start.deallocate() }

    var array: [Float] { unsafe Array(UnsafeBufferPointer(start: start, count: count)) }
}

/// Noise that is the same each time.
func noise(_ count: Int, seed: UInt64 = 1) -> [Float] {
    var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Float(Int32(truncatingIfNeeded: state >> 32)) * 0x1p-32
    }
}
