/// Whether the render thread looks for mistakes: always, but in the build that `scripts/bench` makes to see what it costs.
@usableFromInline enum Checks {
    @inlinable static var areOn: Bool {
        @_noLocks @_noAllocation get {
            #if RENDERSTACK_UNCHECKED
                false
            #else
                true
            #endif
        }
    }
}
