package import RenderCore
package import Supply

/// The supply of a renderer with another clock, for the inputs that are inside: a module that has such a renderer holds one.
package struct CarriedInputs: ~Copyable, Sendable {
    /// The place of the supply.
    package let state = RenderState(Place(CarriedSupply([], steps: 1...1, frames: 1)))
    private let known = Lock(Known(), .module)

    private struct Known {
        var inputs: [AudioInput] = []
        var channels: [Int] = []
        var make: (@Sendable ([AudioInput]) -> CarriedSupply)?
    }

    package init() {}

    /// Makes memory for the inputs that are inside now.
    ///
    /// - Parameter make: Makes the memory, now and whenever there are other inputs.
    package func prepare(_ renderer: Renderer, _ make: @escaping @Sendable ([AudioInput]) -> CarriedSupply) {
        let inputs = renderer.inputs
        known.withLock { $0 = Known(inputs: inputs, channels: inputs.map(\.channelCount), make: make) }
        state.replace(with: Place(make(inputs)))
    }

    /// Makes memory for the inputs that are inside now, if they are others than before.
    package func look(at renderer: Renderer) {
        let inputs = renderer.inputs
        let make = known.withLock { known -> (@Sendable ([AudioInput]) -> CarriedSupply)? in
            let channels = inputs.map(\.channelCount)
            guard let make = known.make, !known.inputs.elementsEqual(inputs, by: ===) || known.channels != channels
            else { return nil }
            (known.inputs, known.channels) = (inputs, channels)
            return make
        }
        if let make { state.replace(with: Place(make(inputs))) }
    }

    /// A supply that stays where it is.
    @safe package struct Place: ~Copyable, @unchecked Sendable {
        // Unchecked because the render thread alone reaches it.
        private let supply: UnsafeMutablePointer<CarriedSupply>

        init(_ supply: consuming CarriedSupply) {
            unsafe self.supply = .allocate(capacity: 1)
            unsafe self.supply.initialize(to: supply)
        }

        deinit {
            unsafe supply.deinitialize(count: 1)
            unsafe supply.deallocate()
        }

        /// The supply for the time until the end of the slice: values that are swapped are not freed before.
        package var reference: Reference { @_noLocks @_noAllocation get { unsafe Reference(supply: supply) } }
    }

    /// A supply for the time of a slice.
    @safe package struct Reference {
        let supply: UnsafeMutablePointer<CarriedSupply>?

        @_noLocks @_noAllocation
        init(supply: UnsafeMutablePointer<CarriedSupply>) { unsafe self.supply = supply }

        /// Creates a reference to none.
        @_noLocks @_noAllocation
        package init() { unsafe supply = nil }
    }
}
