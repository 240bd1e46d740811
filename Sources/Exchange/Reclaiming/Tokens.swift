internal import Glibc
internal import Synchronization

/// Numbers of those that may own a ``/RenderCore/RenderState``: a renderer, or a module in the renderer that holds it.
///
/// A number names one owner forever. A render thread can ask whether that owner still exists: the number's low bits are a
/// place in a table, which holds the number while its owner lives. The bits above are the owner's *epoch*: a module that
/// is prepared anew gets the next one, so that a state knows which preparation the loop is for that uses it.
@safe package final class Tokens: Sendable {
    package static let shared = Tokens()

    private static let places = 1 << 20
    private let table: Table
    private struct Free {
        var next = 0
        var generation: UInt = 1
        var alive = 0
    }
    private let free = Lock(Free())

    /// The table alone, so that the class needs nothing unchecked.
    @safe package struct Table: @unchecked Sendable {
        // Unchecked because the memory holds atomics only.
        let numbers: UnsafeMutablePointer<Atomic<UInt>>

        /// Returns whether an owner exists, in whichever epoch. On the render thread.
        @_noLocks @_noAllocation
        package func isAlive(_ token: UInt) -> Bool {
            unsafe numbers[Int(token & 0xF_FFFF)].load(ordering: .acquiring) == token.withoutEpoch
        }
    }

    private init() {
        // Pages of zeros, which the system gives when they are touched: an atomic zero is nothing else.
        guard let zeros = unsafe calloc(Self.places, MemoryLayout<Atomic<UInt>>.stride) else {
            fatalError("RenderStack: there is no memory for the table of renderers and modules")
        }
        unsafe table = Table(numbers: zeros.bindMemory(to: Atomic<UInt>.self, capacity: Self.places))
    }

    /// Returns a number that no owner has had; `nil` if 1,048,575 owners exist.
    package func make() -> UInt? {
        free.withLock { free in
            guard free.alive < Self.places - 1 else { return nil }
            // It also goes past a place that has just become free: its number was another owner's.
            repeat {
                free.next += 1
                if free.next == Self.places {
                    free.next = 1
                    free.generation += 1
                }
            } while unsafe table.numbers[free.next].load(ordering: .relaxed) != 0
            let token = free.generation << 40 | UInt(free.next)
            unsafe table.numbers[free.next].store(token, ordering: .releasing)
            free.alive += 1
            return token
        }
    }

    /// Removes an owner that is gone and cannot be rendering any more: its states are free.
    package func remove(_ token: UInt) {
        free.withLock { free in
            unsafe table.numbers[Int(token & UInt(Self.places - 1))].store(0, ordering: .releasing)
            free.alive -= 1
        }
    }

    /// The table, for render threads: reaching it through ``shared`` would run `swift_once`.
    package var forRendering: Table { table }
}

// A token: 20 bits of place, 20 of epoch, 23 of generation; the highest bit is free for `RenderContext.busy`. A cycle that
// stands still must not see its epoch again, or half the range ahead.
extension UInt {
    private static var epochs: UInt { @_noLocks @_noAllocation get { 0xFF_FFF0_0000 } }

    /// The owner alone.
    package var withoutEpoch: UInt { @_noLocks @_noAllocation get { self & ~UInt.epochs } }

    /// The token of the same owner, prepared once more.
    package var nextEpoch: UInt { withoutEpoch | (self &+ 0x10_0000) & UInt.epochs }

    /// Returns whether this token is of the other's owner, and of a later preparation. Epochs wrap: the later of two is
    /// the one that is less than half the range ahead.
    @_noLocks @_noAllocation
    package func isLater(than other: UInt) -> Bool {
        let ahead = ((self & UInt.epochs) &- (other & UInt.epochs)) & UInt.epochs
        return withoutEpoch == other.withoutEpoch && ahead != 0 && ahead <= UInt.epochs &>> 1
    }
}
