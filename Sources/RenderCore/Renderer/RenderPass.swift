/// Which slice of the outermost renderer is being rendered, and where in it this context begins.
///
/// Renderers inside of renderers have clocks of their own, and cut their slices otherwise; what is to happen once "in the
/// same moment" for all of them goes by the pass.
package struct RenderPass: BitwiseCopyable, Sendable {
    /// Different for every slice of every outermost renderer; 0 in none.
    package var number: UInt64
    /// The first frame, counted from the start of the outermost slice.
    package var offset: Int
    /// That frame on the clock of the outermost renderer.
    package var sampleTime: Int64

    @_noLocks @_noAllocation
    init(number: UInt64, offset: Int, sampleTime: Int64) {
        self.number = number
        self.offset = offset
        self.sampleTime = sampleTime
    }

    /// So many frames later.
    @_noLocks @_noAllocation
    func moved(by frames: Int) -> RenderPass {
        RenderPass(number: number, offset: offset &+ frames, sampleTime: sampleTime &+ Int64(frames))
    }

    static var none: RenderPass { @_noLocks @_noAllocation get { RenderPass(number: 0, offset: 0, sampleTime: 0) } }
}

extension RenderContext {
    /// Where in the outermost slice this is.
    package var pass: RenderPass {
        @_noLocks @_noAllocation get { unsafe core.pointee.pass.moved(by: offset) }
    }
}
