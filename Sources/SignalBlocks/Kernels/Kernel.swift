// Public because what other targets inline calls it.
public import CKernels

/// The inner loops that are worth a form for each processor: those of CKernels. The oldest processors know vectors of four
/// numbers, newer ones know more; every form gives the same bits.
///
/// Everything here is over raw memory that the caller has checked; for spans there is ``Signal``.
@usableFromInline package enum Kernel {
    /// Fetches an object into the cache that is needed soon, and a line that is needed later, by their addresses.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func fetch(object: UInt, line: UInt) {
        kernel_fetch_object(object)
        kernel_fetch_line(line)
    }

    /// Fetches so many bytes into the cache that are written soon, by their address.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func fetch(_ address: UInt, bytes: Int) {
        kernel_fetch_lines(address, bytes)
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func convert(
        pairs: UnsafePointer<Int16>, to left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        unsafe kernel_from_int16_pairs(pairs, left, right, count)
    }

    @_noLocks @_noAllocation @inline(__always)
    static func resample(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, _ left: UnsafePointer<Float>,
        _ right: UnsafePointer<Float>
    ) -> (Float, Float) {
        var pair = SIMD2<Float>(0, 0)
        unsafe withUnsafeMutableBytes(of: &pair) { bytes in
            if let room = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                unsafe kernel_resample_pair(table, groups, place, left, right, room)
            }
        }
        return (pair[0], pair[1])
    }

    /// Computes one frame of two channels.
    @_noLocks @_noAllocation @inline(__always)
    static func weigh(
        _ taps: UnsafePointer<Float>, _ groups: Int, _ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>
    ) -> (Float, Float) {
        var pair = SIMD2<Float>(0, 0)
        unsafe withUnsafeMutableBytes(of: &pair) { bytes in
            if let room = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                unsafe kernel_weigh_pair(taps, groups, left, right, room)
            }
        }
        return (pair[0], pair[1])
    }

    /// Computes two frames of two channels: left and right of the first, then of the second.
    @_noLocks @_noAllocation @inline(__always)
    static func weigh(
        _ taps: UnsafePointer<Float>, _ next: UnsafePointer<Float>, _ groups: Int, _ left: UnsafePointer<Float>,
        _ right: UnsafePointer<Float>, _ distance: Int
    ) -> SIMD4<Float> {
        var pairs = SIMD4<Float>(repeating: 0)
        unsafe withUnsafeMutableBytes(of: &pairs) { bytes in
            if let room = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                unsafe kernel_weigh_pairs(taps, next, groups, left, right, distance, room)
            }
        }
        return pairs
    }

    /// Returns up to eight frames of a sound at another pitch.
    @_noLocks @_noAllocation @inline(__always)
    static func read(
        _ filter: kernel_pitch_filter, _ samples: UnsafePointer<Float>, _ length: Int, _ position: UInt64,
        _ step: UInt64, _ count: Int
    ) -> SIMD8<Float> {
        var filter = unsafe filter
        var frames = SIMD8<Float>(repeating: 0)
        unsafe withUnsafeMutableBytes(of: &frames) { bytes in
            if let room = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                unsafe kernel_read(&filter, samples, length, position, step, room, count)
            }
        }
        return frames
    }

    /// Reads two channels.
    @_noLocks @_noAllocation @inline(__always)
    static func read(
        _ filter: kernel_pitch_filter, _ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>, _ length: Int,
        _ position: UInt64, _ step: UInt64, _ count: Int
    ) -> (SIMD8<Float>, SIMD8<Float>) {
        var filter = unsafe filter
        var frames = SIMD16<Float>(repeating: 0)
        unsafe withUnsafeMutableBytes(of: &frames) { bytes in
            if let room = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                unsafe kernel_read_pair(&filter, left, right, length, position, step, room, room + 8, count)
            }
        }
        return (frames.lowHalf, frames.highHalf)
    }

    /// Returns whether no sample is infinite, and none is no number.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func isFinite(_ samples: UnsafePointer<Float>, _ count: Int) -> Bool {
        unsafe kernel_is_finite(samples, count)
    }
}

extension MutableSpan<Float> {
    /// Returns the address of the samples, for a kernel that runs before anything else is done to the span; `nil` if
    /// there are none.
    @_lifetime(self: copy self)
    @unsafe @_noLocks @_noAllocation
    @inlinable @inline(__always) package mutating func address() -> UnsafeMutablePointer<Float>? {
        unsafe withUnsafeMutableBufferPointer { $0.baseAddress }
    }
}

extension MutableSpan<Int16> {
    /// Returns the address of the integers in the same way.
    @_lifetime(self: copy self)
    @unsafe @_noLocks @_noAllocation
    mutating func address() -> UnsafeMutablePointer<Int16>? {
        unsafe withUnsafeMutableBufferPointer { $0.baseAddress }
    }
}

/// Returns the address of the integers of a span that is only read. The compiler's analysis is switched off: it takes
/// the end of the `Span` inside for one that may free memory, but a view owns none.
@unsafe @_semantics("no_performance_analysis") @inline(never)
func place(_ span: borrowing MutableSpan<Int16>) -> UnsafePointer<Int16>? {
    unsafe span.withUnsafeBufferPointer { $0.baseAddress }
}
