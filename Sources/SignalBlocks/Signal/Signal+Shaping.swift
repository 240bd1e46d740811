internal import CKernels

extension Signal {
    /// Clips samples at -1 and 1, a sample late, without most of what that would fold back: as
    /// ``ShapedWindow/hardClipped`` does.
    ///
    /// - Parameters:
    ///   - samples: The samples, which are replaced. One that is not a number stays one.
    ///   - first: The first of them.
    ///   - count: The number of samples.
    ///   - gain: What they are multiplied by before.
    ///   - past: From `place` on the last sample before, and the one before that. Both are replaced.
    /// - Precondition: There are that many samples, and two of the past.
    @_noLocks @_noAllocation
    package static func hardClip(
        _ samples: inout MutableSpan<Float>, from first: Int, count: Int, gain: Float = 1,
        past: inout RenderMemory<Double>, at place: Int
    ) {
        precondition(first >= 0 && count >= 0 && count <= samples.count &- first)
        precondition(place >= 0 && place <= past.count &- 2)
        guard let start = unsafe samples.address() else { return }
        unsafe kernel_hard_clip(start + first, past.memory.base + place, gain, count)
    }
}
