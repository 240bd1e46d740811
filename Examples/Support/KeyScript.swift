/// The keys that a program presses by itself, where no player sits at it: each has its second.
public struct KeyScript: Sendable {
    private var steps: ArraySlice<(time: Double, key: Character)> = []
    private var end = 0.0

    /// Creates a script without keys.
    public init() {}

    /// Adds keys, one behind the other.
    public mutating func press(_ keys: String, every interval: Double) {
        for key in keys {
            steps.append((end, key))
            end += interval
        }
    }

    /// Lets seconds pass before the next key.
    public mutating func wait(_ seconds: Double) { end += seconds }

    /// Takes the keys that are to be pressed up to a second.
    public mutating func takeKeys(until second: Double) -> [Character] {
        let keys = steps.prefix { $0.time <= second }.map(\.key)
        steps.removeFirst(keys.count)
        return keys
    }
}
