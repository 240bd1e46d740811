/// A flight that needs no player: the keys, and the second in which each is pressed.
enum Flight {
    struct Step: Sendable {
        let time: Double
        let key: Character
    }

    /// From the hall into the small room, with balls ahead, to the side and behind. It lasts 24 s.
    static let steps: [Step] = {
        var steps: [Step] = []
        var time = 0.5
        func press(_ keys: String, every interval: Double) {
            for key in keys {
                steps.append(Step(time: time, key: key))
                time += interval
            }
        }
        press(" ", every: 1.5)
        press("dd ", every: 0.3)
        time += 1
        press("aaaaa ", every: 0.15)
        time += 1.5
        // To the right, through the door into the small room.
        press("ddd", every: 0.1)
        press(String(repeating: "w", count: 9), every: 0.25)
        press(" ", every: 1)
        press("dddd", every: 0.1)
        press(String(repeating: "w", count: 22), every: 0.2)
        press(" aaaa ", every: 0.3)
        time += 2
        press("aaaa ", every: 0.2)
        return steps
    }()
    static let duration = 24.0
}
