internal import RenderCore
internal import Synchronization

/// A file of a ``FileOutput`` and the channels that go into it.
final class FileTrack {
    let channels: Range<Int>
    private(set) var writer: AudioFileWriter

    init(channels: Range<Int>, _ writer: consuming AudioFileWriter) {
        self.channels = channels
        self.writer = writer
    }

    /// Writes the first frames of a block.
    func write(_ block: borrowing AudioBlock, frames: Int) throws(AudioFileError) {
        if channels == 0..<block.channelCount { return try writer.write(block, frames: frames) }
        // A channel that the renderer has lost since is silent.
        let there = channels.clamped(to: 0..<block.channelCount)
        if there == channels {
            try writer.write(AudioBlock(copying: block, channels: channels, frames: 0..<frames))
        } else {
            try writer.write(AudioBlock(channels: channels.count, frames: frames))
        }
    }

    /// Returns how many of the frames that wait are best written now.
    func wholeBlocks(of frames: Int) -> Int { writer.wholeBlocks(of: frames) }

    func finish() throws(AudioFileError) { try writer.finish() }

    /// Returns the channels of each output; of a single output two by two.
    static func ranges(of outputs: [Int]) -> [Range<Int>] {
        var ranges: [Range<Int>] = [], first = 0
        if outputs.count == 1 {
            return stride(from: 0, to: outputs[0], by: 2).map { $0..<min($0 + 2, outputs[0]) }
        }
        for count in outputs where first + count <= 64 {
            ranges.append(first..<first + count)
            first += count
        }
        return ranges
    }

    /// Returns a name for each track. No two are the same, and none leads into another folder.
    static func names(_ given: [String?], count: Int) -> [String] {
        var names: [String] = []
        for index in 0..<count {
            let number = index + 1
            let wanted = index < given.count ? given[index] : nil
            let name = (wanted ?? "").isEmpty ? "Track \(number < 10 ? "0" : "")\(number)" : wanted!
            let plain = String(name.map { $0 == "/" || $0 == "\0" ? "-" : $0 })
            var unique = plain, copy = 2
            while names.contains(unique) {
                unique = "\(plain) \(copy)"
                copy += 1
            }
            names.append(unique)
        }
        return names
    }
}

