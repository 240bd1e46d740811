import Testing

@testable import SignalBlocks

@Suite struct ConvolutionTests {
    /// The errors that the tests of the preceding system allow, and a tenth of them for short signals.
    private static let (tolerance, shortTolerance) = (1e-5, 2e-6)

    /// From the definition, in double precision: the full result.
    private func naive(_ signal: [Float], _ filter: [Float], _ operation: Convolution.Operation) -> [Double] {
        guard !signal.isEmpty, !filter.isEmpty else { return [] }
        let taps = operation == .convolution ? filter : filter.reversed()
        var result = [Double](repeating: 0, count: signal.count + filter.count - 1)
        for (n, sample) in signal.enumerated() {
            for (k, tap) in taps.enumerated() { result[n + k] += Double(sample) * Double(tap) }
        }
        return result
    }

    private func apply(
        _ convolution: inout Convolution, _ signal: [Float], _ extent: Convolution.Extent, room: Int? = nil
    ) -> [Float] {
        var output = [Float](repeating: 9, count: room ?? (signal.count + convolution.filterLength + 7))
        var span = output.mutableSpan
        let count = convolution.apply(to: Samples(signal.span), extent: extent, into: &span)
        #expect(output[count...].allSatisfy { $0 == 9 })
        return Array(output[..<count])
    }

    private static let operations: [Convolution.Operation] = [.convolution, .correlation]

    @Test(
        "Whole signals, full and valid, against the definition: 16 x 5, 192 x 8, 192 x 54 on 64, others",
        arguments: [(16, 5, 12), (192, 8, 185), (192, 54, 11), (1, 1, 1), (5, 16, 1), (3, 3, 90), (6_523, 50, 200)],
        operations)
    func wholeSignals(lengths: (signal: Int, filter: Int, block: Int), operation: Convolution.Operation) {
        var noise = SignalNoise(seed: UInt64(lengths.signal))
        let (signal, filter) = (noise.samples(lengths.signal), noise.samples(lengths.filter))
        var convolution = Convolution(filterLength: lengths.filter, blockLength: lengths.block)
        convolution.setFilter(Samples(filter.span), operation: operation)
        let expected = naive(signal, filter, operation)
        let full = apply(&convolution, signal, .full)
        #expect(largestError(full, expected) <= Self.tolerance)
        let valid = apply(&convolution, signal, .valid)
        let inside = lengths.signal < lengths.filter ? [] : Array(expected[(lengths.filter - 1)..<lengths.signal])
        #expect(largestError(valid, inside) <= Self.tolerance)
        // A result that does not fit is its beginning.
        let beginning = apply(&convolution, signal, .full, room: 7)
        #expect(beginning.elementsEqual(full.prefix(7)))
    }

    @Test("The small case by hand")
    func byHand() {
        let (signal, filter): ([Float], [Float]) = ([1, 2, 3, 4], [1, 10, 100])
        var convolution = Convolution(filterLength: 3, blockLength: 4)
        convolution.setFilter(Samples(filter.span))
        #expect(largestError(apply(&convolution, signal, .full), [1, 12, 123, 234, 340, 400]) <= 1e-4)
        #expect(largestError(apply(&convolution, signal, .valid), [123, 234]) <= 1e-4)
        convolution.setFilter(Samples(filter.span), operation: .correlation)
        #expect(largestError(apply(&convolution, signal, .valid), [321, 432]) <= 1e-4)
        #expect(largestError(apply(&convolution, signal, .full), [100, 210, 321, 432, 43, 4]) <= 1e-4)
    }

    /// Blocks through a transform always (0), by cost (24), and multiplied out always.
    private static let directCosts = [0, 24, 1 << 20]

    @Test(
        "A stream in blocks of 19, 12, 1 and mixed lengths is the whole, 6,523 samples x 50 taps",
        arguments: [[19], [12], [1], [64, 1, 300, 12]], directCosts)
    func continuous(blocks: [Int], directCost: Int) {
        var noise = SignalNoise(seed: 11)
        let count = blocks == [1] ? 700 : 6_523
        let (signal, filter) = (noise.samples(count), noise.samples(50))
        for operation in Self.operations {
            var convolution = Convolution(filterLength: 50, blockLength: blocks[0], directCost: directCost)
            convolution.setFilter(Samples(filter.span), operation: operation)
            var output = signal
            inBlocks(&output, blocks) { convolution.process(&$0) }
            #expect(largestError(output, Array(naive(signal, filter, operation)[..<count])) <= Self.tolerance)
            convolution.reset()
            let whole = apply(&convolution, signal, .full)
            #expect(largestError(output, whole[..<count].map(Double.init)) <= Self.tolerance)
        }
    }

