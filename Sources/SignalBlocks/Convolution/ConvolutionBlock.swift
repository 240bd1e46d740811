internal import Glibc

/// Samples of some channels that change their place with others, without a copy: a block on its way between two threads.
@safe struct ConvolutionBlock: ~Copyable, @unchecked Sendable {
    // Unchecked because of the pointer: the memory behind it has one owner, this value.
    private(set) var base: UnsafeMutablePointer<Float>
    /// The number of samples.
    let count: Int

    /// Allocates silence.
    init(count: Int) {
        self.count = count
        let raw = UnsafeMutableRawPointer.allocate(byteCount: max(64, 4 * count), alignment: 64)
        unsafe base = raw.initializeMemory(as: Float.self, repeating: 0, count: max(16, count))
    }

    deinit { unsafe base.deallocate() }

    /// Lets two of one size change places.
    @_noLocks @_noAllocation
    static func exchange(_ a: inout ConvolutionBlock, _ b: inout ConvolutionBlock) {
        precondition(a.count == b.count)
        let memory = unsafe a.base
        unsafe a.base = b.base
        unsafe b.base = memory
    }

    /// Makes samples from `start` on zero.
    @_noLocks @_noAllocation
    mutating func erase(_ start: Int, _ count: Int) {
        precondition(start >= 0 && count >= 0 && start &+ count <= self.count)
        unsafe (base + start).clearSamples(count: count)
    }

    /// Makes all samples zero.
    @_noLocks @_noAllocation
    mutating func erase() { unsafe base.clearSamples(count: count) }
}
