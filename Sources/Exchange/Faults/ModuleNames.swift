/// The names of a renderer's modules, by the numbers that the render thread writes down with its faults.
///
/// A number is used again when no loop has its name any more and the collector has seen all faults up to then.
package final class ModuleNames: Sendable {
    private struct State {
        var names: [String?] = []
        var numbers: [String: Int32] = [:]
        /// The number of loops that have each.
        var uses: [Int] = []
        var free: [Int32] = []
        /// The numbers that no loop has had at some time, in the order of that: it may have them again.
        var unused: [Int32] = []
    }
    private let state = Lock(State())

    package init() {}

    /// Returns the number of a name, which a loop has from now on.
    package func take(_ name: String) -> Int32 {
        state.withLock { state in
            if let number = state.numbers[name] {
                state.uses[Int(number)] += 1
                return number
            }
            let number = state.free.popLast() ?? Int32(state.names.count)
            if Int(number) == state.names.count {
                state.names.append(nil)
                state.uses.append(0)
            }
            state.names[Int(number)] = name
            state.uses[Int(number)] = 1
            state.numbers[name] = number
            return number
        }
    }

    /// Gives back the names of a loop that is gone.
    package func giveBack(_ numbers: [Int32]) {
        state.withLock { state in
            for number in numbers {
                state.uses[Int(number)] -= 1
                if state.uses[Int(number)] == 0 { state.unused.append(number) }
            }
        }
    }

    package subscript(_ number: Int32) -> String? {
        state.withLock { $0.names.indices.contains(Int(number)) ? $0.names[Int(number)] : nil }
    }

    /// Takes out the numbers that no loop has, for the collector, which then looks at all faults.
    ///
    /// It takes the array away. A copy of one that stays here would be released on the collector's thread without a lock, and
    /// ThreadSanitizer does not see that this goes before the next write.
    package func takeUnused() -> [Int32] {
        state.withLock { state in
            var taken: [Int32] = []
            swap(&taken, &state.unused)
            return taken
        }
    }

    /// Forgets those of them that no loop has taken since.
    package func forget(_ numbers: [Int32]) {
        if numbers.isEmpty { return }
        state.withLock { state in
            for number in numbers where state.uses[Int(number)] == 0 && !state.unused.contains(number) {
                guard let name = state.names[Int(number)] else { continue }
                state.numbers[name] = nil
                state.names[Int(number)] = nil
                state.free.append(number)
            }
        }
    }
}
