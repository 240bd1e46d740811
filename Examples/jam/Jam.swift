import ExampleSupport
import RenderStack
import Synchronization

/// Does what the keys say: loops, switches, the speed and recordings.
final class Jam: Sendable {
    private struct State {
        var switches: [Character: Switch]
        /// The loops that are to be heard from the next bar on.
        var isWanted: [Bool]
        /// The last recording that is played.
        var take: String?
        var script: KeyScript
    }
    private let loops: [FilePlayer]
    private let tape: Varispeed
    private let recorder: FileRecorder
    private let takes: Mixer
    private let state: Mutex<State>

    static let duration = 16.0
    /// A jam that needs no player.
    static let script: KeyScript = {
        var script = KeyScript()
        script.press("1r", every: 0.5)
        script.wait(0.5)
        script.press("2", every: 1.5)
        script.press("3b", every: 2)
        script.press("b4", every: 0.5)
        script.press("wr", every: 2)
        script.press("pssss12", every: 0.25)
        return script
    }()

    init(
        loops: [FilePlayer], tape: Varispeed, switches: [Character: Switch], recorder: FileRecorder, takes: Mixer,
        script: KeyScript
    ) {
        for loop in loops { loop.loops = .forever }
        self.loops = loops
        self.tape = tape
        self.recorder = recorder
        self.takes = takes
        state = Mutex(State(switches: switches, isWanted: loops.map { _ in false }, script: script))
    }

    /// Presses the keys of the script that are due.
    func advance(to second: Double) async {
        for key in state.withLock({ $0.script.takeKeys(until: second) }) { await press(key) }
    }

    /// Does what a key says.
    func press(_ key: Character) async {
        switch key {
        case "1"..."9": toggleLoop(Int(String(key)).map { $0 - 1 } ?? 0)
        case "s": tape.cents -= 100
        case "f": tape.cents += 100
        case "r": if recorder.isRecording { recorder.stop() } else { recorder.begin() }
        case "p": await playTake()
        default: state.withLock { $0.switches[key]?.toggle() }
        }
    }

    /// Lets a loop begin or end where the next bar of the tape begins.
    private func toggleLoop(_ number: Int) {
        guard loops.indices.contains(number) else { return }
        let loop = loops[number]
        let begins = state.withLock { state in
            state.isWanted[number].toggle()
            return state.isWanted[number]
        }
        if begins { loop.play(at: nextBar) } else { loop.stop(at: nextBar) }
    }

    /// The next bar on the tape's own clock. A bar is as long as the drums, and the first one begins with the tape.
    private var nextBar: RenderTime {
        let clock = tape.renderer
        let bar = Int64((loops[0].duration * clock.sampleRate).rounded())
        return .sample((clock.sampleTime + bar - 1) / bar * bar)
    }

    /// Plays the last recording, once, beside what is heard.
    private func playTake() async {
        if recorder.isRecording { recorder.stop() }
        try? await recorder.waitUntilFinished()
        do {
            guard let path = recorder.takes.last?.path else {
                return Terminal.note("Nothing is recorded yet: r begins.")
            }
            let player = try FilePlayer(path: path)
            takes.append(player, removesWhenFinished: true)
            player.play()
            state.withLock { $0.take = path }
            Task {
                await player.waitUntilStopped()
                state.withLock { if $0.take == path { $0.take = nil } }
            }
        } catch {
            Terminal.note("\(error)")
        }
    }

    /// The switches, as lines of text.
    var screen: [String] {
        let (switches, isWanted, take) = state.withLock { ($0.switches, $0.isWanted, $0.take) }
        func line(_ key: String, _ name: String, _ isOn: Bool, _ text: String = "") -> String {
            "\(key)  [\(isOn ? "x" : " ")] \(name)\(text)"
        }
        let tracks = loops.indices.map { number in
            let (loop, isWanted) = (loops[number], isWanted[number])
            let waits = loop.isPlaying == isWanted ? "" : isWanted ? ", from the next bar" : ", to the next bar"
            let name = loop.path.split(separator: "/").last ?? ""
            return line("\(number + 1)", "\(name)", isWanted, waits)
        }
        let speed = "s f  speed \(Int((100 * tape.speed.value).rounded())) %"
        let recording = recorder.isRecording ? ", \(Int(recorder.recordedTime)) s, into \(recorder.path)" : ""
        return ["jam", ""] + tracks + [speed, ""]
            + switches.sorted { $0.key < $1.key }.map { line("\($0.key)", $0.value.name, $0.value.isOn) }
            + [
                line("r", "records", recorder.isRecording, recording),
                line("p", "plays the recording", take != nil, take.map { ", \($0)" } ?? ""), "",
            ]
    }
}
