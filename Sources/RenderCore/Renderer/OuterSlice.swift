/// The slice of the outermost renderer that is being rendered, and the frame in it at which this context begins.
///
/// Renderers inside of renderers have clocks of their own, and cut their slices otherwise. Modules go by this one if
/// something must happen once in the same moment for all of those renderers.
package struct OuterSlice: BitwiseCopyable, Sendable {
    /// Different for every slice of every outermost renderer; 0 in none.
    package var number: UInt64
    /// The first frame, counted from the start of the outermost slice.
    package var offset: Int
    /// Its frame on the clock of the outermost renderer.
    package var sampleTime: Int64

    @_noLocks @_noAllocation
    init(number: UInt64, offset: Int, sampleTime: Int64) {
        self.number = number
        self.offset = offset
        self.sampleTime = sampleTime
    }

    /// Returns the place so many frames later.
    @_noLocks @_noAllocation
    package func moved(by frames: Int) -> OuterSlice {
        OuterSlice(number: number, offset: offset &+ frames, sampleTime: sampleTime &+ Int64(frames))
    }

    package static var none: OuterSlice {
        @_noLocks @_noAllocation get { OuterSlice(number: 0, offset: 0, sampleTime: 0) }
    }
}

extension RenderContext {
    /// The place of this slice in the outermost one.
    package var outerSlice: OuterSlice {
        @_noLocks @_noAllocation get { unsafe core.pointee.outerSlice.moved(by: offset) }
    }
}
