internal import AudioFiles
internal import RenderCore
internal import Synchronization

/// Stretches one stream into the ring of another, as far as frames of the first are there: it never waits for the disk.
final class StreamStretcher: StreamWriter {
    private let source: DiskStream
    private let stretch: StreamStretch
    private let channels: Int
    /// Frames of the source in a frame of the stream.
    private let ratio: Double
    /// The frames that the sound needs until it is what it would have been from further back.
    private let runUp: Int64
    private var work: Work?
    /// The next frame of the source.
    private var taken: Int64 = 0
    /// Frames of the stream that come out before the one that is wanted.
    private var surplus: Int64 = 0

    /// Other jobs wait for so long. Stretched frames take longer than read ones, so that fewer are made at once.
    static var chunk: Int { 1_024 }
    override var chunk: Int { Self.chunk }

    private final class Work {
        var engine: TimeStretch
        let settings: TimeStretch.Settings
        var input: AudioBlock
        var output: AudioBlock

        init(_ stretch: StreamStretch, ratio: Double, channels: Int, sampleRate: Double) {
            engine = TimeStretch(
                sampleRate: sampleRate, channels: channels, block: TimeStretch.block(cents: stretch.cents))
            settings = TimeStretch.Settings(rate: ratio, cents: stretch.cents, keepsFormants: stretch.keepsFormants)
            input = AudioBlock(channels: channels, frames: 2_048)
            output = AudioBlock(channels: channels, frames: StreamStretcher.chunk)
        }
    }

    /// - Parameters:
    ///   - source: The stream with the frames before they are stretched.
    ///   - geometry: The frames of the stream that is stretched, at the same rate.
    ///   - stretch: The change of tempo and pitch.
    init(_ source: DiskStream, into geometry: StreamGeometry, _ stretch: StreamStretch) {
        self.source = source
        self.stretch = stretch
        channels = source.file.channelCount
        // Exactly the tempo of the stream's geometry, which is rounded.
        let before = source.geometry
        ratio = Double(geometry.down) / Double(geometry.up) * Double(before.up) / Double(before.down)
        runUp = Int64(stretch.runUp * source.sampleRate)
        super.init(geometry, outputRate: source.sampleRate)
    }

    override func make(_ count: Int, _ core: borrowing StreamCore, from wanted: Int64) -> Int {
        let work = self.work ?? Work(stretch, ratio: ratio, channels: channels, sampleRate: outputRate)
        self.work = work
        let made = produce(count, work)
        write(work.output, made, core, from: wanted)
        if made < count && source.endedEarly(at: taken) {
            core.end.store(written, ordering: .releasing)
            finish()
        }
        return made
    }

    override func finish() {
        isDone = true
        work = nil
        // What is left of the source is not needed: it gives the file back.
        source.reference.jump(to: .max)
    }

    /// Makes frames of the stream: fewer where those of the source have not come yet, or where it ended early.
    private func produce(_ wanted: Int, _ work: Work) -> Int {
        var made = 0
        while made < wanted {
            var needed = work.engine.framesNeeded(work.settings)
            while needed > 0 {
                let count = feed(needed, work)
                if count == 0 { return made }
                needed -= count
            }
            let room = surplus > 0 ? Int(min(Int64(wanted - made), surplus)) : wanted - made
            let pulled = work.engine.pull(room, work.settings, into: &work.output, from: made)
            if surplus > 0 { surplus -= Int64(pulled) } else { made += pulled }
        }
        return made
    }

    /// Gives frames of the source to the engine, and silence behind its end. Returns how many.
    private func feed(_ wanted: Int, _ work: Work) -> Int {
        if source.isOver(at: taken) { return source.endedEarly(at: taken) ? 0 : work.engine.pushSilence(wanted) }
        let most = min(wanted, work.input.frameCount, work.engine.room)
        let count = source.take(most, from: taken, into: &work.input)
        work.engine.push(work.input, frames: count)
        taken &+= Int64(count)
        return count
    }

    /// Goes on at a later frame of the stream, and begins some time before it. Where that would be before the frames that
    /// were taken from the source, it goes on as it is.
    override func jump(to frame: Int64) {
        let start = max(0, frame &- runUp)
        let next = min(Int64((Double(start) * ratio).rounded()), source.geometry.end)
        if next < taken { return }
        // A slow sound needs more of the file before it than it plays in the run-up.
        let work = self.work ?? Work(stretch, ratio: ratio, channels: channels, sampleRate: outputRate)
        self.work = work
        let history = ratio < 1 ? min(Int64(work.engine.history(rate: ratio, cents: stretch.cents)), next &- taken) : 0
        work.engine.reset(history: Int(history))
        (surplus, taken, written) = (frame &- start, next &- history, frame)
        source.reference.jump(to: taken)
    }
}
