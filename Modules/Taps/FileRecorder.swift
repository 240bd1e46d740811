public import AudioFiles
package import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

/// Records the sound that it hears into a file. Reads the top, and never changes it.
///
///     let recorder = try FileRecorder(path: "take.wav")
///     …
///     context.run(recorder)
///     …
///     recorder.begin(at: .now + .seconds(1))              // on that frame
///     recorder.stop(at: .now + .seconds(11))
///     try await recorder.waitUntilFinished()              // the file is closed
///
/// A take begins and ends on the frame that is asked for, however far ahead, by the time stamp of the buffer that it
/// hears. The render thread copies into a ring of four seconds, and one thread writes for all recorders. If the disk is
/// slower than that, the take has silence in the place of the lost frames: counted in ``gapCount``, and reported as an
/// event.
///
/// A buffer with fewer channels than the file repeats its last one; a file of one channel gets the sum of all. A file has one
/// sample rate: if the renderer gets another one, the take goes on in a new file, without a gap, and an event says so.
///
/// Threads: control.
public final class FileRecorder: Tap, StreamingModule, EventSource {
    /// Channels of its files.
    public let channelCount: Int
    /// The format of its files; `nil` for the format that their names stand for.
    public let format: AudioFileFormat?

    let isMultiSource: Bool
    let ringSeconds: Double
    let control: Lock<Control>
    let hub = EventHub<FileRecorderEvent>()
    let openSink: OpenSink
    let begins = ManagedValue(DiskCue())
    let stops = ManagedValue(DiskCue())
    let sequels = ManagedValue(DiskCue())
    let commands = Atomic<Int>(0)
    private let state = RenderState(Recording())

    typealias OpenSink = @Sendable (String, Double) throws(AudioFileError) -> any StreamSink

    /// Creates the file of the first take, or empties the one that is there.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - format: The format of the samples; by default the one that the extension stands for.
    ///   - channels: Of the file, 1…64.
    ///   - isMultiSource: `true` to mix the buffers of several `context.run(recorder)` in one slice.
    ///   - ringSeconds: For how long the disk may keep it waiting, 0.25…60.
    /// - Throws: An error if the file cannot be written.
    /// - Precondition: The numbers are in range.
    public convenience init(
        path: String, format: AudioFileFormat? = nil, channels: Int = 2, isMultiSource: Bool = false,
        ringSeconds: Double = 4
    ) throws(AudioFileError) {
        try self.init(
            path: path, format: format, channels: channels, isMultiSource: isMultiSource, ringSeconds: ringSeconds,
            openSink: { (path, rate) throws(AudioFileError) in
                try FileSink(path: path, format: format, sampleRate: rate, channels: channels)
            })
    }

    /// Creates a recorder for any sink that can be written to.
    package init(
        path: String, format: AudioFileFormat? = nil, channels: Int = 2, isMultiSource: Bool = false,
        ringSeconds: Double = 4, openSink: @escaping @Sendable (String, Double) throws(AudioFileError) -> any StreamSink
    ) throws(AudioFileError) {
        demand((1...64).contains(channels), "FileRecorder: \(channels) channels; it must be 1…64")
        demand(
            ringSeconds >= 0.25 && ringSeconds <= 60, "FileRecorder: a ring of \(ringSeconds) s; it must be 0.25…60")
        self.channelCount = channels
        self.format = format
        self.isMultiSource = isMultiSource
        self.ringSeconds = ringSeconds
        self.openSink = openSink
        control = Lock(Control(path: path), .module)
        let first = try makeTake(path, Control(path: path))
        control.withLock {
            $0.armed = first
            $0.takes = [first]
        }
        DiskThread.shared.add(self)
    }

    deinit {
        for take in control.withLock({ $0.takes }) { take.close() }
        hub.finish()
    }

    // MARK: Render thread

    /// `true` for a recorder of several sources, which mixes what it hears in a slice.
    public var isRepeatable: Bool { isMultiSource }

    /// The render thread's own state.
    private struct Recording: Sendable {
        /// The take that is recorded.
        var take: TakeReference?
        /// A take that has ended in this slice; other buffers of the slice may still belong to it.
        var ended: TakeReference?
        var first = 0
        var end = 0
        var endedFirst = 0
        var endedEnd = 0
        /// The slice.
        var sampleTime: Int64 = .min
        var begin = DiskCommand()
        var stop = DiskCommand()
        /// The take that goes on with the sound of another one waits for its rate.
        var sequel = DiskCommand()
        /// Indicates whether another rate has ended the take, and the one that goes on has not come yet.
        var isCut = false
    }

