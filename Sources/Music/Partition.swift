extension Range<Int> {
    /// Returns the first number for which a condition holds, by halving: it holds for all behind one for which it does. If it holds for
    /// none, the result is the end.
    @inline(__always)
    package func partition(_ holds: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
