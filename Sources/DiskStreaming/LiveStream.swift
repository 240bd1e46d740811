package import AudioFiles
internal import Glibc
internal import LinuxRealtime
package import RenderCore
internal import Synchronization

/// The newest ring and the renderer's rate, which a player and the threads of its streams share.
package final class LiveLine: Sendable {
    let channelCount: Int
    private let state: Lock<State>

    private struct State {
        var sampleRate: Double?
        var longestSlice = 4_096
        /// The number of the last start, and its ring.
        var number = 0
        var ring: LiveRing
    }

    package init(channels: Int) {
        let ring = LiveRing(number: 0, frames: 2, channels: channels, sampleRate: 48_000, needed: 1)
        ring.end()
        ring.markDone()
        channelCount = channels
        state = Lock(State(ring: ring), .part)
    }

    /// Says how the renderer runs.
    package func prepare(_ preparation: Preparation) {
        state.withLock {
            $0.sampleRate = preparation.sampleRate
            $0.longestSlice = preparation.maximumFrameCount
        }
    }

    /// The ring of the last start.
    package var ring: LiveRing { state.withLock { $0.ring } }

    var sampleRate: Double? { state.withLock { $0.sampleRate } }

    func begin(_ number: Int) { state.withLock { $0.number = number } }

    /// Makes a ring for the frames of a start, and has it heard, unless another start came after.
    func makeRing(number: Int, seconds: Double, sampleRate: Double) -> LiveRing {
        let needed = Int((seconds * sampleRate).rounded(.up))
        let frames = 2 * needed + 2 * state.withLock { max(4_096, $0.longestSlice) }
        // A quarter of a gigabyte is enough for any.
        let ring = LiveRing(
            number: number, frames: min(frames, (1 << 26) / channelCount), channels: channelCount,
            sampleRate: sampleRate,
            needed: needed)
        show(ring)
        return ring
    }

    /// Shows that a start has no sound.
    func showNothing(number: Int) {
        let ring = LiveRing(number: number, frames: 2, channels: channelCount, sampleRate: 48_000, needed: 1)
        ring.end()
        show(ring)
    }

    private func show(_ ring: LiveRing) {
        state.withLock { if $0.number == ring.number { $0.ring = ring } }
    }
}

/// A stream that is read, decoded and brought to the renderer's rate, on a thread of its own: it may have to wait for bytes
/// as long as it likes.
package final class LiveStream: Sendable {
    private let number: Int
    private let bytes: AudioBytes
    private let line: LiveLine
    private let seconds: Double
    private let notes = Lock(Notes(), .part)

    private struct Notes {
        var ring: LiveRing?
        /// The sounds that have begun, each with the frame of the ring at which it does.
        var sounds: [(frame: Int64, info: AudioStreamInfo)] = []
        var failure: AudioFileError?
        var isOver = false
    }

    /// Begins to read a stream.
    ///
    /// - Parameters:
    ///   - bytes: The stream.
    ///   - number: The number of the start: each is greater than the one before.
    ///   - seconds: Seconds that must have come before they are heard.
    package init(_ bytes: AudioBytes, number: Int, on line: LiveLine, seconds: Double) {
        (self.bytes, self.number, self.line, self.seconds) = (bytes, number, line, seconds)
        line.begin(number)
    }

    /// Starts the thread.
    package func start() {
        var thread = pthread_t()
        let error = startThread(&thread) { [self] in
            nameThread("rs-stream")
            work()
        }
        if error == 0 {
            pthread_detach(thread)
        } else {
            end(
                AudioFileError(
                    path: bytes.name, reason: .system(error), cannot: "play",
                    explanation: "no thread can be had for it (\(errorText(error))); end other work, and try again"))
        }
    }

    /// Ends it: the thread ends as soon as it waits for nothing but this.
    package func stop() {
        bytes.cancel()
        if let ring { ring.stop() } else { line.showNothing(number: number) }
    }

    /// Indicates whether it was stopped.
    package var wasStopped: Bool { bytes.wasCancelled }

    /// The ring into which it writes now.
    package var ring: LiveRing? { notes.withLock { $0.ring } }

    /// Indicates whether the thread has ended.
    package var isOver: Bool { notes.withLock { $0.isOver } }

    /// Returns the sounds that the render thread has begun since the last call.
    package func takeSounds() -> [AudioStreamInfo] {
        notes.withLock { notes in
            guard let ring = notes.ring else { return [] }
            let taken = ring.takenCount
            let begun = notes.sounds.prefix { $0.frame < taken }.map(\.info)
            notes.sounds.removeFirst(begun.count)
            return begun
        }
    }

    /// Returns the error that ended it: once.
    package func takeFailure() -> AudioFileError? {
        notes.withLock { notes in
            defer { notes.failure = nil }
            return notes.failure
        }
    }

    // MARK: The thread

    private func work() {
        while line.sampleRate == nil && !bytes.wasCancelled { LiveRing.rest() }
        do throws(AudioFileError) {
            guard let rate = line.sampleRate, !bytes.wasCancelled else { return end(nil) }
            var reader = try AudioStreamReader(bytes, sampleRate: rate, channels: line.channelCount)
            play(&reader)
            end(bytes.wasCancelled ? nil : reader.failure)
        } catch {
            end(bytes.wasCancelled ? nil : error)
        }
    }

    private func play(_ reader: inout AudioStreamReader) {
        var ring = begin(reader)
        var block = AudioBlock(channels: reader.channelCount, frames: 1_024)
        var sounds = reader.soundCount
        while !bytes.wasCancelled {
            if let rate = line.sampleRate, rate != ring.sampleRate {
                // The frames that wait there have the old rate, and are left out.
                reader.convert(to: rate)
                ring = begin(reader)
            }
            if ring.room < block.frameCount {
                LiveRing.rest()
                continue
            }
            let count = reader.readSome(into: &block)
            if reader.soundCount != sounds {
                sounds = reader.soundCount
                notes.withLock { $0.sounds.append((ring.writtenCount, reader.info)) }
            }
            if count == 0 { break }
            ring.write(block, frames: count)
        }
        ring.end()
    }

    private func begin(_ reader: borrowing AudioStreamReader) -> LiveRing {
        let ring = line.makeRing(number: number, seconds: seconds, sampleRate: reader.sampleRate)
        let info = reader.info
        notes.withLock { notes in
            if notes.ring == nil || !notes.sounds.isEmpty { notes.sounds = [(0, info)] }
            notes.ring = ring
        }
        if bytes.wasCancelled { ring.stop() }
        return ring
    }

    private func end(_ failure: AudioFileError?) {
        let hasRing = notes.withLock { notes in
            notes.failure = failure
            notes.isOver = true
            return notes.ring != nil
        }
        if !hasRing { line.showNothing(number: number) }
    }

}
