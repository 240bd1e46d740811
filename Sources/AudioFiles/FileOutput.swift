public import RenderCore
internal import Synchronization

/// Renders into a file as fast as it goes: the renderer that is heard live, without a device.
///
///     let output = try FileOutput(renderer, path: "song.flac")
///     try await output.run(for: .seconds(30), tail: Silence())        // then until the echoes are gone
///     try await output.finish()
///
/// The same closure gives the same samples as live. Each run goes on where the last one ended; ``preroll(for:)`` renders
/// without writing. Transactions, messages and what is scheduled happen on their frames. A run that is cancelled, or that
/// finds the disk full, leaves a file with everything up to then.
///
/// With a folder in the place of a path each output of the renderer becomes a file of its own, in one pass.
public final class FileOutput: Sendable {
    /// How far a run has come.
    public struct Progress: Sendable, Hashable {
        /// Frames that this run has rendered.
        public let frame: Int64
        /// Frames that it is to render; `nil` where a condition decides.
        public let frameCount: Int64?
        /// Since it began.
        public let elapsed: Duration
        /// How many times faster than it will be heard.
        public let speed: Double
        /// How long it will still take at this speed; `nil` where a condition decides.
        public let remaining: Duration?
    }

    /// The files, in the order of the tracks.
    public let paths: [String]
    /// Frames per second.
    public let sampleRate: Double

    private let session: FileSession

    /// One file with the channels of the renderer's first output.
    ///
    /// - Parameters:
    ///   - renderer: what is rendered. Its outputs stop first: only one may drive it.
    ///   - path: the file.
    ///   - format: how it keeps its samples; what the extension stands for if nothing is said.
    ///   - sampleRate: frames per second, to which the renderer is set; its own if nothing is said.
    ///   - channels: channels, to which the renderer is set; its own if nothing is said.
    ///   - tags: what the file shall say about itself.
    ///   - dither: as ``AudioFileWriter`` has it.
    /// - Throws: why the file cannot be made.
    public init(
        _ renderer: Renderer, path: String, format: AudioFileFormat? = nil, sampleRate: Double? = nil,
        channels: Int? = nil, tags: [AudioFileTag: String] = [:], dither: Bool = false
    ) throws(AudioFileError) {
        let rate = sampleRate ?? renderer.sampleRate, channels = channels ?? renderer.channelCount
        let track = try FileTrack(
            channels: 0..<channels,
            AudioFileWriter(
                path: path, format: format, sampleRate: rate, channels: channels, tags: tags, dither: dither))
        renderer.configure(sampleRate: rate, channels: channels)
        paths = [path]
        self.sampleRate = rate
        session = FileSession([track], renderer)
    }

    /// A folder of files, one for each track.
    ///
    ///     let stems = try FileOutput(renderer, folder: "stems", names: ["Mix", "Drums", nil])
    ///
    /// The tracks are the outputs of a renderer that has several (its `outputChannelCounts`), else the channels of
    /// the only one, two by two.
    ///
    /// - Parameters:
    ///   - renderer: what is rendered.
    ///   - folder: is made if it is not there.
    ///   - names: of the files, without extension; "Track 01" and so on where there is none.
    ///   - format: how they keep their samples.
    ///   - sampleRate: frames per second, to which the renderer is set; its own if nothing is said.
    ///   - tags: what the files shall say about themselves. Their names become titles.
    ///   - dither: as ``AudioFileWriter`` has it.
    /// - Throws: why a file cannot be made.
    public init(
        _ renderer: Renderer, folder: String, names: [String?] = [], format: AudioFileFormat = .wav(),
        sampleRate: Double? = nil, tags: [AudioFileTag: String] = [:], dither: Bool = false
    ) throws(AudioFileError) {
        let rate = sampleRate ?? renderer.sampleRate
        try FileDescriptor.makeFolder(folder)
        let ranges = FileTrack.ranges(of: renderer.outputChannelCounts)
        var paths: [String] = [], tracks: [FileTrack] = []
        for (name, range) in zip(FileTrack.names(names, count: ranges.count), ranges) {
            let path = "\(folder)/\(name).\(format.fileExtension ?? "audio")"
            let writer = try AudioFileWriter(
                path: path, format: format, sampleRate: rate, channels: range.count,
                tags: tags.merging([.title: name]) { given, _ in given }, dither: dither)
            tracks.append(FileTrack(channels: range, writer))
            paths.append(path)
        }
        renderer.configure(sampleRate: rate)
        self.paths = paths
        self.sampleRate = rate
        session = FileSession(tracks, renderer)
    }

