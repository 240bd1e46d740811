internal import CRender

/// Owned, zeroed memory that starts on a cache line and is given back when its owner goes.
///
/// Unchecked because the memory has no access of its own: `base` is internal, and its holder decides which thread may
/// touch which part. Blocks and the memory of modules do so by exclusive (`mutating`) access, an ``AudioRing`` by its
/// positions and its two busy flags.
@usableFromInline
@safe package struct AlignedMemory<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
    @usableFromInline package let base: UnsafeMutablePointer<Element>
    private let count: Int

    /// Creates room for `count` elements, all bits zero, from a multiple of 64 bytes on (16, if it has no more bytes).
    package init(count: Int) {
        let (bytes, isOver) = max(count, 1).multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        demand(!isOver && bytes <= 1 << 46, "Memory for \(count) numbers is more than a machine has")
        guard let raw = unsafe SmallMemory.has(bytes) ? SmallMemory.take(bytes) : crender_take_memory(bytes) else {
            fatalError("Memory for \(count) numbers: the system has none left")
        }
        unsafe base = raw.bindMemory(to: Element.self, capacity: max(count, 1))
        self.count = count
    }

    /// Creates memory that holds these elements.
    package init(_ elements: [Element]) {
        self.init(count: elements.count)
        for (index, element) in elements.enumerated() { unsafe base[index] = element }
    }

    deinit {
        let bytes = max(count, 1) * MemoryLayout<Element>.stride
        if SmallMemory.has(bytes) { unsafe SmallMemory.give(base, bytes) } else { unsafe crender_give_memory(base) }
    }
}

/// Channels of samples, each starting on a cache line, and a table of their starts.
@usableFromInline
@safe package struct ChannelMemory: ~Copyable, Sendable {
    package let count: Int
    private let samples: AlignedMemory<Float>
    @usableFromInline package let table: AlignedMemory<UnsafeMutablePointer<Float>>

    /// Creates `count` channels of `frames` zeros.
    package init(count: Int, frames: Int) {
        self.count = count
        // An odd number of cache lines: with 1,024 frames and its multiples all channels would otherwise compete for
        // the same few lines of the first-level cache.
        let stride = ((frames + 15) / 16 | 1) * 16
        samples = AlignedMemory(count: count * stride)
        unsafe table = AlignedMemory(count: count)
        for channel in 0..<count { unsafe table.base[channel] = samples.base + channel * stride }
    }

    @usableFromInline package var channels: UnsafeMutablePointer<UnsafeMutablePointer<Float>> {
        @_noLocks @_noAllocation get { unsafe table.base }
    }

    /// Copies frames of all channels. Mono goes to every channel, many channels sum into mono, and otherwise channels
    /// meet by number and those without a counterpart become silent. The caller has checked the ranges.
    @_noLocks @_noAllocation
    package func copy(from other: borrowing ChannelMemory, at sourceOffset: Int, to offset: Int, frames: Int) {
        var channel = 0
        while channel < count {
            let target = unsafe channels[channel] + offset
            if channel < other.count {
                unsafe Kernel.copy(other.channels[channel] + sourceOffset, to: target, frames)
            } else if other.count == 1 {
                unsafe Kernel.copy(other.channels[0] + sourceOffset, to: target, frames)
            } else {
                unsafe target.clearSamples(count: frames)
            }
            channel &+= 1
        }
        while count == 1 && channel < other.count {
            unsafe (channels[0] + offset).addSamples(from: other.channels[channel] + sourceOffset, count: frames)
            channel &+= 1
        }
    }
}

extension UnsafeMutablePointer<Float> {
    /// Copies `count` samples from memory that does not overlap.
    @_noLocks @_noAllocation
    @inlinable package func copySamples(from source: UnsafePointer<Float>, count: Int) {
        // A loop, which becomes vector code: ThreadSanitizer sees it, but it does not see `copyMemory`.
        var index = 0
        while index < count {
            unsafe self[index] = source[index]
            index &+= 1
        }
    }

    /// Adds `count` samples.
    @_noLocks @_noAllocation
    @inlinable package func addSamples(from source: UnsafePointer<Float>, count: Int) {
        var index = 0
        while index < count {
            unsafe self[index] += source[index]
            index &+= 1
        }
    }

    /// Writes `count` zeros.
    @_noLocks @_noAllocation
    @inlinable package func clearSamples(count: Int) {
        var index = 0
        while index < count {
            unsafe self[index] = 0
            index &+= 1
        }
    }
}
