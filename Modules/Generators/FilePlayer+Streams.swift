public import AudioFiles
public import RenderCore
internal import Synchronization

// The streams behind a player: made on the control side, filled by the disk thread, let go of when nobody hears them.

extension FilePlayer {
    /// How many streams there are, for tests.
    package var streamCount: Int { control.withLock { $0.streams.count } }

    func nextNumber() -> Int { commands.wrappingAdd(1, ordering: .relaxed).newValue }

    /// The stream that is heard: the first one of its file.
    func heard(_ control: Control) -> DiskStream? {
        let now = playhead.load()
        switch now.phase {
        case .idle: return nil
        case .playing, .paused: return control.streams.first { $0.id == now.item }
        }
    }

    /// A stream of a file from a frame on, with its first frames in it.
    func makeStream(_ file: StreamFile, from frame: Int64, _ control: Control? = nil) -> DiskStream {
        let control = control ?? self.control.withLock { $0 }
        let region = file === self.file ? control.region : 0..<file.frameCount
        let start = max(region.lowerBound, min(frame, region.upperBound))
        return makeStream(file, region, start, control.loops.passes, control.sampleRate)
    }

    private func makeStream(
        _ file: StreamFile, _ region: Range<Int64>, _ start: Int64, _ passes: Int64, _ rate: Double
    ) -> DiskStream {
        let geometry = StreamGeometry(
            lower: region.lowerBound, upper: region.upperBound, start: start, passes: passes,
            fileRate: file.sampleRate, outputRate: rate)
        let stream = DiskStream(file, geometry, channels: channelCount, sampleRate: rate, seconds: seconds)
        // A tenth of a second or more: the disk thread goes on from there.
        stream.fill(frames: Int(rate / 10))
        return stream
    }

    /// Has a stream served from now on, with all that follows on it.
    func adopt(_ stream: DiskStream, _ control: inout Control) {
        prune(&control)
        control.streams.append(stream)
        if let next = control.upcoming.first { stream.setNext(next) }
        prepareLoops(&control)
    }

    /// Lets go of streams that nobody hears or can hear any more.
    func prune(_ control: inout Control) {
        let count = control.upcoming.count
        // From the end, and with all before it: the next one may begin while this looks, and none may stay behind one
        // that has begun, so that what leads from one to the next never leads back.
        if let last = control.upcoming.lastIndex(where: \.wasBegun) { control.upcoming.removeFirst(last + 1) }
        let prepared = control.prepared?.id
        let upcoming = Set(control.upcoming.map(\.id))
        if control.upcoming.count < count {
            // Nothing leads to what has been heard any more, so that a long list does not stay in memory.
            for stream in control.streams where !upcoming.contains(stream.id) {
                stream.setNext(control.upcoming.first)
            }
        }
        control.streams.removeAll { stream in
            if stream.isInUse || stream.id == prepared || upcoming.contains(stream.id) { return false }
            tellFailure(of: stream)
            return true
        }
        control.looping.formIntersection(control.streams.map(\.id))
    }

    /// Sees to it that streams that end, and are to be heard again, have something to go on with.
    func prepareLoops(_ control: inout Control) {
        for stream in control.streams {
            let geometry = stream.geometry
            guard geometry.passes < control.loops.passes, geometry.length > 0,
                control.looping.insert(stream.id).inserted
            else { continue }
            let rate = Double(geometry.up) / Double(geometry.down) * stream.file.sampleRate
            let again = makeStream(
                stream.file, geometry.lower..<geometry.upper, geometry.lower, .max, rate)
            control.streams.append(again)
            control.looping.insert(again.id)
            stream.setAgain(again)
        }
    }

    /// Makes streams for files of the queue, until enough is ready for as long as the ring lasts.
    func lengthenQueue(_ control: inout Control) {
        prune(&control)
        while let file = control.waiting.first, control.upcoming.count < 256 {
            let ready = control.upcoming.reduce(0.0) { $0 + Double($1.file.frameCount) / $1.file.sampleRate }
            if ready >= seconds { return }
            control.waiting.removeFirst()
            let stream = makeStream(file, from: 0, control)
            let last = control.upcoming.last.map { [$0] }
            for predecessor in last ?? control.streams { predecessor.setNext(stream) }
            control.upcoming.append(stream)
            control.streams.append(stream)
            prepareLoops(&control)
        }
    }

    /// Reads so much for every stream that a slice can take its frames.
    func fillAll(frames: Int) {
        let streams = control.withLock { control in
            lengthenQueue(&control)
            prepareLoops(&control)
            return control.streams
        }
        for stream in streams { stream.fill(atLeast: frames) }
    }

    /// Makes the streams anew where the renderer has another rate than they were made for.
    public func prepare(_ preparation: Preparation) {
        let frame = currentFrame
        let isOther = control.withLock { control in
            guard control.sampleRate != preparation.sampleRate else { return false }
            control.sampleRate = preparation.sampleRate
            control.prepared = nil
            prune(&control)
            let files = control.upcoming.map(\.file)
            control.waiting = files + control.waiting
            control.upcoming = []
            for stream in control.streams { stream.setNext(nil) }
            lengthenQueue(&control)
            return true
        }
        if isOther { seek(to: frame) }
    }
}

// MARK: - The disk thread

extension FilePlayer: DiskClient {
    /// What happens from now on.
    public var events: AsyncStream<FilePlayerEvent> {
        let stream = hub.subscribe()
        DiskThread.shared.wake()
        return stream
    }

    package func serveDisk() -> DiskNeed {
        let streams = control.withLock { control in
            lengthenQueue(&control)
            prepareLoops(&control)
            return control.streams
        }
        var need = isQuiet ? DiskNeed.none : .soon
        let isDriven = isDriven()
        for stream in streams {
            if !isDriven && stream.fill(frames: 8_192) >= 8_192 { need = .more }
            tellFailure(of: stream)
        }
        tell(streams)
        return need
    }

    /// Whether somebody renders offline just now, and faster than is heard: he reads for himself, what is then warm in his
    /// processor's cache.
    private func isDriven() -> Bool {
        let now = playhead.load()
        let before = lastLook.exchange(now.frame, ordering: .relaxed)
        switch now.phase {
        case .playing: return now.sliceLength == 0 && now.frame != before
        case .idle, .paused: return false
        }
    }

    /// Tells why a stream is shorter than it should be, once it is heard: what is read ahead may never be.
    private func tellFailure(of stream: DiskStream) {
        if stream.wasBegun, let failure = stream.takeFailure() { hub.send(.failed(failure)) }
    }

    /// Passes on what the render thread has left.
    private func tell(_ streams: [DiskStream]) {
        func tellLoops() {
            let counts = takeCounts()
            if counts.seams > 0 { hub.send(.looped(count: counts.seams)) }
            if counts.missing > 0 { hub.send(.underrun(frames: counts.missing)) }
        }
        port.notices.drain { notice in
            switch notice.kind {
            case .began: hub.send(.began(notice.time))
            case .advanced:
                tellLoops()
                let path = streams.first { $0.id == notice.stream }?.file.path
                hub.send(.advanced(path: path ?? file.path))
            case .paused: hub.send(.paused)
            case .resumed: hub.send(.resumed)
            case .stopped, .ended:
                tellLoops()
                hub.send(notice.kind == .ended ? .ended : .stopped)
            }
        }
        tellLoops()
    }
}
