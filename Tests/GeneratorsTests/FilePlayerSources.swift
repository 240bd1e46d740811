import Glibc
import RenderStack
import Synchronization

/// A file that exists in memory only, so that a test can be as slow a disk as it likes, or a broken one.
final class MemorySource: StreamSource {
    struct Behaviour: Sendable {
        /// The frame from which on reading fails.
        var failsAt: Int64 = .max
        /// The frame at which the data ends, whatever the header says.
        var endsAt: Int64 = .max
        /// Whether it answers at all: until then reading waits.
        var gate: Gate?
    }

    private let channels: [[Float]]
    private let behaviour: Behaviour
    private var position: Int64 = 0

    init(_ channels: [[Float]], _ behaviour: Behaviour) {
        self.channels = channels
        self.behaviour = behaviour
    }

    func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int {
        behaviour.gate?.pass()
        if position + Int64(frames) > behaviour.failsAt {
            throw AudioFileError(path: "memory", reason: .system(5), cannot: "read", explanation: "it is meant to fail")
        }
        let count = min(frames, Int(max(0, min(Int64(channels[0].count), behaviour.endsAt) - position)))
        for channel in channels.indices {
            var samples = block[channel]
            for i in 0..<count { samples[first + i] = channels[channel][Int(position) + i] }
        }
        position += Int64(count)
        return count
    }

    func seek(to frame: Int64) throws(AudioFileError) { position = frame }
}

/// A disk that stops and goes on.
final class Gate: Sendable {
    private let isShut = Atomic<Bool>(false)
    func shut() { isShut.store(true, ordering: .releasing) }
    func open() { isShut.store(false, ordering: .releasing) }
    func pass() { while isShut.load(ordering: .acquiring) { usleep(200) } }
}

/// A file in memory.
func memoryFile(
    _ channels: [[Float]], rate: Double = 48_000, path: String = "memory", _ behaviour: MemorySource.Behaviour = .init()
) -> StreamFile {
    StreamFile(
        path: path, sampleRate: rate, channelCount: channels.count, frameCount: Int64(channels[0].count),
        open: { () throws(AudioFileError) in MemorySource(channels, behaviour) })
}

/// Samples that are all different: where each came from can be told.
func ramp(_ count: Int, from first: Int = 1) -> [Float] { (0..<count).map { Float(first + $0) } }
