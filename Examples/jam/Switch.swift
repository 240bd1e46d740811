/// A switch on the screen, and what it does.
struct Switch: Sendable {
    let name: String
    private(set) var isOn = false
    private let set: @Sendable (Bool) -> Void

    /// - Parameters:
    ///   - name: The name on the screen.
    ///   - set: The closure that is called with the new state, and once with `false`.
    init(_ name: String, _ set: @escaping @Sendable (Bool) -> Void) {
        self.name = name
        self.set = set
        set(false)
    }

    mutating func toggle() {
        isOn.toggle()
        set(isOn)
    }
}