    /// Frames in the files.
    public var frameCount: Int64 { session.written.load(ordering: .relaxed) }

    /// How many samples did not fit into integers, or into a lossy encoder.
    public var clippedCount: Int { get async { await session.clippedCount } }

    /// Renders another renderer from the next run on. It is set to this output's rate and number of channels.
    public func use(_ renderer: Renderer) async {
        let channels = await session.use(renderer)
        renderer.configure(sampleRate: sampleRate, channels: channels)
    }

    /// Renders for a time and writes it, and for longer until it is silent, if that is asked for.
    ///
    /// - Parameters:
    ///   - duration: how long; to the nearest frame.
    ///   - tail: what is to be silent before it ends.
    ///   - cycle: frames in a cycle: makes no difference to the sound.
    ///   - progress: is called some twenty times a second and at the end, on the thread that renders.
    /// - Returns: the frames that this run has written.
    /// - Throws: ``AudioFileError``: why it could not be written. `CancellationError` where the task was cancelled. In
    ///   both cases the files are valid, have what was rendered before, and want ``finish()``.
    @discardableResult
    public func run(
        for duration: Duration, tail: Silence? = nil, cycle: Int = 1_024,
        progress: (@Sendable (Progress) -> Void)? = nil
    ) async throws -> Int64 {
        let frames = duration.frames(at: sampleRate)
        return try await session.run(frames: frames, until: nil, tail: tail, cycle: cycle, progress: progress)
    }

    /// Renders until a condition is true, and writes it.
    ///
    ///     try await output.run(until: { player.state == .stopped }, tail: Silence())
    ///
    /// - Parameters:
    ///   - isDone: asked before each cycle, on the thread that renders.
    ///   - tail: what is to be silent before it ends.
    ///   - cycle: frames in a cycle: how exactly the condition is met.
    ///   - progress: as above.
    /// - Returns: the frames that this run has written.
    /// - Throws: as above.
    @discardableResult
    public func run(
        until isDone: @escaping @Sendable () -> Bool, tail: Silence? = nil, cycle: Int = 512,
        progress: (@Sendable (Progress) -> Void)? = nil
    ) async throws -> Int64 {
        try await session.run(frames: nil, until: isDone, tail: tail, cycle: cycle, progress: progress)
    }

    /// Renders for a time without writing: delays fill up, players get where they shall be.
    ///
    /// - Throws: `CancellationError` where the task was cancelled.
    public func preroll(for duration: Duration) async throws {
        try await session.preroll(frames: duration.frames(at: sampleRate))
    }

    /// Closes the files. A second time it does nothing.
    ///
    /// - Throws: ``AudioFileError``: what could not be written or stored. What a run threw is not thrown again.
    public func finish() async throws {
        try await session.finish()
    }
}

/// What ``FileOutput`` takes for silence: every channel below a level for a while.
public struct Silence: Sendable, Hashable {
    /// Peaks below this are silence.
    public var level: Float
    /// For how long it must be silent. Longer than the pause between two echoes.
    public var window: Duration
    /// For how long it is waited for at most.
    public var longest: Duration

    /// Silence, by default: half a second below -80 dB, waited for at most ten seconds.
    public init(
        level: Float = 1e-4, window: Duration = .milliseconds(500), longest: Duration = .seconds(10)
    ) {
        self.level = level
        self.window = window
        self.longest = longest
    }
}

extension Duration {
    /// To the nearest frame; none for a negative time.
    fileprivate func frames(at rate: Double) -> Int64 {
        let (seconds, rest) = components
        if seconds < 0 || rest < 0 { return 0 }
        // Apart, so that a long time keeps its precision.
        let frames = Double(seconds) * rate + (Double(rest) * 1e-18 * rate)
        return frames < 9e18 ? Int64(frames.rounded()) : .max
    }
}
