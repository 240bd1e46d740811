extension RenderContext {
    /// The place of this slice in the outermost one.
    package var pass: RenderPass {
        @_noLocks @_noAllocation get { unsafe core.pointee.pass.moved(by: offset) }
    }
}
