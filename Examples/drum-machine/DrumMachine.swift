import ExampleSupport
import RenderStack
import Synchronization

/// The steps of the drums, and a track for each.
final class DrumMachine: Sendable {
    /// A drum's steps.
    private struct Row {
        var steps: [Bool]
        var isMuted = false

        /// The steps as a pattern: four beats of four.
        func pattern(of drum: Drum, swing: Fraction, fills: Bool) -> Pattern {
            let text = steps.map { $0 ? drum.rawValue : "~" }.joined(separator: " ")
            let straight = Pattern(text)
            // The fourth bar of four is played twice as fast.
            let filled = fills && drum != .hat ? straight.every(4, at: 3) { $0.fast(2) } : straight
            return swing > 0 ? filled.swing(swing, grid: Fraction(1, 4)) : filled
        }
    }

    private struct State {
        var rows = Drum.allCases.map { Row(steps: $0.steps.map { $0 == "x" }) }
        var chosen = 0
        var swing = 0
        var fills = false
        var script: KeyScript
    }

    static let duration = 16.0
    /// A session that needs no player.
    static let script: KeyScript = {
        var script = KeyScript()
        script.wait(3)
        script.press("4th", every: 0.5)
        script.wait(1)
        script.press("zz", every: 1)
        script.press("1udd", every: 0.5)
        script.press("v", every: 2)
        script.press("++++", every: 0.25)
        return script
    }()
    private static let keys = Array("qwertyuiasdfghjk")
    private static let swings: [Fraction] = [0, Fraction(1, 6), Fraction(1, 3)]

    let sequencer: Sequencer
    private let tracks: [Track]
    private let kit: SampleKit
    private let state: Mutex<State>

    init(_ kit: SampleKit, script: KeyScript) {
        self.kit = kit
        let first = State(script: script)
        tracks = zip(Drum.allCases, first.rows).map { drum, row in
            Track(drum.rawValue, row.pattern(of: drum, swing: 0, fills: false), to: kit)
        }
        sequencer = Sequencer(tracks: tracks)
        state = Mutex(first)
    }

    /// Plays a beat that is written as a text, too.
    func add(_ text: String) throws {
        let track = Track("beat", try Pattern(checking: text), to: kit)
        sequencer.append(track)
        if let problem = track.problem { Terminal.note("\(problem) There are \(kit.words.joined(separator: ", ")).") }
    }

    /// Presses the keys of the script that are due.
    func advance(to second: Double, _ tempo: Tempo) {
        for key in state.withLock({ $0.script.takeKeys(until: second) }) { press(key, tempo) }
    }

    /// Does what a key says.
    func press(_ key: Character, _ tempo: Tempo) {
        switch key {
        case "1", "2", "3", "4": state.withLock { $0.chosen = (Int(String(key)) ?? 1) - 1 }
        case "z": change { $0.swing = ($0.swing + 1) % Self.swings.count }
        case "v": change { $0.fills.toggle() }
        case "c": change { $0.rows[$0.chosen].steps = Array(repeating: false, count: 16) }
        case "m": mute()
        case "+": turnTempo(tempo, by: 1)
        case "-": turnTempo(tempo, by: -1)
        case " ": if sequencer.isPlaying { sequencer.stop() } else { sequencer.start(from: 0) }
        default:
            if let step = Self.keys.firstIndex(of: key) { change { $0.rows[$0.chosen].steps[step].toggle() } }
        }
    }

    func turnTempo(_ tempo: Tempo, by beats: Double) { tempo.beatsPerMinute += beats }

    private func mute() {
        let (chosen, isMuted) = state.withLock { state in
            state.rows[state.chosen].isMuted.toggle()
            return (state.chosen, state.rows[state.chosen].isMuted)
        }
        tracks[chosen].isMuted = isMuted
    }

    /// Changes the steps, and has the tracks play them from now on.
    private func change(_ body: (inout State) -> Void) {
        let patterns = state.withLock { state in
            body(&state)
            return zip(Drum.allCases, state.rows).map { drum, row in
                row.pattern(of: drum, swing: Self.swings[state.swing], fills: state.fills)
            }
        }
        for (track, pattern) in zip(tracks, patterns) { track.replace(with: pattern) }
    }

    /// The steps, as lines of text.
    func screen(_ tempo: Tempo) -> [String] {
        let (rows, chosen, swing, fills) = state.withLock { ($0.rows, $0.chosen, $0.swing, $0.fills) }
        let here = sequencer.isPlaying ? Int(sequencer.position * 4) % 16 : -1
        let lines = zip(Drum.allCases, rows).enumerated().map { index, pair in
            let (drum, row) = pair
            let cells = row.steps.enumerated().map { step, isOn in
                let cell = isOn ? "x" : "."
                return (step == here ? Screen.highlighted(cell) : cell) + (step % 4 == 3 ? " " : "")
            }
            let name = drum.rawValue.padding(to: 6)
            return "\(index + 1) \(index == chosen ? ">" : " ") \(name) \(cells.joined())\(row.isMuted ? " muted" : "")"
        }
        let keys =
            "      " + "keys".padding(to: 5) + Self.keys.enumerated().map { "\($1)\($0 % 4 == 3 ? " " : "")" }.joined()
        let swings = ["straight", "a little swing", "swing"]
        return ["drum-machine", ""] + lines
            + [
                keys, "",
                "\(Int(tempo.beatsPerMinute.rounded())) beats per minute, \(swings[swing])\(fills ? ", fills" : "")",
                "",
            ]
    }

    /// The steps, as a picture.
    var picture: Picture {
        let rows = state.withLock { $0.rows }
        var picture = Picture(width: 800, height: 180)
        for (index, (drum, row)) in zip(Drum.allCases, rows).enumerated() {
            let top = 10 + 40 * index
            picture.write(drum.rawValue, x: 10, y: top + 16)
            for (step, isOn) in row.steps.enumerated() {
                let left = 110 + 42 * step + step / 4 * 4
                picture.fill(left...left + 36, top...top + 32, isOn ? (row.isMuted ? .lightBlue : .blue) : .grid)
            }
        }
        return picture
    }
}

extension String {
    /// Returns the text with spaces up to a width.
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
