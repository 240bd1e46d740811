public import AudioFiles
public import RenderCore
internal import Synchronization

extension FilePlayer {
    /// How often the region is heard.
    public enum Loops: Sendable, Hashable {
        /// Once.
        case off
        /// So many times.
        case times(Int)
        /// Until something else is said.
        case forever

        var passes: Int64 {
            switch self {
            case .off: 1
            case .times(let count): Int64(max(1, count))
            case .forever: .max
            }
        }
    }

    /// What control code keeps. Under its lock.
    struct Control {
        var region: Range<Int64>
        /// The renderer's rate.
        var sampleRate: Double
        /// The stream that the next start takes, if it is at hand.
        var prepared: DiskStream?
        /// Every stream that may still be heard.
        var streams: [DiskStream] = []
        /// Files of the queue that have streams and have not begun, in order; and those that wait for one.
        var upcoming: [DiskStream] = []
        var waiting: [StreamFile] = []
        /// The streams that already have another one to go on with, round the loop.
        var looping: Set<Int> = []
        var lastStart = 0
        var loops = Loops.off
    }

    // MARK: Start and stop

    /// Plays from the beginning of the region, or from where ``seek(to:)`` has put it since.
    ///
    /// A player that plays begins anew. One start can be waited for at a time: a later one takes the place of an earlier
    /// one. A time that has passed makes it begin further on, where it would be by now, also in the files of the queue.
    ///
    /// - Parameter time: when; as soon as possible if nothing is said.
    public func play(at time: RenderTime = .immediately) {
        control.withLock { control in
            let stream = control.prepared ?? makeStream(file, from: control.region.lowerBound, control)
            control.prepared = nil
            control.lastStart = nextNumber()
            adopt(stream, &control)
            starts.set(StreamCue(stream, number: control.lastStart, time: time))
        }
        DiskThread.shared.wake()
    }

    /// Stops, and goes back to the beginning of the region. What is waiting to begin does not.
    public func stop(at time: RenderTime = .immediately) { stops.set(TimedCue(number: nextNumber(), time: time)) }

    /// Rests where it is.
    public func pause(at time: RenderTime = .immediately) { pauses.set(TimedCue(number: nextNumber(), time: time)) }

    /// Goes on from where it rests.
    public func resume(at time: RenderTime = .immediately) { resumes.set(TimedCue(number: nextNumber(), time: time)) }

    /// Goes to a frame of the file: at once if it plays or rests, with the next start if not.
    ///
    /// - Parameter frame: a frame of the region; one outside becomes the nearest inside.
    public func seek(to frame: Int64) {
        control.withLock { control in
            let current = heard(control)
            let stream = makeStream(current?.file ?? file, from: frame, control)
            adopt(stream, &control)
            if current != nil || isStarting(control.lastStart) {
                control.prepared = nil
                seeks.set(StreamCue(stream, number: nextNumber()))
            } else {
                control.prepared = stream
            }
        }
        DiskThread.shared.wake()
    }

    /// Whether it plays. One that rests, or waits for its time, does not.
    public var isPlaying: Bool {
        switch playhead.load().phase {
        case .playing: true
        case .idle, .paused: false
        }
    }

    /// Whether it rests.
    public var isPaused: Bool {
        switch playhead.load().phase {
        case .paused: true
        case .idle, .playing: false
        }
    }

    /// Waits until it does not play any more: until it has ended or was stopped. A player that has not begun yet is
    /// waited for too, one that nobody has started is not.
    public func waitUntilStopped() async {
        // Listening first, so that nothing happens in between.
        let events = self.events
        let isActive = control.withLock { heard($0) != nil || isStarting($0.lastStart) }
        if !isActive { return }
        for await event in events {
            switch event {
            case .ended, .stopped: return
            default: continue
            }
        }
    }

    /// Whether the sound is switched off, with a short fade.
    public var isMuted: Bool {
        get { mute.value > 0 }
        set { mute.value = newValue ? 1 : 0 }
    }