    /// Records the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        guard state.belongs(to: context) else { return }
        var recording = state.read(context)
        let isMixed = isMultiSource
        if !isMixed || recording.sampleTime != context.sampleTime {
            recording.sampleTime = context.sampleTime
            decide(&recording, &context)
        }
        if let take = recording.ended { take.hear(context, from: recording.endedFirst, to: recording.endedEnd) }
        if let take = recording.take { take.hear(context, from: recording.first, to: recording.end) }
        if !isMixed, let take = recording.ended {
            take.end()
            recording.ended = nil
        }
        state.write(recording, context)
    }

    /// Finds out which frames of the slice belong to which take.
    @_noLocks @_noAllocation
    private func decide(_ recording: inout Recording, _ context: inout RenderContext) {
        if let take = recording.ended { take.end() }
        recording.ended = nil
        if let take = recording.take, take.isClosed || take.sampleRate != context.sampleRate {
            recording.isCut = !take.isClosed
            if recording.isCut { take.cut() } else { take.end() }
            recording.take = nil
        }
        let count = context.frameCount
        let stamp = context.top.time
        recording.first = 0
        recording.end = count

        var beginAt = count
        var next: TakeReference?
        begins.with(&context) { cue, _ in recording.begin.look(at: cue) }
        if recording.begin.isWaiting, let take = recording.begin.take, take.sampleRate == context.sampleRate {
            beginAt = frame(of: recording.begin, stamp, context)
            if beginAt < count { next = take }
        }
        stops.with(&context) { cue, _ in recording.stop.look(at: cue) }
        let stopAt = recording.stop.isWaiting ? frame(of: recording.stop, stamp, context) : count
        goOn(&recording, recording.isCut && stopAt > 0, at: stamp, &context)
        // In the order in which they are due, and where that is the same, in which they were given.
        let isStopFirst = stopAt < beginAt || stopAt == beginAt && recording.stop.number < recording.begin.number
        if isStopFirst { stop(&recording, at: stopAt, next: nil, context) }
        if beginAt < count, let next {
            recording.begin.isWaiting = false
            if !next.hasBegun, !next.isClosed, next.begin(at: time(of: beginAt, stamp, context)) {
                close(&recording, at: beginAt, context)
                recording.take = next
                recording.isCut = false
                recording.first = beginAt
                recording.end = count
            }
        }
        if !isStopFirst { stop(&recording, at: stopAt, next: next, context) }
    }

    /// Returns the frame of this slice at which a command is due; the number of its frames if it is later.
    @_noLocks @_noAllocation
    private func frame(of command: DiskCommand, _ stamp: RenderTime, _ context: borrowing RenderContext) -> Int {
        let distance = context.frames(from: stamp, until: command.time)
        return distance <= 0 ? 0 : distance < Int64(context.frameCount) ? Int(distance) : context.frameCount
    }

    /// Goes on with the sound of a take that another sample rate has cut, in the file that waits for that rate.
    @_noLocks @_noAllocation
    private func goOn(
        _ recording: inout Recording, _ isWanted: Bool, at stamp: RenderTime, _ context: inout RenderContext
    ) {
        sequels.with(&context) { cue, _ in recording.sequel.look(at: cue) }
        guard recording.sequel.isWaiting, let next = recording.sequel.take, next.sampleRate == context.sampleRate else {
            return
        }
        recording.sequel.isWaiting = false
        guard !next.hasBegun && !next.isClosed else { return }
        if isWanted {
            // If it is called off at this moment, another one comes.
            guard next.begin(at: time(of: 0, stamp, context)) else { return }
            recording.isCut = false
            recording.take = next
        } else {
            next.end()
        }
    }

    @_noLocks @_noAllocation
    private func stop(
        _ recording: inout Recording, at frame: Int, next: TakeReference?, _ context: borrowing RenderContext
    ) {
        guard frame < context.frameCount else { return }
        recording.stop.isWaiting = false
        recording.isCut = false
        // A start that was asked for before, and has not come yet, does not come.
        if recording.begin.isWaiting && recording.begin.number < recording.stop.number && next == nil {
            recording.begin.isWaiting = false
            recording.begin.take?.end()
        }
        close(&recording, at: frame, context)
    }

    /// Ends the take at a frame of this slice.
    @_noLocks @_noAllocation
    private func close(_ recording: inout Recording, at frame: Int, _ context: borrowing RenderContext) {
        guard let take = recording.take else { return }
        if let other = recording.ended {
            other.hear(context, from: recording.endedFirst, to: recording.endedEnd)
            other.end()
        }
        recording.ended = take
        recording.endedFirst = recording.first
        recording.endedEnd = frame > recording.first ? frame : recording.first
        recording.take = nil
    }

    @_noLocks @_noAllocation
    private func time(of frame: Int, _ stamp: RenderTime, _ context: borrowing RenderContext) -> RenderTime {
        let host = (stamp.hostTime ?? context.hostTime) &+ Int64(Double(frame) * 1e9 / context.sampleRate)
        return RenderTime(sampleTime: (stamp.sampleTime ?? context.sampleTime) &+ Int64(frame), hostTime: host)
    }

    // MARK: Offline

    /// Writes until the ring has room for the slice.
    ///
    /// Threads: render.
    public func awaitDisk(_ context: inout RenderContext) {
        for take in control.withLock({ $0.takes }) {
            take.makeRoom(frames: context.frameCount) { tell($0, of: take) }
        }
    }
}
