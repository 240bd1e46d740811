internal import DiskFiles
public import RenderCore
internal import Synchronization

/// Renders into a file as fast as the machine can: the renderer that is heard live, without a device.
///
///     let output = try FileOutput(renderer, path: "song.flac")
///     try await output.run(for: .seconds(30), tail: Silence())        // then until the echoes are gone
///     try await output.finish()
///
/// A render loop gives the samples that it gives live. Each run goes on where the last one ended; ``preroll(for:)``
/// renders without writing. Transactions, messages and scheduled events happen on their frames. A run that is
/// cancelled, or that finds the disk full, leaves a file with everything up to then.
///
/// With a folder in the place of a path each output of the renderer becomes a file of its own, in one pass.
///
/// Threads: control.
public final class FileOutput: Sendable {
    /// The progress of a run.
    ///
    /// Threads: any.
    public struct Progress: Sendable, Hashable {
        /// The number of frames that this run has rendered.
        public let frame: Int64
        /// The number of frames that it is to render; `nil` if a condition decides.
        public let frameCount: Int64?
        /// The time since the run began.
        public let elapsed: Duration
        /// The speed of rendering: so many times faster than the sound will be heard.
        public let speed: Double
        /// The time that the run will still take at this speed; `nil` if a condition decides.
        public let remaining: Duration?
    }

    /// The files, in the order of the tracks.
    public let paths: [String]
    /// Frames per second.
    public let sampleRate: Double

    private let session: FileSession

    /// Creates an output into one file, with the channels of the renderer's first output.
    ///
    /// - Parameters:
    ///   - renderer: The renderer. Its outputs stop first: only one may drive it.
    ///   - path: The file.
    ///   - format: The format of the samples; by default the one that the extension stands for.
    ///   - sampleRate: Frames per second, to which the renderer is set; by default its own.
    ///   - channels: Channels, to which the renderer is set; by default its own.
    ///   - tags: The texts to write into the file.
    ///   - marks: Named places in the file: chapters of a podcast, for example.
    ///   - dither: The dither, as in ``AudioFileWriter``.
    ///   - replacesAtFinish: `true` to let a file that has the name stay as it is until ``finish()``, as in ``AudioFileWriter``.
    /// - Throws: An error if the file cannot be made.
    public init(
        _ renderer: Renderer, path: String, format: AudioFileFormat? = nil, sampleRate: Double? = nil,
        channels: Int? = nil, tags: [AudioFileTag: String] = [:], marks: [AudioFileMark] = [], dither: Bool = false,
        replacesAtFinish: Bool = false
    ) throws(AudioFileError) {
        let rate = sampleRate ?? renderer.sampleRate, channels = channels ?? renderer.channelCount
        let writer = try AudioFileWriter(
            path: path, format: format, sampleRate: rate, channels: channels, tags: tags, marks: marks,
            dither: dither, replacesAtFinish: replacesAtFinish)
        let track = FileTrack(channels: 0..<channels, writer)
        renderer.configure(sampleRate: rate, channels: channels)
        paths = [path]
        self.sampleRate = rate
        session = FileSession([track], renderer)
    }

    /// Creates an output into a folder of files, one for each track.
    ///
    ///     let stems = try FileOutput(renderer, folder: "stems", names: ["Mix", "Drums", nil])
    ///
    /// The tracks are the outputs of a renderer that has several (its `outputChannelCounts`), else the channels of
    /// the only one, two by two.
    ///
    /// - Parameters:
    ///   - renderer: The renderer.
    ///   - folder: Is made if it is not there.
    ///   - names: Of the files, without extension; "Track 01" and so on where there is none.
    ///   - format: The format of the samples.
    ///   - sampleRate: Frames per second, to which the renderer is set; by default its own.
    ///   - tags: The texts to write into the files. Their names become titles.
    ///   - dither: The dither, as in ``AudioFileWriter``.
    ///   - replacesAtFinish: `true` to let files that have the names stay as they are until ``finish()``, as in
    ///     ``AudioFileWriter``.
    /// - Throws: An error if a file cannot be made.
    public init(
        _ renderer: Renderer, folder: String, names: [String?] = [], format: AudioFileFormat = .wav(),
        sampleRate: Double? = nil, tags: [AudioFileTag: String] = [:], dither: Bool = false,
        replacesAtFinish: Bool = false
    ) throws(AudioFileError) {
        let rate = sampleRate ?? renderer.sampleRate
        try onDisk { () throws(DiskFault) in try FileDescriptor.makeFolder(folder) }
        let ranges = FileTrack.ranges(of: renderer.outputChannelCounts)
        var paths: [String] = [], tracks: [FileTrack] = []
        for (name, range) in zip(FileTrack.names(names, count: ranges.count), ranges) {
            let path = "\(folder)/\(name).\(format.fileExtension ?? "audio")"
            let writer = try AudioFileWriter(
                path: path, format: format, sampleRate: rate, channels: range.count,
                tags: tags.merging([.title: name]) { given, _ in given }, dither: dither,
                replacesAtFinish: replacesAtFinish)
            tracks.append(FileTrack(channels: range, writer))
            paths.append(path)
        }
        renderer.configure(sampleRate: rate)
        self.paths = paths
        self.sampleRate = rate
        session = FileSession(tracks, renderer)
    }

