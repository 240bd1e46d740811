public import AudioFiles
package import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

/// Plays sound that arrives bit by bit: a pipe, a socket, the memory. Pushes a buffer of its channels.
///
///     let radio = StreamPlayer(channels: 2, ahead: 0.5)
///     let renderer = try Renderer { context in
///         context.run(radio)                                              // pushes 1
///         context.output()
///     }
///     radio.play(AudioBytes(fileDescriptor: socket, name: "radio"))
///     for await event in radio.events { print(event) }
///
/// A thread of the player's own waits for the bytes, decodes them, and brings them to the renderer's rate; what formats it
/// takes says ``/AudioFiles/AudioStreamReader``. The sound begins when ``ahead`` seconds have come, or all of it. If then no more comes in
/// time, the player fades out, is silent until as much has come again, and goes on where it was; ``events`` says so. It
/// takes no more of the stream than twice ``ahead``: a sender that is faster has to wait.
///
/// A stream has no way back: for pauses, seeks and loops read it into a ``Sound``, or write it into a file for a
/// ``FilePlayer``. Rendered offline, the player waits for the bytes, up to ten seconds at a time.
///
/// Threads: control.
public final class StreamPlayer: Generator, StreamingModule, EventSource {
    /// Seconds that must have come before they are heard.
    public let ahead: Double
    /// Channels of the buffer.
    public let channelCount: Int
    /// The name of the player in faults and statistics.
    public let name: String

    private let line: LiveLine
    /// The ring that the render thread reads.
    private let cue: ManagedValue<LiveCue>
    private let hub = EventHub<StreamPlayerEvent>()
    private let control: Lock<Control>
    /// The number of the last start, and of the one with which the render thread is through.
    private let started = Atomic<Int>(0)
    private let done = Atomic<Int>(0)
    private let missing = Atomic<Int>(0)
    /// The frames that had come when an offline renderer gave a sender up.
    private let stalled = Atomic<Int>(-1)
    private let state = RenderState(StreamPlayback())

    private struct Control {
        var stream: LiveStream?
        /// The ring that is shown to the render thread.
        var shown: LiveRing
        var info: AudioStreamInfo?
        /// The times that the stream ran dry and went on, as far as they have been reported.
        var dried = 0
        var resumed = 0
        /// The ring of those times.
        var ring: LiveRing?
    }

    /// Creates a player without a stream.
    ///
    /// - Parameters:
    ///   - channels: Channels of the buffer, 1…64; those of the stream meet them by the rule of `AudioBlock`.
    ///   - ahead: Seconds that must have come before they are heard, 0.01…60. A number outside becomes the nearest one, with
    ///     a notice on standard error.
    ///   - name: The name in faults and statistics.
    /// - Precondition: The number of channels is in range.
    public init(channels: Int = 2, ahead: Double = 0.5, name: String = "StreamPlayer") {
        demand(channels >= 1 && channels <= 64, "StreamPlayer has 1 to 64 channels, not \(channels)")
        channelCount = channels
        self.ahead = nearest(
            to: ahead, in: 0.01...60, insteadOfNaN: 0.5, "StreamPlayer: \(ahead) s ahead; it must be 0.01…60")
        self.name = name
        line = LiveLine(channels: channels)
        cue = ManagedValue(LiveCue(line.ring))
        control = Lock(Control(shown: line.ring), .module)
    }

    deinit { control.withLock { $0.stream }?.stop() }

    /// The parameters by name: none.
    public var parameters: [ParameterReference] { [] }

    // MARK: Control

    /// Plays a stream from now on, in the place of the one that plays. It returns at once; ``events`` tells how it goes on, and
    /// also if the bytes are no sound.
    ///
    /// It takes no part in a transaction: when a stream is heard depends on its sender.
    ///
    /// - Parameter bytes: The stream, which nobody has read yet.
    public func play(_ bytes: AudioBytes) {
        let (old, new) = control.withLock { control in
            let number = started.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
            stalled.store(-1, ordering: .relaxed)
            let new = LiveStream(bytes, number: number, on: line, seconds: ahead)
            let old = control.stream
            control = Control(stream: new, shown: control.shown, info: control.info)
            return (old, new)
        }
        if let old {
            old.stop()
            hub.send(.stopped)
        }
        new.start()
        DiskThread.shared.add(self)
    }

    /// Stops, with a fade of 5 ms. Nothing more is read of the stream.
    public func stop() {
        control.withLock { $0.stream }?.stop()
        DiskThread.shared.wake()
    }

    /// The events from now on.
    public var events: AsyncStream<StreamPlayerEvent> { hub.subscribe() }

    /// Indicates whether a stream was started, and has neither ended nor been stopped: it is heard, or waited for.
    public var isStarted: Bool { control.withLock { $0.stream != nil } }

    /// Indicates whether the player plays: whether a stream is heard. A player that waits for one does not.
    public var isPlaying: Bool { line.ring.isSounding }

