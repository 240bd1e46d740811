import Testing

@testable import SignalBlocks

/// Integers of 24 and 32 bits.
@Suite struct WideIntegerTests {
    private static func integers32(_ source: [Float]) -> (values: [Int32], clipped: Int) {
        var output = [Int32](repeating: 99, count: source.count)
        var span = output.mutableSpan
        let clipped = Signal.convert(Samples(source.span), into: &span)
        return (output, clipped)
    }

    private static func integers24(_ source: [Float]) -> (values: [Int32], clipped: Int) {
        var output = [Int24](repeating: Int24(99), count: source.count)
        var span = output.mutableSpan
        let clipped = Signal.convert(Samples(source.span), into: &span)
        return (output.map(\.value), clipped)
    }

    @Test("An integer of 24 bits has three bytes, the lowest first, and holds what is beyond")
    func bytes() {
        #expect(MemoryLayout<Int24>.size == 3 && MemoryLayout<Int24>.stride == 3 && MemoryLayout<Int24>.alignment == 1)
        let values: [Int32] = [0, 1, -1, 0x12_3456, 0x7F_FFFF, -0x80_0000, 0x80_0000, -0x80_0001, .max, .min]
        let held = values.map { max(-0x80_0000, min(0x7F_FFFF, $0)) }
        #expect(values.map { Int24($0).value } == held)
        [Int24(0x12_3456), Int24(-2)].withUnsafeBytes { #expect(Array($0) == [0x56, 0x34, 0x12, 0xFE, 0xFF, 0xFF]) }
    }

    @Test("Every 24-bit integer comes back exactly")
    func everyInteger() {
        for start in stride(from: Int32(-0x80_0000), through: 0x7F_FFFF, by: 0x1_0000) {
            let all = (start..<start + 0x1_0000).map { Int24($0) }
            var floats = [Float](repeating: 9, count: all.count)
            var span = floats.mutableSpan
            Signal.convert(all.span, into: &span)
            let again = Self.integers24(floats)
            let isSame = again.values == all.map(\.value)
            #expect(isSame && again.clipped == 0)
            #expect(floats[1] == Float(start + 1) / 8_388_608)
        }
    }

    @Test("Samples become the nearest 32-bit integers, and integers the nearest samples")
    func nearest() {
        var noise = SignalNoise(seed: 5)
        let source = noise.samples(5_000)
        #expect(
            Self.integers32(source).values
                == source.map { Int32((Double($0) * 2_147_483_648).rounded(.toNearestOrEven)) })
        let integers = (0..<5_000).map { _ in Int32.random(in: .min ... .max, using: &noise) }
        var floats = [Float](repeating: 9, count: integers.count)
        var span = floats.mutableSpan
        Signal.convert(integers.span, into: &span)
        #expect(floats == integers.map { Float(Double($0) / 2_147_483_648) })
        let steps: [Float] = [0.4, 0.5, 0.6, 1.5, 2.5, -0.5, -1.5]
        #expect(Self.integers24(steps.map { $0 / 8_388_608 }).values == [0, 0, 1, 2, 2, 0, -2])
    }

    @Test("What is beyond full scale is held and counted; what is no number becomes 0")
    func clips() {
        let source: [Float] = [1, -1, Float(1).nextUp, -2, .infinity, -.infinity, .nan, 0.5]
        let wide = Self.integers32(source)
        #expect(wide.values == [.max, .min, .max, .min, .max, .min, 0, 1 << 30] && wide.clipped == 5)
        let (high, low) = (Int32(0x7F_FFFF), Int32(-0x80_0000))
        let packed = Self.integers24(source)
        #expect(packed.values == [high, low, high, low, high, low, 0, 1 << 22] && packed.clipped == 5)
    }

    @Test("Channels of interleaved frames are written and read alone; places that do not exist are not")
    func interleaved() {
        var noise = SignalNoise(seed: 6)
        let planes = [noise.samples(100), noise.samples(100), noise.samples(100)]
        var wide = [Int32](repeating: 7, count: 302)
        var packed = [Int24](repeating: Int24(7), count: 302)
        func write(_ plane: [Float], channel: Int) -> [Int] {
            var wideSpan = wide.mutableSpan
            let clipped = Signal.convert(Samples(plane.span), into: &wideSpan, channel: channel, of: 3)
            var packedSpan = packed.mutableSpan
            return [clipped, Signal.convert(Samples(plane.span), into: &packedSpan, channel: channel, of: 3)]
        }
        for (channel, plane) in planes.enumerated() { #expect(write(plane, channel: channel) == [0, 0]) }
        // Full scale would be clipped, if it were written.
        for channel in [-1, 3] { #expect(write([2], channel: channel) == [0, 0]) }
        #expect(wide[300...] == [7, 7] && packed[300...].map(\.value) == [7, 7])
        for (channel, plane) in planes.enumerated() {
            #expect((0..<100).map { wide[3 * $0 + channel] } == Self.integers32(plane).values)
            #expect((0..<100).map { packed[3 * $0 + channel].value } == Self.integers24(plane).values)
            #expect(read(100) { Signal.convert(wide.span, channel: channel, of: 3, into: &$0) } == plane)
            let again = read(100) { Signal.convert(packed.span, channel: channel, of: 3, into: &$0) }
            #expect(zip(again, plane).allSatisfy { abs($0 - $1) <= 0x1p-24 })
        }
        #expect(read(4) { Signal.convert(wide.span, channel: 3, of: 3, into: &$0) } == [9, 9, 9, 9])
        #expect(read(4) { Signal.convert(packed.span, channel: 0, of: 0, into: &$0) } == [9, 9, 9, 9])
    }

    /// What a conversion leaves of nines.
    private func read(_ count: Int, _ convert: (inout MutableSpan<Float>) -> Void) -> [Float] {
        var samples = [Float](repeating: 9, count: count)
        var span = samples.mutableSpan
        convert(&span)
        return samples
    }
}
