import ExampleSupport

/// A flight that needs no player: the keys, and the second in which each is pressed.
enum Flight {
    /// From the hall into the small room, with balls ahead, to the side and behind. It lasts 24 s.
    static let script: KeyScript = {
        var script = KeyScript()
        script.wait(0.5)
        script.press(" ", every: 1.5)
        script.press("dd ", every: 0.3)
        script.wait(1)
        script.press("aaaaa ", every: 0.15)
        script.wait(1.5)
        // To the right, through the door into the small room.
        script.press("ddd", every: 0.1)
        script.press(String(repeating: "w", count: 9), every: 0.25)
        script.press(" ", every: 1)
        script.press("dddd", every: 0.1)
        script.press(String(repeating: "w", count: 22), every: 0.2)
        script.press(" aaaa ", every: 0.3)
        script.wait(2)
        script.press("aaaa ", every: 0.2)
        return script
    }()
    static let duration = 24.0
}
