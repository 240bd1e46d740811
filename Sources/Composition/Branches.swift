internal import RenderCore

/// The branches as the render thread sees them.
@safe struct Branches: ~Copyable, @unchecked Sendable {
    // Unchecked because of the references: what they lead to is Sendable. They are not counted on the render thread.
    let states: UnsafeMutablePointer<Unmanaged<CycleState>>
    private let renderers: UnsafeMutablePointer<Unmanaged<Renderer>>
    let count: Int

    init(_ all: [Renderer]) {
        count = all.count
        unsafe states = .allocate(capacity: count)
        unsafe renderers = .allocate(capacity: count)
        for (index, renderer) in all.enumerated() {
            unsafe (renderers + index).initialize(to: .passRetained(renderer))
            unsafe (states + index).initialize(to: .passUnretained(renderer.state))
        }
    }

    deinit {
        for index in 0..<count { unsafe renderers[index].release() }
        unsafe renderers.deallocate()
        unsafe states.deallocate()
    }
}
