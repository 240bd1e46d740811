/// Arithmetic on samples, for the render thread: gains, ramps, mixing, fading, measuring, converting.
///
///     Signal.applyGain(0.5, to: &samples)                  // in place
///     Signal.accumulate(music, gain: 0.7, into: &samples)  // out of another channel
///     if !Signal.isFinite(samples.samples) { Signal.silence(&samples) }
///
/// Three rules hold for every function here:
///
/// - Every length is right, 0 too, and every alignment. Where lengths differ, the shortest counts, and samples beyond
///   it are left as they were.
/// - Nothing is shared: no tables, no scratch memory. The caller hands in the state that must last from one block to
///   the next, so that two voices never meet.
/// - Inputs are only read. A function works either in place (one `inout` span) or from its inputs into another span.
///
/// Gains are amplitudes, not powers: 0.5 is -6 dB. Every function takes O(n) unless it says otherwise.
///
/// Threads: any.
public enum Signal {}

extension MutableSpan<Float> {
    /// These samples, to read, as inputs of the functions of ``Signal``.
    ///
    /// Threads: any.
    @inlinable public var samples: Samples {
        @_noLocks @_noAllocation @_lifetime(&self) mutating get {
            let base = unsafe withUnsafeMutableBufferPointer { $0.baseAddress }
            let view = unsafe Samples(base, count: count)
            return unsafe _overrideLifetime(view, mutating: &self)
        }
    }
}

extension Samples {
    @_lifetime(immortal)
    @_noLocks @_noAllocation
    @inlinable init(_ base: UnsafeMutablePointer<Float>?, count: Int) {
        // An empty span may have no address; any aligned one will do where nothing is read.
        unsafe self.base =
            UnsafePointer(base) ?? UnsafePointer(bitPattern: MemoryLayout<Float>.alignment).unsafelyUnwrapped
        self.count = count
    }
}
