extension RenderContext {
    /// Returns the sound that the driver has brought for an input, if it has.
    @_noLocks @_noAllocation
    package func sound(for identity: UnsafeRawPointer) -> UnsafeMutablePointer<CycleSupply.Sound>? {
        var around = unsafe core.pointee.supply
        while let supply = unsafe around {
            var index = 0
            while let sounds = unsafe supply.pointee.sounds, unsafe index < supply.pointee.soundCount {
                if unsafe sounds[index].identity == identity { return unsafe sounds + index }
                index &+= 1
            }
            unsafe around = supply.pointee.around
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
    @_noLocks @_noAllocation
    package func supply(after frames: Int = 0) -> PassedSupply {
        unsafe PassedSupply(supply: core.pointee.supply, start: cycleOffset &+ frames)
    }
}

/// A supply on its way into a renderer, and the frame of it at which the renderer's cycle begins.
@safe package struct PassedSupply {
    package private(set) var supply: UnsafeMutablePointer<CycleSupply>?
    package var start = 0

    @_noLocks @_noAllocation
    package init(supply: UnsafeMutablePointer<CycleSupply>?, start: Int = 0) {
        unsafe self.supply = supply
        self.start = start
    }

    /// None.
    package static var none: PassedSupply { @_noLocks @_noAllocation get { unsafe PassedSupply(supply: nil) } }
}