    // MARK: Region and loop

    /// The frames of the file that are played. Setting it while it plays goes on from the frame that is heard, or the
    /// nearest one inside.
    public var region: Range<Int64> {
        get { control.withLock { $0.region } }
        set {
            let frame = currentFrame
            let isHeard = control.withLock { control in
                let lower = max(0, min(newValue.lowerBound, file.frameCount))
                control.region = lower..<max(lower, min(newValue.upperBound, file.frameCount))
                control.prepared = nil
                return heard(control)?.file === file || isStarting(control.lastStart)
            }
            if isHeard { seek(to: frame) }
        }
    }

    /// Where the region begins, in seconds. It keeps its length, as far as the file goes.
    public var regionStart: Double {
        get { Double(region.lowerBound) / file.sampleRate }
        set {
            let start = frames(newValue)
            region = start..<max(start, start + Int64(region.count))
        }
    }

    /// How long the region is, in seconds.
    public var regionDuration: Double {
        get { Double(region.count) / file.sampleRate }
        set { region = region.lowerBound..<(region.lowerBound + frames(newValue)) }
    }

    /// How often the region is heard. It can be changed while it plays: what is heard then is heard to the end of the
    /// region at least. Loops are seamless: the region's first frame follows on its last. A file of the queue is looped
    /// as a whole.
    public var loops: Loops {
        get { control.withLock { $0.loops } }
        set {
            control.withLock { control in
                control.loops = newValue
                prepareLoops(&control)
                passes.set(newValue.passes)
            }
            DiskThread.shared.wake()
        }
    }

    // MARK: Position

    /// The frame of the file that is heard now, reckoned from the last cycle by the clock; offline and at rest the next
    /// one. Where nothing plays, the one that it would begin with.
    public var currentFrame: Int64 {
        let now = playhead.load()
        switch now.phase {
        case .idle: return control.withLock { $0.prepared?.geometry.start ?? $0.region.lowerBound }
        case .playing, .paused:
            let time = max(now.hostTime - now.sliceLength, min(HostClock.now, now.hostTime))
            return now.position(at: now.sliceLength == 0 ? now.hostTime : time)
        }
    }

    /// The same in seconds. Setting it is a ``seek(to:)``.
    public var currentTime: Double {
        get { Double(currentFrame) / (control.withLock { heard($0) }?.file ?? file).sampleRate }
        set { seek(to: frames(newValue)) }
    }

    /// The frame of the file that is heard at a host time: reckoned from the last cycle, round the loop or up to the end.
    /// Also on a render thread.
    @_noLocks @_noAllocation
    public func playhead(at hostTime: Int64) -> Int64 { playhead.load().position(at: hostTime) }

    private func frames(_ seconds: Double) -> Int64 {
        let frames = (seconds * file.sampleRate).rounded()
        return frames > 0 ? Int64(min(frames, Double(file.frameCount))) : 0
    }

    // MARK: Queue

    /// Has a file played on the frame after the last, whatever its format and rate. Its channels meet those of the player
    /// by the rule of `AudioBlock`. Each file of the queue is heard once; a player that loops for ever does not come to it
    /// until ``loops`` says otherwise.
    ///
    /// - Throws: why the file cannot be played.
    public func enqueue(path: String) throws(AudioFileError) { enqueue(try StreamFile(path: path)) }

    package func enqueue(_ file: StreamFile) {
        control.withLock { control in
            control.waiting.append(file)
            lengthenQueue(&control)
        }
        DiskThread.shared.wake()
    }

    /// Files of the queue that have not begun.
    public var queue: [String] {
        control.withLock { control in
            control.upcoming.filter { !$0.wasBegun }.map(\.file.path) + control.waiting.map(\.path)
        }
    }

    /// Empties the queue. What has begun is heard to its end.
    public func clearQueue() {
        control.withLock { control in
            control.waiting = []
            control.upcoming = []
            for stream in control.streams { stream.setNext(nil) }
        }
    }
}
