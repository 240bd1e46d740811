import Testing

@testable import SignalBlocks

@Suite struct SignalPeaksTests {
    /// Peaks at 2 (1), 6 (3), 9 (2), a shoulder at 11 (0.6) and one at 14 (5).
    private let curve: [Float] = [0, 0.5, 1, 0, 0, 2, 3, 1, 1.5, 2, 0.5, 0.6, 0, 4, 5, 0]

    private func peaks(
        _ curve: [Float], range: Range<Int>? = nil, leading: Float = 0.4, trailing: Float = 0.4, apart: Int = 0,
        direction: Signal.SearchDirection = .forward, room: Int = 100
    ) -> [Int] {
        var places = [Int](repeating: -9, count: room)
        var span = places.mutableSpan
        let found = Signal.findPeaks(
            in: Samples(curve.span), range: range, leadingDelta: leading, trailingDelta: trailing,
            minimumSeparation: apart, direction: direction, into: &span)
        #expect(places[found...].allSatisfy { $0 == -9 })
        let allocated = Signal.peaks(
            in: Samples(curve.span), range: range, leadingDelta: leading, trailingDelta: trailing,
            minimumSeparation: apart, direction: direction, limit: room)
        #expect(allocated == Array(places[..<found]))
        return Array(places[..<found])
    }

    @Test("Rise and fall decide what is a peak")
    func deltas() {
        #expect(peaks(curve) == [2, 6, 9, 14])
        #expect(peaks(curve, leading: 0.05, trailing: 0.05) == [2, 6, 9, 11, 14])
        #expect(peaks(curve, leading: 1.2, trailing: 0.4) == [2, 6, 14])
        #expect(peaks(curve, leading: 0.4, trailing: 2.5) == [6, 14])
        #expect(peaks(curve, leading: 9, trailing: 9) == [])
        // A rise or a fall of just the delta is not more than it.
        #expect(peaks([5, 0, 1, 0], leading: 1) == [0])
        #expect(peaks([5, 0, 1, 0], leading: Float(1).nextDown, trailing: Float(1).nextDown) == [0, 2])
        #expect(peaks([5, 0, 1, 0], leading: 0.4, trailing: 1) == [0])
    }

    @Test("Peaks keep their distance, from the last one found")
    func separation() {
        #expect(peaks(curve, apart: 3) == [2, 6, 9, 14])
        #expect(peaks(curve, apart: 4) == [2, 6, 14])
        #expect(peaks(curve, apart: 5) == [2, 9, 14])
        #expect(peaks(curve, apart: 4, direction: .backward) == [14, 9, 2])
    }

    @Test("Backwards it finds the same mountains from the other side")
    func backward() {
        #expect(peaks(curve, direction: .backward) == [14, 9, 6, 2])
        // From the right, 6 rises from 1 to 3 and 9 falls only to 1.
        #expect(peaks(curve, leading: 0.4, trailing: 1.2, direction: .backward) == [14, 6])
        #expect(peaks(Array(curve.reversed()), leading: 0.4, trailing: 1.2) == [1, 9])
    }

    @Test("Ranges are held to the curve, a full result ends the search")
    func rangesAndRoom() {
        #expect(peaks(curve, range: 4..<11) == [6, 9])
        #expect(peaks(curve, range: -5..<5) == [2])
        #expect(peaks(curve, range: 20..<30) == [])
        #expect(peaks(curve, room: 2) == [2, 6])
        #expect(peaks(curve, room: 0) == [])
        #expect(peaks([]) == [])
    }

    @Test("A beginning from above is a peak, an end on the way up is none, plateaus count once")
    func edges() {
        #expect(peaks([5, 4, 3, 2]) == [0])
        #expect(peaks([1, 2, 3, 4]) == [])
        #expect(peaks([0, 1, 1, 1, 0]) == [1])
        #expect(peaks([3, 3, 3]) == [])
        #expect(peaks([0, .nan, 1, .nan, 0]) == [2])
    }

    @Test("Sorted by height, and only as many as are wanted")
    func sorted() {
        let sorted = Signal.peaks(
            in: Samples(curve.span), leadingDelta: 0.4, trailingDelta: 0.4, highestFirst: true)
        #expect(sorted == [14, 6, 9, 2])
        let two = Signal.peaks(
            in: Samples(curve.span), leadingDelta: 0.4, trailingDelta: 0.4, highestFirst: true, limit: 2)
        #expect(two == [14, 6])
    }

    @Test("A noisy sum of bells, against the definition of a peak")
    func definition() {
        var noise = SignalNoise(seed: 1)
        for _ in 0..<20 {
            let curve = noise.samples(400)
            let found = peaks(curve, leading: 0.5, trailing: 0.5, room: 400)
            #expect(found.count > 20 && found == found.sorted())
            for (place, next) in zip(found, found.dropFirst()) {
                let valley = curve[place...next].min() ?? 0
                #expect(curve[place] - valley > 0.5 && curve[next] - valley > 0.5)
            }
        }
    }

    @Test("From a peak down its slope to the onset")
    func onset() {
        func onset(_ peak: Int, slope: Float = 0, limit: Int = .max) -> Int {
            Signal.peakOnset(of: peak, in: Samples(curve.span), slope: slope, limit: limit)
        }
        #expect(onset(14) == 12)
        #expect(onset(6) == 4)
        #expect(onset(9) == 7)
        #expect(onset(2) == 0)
        #expect(onset(14, slope: 2) == 14 && onset(14, slope: 0.5) == 12 && onset(6, slope: 1) == 6)
        #expect(onset(6, limit: 1) == 5)
        #expect(onset(99) == 15 && onset(-99) == 0)
        let none: [Float] = []
        let empty = Signal.peakOnset(of: 3, in: Samples(none.span))
        #expect(empty == 0)
    }
}
