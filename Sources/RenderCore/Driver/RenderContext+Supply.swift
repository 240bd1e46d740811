extension RenderContext {
    /// Returns the sound that the driver has brought for an input, if it has.
    @_noLocks @_noAllocation
    func sound(for identity: UnsafeRawPointer) -> UnsafeMutablePointer<CycleSupply.Sound>? {
        guard let supply = unsafe core.pointee.supply, let sounds = unsafe supply.pointee.sounds else { return nil }
        var index = 0
        while unsafe index < supply.pointee.soundCount {
            if unsafe sounds[index].identity == identity { return unsafe sounds + index }
            index &+= 1
        }
        return nil
    }

    /// The frame of the cycle at which this slice begins.
    var cycleOffset: Int { @_noLocks @_noAllocation get { unsafe core.pointee.outputOffset &+ offset } }
}
