internal import Synchronization

/// Numbers for whoever may own a ``RenderState``: a renderer, or a module in the renderer that holds it.
///
/// A number names one owner for ever. Whether that owner still exists can be asked on the render thread: the number's low
/// bits are a place in a table, which holds the number while its owner lives.
@safe final class Tokens: Sendable {
    static let shared = Tokens()

    private static let places = 1 << 17
    private let table: Table
    private struct Free {
        var next = 1
        var generation: UInt = 1
        var alive = 0
    }
    private let free = Lock(Free())

    /// The table alone, so that the class needs nothing unchecked.
    @safe struct Table: @unchecked Sendable {
        // Unchecked because the memory holds atomics only.
        let numbers: UnsafeMutablePointer<Atomic<UInt>>

        /// Whether an owner exists. On the render thread.
        @_noLocks @_noAllocation
        func isAlive(_ token: UInt) -> Bool {
            unsafe numbers[Int(token & 0x1_FFFF)].load(ordering: .acquiring) == token
        }
    }

    private init() {
        let numbers = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: Self.places)
        for place in 0..<Self.places { unsafe (numbers + place).initialize(to: Atomic(0)) }
        unsafe table = Table(numbers: numbers)
    }

    /// A number that no owner has had. There are 131,071 at a time.
    func make() -> UInt {
        free.withLock { free in
            precondition(
                free.alive < Self.places - 1,
                "RenderStack: more than \(Self.places - 1) renderers and modules exist at once")
            while unsafe table.numbers[free.next].load(ordering: .relaxed) != 0 {
                free.next += 1
                if free.next == Self.places {
                    free.next = 1
                    free.generation += 1
                }
            }
            let token = free.generation << 17 | UInt(free.next)
            unsafe table.numbers[free.next].store(token, ordering: .releasing)
            free.alive += 1
            return token
        }
    }

    /// The owner is gone: what it owned is free. To be called when it cannot be rendering any more.
    func remove(_ token: UInt) {
        free.withLock { free in
            unsafe table.numbers[Int(token & UInt(Self.places - 1))].store(0, ordering: .releasing)
            free.alive -= 1
        }
    }

    /// The table, for render threads: reaching it through ``shared`` would run `swift_once`.
    var forRendering: Table { table }
}
