/// The names of a renderer's modules, by the numbers that the render thread writes down with its faults.
///
/// A number is used again when no loop has its name any more and the collector has seen all faults up to then.
final class ModuleNames: Sendable {
    private struct State {
        var names: [String?] = []
        var numbers: [String: Int32] = [:]
        /// The number of loops that have each.
        var uses: [Int] = []
        var free: [Int32] = []
        var unused: Set<Int32> = []
    }
    private let state = Lock(State())

    /// Returns the number of a name, which a loop has from now on.
    func take(_ name: String) -> Int32 {
        state.withLock { state in
            if let number = state.numbers[name] {
                state.uses[Int(number)] += 1
                state.unused.remove(number)
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
    func giveBack(_ numbers: [Int32]) {
        state.withLock { state in
            for number in numbers {
                state.uses[Int(number)] -= 1
                if state.uses[Int(number)] == 0 { state.unused.insert(number) }
            }
        }
    }

    subscript(_ number: Int32) -> String? {
        state.withLock { $0.names.indices.contains(Int(number)) ? $0.names[Int(number)] : nil }
    }

    /// The numbers that no loop has: for the collector, which then looks at all faults.
    var unused: Set<Int32> { state.withLock { $0.unused } }

    /// Forgets those that no loop has taken since.
    func forget(_ numbers: Set<Int32>) {
        if numbers.isEmpty { return }
        state.withLock { state in
            for number in numbers where state.unused.remove(number) != nil {
                if let name = state.names[Int(number)] { state.numbers[name] = nil }
                state.names[Int(number)] = nil
                state.free.append(number)
            }
        }
    }
}
