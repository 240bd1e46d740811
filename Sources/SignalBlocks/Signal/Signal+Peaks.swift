extension Signal {
    /// The direction of a search.
    ///
    /// Threads: any.
    public enum SearchDirection: Sendable {
        /// The search goes from the first sample to the last.
        case forward
        /// The search goes from the last sample to the first: the samples on the way to a peak are then those after it
        /// in time.
        case backward
    }

    /// Finds the peaks of a curve (a spectrum, an envelope, a correlation) without allocating.
    ///
    /// A peak rises by more than `leadingDelta` from the valley before it and falls by more than `trailingDelta` behind
    /// it, in the direction of the search. Before the curve's beginning it is taken to have come from far below; behind
    /// its end nothing falls any more.
    ///
    /// - Parameters:
    ///   - curve: The curve to search. Samples that are not a number are passed over.
    ///   - range: The part that is searched; `nil` is all of it.
    ///   - leadingDelta: The amount by which a peak must rise, at least 0.
    ///   - trailingDelta: The amount by which it must fall again, at least 0.
    ///   - minimumSeparation: The least number of samples between two peaks; a peak that is nearer to the last one
    ///     found is left out.
    ///   - direction: The end of the range at which the search begins.
    ///   - output: Receives the positions in the order in which they are found; when it is full, the search ends.
    /// - Returns: The number of peaks that were found.
    @_noLocks @_noAllocation
    public static func findPeaks(
        in curve: borrowing Samples, range: Range<Int>? = nil, leadingDelta: Float, trailingDelta: Float,
        minimumSeparation: Int = 0, direction: SearchDirection = .forward, into output: inout MutableSpan<Int>
    ) -> Int {
        var search = PeakSearch(
            leadingDelta: leadingDelta, trailingDelta: trailingDelta, minimumSeparation: minimumSeparation)
        let (first, end) = bounds(range, count: curve.count)
        var found = 0
        for step in 0..<(end &- first) {
            if found == output.count { break }
            let position = direction == .forward ? first &+ step : end &- 1 &- step
            let peak = search.next(curve[position], at: position)
            if peak >= 0 {
                output[found] = peak
                found &+= 1
            }
        }
        return found
    }

    /// Finds the peaks of a curve; allocates its result, so not for the render thread.
    ///
    /// - Parameters:
    ///   - curve: The curve to search. Samples that are not a number are passed over.
    ///   - range: The part that is searched; `nil` is all of it.
    ///   - leadingDelta: The amount by which a peak must rise, at least 0.
    ///   - trailingDelta: The amount by which it must fall again, at least 0.
    ///   - minimumSeparation: The least number of samples between two peaks.
    ///   - direction: The end of the range at which the search begins.
    ///   - highestFirst: `true` to sort the peaks by height, equal ones in the order in which they are found.
    ///   - limit: The largest number of peaks to return: the first, or the highest.
    /// - Returns: The positions of the peaks.
    /// - Complexity: O(n), with sorting O(n + p log p) for p peaks.
    ///
    /// Threads: control.
    public static func peaks(
        in curve: borrowing Samples, range: Range<Int>? = nil, leadingDelta: Float, trailingDelta: Float,
        minimumSeparation: Int = 0, direction: SearchDirection = .forward, highestFirst: Bool = false,
        limit: Int = .max
    ) -> [Int] {
        var search = PeakSearch(
            leadingDelta: leadingDelta, trailingDelta: trailingDelta, minimumSeparation: minimumSeparation)
        let (first, end) = bounds(range, count: curve.count)
        var found: [(position: Int, height: Float)] = []
        for step in 0..<(end - first) where highestFirst || found.count < limit {
            let position = direction == .forward ? first + step : end - 1 - step
            let peak = search.next(curve[position], at: position)
            if peak >= 0 { found.append((peak, curve[peak])) }
        }
        // The standard library's sort is stable.
        if highestFirst { found.sort { $0.height > $1.height } }
        return found.prefix(max(0, limit)).map(\.position)
    }

    /// Finds the beginning of a peak: goes from the peak down its slope, backwards, for as long as it falls.
    ///
    /// - Parameters:
    ///   - peak: The position of the peak; held to the curve.
    ///   - curve: The curve.
    ///   - slope: The amount that the curve must fall from one sample to the next to go on; 0 ends at the first level
    ///     stretch.
    ///   - limit: The largest number of samples to go back.
    /// - Returns: The position of the onset: of the peak itself, when nothing falls before it; 0 for an empty curve.
    @_noLocks @_noAllocation
    public static func peakOnset(
        of peak: Int, in curve: borrowing Samples, slope: Float = 0, limit: Int = .max
    ) -> Int {
        var position = max(0, min(peak, curve.count &- 1))
        var left = limit
        while position > 0 && left > 0 && curve[position] - curve[position &- 1] > slope {
            position &-= 1
            left &-= 1
        }
        return position
    }

    /// Returns the part of a range that exists.
    @_noLocks @_noAllocation
    private static func bounds(_ range: Range<Int>?, count: Int) -> (first: Int, end: Int) {
        guard let range else { return (0, count) }
        let first = max(0, min(range.lowerBound, count))
        return (first, max(first, min(range.upperBound, count)))
    }
}

/// The state of a search for peaks: on the way up or on the way down, and the extreme since it turned.
private struct PeakSearch {
    let leadingDelta: Float
    let trailingDelta: Float
    let minimumSeparation: Int
    var rises = true
    var highest = -Float.infinity
    var highestPosition = 0
    var lowest = -Float.infinity
    var lastPeak = -1

    /// Takes one sample.
    ///
    /// - Returns: The position of the peak that this sample completes, or -1.
    @_noLocks @_noAllocation
    mutating func next(_ sample: Float, at position: Int) -> Int {
        guard sample == sample else { return -1 }
        if !rises {
            lowest = sample < lowest ? sample : lowest
            guard sample > lowest + leadingDelta else { return -1 }
            rises = true
            highest = sample
            highestPosition = position
            return -1
        }
        if sample > highest {
            highest = sample
            highestPosition = position
        }
        guard sample < highest - trailingDelta else { return -1 }
        rises = false
        lowest = sample
        let isFarEnough = lastPeak < 0 || abs(highestPosition &- lastPeak) >= minimumSeparation
        guard isFarEnough else { return -1 }
        lastPeak = highestPosition
        return highestPosition
    }
}