    @Test("Out of place is in place, and the input stays as it is", arguments: directCosts)
    func outOfPlace(directCost: Int) {
        var noise = SignalNoise(seed: 12)
        let (signal, filter) = (noise.samples(500), noise.samples(33))
        var (one, other) = (
            [Float](repeating: 9, count: 500), signal
        )
        var first = Convolution(filterLength: 40, blockLength: 100, directCost: directCost)
        first.setFilter(Samples(filter.span))
        var start = 0
        inBlocks(&one, [37, 200]) {
            first.process(Samples(signal.span.extracting(start..<(start + $0.count))), into: &$0)
            start += $0.count
        }
        first.reset()
        inBlocks(&other, [37, 200]) { first.process(&$0) }
        #expect(one == other)
        #expect(largestError(one, Array(naive(signal, filter, .convolution)[..<500])) <= Self.shortTolerance)
    }

    @Test("A whole signal in between does not disturb the stream; reset makes it begin again")
    func independent() {
        var noise = SignalNoise(seed: 13)
        let (signal, filter) = (noise.samples(300), noise.samples(20))
        var convolution = Convolution(filterLength: 20, blockLength: 30, directCost: 0)
        convolution.setFilter(Samples(filter.span))
        var (plain, disturbed, again) = (signal, signal, signal)
        inBlocks(&plain, [30]) { convolution.process(&$0) }
        convolution.reset()
        inBlocks(&disturbed, [30]) {
            convolution.process(&$0)
            _ = apply(&convolution, signal, .full)
        }
        convolution.reset()
        inBlocks(&again, [30]) { convolution.process(&$0) }
        #expect(plain == disturbed && plain == again)
    }

    @Test(
        "Replaced during use, each sample keeps the filter that it met, and what rings rings out",
        arguments: directCosts)
    func replaced(directCost: Int) {
        var noise = SignalNoise(seed: 14)
        let (signal, long, short) = (noise.samples(400), noise.samples(60), noise.samples(9))
        var convolution = Convolution(filterLength: 60, blockLength: 50, directCost: directCost)
        convolution.setFilter(Samples(long.span))
        var output = signal
        onPart(of: &output, from: 0, count: 200) { convolution.process(&$0) }
        convolution.setFilter(Samples(short.span))
        #expect(convolution.filterLength == 9)
        onPart(of: &output, from: 200, count: 200) { convolution.process(&$0) }
        let old = naive(Array(signal[..<200]), long, .convolution)
        let new = naive(Array(signal[200...]), short, .convolution)
        let expected = (0..<400).map {
            ($0 < old.count ? old[$0] : 0) + ($0 >= 200 ? new[$0 - 200] : 0)
        }
        #expect(largestError(output, expected) <= Self.tolerance)
    }

    @Test("Without a filter silence, and a filter too long is cut")
    func edges() {
        var noise = SignalNoise(seed: 15)
        let (signal, filter) = (noise.samples(64), noise.samples(30))
        var convolution = Convolution(filterLength: 10, blockLength: 16)
        var output = signal
        inBlocks(&output, [20]) { convolution.process(&$0) }
        #expect(output.allSatisfy { $0 == 0 })
        #expect(apply(&convolution, signal, .full).isEmpty)
        convolution.setFilter(Samples(filter.span))
        #expect(convolution.filterLength == 10)
        let cut = naive(signal, Array(filter[..<10]), .convolution)
        #expect(largestError(apply(&convolution, signal, .full), cut) <= Self.shortTolerance)
        #expect(apply(&convolution, [], .full).isEmpty && apply(&convolution, [], .valid).isEmpty)
        #expect(apply(&convolution, [1, 2], .valid).isEmpty)
    }

    @Test(
        "After a sample that is not a number, the stream heals when the filter has passed it",
        arguments: directCosts)
    func heals(directCost: Int) {
        var noise = SignalNoise(seed: 16)
        let filter = noise.samples(20)
        var signal = noise.samples(300)
        var clean = signal
        signal[70] = .nan
        clean[70] = 0
        var convolution = Convolution(filterLength: 20, blockLength: 45, directCost: directCost)
        convolution.setFilter(Samples(filter.span))
        var output = signal
        inBlocks(&output, [30]) { convolution.process(&$0) }
        let expected = naive(clean, filter, .convolution)
        #expect(largestError(Array(output[120...]), Array(expected[120..<300])) <= Self.shortTolerance)
    }
}
