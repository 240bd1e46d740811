import Glibc
import RenderStack
import Synchronization

#if Everything || ALSA
    /// The state of the device and the sound.
    final class Presence: Sendable {
        private let isGone = Atomic<Bool>(false)
        private let interruptions = Atomic<Int>(0)

        func note(_ event: OutputEvent) {
            switch event {
            case .lost:
                isGone.store(true, ordering: .relaxed)
                interruptions.wrappingAdd(1, ordering: .relaxed)
            case .regained: isGone.store(false, ordering: .relaxed)
            case .xruns, .gap, .missedDeadlines: interruptions.wrappingAdd(1, ordering: .relaxed)
            default: break
            }
        }

        var isThere: Bool { !isGone.load(ordering: .relaxed) }
        var wasInterrupted: Bool { interruptions.load(ordering: .relaxed) > 0 }
    }

    /// MIDI that came in, with the frame of the sample clock.
    final class Arrivals: Sendable {
        let port = MessagePort<MIDIEvent>(capacity: 4096)
    }

    /// A note every 24,000 frames, half of that long.
    @_noLocks @_noAllocation
    func sendNotes(_ context: inout RenderContext, to output: MIDIOutput) {
        let time = context.sampleTime
        let next = (12_000 &- time % 12_000) % 12_000
        guard next < context.frameCount else { return }
        let isOn = (time &+ next) % 24_000 == 0
        context.send(
            isOn ? .noteOn(channel: 0, note: 60, velocity: 100) : .noteOff(channel: 0, note: 60, velocity: 64),
            at: Int(next), to: output)
    }

    /// A message for people; an exclusive one as its bytes.
    func words(_ message: MIDIMessage) -> String {
        guard case .systemExclusive(let chunk) = message else { return "\(message)" }
        return (0..<chunk.count).map { String(chunk.bytes[$0], radix: 16) }.joined(separator: " ")
    }

    /// Prints a line at once, also to a pipe, where lines would wait in a buffer.
    func say(_ line: String) {
        print(line)
        fflush(nil)
    }
#endif