    /// The information about the sound that is heard, or was heard last; `nil` before the first.
    public var info: AudioStreamInfo? { control.withLock { $0.info } }

    /// The number of frames that were silent because the stream came too late.
    public var underrunCount: Int { missing.load(ordering: .relaxed) }

    /// Seconds of sound that have come and have not been heard.
    public var waiting: Double {
        let ring = line.ring
        return Double(ring.count) / ring.sampleRate
    }

    /// Notes the renderer's rate. What waits at another rate is left out.
    public func prepare(_ preparation: Preparation) { line.prepare(preparation) }

    /// Shows the newest ring to the render thread. Not on a live one.
    private func show() {
        control.withLock { control in
            let (ring, shown) = (line.ring, control.shown)
            if shown === ring { return }
            // The sound of an earlier start fades out first.
            if shown.number != ring.number && shown.isSounding && !shown.isDone { return }
            control.shown = ring
            cue.set(LiveCue(ring))
        }
    }

    // MARK: Render thread

    /// Pushes a slice of the stream.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) {
        context.push(channels: channelCount)
        guard state.belongs(to: context) else { return }
        var playback = state.read(context)
        cue.with(&context) { cue, context in playback.play(cue.reference, &context) }
        if playback.missing > 0 { missing.wrappingAdd(playback.missing, ordering: .relaxed) }
        if playback.doneNumber > 0 { done.store(playback.doneNumber, ordering: .releasing) }
        state.write(playback, context)
    }

    /// Falls silent at once, and stops.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func reset(_ context: inout RenderContext) {
        guard state.belongs(to: context) else { return }
        var playback = state.read(context)
        cue.with(&context) { cue, _ in playback.reset(cue.reference) }
        if playback.doneNumber > 0 { done.store(playback.doneNumber, ordering: .releasing) }
        state.write(playback, context)
    }

    /// Returns whether a stream plays, or is waited for.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func isActive(_ context: borrowing RenderContext) -> Bool {
        done.load(ordering: .acquiring) != started.load(ordering: .acquiring)
    }

    /// Waits until the frames of the slice have come, or none has for ten seconds.
    ///
    /// Threads: render.
    public func awaitDisk(_ context: inout RenderContext) {
        guard state.belongs(to: context) else { return }
        let number = started.load(ordering: .acquiring)
        let wanted = context.frameCount + StreamPlayback.fade(context.sampleRate)
        var (before, waits) = (-1, 0)
        while done.load(ordering: .acquiring) != number {
            let ring = line.ring
            let count = ring.number == number ? ring.count : 0
            let isOver = ring.number == number && ring.isOver
            if isOver || ring.number == number && count >= max(wanted, ring.needed) { return show() }
            // A sender for whom it has waited in vain keeps no later slice waiting.
            if waits == 0 && count == stalled.load(ordering: .relaxed) { return }
            waits = count == before ? waits + 1 : 0
            if waits == 5_000 { return stalled.store(count, ordering: .relaxed) }
            before = count
            LiveRing.rest()
        }
    }
}

extension StreamPlayer: DiskClient {
    /// Reports how the stream goes on. On the disk thread.
    package func serveDisk() -> DiskNeed {
        show()
        guard let stream = control.withLock({ $0.stream }) else { return .none }
        var events: [StreamPlayerEvent] = []
        // In this order: what is over or through says nothing more.
        let isOver = stream.isOver
        // A stream that was stopped is over, also if no renderer runs, or its sender says nothing.
        let wasStopped = stream.wasStopped
        let ring = stream.ring
        let isDone = ring?.isDone ?? true
        let sounds = stream.takeSounds()
        events += sounds.map { .began($0) }
        let isCurrent = control.withLock { control in
            if control.stream !== stream { return false }
            if let last = sounds.last { control.info = last }
            if control.ring !== ring { (control.ring, control.dried, control.resumed) = (ring, 0, 0) }
            if let ring {
                let resumed = ring.resumedCount
                let dried = ring.driedCount
                while control.dried < dried || control.resumed < resumed {
                    if control.dried <= control.resumed {
                        events.append(.ranDry)
                        control.dried += 1
                    } else {
                        events.append(.wentOn)
                        control.resumed += 1
                    }
                }
            }
            if wasStopped || isOver && isDone { control.stream = nil }
            return true
        }
        if !isCurrent { return .none }
        if wasStopped || isOver && isDone {
            let failure = stream.takeFailure()
            events.append(failure.map { .failed($0) } ?? (wasStopped ? .stopped : .ended))
        } else if isDone, ring != nil {
            // A reset ended it.
            stream.stop()
        }
        for event in events { hub.send(event) }
        return .soon
    }
}

extension StreamPlayer: EndingModule {
    /// Indicates whether nothing is heard, and nothing is about to be.
    package var isAtRest: Bool { done.load(ordering: .acquiring) == started.load(ordering: .acquiring) }
}
