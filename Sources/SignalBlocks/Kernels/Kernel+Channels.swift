// The loops over several channels under the stack's own operations.

extension Kernel {
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
                unsafe add(source, to: sum, count)
            } else {
                unsafe add(source, gain: gain, to: sum, count)
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
            if unsafe !start(source, sum: sums[channel] + sumOffset, count) { isFinite = false }
            channel &+= 1
        }
        return isFinite
    }
}
