extension RenderContext {
    /// The place of the session's transport; without one it is stopped at frame 0.
    public var transport: Transport {
        @_noLocks @_noAllocation get {
            guard let supply = unsafe core.pointee.supply else { return Transport() }
            return unsafe supply.pointee.transport.advanced(by: cycleOffset, sampleRate: sampleRate)
        }
    }
}
