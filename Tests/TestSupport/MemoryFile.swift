package import DiskStreaming
internal import Glibc
package import RenderStack
internal import Synchronization

/// A file that exists in memory only, so that a test can be as slow a disk as it likes, or a broken one.
package final class MemorySource: StreamSource {
    package struct Behaviour: Sendable {
        package init(failsAt: Int64 = .max, endsAt: Int64 = .max, gate: Gate? = nil) {
            self.failsAt = failsAt
            self.endsAt = endsAt
            self.gate = gate
        }

        /// The frame from which on reading fails.
        package var failsAt: Int64 = .max
        /// The frame at which the data ends, whatever the header says.
        package var endsAt: Int64 = .max
        /// Indicates whether the file answers at all: until then reading waits.
        package var gate: Gate?
    }

    private let channels: [[Float]]
    private let behaviour: Behaviour
    private var position: Int64 = 0

    package init(_ channels: [[Float]], _ behaviour: Behaviour) {
        self.channels = channels
        self.behaviour = behaviour
    }

    package func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int {
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

    package func seek(to frame: Int64) throws(AudioFileError) { position = frame }
}

/// A disk that stops and goes on.
package final class Gate: Sendable {
    package init() {}
    private let isShut = Atomic<Bool>(false)
    package func shut() { isShut.store(true, ordering: .releasing) }
    package var isClosed: Bool { isShut.load(ordering: .acquiring) }
    package func open() { isShut.store(false, ordering: .releasing) }
    package func pass() { while isShut.load(ordering: .acquiring) { usleep(200) } }
}

/// A file in memory.
package func memoryFile(
    _ channels: [[Float]], rate: Double = 48_000, path: String = "memory", _ behaviour: MemorySource.Behaviour = .init()
) -> StreamFile {
    StreamFile(
        path: path, sampleRate: rate, channelCount: channels.count, frameCount: Int64(channels[0].count),
        open: { () throws(AudioFileError) in MemorySource(channels, behaviour) })
}

/// Samples that are all different: where each came from can be told.
package func ramp(_ count: Int, from first: Int = 1) -> [Float] { (0..<count).map { Float(first + $0) } }

/// The numbers of a range as samples. It has types, which the compiler would look for at length in an `#expect`.
package func counted(_ numbers: ClosedRange<Int>) -> [Float] { numbers.map { Float($0) } }

/// The numbers of a range as samples.
package func counted(_ numbers: Range<Int>) -> [Float] { numbers.map { Float($0) } }

/// So many samples that are zero.
package func silence(_ frames: Int) -> [Float] { [Float](repeating: 0, count: frames) }
