import Testing

@testable import SignalBlocks

@Suite struct SignalIntegerConversionTests {
    private func integers(_ source: [Float]) -> (values: [Int16], clipped: Int) {
        var output = [Int16](repeating: 99, count: source.count)
        var span = output.mutableSpan
        let clipped = Signal.convert(Samples(source.span), into: &span)
        return (output, clipped)
    }

    @Test("BL: every 16-bit integer comes back exactly, not interleaved")
    func everyInteger() {
        var all = (Int(Int16.min)...Int(Int16.max)).map { Int16($0) }
        var floats = [Float](repeating: 9, count: all.count)
        let integerSpan = all.mutableSpan
        var span = floats.mutableSpan
        Signal.convert(integerSpan, into: &span)
        #expect(floats[0] == -1 && floats[32_768] == 0 && floats[49_152] == 0.5)
        let again = integers(floats)
        #expect(again.values == all && again.clipped == 0)
    }

    @Test("rounds to the nearest, to even in the middle")
    func rounds() {
        let steps: [Float] = [0.4, 0.5, 0.6, 1.5, 2.5, -0.4, -0.5, -0.6, -1.5, -2.5, 32_766.5, 32_767.2]
        #expect(integers(steps.map { $0 / 32_768 }).values == [0, 0, 1, 2, 2, 0, 0, -1, -2, -2, 32_766, 32_767])
        var noise = SignalNoise(seed: 1)
        for count in signalLengths {
            let source = noise.samples(count)
            let expected = source.map {
                Int16(min(max((Double($0) * 32_768).rounded(.toNearestOrEven), -32_768), 32_767))
            }
            #expect(integers(source).values == expected)
        }
    }

    @Test("the conversion clips samples beyond full scale, and counts each once")
    func clips() {
        let source: [Float] = [
            1, -1, Float(1).nextUp, Float(-1).nextDown, 2, -2, .infinity, -.infinity, .nan, 1e30, 0.5,
        ]
        let result = integers(source.map { $0 })
        #expect(
            result.values == [32_767, -32_768, 32_767, -32_768, 32_767, -32_768, 32_767, -32_768, 0, 32_767, 16_384])
        #expect(result.clipped == 8)
    }

    @Test("BL: interleaved, 256 frames of two channels, there and back within half a step")
    func interleaved() {
        let tolerance = 0.5 / 32_768
        var noise = SignalNoise(seed: 3)
        let planes = [noise.samples(256), noise.samples(256)].map { $0.map { $0 * 0.9 } }
        var frames = [Int16](repeating: 99, count: 513)
        for (channel, plane) in planes.enumerated() {
            var span = frames.mutableSpan
            let clipped = Signal.convert(Samples(plane.span), channel: channel, of: 2, into: &span)
            #expect(clipped == 0)
        }
        #expect(frames[512] == 99)
        for (channel, plane) in planes.enumerated() {
            #expect((0..<256).allSatisfy { frames[2 * $0 + channel] == integers(plane).values[$0] })
            var again = [Float](repeating: 9, count: 256)
            let integerSpan = frames.mutableSpan
            var span = again.mutableSpan
            Signal.convert(integerSpan, channel: channel, of: 2, into: &span)
            #expect(largestError(again, plane.map(Double.init)) <= tolerance)
        }
    }

    @Test("lengths: the shorter counts; a channel that does not exist moves nothing")
    func lengths() {
        let source: [Float] = [0.5, 2, 0.5]
        var output: [Int16] = [7, 7]
        var span = output.mutableSpan
        let clipped = Signal.convert(Samples(source.span), into: &span)
        let none = Signal.convert(Samples(source.span), channel: 2, of: 2, into: &span)
        #expect(clipped == 1 && none == 0)
        var floats: [Float] = [9, 9, 9]
        var floatSpan = floats.mutableSpan
        Signal.convert(span, channel: 0, of: 0, into: &floatSpan)
        Signal.convert(span, into: &floatSpan)
        let expected: [Float] = [0.5, 32_767.0 / 32_768, 9]
        #expect(floats == expected)
        #expect(output == [16_384, 32_767])
    }
}
