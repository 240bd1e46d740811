/// The memories of two filters in a row, for one channel.
package struct FilterRow: Sendable, BitwiseCopyable {
    package var first = FilterMemory()
    package var second = FilterMemory()

    @_noLocks @_noAllocation
    package init() {}

    @_noLocks @_noAllocation
    init(_ u: Double, _ w: Double, _ v: Double, _ x: Double) {
        (first.u, first.w) = (u, w)
        (second.u, second.w) = (v, x)
    }
}

extension RenderMemory<FilterRow> {
    /// Filters two channels at once through two filters in a row whose coefficients rest: with the bits of ``FilterMemory``, in
    /// the time of one channel.
    ///
    /// - Parameters:
    ///   - left: The first channel. Samples of +200 dB or more, and those that are no numbers, count as silence.
    ///   - right: The second channel.
    ///   - place: The memory of the first channel.
    ///   - second: The memory of the second channel; that of the first if they are one channel.
    ///   - count: The number of frames.
    ///   - coefficients: Those of the first filter, and of the second.
    ///   - output: Receives the two channels.
    /// - Precondition: There are the samples, the memories, and two channels of so many frames in the output.
    @_noLocks @_noAllocation
    package mutating func filter(
        _ left: borrowing Samples, _ right: borrowing Samples, at place: Int, _ second: Int, count: Int,
        _ coefficients: (first: FilterCoefficients, second: FilterCoefficients), into output: inout AudioBlock
    ) {
        precondition(count >= 0 && count <= left.count && count <= right.count && count <= output.frameCount)
        precondition(output.channelCount >= 2 && place >= 0 && place < self.count && second >= 0 && second < self.count)
        let (one, two) = (self[place], self[second])
        var (u, w) = (SIMD2(one.first.u, two.first.u), SIMD2(one.first.w, two.first.w))
        var (v, x) = (SIMD2(one.second.u, two.second.u), SIMD2(one.second.w, two.second.w))
        let (to, other) = unsafe (output.pointers[0], output.pointers[1])
        for i in 0..<count {
            let (a, b) = unsafe (left.base[i], right.base[i])
            let sound = SIMD2<Double>(abs(a) < 1e10 ? Double(a) : 0, abs(b) < 1e10 ? Double(b) : 0)
            let high = coefficients.first.next(sound, &u, &w)
            // As numbers of a `Float`, as they are between two filters of one channel.
            let middle = SIMD2<Double>(Double(Float(high.x)), Double(Float(high.y)))
            let low = coefficients.second.next(middle, &v, &x)
            unsafe (to[i], other[i]) = (Float(low.x), Float(low.y))
        }
        self[place] = FilterRow(u.x, w.x, v.x, x.x)
        if second != place { self[second] = FilterRow(u.y, w.y, v.y, x.y) }
    }
}
