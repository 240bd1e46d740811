#if arch(x86_64)
    // Public because what other targets inline calls it.
    public import CKernels
#endif

extension Kernel {
    /// Fetches so many bytes into the cache that are needed soon, by their address.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func fetch(at address: UInt, bytes: Int) {
        #if arch(x86_64)
            var done = 0
            while done < bytes {
                kernel_fetch_line(address &+ UInt(bitPattern: done))
                done &+= 64
            }
        #endif
    }
}
