extension Signal {
    /// Clips the first samples at -1 and 1, a sample late, without most of what that would fold back: as
    /// ``ShapedWindow/hardClipped`` does.
    ///
    /// - Parameters:
    ///   - samples: The samples, which are replaced. One that is not a number stays one.
    ///   - count: The number of samples.
    ///   - past: From `place` on the last sample before, and the one before that. Both are replaced.
    /// - Precondition: There are that many samples, and two of the past.
    @_noLocks @_noAllocation
    package static func hardClip(
        _ samples: inout MutableSpan<Float>, count: Int, past: inout MutableSpan<Double>, at place: Int
    ) {
        precondition(count >= 0 && count <= samples.count && place >= 0 && place <= past.count &- 2)
        guard let target = unsafe samples.address() else { return }
        unsafe past.withUnsafeMutableBufferPointer { past in
            if let past = past.baseAddress { unsafe Kernel.hardClip(target, past: past + place, count) }
        }
    }
}
