extension RenderContext {
    /// Returns the sound that the driver has brought for an input, if it has.
    @_noLocks @_noAllocation
    package func sound(for identity: UnsafeRawPointer) -> UnsafeMutablePointer<CycleSupply.Sound>? {
        guard let supply = unsafe core.pointee.supply, let sounds = unsafe supply.pointee.sounds else { return nil }
        var index = 0
        while unsafe index < supply.pointee.soundCount {
            if unsafe sounds[index].identity == identity { return unsafe sounds + index }
            index &+= 1
        }
        return nil
    }

    /// The frame of the driver's cycle at which this slice begins.
    package var cycleOffset: Int {
        @_noLocks @_noAllocation get { unsafe core.pointee.supplyStart &+ core.pointee.outputOffset &+ offset }
    }

    /// The supply for a renderer that is rendered inside of this slice, frame for frame: it hears what this one hears.
    ///
    /// - Parameter frames: The frame of the slice at which it begins.
    package func supply(after frames: Int = 0) -> PassedSupply {
        unsafe PassedSupply(supply: core.pointee.supply, start: cycleOffset &+ frames)
    }
}

/// A supply on its way into a renderer, and the frame of it at which the renderer's cycle begins.
@safe package struct PassedSupply {
    var supply: UnsafeMutablePointer<CycleSupply>?
    package var start = 0

    package init(supply: UnsafeMutablePointer<CycleSupply>?, start: Int = 0) {
        unsafe self.supply = supply
        self.start = start
    }

    /// None.
    package static var none: PassedSupply { unsafe PassedSupply(supply: nil) }
}
