package import RenderCore
package import Supply
internal import Synchronization

/// The supply of a renderer with another clock, for the inputs that are inside: a module that has such a renderer holds one.
@safe package struct CarriedInputs: ~Copyable, @unchecked Sendable {
    // Unchecked because the memory behind the pointer is an atomic.

    /// The place of the supply.
    package let state = RenderState(Place())
    private let known = Lock(Known(), .module)
    /// The number of the memory that the render thread has taken last.
    private let taken: UnsafeMutablePointer<Atomic<Int>>

    private struct Known {
        var inputs: [AudioInput] = []
        var channels: [Int] = []
        /// The number of the memory that was made last, and the older one for which it was made again.
        var number = 0
        var repeated = 0
        var make: (@Sendable ([AudioInput]) -> CarriedSupply)?
    }

    package init() {
        unsafe taken = .allocate(capacity: 1)
        unsafe taken.initialize(to: Atomic(0))
    }

    deinit {
        unsafe taken.deinitialize(count: 1)
        unsafe taken.deallocate()
    }

    /// Makes memory for the inputs that are inside now.
    ///
    /// - Parameter make: Makes the memory, now and whenever there are other inputs.
    package func prepare(_ renderer: Renderer, _ make: @escaping @Sendable ([AudioInput]) -> CarriedSupply) {
        let inputs = renderer.inputs
        let number = known.withLock { known in
            (known.inputs, known.channels, known.make) = (inputs, inputs.map(\.channelCount), make)
            known.number += 1
            return known.number
        }
        state.replace(with: unsafe Place(make(inputs), number, taken))
    }

    /// Makes memory for the inputs that are inside now, if they are others than before, or if the render thread has taken older memory:
    /// that of a loop which has waited for its time meanwhile.
    package func look(at renderer: Renderer) {
        let inputs = renderer.inputs
        let taken = unsafe taken.pointee.load(ordering: .relaxed)
        let new = known.withLock { known -> (make: @Sendable ([AudioInput]) -> CarriedSupply, number: Int)? in
            let channels = inputs.map(\.channelCount)
            let isOther = !known.inputs.elementsEqual(inputs, by: ===) || known.channels != channels
            let isOlder = taken != 0 && taken != known.number && taken != known.repeated
            guard let make = known.make, isOther || isOlder else { return nil }
            (known.inputs, known.channels, known.repeated) = (inputs, channels, taken)
            known.number += 1
            return (make, known.number)
        }
        if let new { state.replace(with: unsafe Place(new.make(inputs), new.number, self.taken)) }
    }

    /// A supply that stays where it is.
    @safe package struct Place: ~Copyable, @unchecked Sendable {
        // Unchecked because the render thread alone reaches it.
        private let supply: UnsafeMutablePointer<CarriedSupply>
        private let number: Int
        private let taken: UnsafeMutablePointer<Atomic<Int>>?

        /// Creates one with no inputs, whose use is not noted.
        init() { unsafe self.init(CarriedSupply([], steps: 1...1, frames: 1), 0, nil) }

        @unsafe init(
            _ supply: consuming CarriedSupply, _ number: Int, _ taken: UnsafeMutablePointer<Atomic<Int>>?
        ) {
            unsafe self.supply = .allocate(capacity: 1)
            unsafe self.supply.initialize(to: supply)
            self.number = number
            unsafe self.taken = taken
        }

        deinit {
            unsafe supply.deinitialize(count: 1)
            unsafe supply.deallocate()
        }

        /// The supply for the time until the end of the slice: values that are swapped are not freed before.
        package var reference: Reference {
            @_noLocks @_noAllocation get {
                if let taken = unsafe taken { unsafe taken.pointee.store(number, ordering: .relaxed) }
                return unsafe Reference(supply: supply)
            }
        }
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
