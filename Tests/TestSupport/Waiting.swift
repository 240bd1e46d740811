/// Waits until something is so. `false` after a long while.
public func becomesTrue(_ seconds: Double = 20, _ condition: () throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !condition() {
        if ContinuousClock.now > end { return false }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return true
}
