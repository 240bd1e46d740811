internal import CKernels

/// The memories of two filters in a row, for one channel: four numbers, as the kernel has them.
package struct FilterRow: Sendable, BitwiseCopyable {
    package var first = FilterMemory()
    package var second = FilterMemory()

    @_noLocks @_noAllocation
    package init() {}
}

extension RenderMemory<FilterRow> {
    /// Filters two channels at once through two filters in a row whose coefficients rest: with the bits of ``FilterMemory``, in
    /// the time of one channel.
    ///
    /// - Parameters:
    ///   - left: The first channel. Samples of +200 dB or more, and those that are no numbers, count as silence.
    ///   - right: The second channel.
    ///   - place: The memory of the first channel.
    ///   - second: The memory of the second channel, another one.
    ///   - count: The number of frames.
    ///   - coefficients: Those of the first filter, and of the second.
    ///   - output: Receives the two channels.
    /// - Precondition: There are the samples, the memories, and two channels of that many frames in the output.
    @_noLocks @_noAllocation
    package mutating func filter(
        _ left: borrowing Samples, _ right: borrowing Samples, at place: Int, _ second: Int, count: Int,
        _ coefficients: (first: FilterCoefficients, second: FilterCoefficients), into output: inout AudioBlock
    ) {
        precondition(count >= 0 && count <= left.count && count <= right.count && count <= output.frameCount)
        precondition(
            output.channelCount >= 2 && place >= 0 && place < self.count && second >= 0 && second < self.count
                && second != place)
        var (a, b) = (coefficients.first.numbers, coefficients.second.numbers)
        let one = unsafe UnsafeMutableRawPointer(memory.base + place).assumingMemoryBound(to: Double.self)
        let other = unsafe UnsafeMutableRawPointer(memory.base + second).assumingMemoryBound(to: Double.self)
        unsafe kernel_filter_keys(
            &a, &b, one, other, left.base, right.base, output.pointers[0], output.pointers[1], count)
    }
}

extension FilterCoefficients {
    fileprivate var numbers: kernel_filter_numbers {
        @_noLocks @_noAllocation get {
            kernel_filter_numbers(
                drive: drive, damping: damping, rise: rise, turn: turn, direct: direct, band: band, low: low)
        }
    }
}
