/// The loops under the stack's own operations, over raw memory. For spans there is ``Signal``.
@usableFromInline package enum StackKernel {
    /// Adds channels to channels by the one rule: mono to every channel, into mono everything, else one to one.
    @_noLocks @_noAllocation
    @inlinable package static func addChannels(
        _ sources: UnsafePointer<UnsafeMutablePointer<Float>>, _ sourceCount: Int, _ sourceOffset: Int,
        to sums: UnsafePointer<UnsafeMutablePointer<Float>>, _ sumCount: Int, _ sumOffset: Int,
        gain: Float, _ count: Int
    ) {
        let pairs = sourceCount == 1 ? sumCount : sumCount == 1 ? sourceCount : min(sourceCount, sumCount)
        var pair = 0
        while pair < pairs {
            let source = unsafe sources[sourceCount == 1 ? 0 : pair] + sourceOffset
            let sum = unsafe sums[sumCount == 1 ? 0 : pair] + sumOffset
            if gain == 1 {
                unsafe Kernel.add(source, to: sum, count)
            } else {
                unsafe Kernel.add(source, gain: gain, to: sum, count)
            }
            pair &+= 1
        }
    }

    /// Starts the sums of some channels with others, mono with each of them or one to one, whatever was there. Returns
    /// whether every sample is finite.
    @_noLocks @_noAllocation
    @inlinable package static func startChannels(
        _ sources: UnsafePointer<UnsafeMutablePointer<Float>>, _ sourceCount: Int, _ sourceOffset: Int,
        sums: UnsafePointer<UnsafeMutablePointer<Float>>, _ sumCount: Int, _ sumOffset: Int, _ count: Int
    ) -> Bool {
        var isFinite = true
        var channel = 0
        while channel < sumCount {
            let source = unsafe sources[sourceCount == 1 ? 0 : channel] + sourceOffset
            if unsafe !Kernel.start(source, sum: sums[channel] + sumOffset, count) { isFinite = false }
            channel &+= 1
        }
        return isFinite
    }

    /// Copies samples from memory that does not overlap.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package static func copy(
        _ source: UnsafePointer<Float>, to target: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        unsafe Kernel.copy(source, to: target, count)
    }

    /// Multiplies samples by a factor.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package static func scale(
        _ samples: UnsafeMutablePointer<Float>, _ gain: Float, _ count: Int
    ) {
        unsafe Kernel.scale(samples, gain, count)
    }

    /// Makes all samples the same.
    @_noLocks @_noAllocation
    @inlinable @inline(__always) package static func fill(
        _ samples: UnsafeMutablePointer<Float>, _ value: Float, _ count: Int
    ) {
        unsafe Kernel.fill(samples, value, count)
    }

    /// Returns whether every sample is a number and not infinite.
    @_noLocks @_noAllocation
    @inlinable package static func isFinite(_ samples: UnsafeMutablePointer<Float>, _ count: Int) -> Bool {
        unsafe Kernel.isFinite(samples, count)
    }
}
