// Times as frames of a slice.

extension RenderContext {
    /// Returns how many frames after the first one of this slice a moment is, to the nearest: a negative number for a
    /// moment that has passed, 0 for ``/Exchange/RenderTime/immediately``. A moment that knows its frame on the renderer's clock
    /// is taken by that.
    @_noLocks @_noAllocation
    public func frames(until time: RenderTime) -> Int64 { frames(from: self.time, until: time) }

    /// Returns how many frames after another moment a moment is, such as after a buffer's own ``AudioBuffer/time``; 0
    /// if the two have no clock in common.
    @_noLocks @_noAllocation
    public func frames(from start: RenderTime, until time: RenderTime) -> Int64 {
        if time.isImmediate || start.isImmediate { return 0 }
        if let sample = time.sampleKey(sampleRate), let from = start.sampleKey(sampleRate) {
            return sample.subtractingSaturated(from)
        }
        if time.host == RenderTime.unknown || start.host == RenderTime.unknown { return 0 }
        return RenderTime.nearest(Double(time.hostKey.subtractingSaturated(start.hostKey)) * sampleRate * 1e-9)
    }
}
