/// Says whether the render thread looks for mistakes. It always does, except in the build by which `scripts/bench`
/// measures what the checks cost.
@usableFromInline package enum Checks {
    @inlinable package static var areOn: Bool {
        @_noLocks @_noAllocation get {
            #if RENDERSTACK_UNCHECKED
                false
            #else
                true
            #endif
        }
    }
}