    /// The number of frames in the files.
    public var frameCount: Int64 { session.written.load(ordering: .relaxed) }

    /// The number of samples that did not fit into integers, or into a lossy encoder. Also while a run goes on.
    public var clippedCount: Int { session.clipped.load(ordering: .relaxed) }

    /// Renders another renderer from the next run on. It is set to this output's rate and number of channels.
    public func use(_ renderer: Renderer) async {
        let channels = await session.use(renderer)
        renderer.configure(sampleRate: sampleRate, channels: channels)
    }

    /// Renders for a time and writes it, and goes on until the sound is silent if `tail` demands it.
    ///
    /// - Parameters:
    ///   - duration: The duration, to the nearest frame.
    ///   - tail: The silence that must come before the run ends.
    ///   - cycle: Frames in a cycle: makes no difference to the sound.
    ///   - progress: Is called some twenty times a second and at the end, on the thread that renders.
    /// - Returns: The frames that this run has written.
    /// - Throws: ``AudioFileError``: why it could not be written. `CancellationError` if the task was cancelled.
    ///   `OutputError` if another output drives the renderer. In all cases the files are valid, have the frames that
    ///   were rendered before, and want ``finish()``. `OutputError` also if the task was cancelled and the render loop
    ///   does not end: then the files have what was written before, and ``finish()`` throws too.
    @discardableResult
    public func run(
        for duration: Duration, tail: Silence? = nil, cycle: Int = 1_024,
        progress: (@Sendable (Progress) -> Void)? = nil
    ) async throws -> Int64 {
        let frames = duration.frames(at: sampleRate)
        return try await session.work {
            try $0.run(frames: frames, until: nil, tail: tail, cycle: cycle, progress: progress)
        }
    }

    /// Renders until a condition is true, and writes it.
    ///
    ///     try await output.run(until: { renderer.sampleTime >= 480_000 }, tail: Silence())
    ///
    /// - Parameters:
    ///   - isDone: Asked before each cycle, on the thread that renders.
    ///   - tail: The silence that must come before the run ends.
    ///   - cycle: Frames in a cycle: how exactly the condition is met.
    ///   - progress: A closure that gets the progress, as above.
    /// - Returns: The frames that this run has written.
    /// - Throws: The errors of ``run(for:tail:cycle:progress:)``.
    @discardableResult
    public func run(
        until isDone: @escaping @Sendable () -> Bool, tail: Silence? = nil, cycle: Int = 512,
        progress: (@Sendable (Progress) -> Void)? = nil
    ) async throws -> Int64 {
        try await session.work {
            try $0.run(frames: nil, until: isDone, tail: tail, cycle: cycle, progress: progress)
        }
    }

    /// Renders for a time without writing: delays fill up, and players reach their places.
    ///
    /// - Throws: `CancellationError` if the task was cancelled, `OutputError` if another output drives the renderer, or if
    ///   the task was cancelled and the render loop does not end.
    public func preroll(for duration: Duration) async throws {
        let frames = duration.frames(at: sampleRate)
        try await session.work { try $0.preroll(frames: frames) }
    }

    /// Closes the files. A second call does nothing.
    ///
    /// - Throws: An ``AudioFileError`` for frames that could not be written or stored. An error that a run threw is not
    ///   thrown again, unless it was about a render loop that does not end.
    public func finish() async throws {
        try await session.work { try $0.finish() }
    }
}

/// The condition that ``FileOutput`` takes for silence: every channel is below a level for a while.
///
/// Threads: control.
public struct Silence: Sendable, Hashable {
    /// Peaks below this are silence.
    public var level: Float
    /// The time for which the sound must be silent: longer than the pause between two echoes.
    public var window: Duration
    /// The longest time to wait for it.
    public var longest: Duration

    /// Creates a condition; by default half a second below -80 dB, for which a run waits at most ten seconds.
    public init(
        level: Float = 1e-4, window: Duration = .milliseconds(500), longest: Duration = .seconds(10)
    ) {
        self.level = level
        self.window = window
        self.longest = longest
    }
}

extension Duration {
    /// Returns the duration in frames, to the nearest one; 0 for a negative time.
    fileprivate func frames(at rate: Double) -> Int64 {
        if self <= .zero { return 0 }
        let (seconds, rest) = min(self, .seconds(Int64.max)).components
        // Apart, so that a long time keeps its precision.
        let frames = Double(seconds) * rate + (Double(rest) * 1e-18 * rate)
        return frames < 9e18 ? Int64(frames.rounded()) : .max
    }
}