/// The work of a ``FileOutput``, on a thread of its own.
actor FileSession {
    private let executor = BlockingExecutor()
    private let tracks: [FileTrack]
    nonisolated let rendered: Lock<Renderer>
    /// The renderer of the next run.
    nonisolated var renderer: Renderer { rendered.withLock { $0 } }
    /// The sentence about a render loop that does not end, while the session's thread is in it and nobody waits for it any more.
    nonisolated let stuck = Lock<String?>(nil)
    /// The number that the renderer has given this session for the run that is under way.
    private var driver: UInt = 0
    private var failure: AudioFileError?
    /// Frames that were rendered and wait to be written together: a write for each cycle costs more than the cycle.
    private var block: Block
    private var waitingCount = 0
    private var lastWrite = HostClock.now
    /// Frames that are in every file, or about to be.
    nonisolated let written = Atomic<Int64>(0)
    /// Samples that did not fit.
    nonisolated let clipped = Atomic<Int>(0)

    private final class Block {
        var samples: AudioBlock
        init(channels: Int, frames: Int) { samples = AudioBlock(channels: channels, frames: frames) }
    }
    /// The number of frames that wait at most, besides those of a cycle.
    private static var blockLength: Int { 16_384 }
    /// If rendering is slow, the frames so far are written after that many nanoseconds: a program that is killed then has
    /// lost no more.
    private static var longestWait: Int64 { 250_000_000 }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ tracks: sending [FileTrack], _ renderer: Renderer) {
        self.tracks = tracks
        rendered = Lock(renderer)
        block = Block(channels: 1, frames: 0)
    }

    /// - Returns: The channels that its first output is to have.
    func use(_ renderer: Renderer) -> Int {
        let old = self.renderer
        rendered.withLock { $0 = renderer }
        return old.channelCount
    }

    func run(
        frames: Int64?, until isDone: (@Sendable () -> Bool)?, tail: Silence?, cycle: Int,
        progress: (@Sendable (FileOutput.Progress) -> Void)?
    ) throws -> Int64 {
        if let failure { throw failure }
        let before = written.load(ordering: .relaxed)
        var teller = Teller(frameCount: frames, sampleRate: renderer.sampleRate, handler: progress)
        var done: Int64 = 0
        lastWrite = HostClock.now
        let renderer = renderer
        let cycle = nearest(
            to: cycle, in: 1...1 << 24, "FileOutput: cycles of \(cycle) frames; they must have 1…16,777,216",
            tell: renderer.tell)
        driver = try renderer.beginDriving(as: "a FileOutput")
        defer {
            renderer.endDriving(driver)
            renderer.tellFaults()
        }
        do {
            // Several cycles at once, unless a condition is asked before each.
            let most = isDone == nil ? max(cycle, 1_024) / cycle * cycle : cycle
            while isDone.map({ !$0() }) ?? (done < frames ?? 0) {
                let count = Int(min(Int64(most), (frames ?? .max) - done))
                try render(count, renderer, cycle: cycle)
                done += Int64(count)
                teller.tell(done, isLast: false)
            }
            if let tail {
                let window = Int64(saturating: tail.window.inSeconds * renderer.sampleRate)
                let longest = Int64(saturating: tail.longest.inSeconds * renderer.sampleRate)
                var quiet: Int64 = 0, waited: Int64 = 0
                while quiet < max(1, window) && waited < longest {
                    let count = Int(min(Int64(cycle), longest - waited))
                    try render(count, renderer, cycle: cycle)
                    quiet = peak(ofLast: count) < tail.level ? quiet + Int64(count) : 0
                    waited += Int64(count)
                    done += Int64(count)
                    teller.tell(done, isLast: false)
                }
            }
        } catch let error as CancellationError {
            try write(waitingCount)
            throw error
        }
        try write(waitingCount)
        teller.tell(done, isLast: true)
        return written.load(ordering: .relaxed) - before
    }

    /// Renders behind the frames that wait to be written.
    private func render(_ frames: Int, _ renderer: Renderer, cycle: Int) throws {
        try Task.checkCancellation()
        var hasWritten = waitingCount == 0
        if !hasWritten {
            var count = tracks.first?.wholeBlocks(of: waitingCount) ?? 0
            if count == 0 && (frames > room || isOverdue(frames)) { count = waitingCount }
            hasWritten = count > 0
            if hasWritten { try write(count) }
        }
        if hasWritten {
            let channels = min(64, renderer.outputChannelCounts.reduce(0, +))
            if frames > room || channels != block.samples.channelCount {
                try write(waitingCount)
                block = Block(channels: channels, frames: Self.blockLength + max(frames, 1_024))
            }
        }
        renderer.renderOffline(
            into: &block.samples, from: waitingCount, frames: frames, cycle: cycle, driver: driver)
        waitingCount += frames
        written.wrappingAdd(Int64(frames), ordering: .relaxed)
    }

    /// The number of frames that the block has room for.
    private var room: Int { block.samples.frameCount - waitingCount }

    /// Returns whether the frames that wait have waited for long. The clock is looked at every 512 frames.
    private func isOverdue(_ frames: Int) -> Bool {
        if waitingCount & 511 >= frames { return false }
        return HostClock.now - lastWrite > Self.longestWait
    }

    /// Writes the first frames of those that wait. After a failure there is nothing more to be written.
    private func write(_ count: Int) throws {
        do throws(AudioFileError) {
            if count > 0 { for track in tracks { try track.write(block.samples, frames: count) } }
            waitingCount -= count
            Self.moveDown(&block.samples, from: count, frames: waitingCount)
        } catch {
            failure = error
            waitingCount = 0
        }
        lastWrite = HostClock.now
        clipped.store(tracks.reduce(0) { $0 + $1.writer.clippedCount }, ordering: .relaxed)
        let inFiles = tracks.map { $0.writer.frameCount }.min() ?? 0
        written.store(inFiles + Int64(waitingCount), ordering: .relaxed)
        if let failure { throw failure }
    }

    private static func moveDown(_ block: inout AudioBlock, from first: Int, frames: Int) {
        for channel in 0..<block.channelCount {
            var samples = block[channel]
            for i in 0..<frames { samples[i] = samples[first + i] }
        }
    }

    /// Returns the largest magnitude in the last frames that were rendered.
    private func peak(ofLast frames: Int) -> Float {
        Self.peak(block.samples, from: waitingCount - frames, frames: frames)
    }

    private static func peak(_ block: borrowing AudioBlock, from first: Int, frames: Int) -> Float {
        var peak: Float = 0
        for channel in 0..<block.channelCount {
            peak = max(peak, Signal.peak(block.samples(channel, from: first, frames: frames)))
        }
        return peak
    }

    func preroll(frames: Int64) throws {
        let renderer = renderer
        let driver = try renderer.beginDriving(as: "a FileOutput")
        defer {
            renderer.endDriving(driver)
            renderer.tellFaults()
        }
        var dropped = AudioBlock(channels: min(64, renderer.outputChannelCounts.reduce(0, +)), frames: 1_024)
        var done: Int64 = 0
        while done < frames {
            try Task.checkCancellation()
            let count = Int(min(1_024, frames - done))
            renderer.renderOffline(into: &dropped, from: 0, frames: count, cycle: count, driver: driver)
            done += Int64(count)
        }
    }

    func finish() throws {
        renderer.tellFaults(isEnd: true)
        var first: AudioFileError?
        for track in tracks {
            do throws(AudioFileError) { try track.finish() } catch { first = first ?? error }
        }
        if let first { throw first }
    }
}

/// Tells how far a run has come, some twenty times a second.
private struct Teller {
    let frameCount: Int64?
    let sampleRate: Double
    let handler: (@Sendable (FileOutput.Progress) -> Void)?
    let start = HostClock.now
    var last = HostClock.now

    mutating func tell(_ frame: Int64, isLast: Bool) {
        guard let handler else { return }
        let now = HostClock.now
        guard isLast || now - last >= 50_000_000 else { return }
        last = now
        let elapsed = Double(max(1, now - start)) / 1e9
        let speed = Double(frame) / sampleRate / elapsed
        let remaining = frameCount.map { count -> Duration in
            frame > 0 ? .seconds(Double(max(0, count - frame)) / Double(frame) * elapsed) : .zero
        }
        handler(
            FileOutput.Progress(
                frame: frame, frameCount: frameCount, elapsed: .nanoseconds(now - start), speed: speed,
                remaining: isLast ? .zero : remaining))
    }
}
