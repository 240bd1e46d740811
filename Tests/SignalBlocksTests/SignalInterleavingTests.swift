import Testing

@testable import SignalBlocks

@Suite struct SignalInterleavingTests {
    @Test("BL: two channels to pairs and back, at every length")
    func stereo() {
        var noise = SignalNoise(seed: 1)
        for count in signalLengths + [256] {
            let (left, right) = (noise.samples(count + 2), noise.samples(count))
            var pairs = [Float](repeating: 9, count: 2 * count + 1)
            var span = pairs.mutableSpan
            let written = Signal.interleave(Samples(left.span), Samples(right.span), into: &span)
            #expect(written == count)
            let expected: [Float] = (0..<count).flatMap { [left[$0], right[$0]] }
            #expect(Array(pairs[..<(2 * count)]) == expected)
            #expect(pairs[2 * count] == 9)
            var (leftAgain, rightAgain) = ([Float](repeating: 9, count: count + 1), [Float](repeating: 9, count: count))
            var leftSpan = leftAgain.mutableSpan
            var rightSpan = rightAgain.mutableSpan
            let read = Signal.deinterleave(Samples(pairs.span), into: &leftSpan, &rightSpan)
            #expect(read == count)
            #expect(leftAgain == Array(left[..<count]) + [9] && rightAgain == right)
        }
    }

    @Test("BL: any channel of any number, incomplete frames left alone", arguments: [1, 2, 3, 6])
    func manyChannels(channels: Int) {
        var noise = SignalNoise(seed: 2)
        for count in signalLengths {
            let planes = (0..<channels).map { _ in noise.samples(count) }
            var frames = [Float](repeating: 9, count: count * channels + channels - 1)
            for (channel, plane) in planes.enumerated() {
                var span = frames.mutableSpan
                let written = Signal.interleave(Samples(plane.span), channel: channel, of: channels, into: &span)
                #expect(written == count)
            }
            #expect(frames[(count * channels)...].allSatisfy { $0 == 9 })
            for (channel, plane) in planes.enumerated() {
                var again = [Float](repeating: 9, count: count)
                var span = again.mutableSpan
                let read = Signal.deinterleave(Samples(frames.span), channel: channel, of: channels, into: &span)
                #expect(read == count)
                #expect(again == plane)
            }
        }
    }

    @Test("a channel that does not exist moves nothing", arguments: [(-1, 2), (2, 2), (0, 0), (0, -1)])
    func missingChannel(channel: Int, channels: Int) {
        let source: [Float] = [1, 2, 3, 4]
        var output: [Float] = [9, 9, 9, 9]
        var span = output.mutableSpan
        let written = Signal.interleave(Samples(source.span), channel: channel, of: channels, into: &span)
        let read = Signal.deinterleave(Samples(source.span), channel: channel, of: channels, into: &span)
        #expect(written == 0 && read == 0)
        #expect(output == [9, 9, 9, 9])
    }

    @Test("an incomplete last frame is not read")
    func incompleteFrame() {
        let source: [Float] = [1, 2, 3, 4, 5]
        var output: [Float] = [9, 9, 9, 9]
        var span = output.mutableSpan
        let read = Signal.deinterleave(Samples(source.span), channel: 0, of: 2, into: &span)
        #expect(read == 2)
        #expect(output == [1, 3, 9, 9])
    }
}
