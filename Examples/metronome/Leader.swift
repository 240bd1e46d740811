import ExampleSupport
import RenderStack
import Synchronization

/// Leads a JACK session: starts its transport, and says which bar and tempo there is. It does so again when the server
/// went away and has come back.
final class Leader: Sendable {
    private let beatsPerBar: Double
    private let tempo: Mutex<Double>
    private let watching = Mutex<Subscription?>(nil)
    private let jack = Mutex<JACKOutput?>(nil)

    init(tempo: Double, beatsPerBar: Double) {
        self.tempo = Mutex(tempo)
        self.beatsPerBar = beatsPerBar
    }

    /// Leads the session of an output that is running.
    func lead(_ output: any RenderOutput) {
        let chosen = (output as? AudioOutput)?.output ?? output
        guard let jack = chosen as? JACKOutput else { return }
        self.jack.withLock { $0 = jack }
        let subscription = jack.by({ $0() }) { [weak self] event in
            if case .regained = event { self?.begin() }
        }
        watching.withLock { $0 = subscription }
        begin()
    }

    /// Goes on so many beats per minute faster.
    func change(by step: Double) {
        tempo.withLock { $0 = max(10, min($0 + step, 600)) }
        say { jack, tempo in try jack.leadTempo(tempo, beatsPerBar: beatsPerBar) }
    }

    private func begin() {
        say { jack, tempo in
            try jack.leadTempo(tempo, beatsPerBar: beatsPerBar)
            try jack.startTransport()
        }
    }

    private func say(_ body: (JACKOutput, Double) throws -> Void) {
        guard let jack = jack.withLock({ $0 }) else { return }
        do { try body(jack, tempo.withLock { $0 }) } catch { Terminal.note("metronome: \(error)") }
    }
}
