#if arch(x86_64)
    // Public because what other targets inline calls it.
    public import CKernels
#else
    internal import CKernels
#endif

/// The inner loops that are worth a form for each processor: those of CKernels on x86-64, whose oldest processors know
/// vectors of four numbers and whose newer ones know more, else those of ``SwiftKernel``. Both give the same bits.
///
/// Everything here is over raw memory that the caller has checked; for spans there is ``Signal``.
@usableFromInline package enum Kernel {
    /// Fetches an object into the cache that is needed soon, and a line that is needed later, by their addresses.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func fetch(object: UInt, line: UInt) {
        #if arch(x86_64)
            kernel_fetch_object(object)
            kernel_fetch_line(line)
        #endif
    }

    /// Fetches so many bytes into the cache that are written soon, by their address.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func fetch(_ address: UInt, bytes: Int) {
        #if arch(x86_64)
            kernel_fetch_lines(address, bytes)
        #endif
    }

    @_noLocks @_noAllocation @inline(__always)
    static func convert(_ integers: UnsafePointer<Int16>, to samples: UnsafeMutablePointer<Float>, _ count: Int) {
        #if arch(x86_64)
            unsafe kernel_from_int16(integers, samples, count)
        #else
            unsafe SwiftKernel.convert(integers, to: samples, count)
        #endif
    }

    /// Returns how many were clipped.
    @_noLocks @_noAllocation @inline(__always)
    static func convert(
        _ samples: UnsafePointer<Float>, to integers: UnsafeMutablePointer<Int16>, _ count: Int
    ) -> Int {
        #if arch(x86_64)
            unsafe kernel_to_int16(samples, integers, count)
        #else
            unsafe SwiftKernel.convert(samples, to: integers, count)
        #endif
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func convert(
        pairs: UnsafePointer<Int16>, to left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_from_int16_pairs(pairs, left, right, count)
        #else
            unsafe SwiftKernel.convert(pairs: pairs, to: left, right, count)
        #endif
    }

    /// Returns how many were clipped.
    @_noLocks @_noAllocation @inline(__always)
    static func convert(
        _ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>, toPairs pairs: UnsafeMutablePointer<Int16>,
        _ count: Int
    ) -> Int {
        #if arch(x86_64)
            unsafe kernel_to_int16_pairs(left, right, pairs, count)
        #else
            unsafe SwiftKernel.convert(left, right, toPairs: pairs, count)
        #endif
    }

    @_noLocks @_noAllocation @inline(__always)
    static func resample(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, _ samples: UnsafePointer<Float>
    ) -> Float {
        #if arch(x86_64)
            unsafe kernel_resample(table, groups, place, samples)
        #else
            unsafe ResamplerKernel.frame(table, groups, place, samples)
        #endif
    }

    @_noLocks @_noAllocation @inline(__always)
    static func resample(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, _ left: UnsafePointer<Float>,
        _ right: UnsafePointer<Float>
    ) -> (Float, Float) {
        #if arch(x86_64)
            var pair = SIMD2<Float>(0, 0)
            unsafe withUnsafeMutableBytes(of: &pair) { bytes in
                if let room = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                    unsafe kernel_resample_pair(table, groups, place, left, right, room)
                }
            }
            return (pair[0], pair[1])
        #else
            return unsafe ResamplerKernel.frame(table, groups, place, left, right)
        #endif
    }

    /// Computes the taps for one place, for more channels than two.
    @_noLocks @_noAllocation @inline(__always)
    static func taps(
        _ table: UnsafePointer<Float>, _ groups: Int, _ place: Float, into taps: UnsafeMutablePointer<Float>
    ) {
        #if arch(x86_64)
            unsafe kernel_taps(table, groups, place, taps)
        #else
            unsafe ResamplerKernel.row(table, groups, place, into: taps)
        #endif
    }

    /// Computes one frame of one channel, with the taps at hand: the same arithmetic, so the same bits.
    @_noLocks @_noAllocation @inline(__always)
    static func weigh(_ taps: UnsafePointer<Float>, _ groups: Int, _ samples: UnsafePointer<Float>) -> Float {
        #if arch(x86_64)
            unsafe kernel_weigh(taps, groups, samples)
        #else
            unsafe ResamplerKernel.sum(taps, groups, samples)
        #endif
    }

    /// Computes one frame of two channels.
    @_noLocks @_noAllocation @inline(__always)
    static func weigh(
        _ taps: UnsafePointer<Float>, _ groups: Int, _ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>
    ) -> (Float, Float) {
        #if arch(x86_64)
            var pair = SIMD2<Float>(0, 0)
            unsafe withUnsafeMutableBytes(of: &pair) { bytes in
                if let room = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                    unsafe kernel_weigh_pair(taps, groups, left, right, room)
                }
            }
            return (pair[0], pair[1])
        #else
            return unsafe (ResamplerKernel.sum(taps, groups, left), ResamplerKernel.sum(taps, groups, right))
        #endif
    }

    /// Computes two frames of two channels: left and right of the first, then of the second.
    @_noLocks @_noAllocation @inline(__always)
    static func weigh(
        _ taps: UnsafePointer<Float>, _ next: UnsafePointer<Float>, _ groups: Int, _ left: UnsafePointer<Float>,
        _ right: UnsafePointer<Float>, _ distance: Int
    ) -> SIMD4<Float> {
        #if arch(x86_64)
            var pairs = SIMD4<Float>(repeating: 0)
            unsafe withUnsafeMutableBytes(of: &pairs) { bytes in
                if let room = unsafe bytes.baseAddress?.assumingMemoryBound(to: Float.self) {
                    unsafe kernel_weigh_pairs(taps, next, groups, left, right, distance, room)
                }
            }
            return pairs
        #else
            return unsafe SIMD4(
                ResamplerKernel.sum(taps, groups, left), ResamplerKernel.sum(taps, groups, right),
                ResamplerKernel.sum(next, groups, left + distance), ResamplerKernel.sum(next, groups, right + distance))
        #endif
    }

    /// Returns up to eight frames of a sound at another pitch. On every processor this is C.
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

    @_noLocks @_noAllocation @inline(__always)
    static func sine(
        _ phase: UInt64, _ step: UInt64, _ level: Float, _ samples: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_sine(phase, step, level, samples, count)
        #else
            unsafe SwiftKernel.sine(phase, step, level, samples, count)
        #endif
    }

    /// Computes `output[i]` as the sum of `weights[t] * past[i + taps - 1 - t]`.
    @_noLocks @_noAllocation @inline(__always)
    static func combine(
        _ weights: UnsafePointer<Float>, _ taps: Int, _ past: UnsafePointer<Float>,
        _ output: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_combine(weights, taps, past, output, count)
        #else
            unsafe SwiftKernel.combine(weights, taps, past, output, count)
        #endif
    }

    /// Computes the loop of a delay.
    @_noLocks @_noAllocation @inline(__always)
    static func feed(
        echo: UnsafePointer<Float>, round: UnsafePointer<Float>, feedback: UnsafePointer<Float>,
        mix: UnsafePointer<Float>, _ samples: UnsafeMutablePointer<Float>, _ line: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_feed(echo, round, feedback, mix, samples, line, count)
        #else
            unsafe SwiftKernel.feed(echo: echo, round: round, feedback: feedback, mix: mix, samples, line, count)
        #endif
    }

    /// Computes the sum of voices that are read out of a ring at delays that move.
    @_noLocks @_noAllocation @inline(__always)
    static func sweep(
        _ ring: UnsafePointer<Float>, mask: Int32, position: Int32, _ delays: UnsafePointer<Float>, voices: Int,
        anchors: UnsafePointer<Int32>, level: Float, _ output: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_sweep(ring, mask, position, delays, voices, anchors, level, output, count)
        #else
            unsafe SwiftKernel.sweep(
                ring, mask: mask, position: position, delays, voices: voices, anchors: anchors, level: level, output,
                count)
        #endif
    }

    /// Multiplies by a gain, and clips without most of what that folds back, as ``ShapedWindow/hardClipped`` does. The past is
    /// two samples.
    @_noLocks @_noAllocation @inline(__always)
    static func hardClip(
        _ samples: UnsafeMutablePointer<Float>, past: UnsafeMutablePointer<Double>, gain: Float, _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_hard_clip(samples, past, gain, count)
        #else
            unsafe SwiftKernel.hardClip(samples, past: past, gain: gain, count)
        #endif
    }

    /// Filters at rest, with the numbers of ``FilterCoefficients/blockNumbers(_:)``.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func filter(
        _ numbers: UnsafePointer<Double>, _ u: UnsafeMutablePointer<Double>, _ w: UnsafeMutablePointer<Double>,
        _ pending: UnsafeMutablePointer<Float>, _ pendingCount: Int, _ samples: UnsafeMutablePointer<Float>,
        _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_filter(numbers, u, w, pending, pendingCount, samples, count)
        #else
            unsafe SwiftKernel.filter(numbers, u, w, pending, pendingCount, samples, count)
        #endif
    }

    /// Filters eight channels, `offset` frames behind the places in a table: eight states, and eight times eight
    /// pending frames.
    @_noLocks @_noAllocation @inline(__always)
    static func filterEight(
        _ numbers: UnsafePointer<Double>, _ u: UnsafeMutablePointer<Double>, _ w: UnsafeMutablePointer<Double>,
        _ pending: UnsafeMutablePointer<Float>, _ pendingCount: Int,
        _ channels: UnsafePointer<UnsafeMutablePointer<Float>>, _ offset: Int, _ count: Int
    ) {
        #if arch(x86_64)
            unsafe kernel_filter_eight(numbers, u, w, pending, pendingCount, channels, offset, count)
        #else
            for i in 0..<8 {
                unsafe SwiftKernel.filter(
                    numbers, u + i, w + i, pending + 8 &* i, pendingCount, channels[i] + offset, count)
            }
        #endif
    }

    /// Returns whether no sample is infinite, and none is no number.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package static func isFinite(_ samples: UnsafePointer<Float>, _ count: Int) -> Bool {
        #if arch(x86_64)
            unsafe kernel_is_finite(samples, count)
        #else
            unsafe SwiftKernel.isFinite(samples, count)
        #endif
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
