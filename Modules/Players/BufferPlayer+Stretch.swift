internal import AudioFiles
package import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

// Streams: of files, and of sounds in memory that are stretched on their way to the render thread.

extension BufferPlayer: StretchingPlayer {
    /// The values of ``StretchingPlayer/rate``, ``StretchingPlayer/pitch`` and ``StretchingPlayer/keepsFormants``.
    public var stretching: (rate: Double, pitch: Double, keepsFormants: Bool) {
        control.withLock { $0.stretching.values }
    }

    /// Sets several of tempo, pitch and formants as one change: see ``StretchingPlayer``.
    public func stretch(rate: Double? = nil, pitch: Double? = nil, keepsFormants: Bool? = nil) {
        let isLive = control.withLock { control -> Bool? in
            let before = control.streams
            guard let old = control.stretching.set(rate, pitch, keepsFormants) else { return nil }
            let new = control.stretching.stretch
            stage(&control) { control in
                if control.stretching.stretch == new { (control.stretching.stretch, control.streams) = (old, before) }
            }
            if OpenTransaction.exists { return false }
            control.stretching.isPending = true
            return self.isLive.load(ordering: .relaxed) && isPlaying
        }
        guard let isLive else { return }
        beginStreaming()
        // Rendered offline, or while nothing is heard, no control is waiting for a knob to move on.
        if !isLive { provide() }
        DiskThread.shared.wake()
    }

    /// The number of frames that were silent because a file was not read, or a sound not stretched, in time. See
    /// ``FilePlayer/stretchedPlayerLimit`` for how many stretching players the processors can bear.
    public var underrunCount: Int { missing.load(ordering: .relaxed) }

    // MARK: Streams

    /// The number of streams, for tests.
    package var streamCount: Int { control.withLock { $0.allStreams.count } }

    /// The frames that the render thread finds in each stream at least, for tests; without a stream it wants none.
    package var framesAhead: Int64 { control.withLock { $0.streams.values.map(\.ahead).min() ?? .max } }

    /// Sounds that are made ready ahead: so many seconds of them, and so many at least and at most.
    private static var secondsAhead: Double { 1 }
    private static var fewest: Int { 4 }
    static var most: Int { 16 }
    private static var mostUnstretched: Int { 256 }

    /// Has the disk thread look after the player from now on.
    func beginStreaming() {
        if !streams.exchange(true, ordering: .acquiringAndReleasing) { DiskThread.shared.add(self) }
    }

    /// Makes what is missing, unless a change was made just before. On the disk thread, which comes by again.
    private func provideSoon() {
        let isDue = control.withLock { control in
            if next(in: control).tickets.isEmpty {
                control.stretching.isPending = false
                return false
            }
            return !control.stretching.isPending || control.stretching.isDue
        }
        if isDue { provide() }
    }

    /// Makes the streams that are missing, or have another tempo or pitch than is wanted.
    ///
    /// - Parameters:
    ///   - seconds: For how long they are to last.
    ///   - most: The largest number of sounds that are looked at.
    /// - Returns: `false` if they do not last for so long.
    @discardableResult
    func provide(seconds: Double = BufferPlayer.secondsAhead, most: Int? = nil) -> Bool {
        if !streams.load(ordering: .acquiring) { return true }
        let isOpen = OpenTransaction.exists
        let (tickets, lasts) = control.withLock { control in
            // A change in a transaction is not heard before the transaction's time; what has no stream gets one.
            if control.staged > 0 && !isOpen { return next(in: control, seconds, most, isStaged: true) }
            if control.stretching.isPending { control.stretching.begin() }
            return next(in: control, seconds, most)
        }
        for ticket in tickets {
            let (rate, stretch) = control.withLock { ($0.sampleRate, $0.stretching.stretch) }
            guard let rate else { return false }
            let content = Content(sound: ticket.sound, file: ticket.file, frames: ticket.frames)
            let stream = makeStream(content, ticket.options, number: ticket.number, at: rate, stretch)
            install(stream, ticket, at: rate, stretch)
        }
        return lasts
    }

    /// Returns the sounds that will be heard soon and have no stream as is wanted, and whether what was looked at lasts for so
    /// many seconds.
    private func next(
        in control: Control, _ secondsAhead: Double = BufferPlayer.secondsAhead, _ most: Int? = nil,
        isStaged: Bool = false
    ) -> (tickets: [ScheduledSound], lasts: Bool) {
        guard let rate = control.sampleRate else { return ([], true) }
        let done = done.load(ordering: .acquiring)
        let stretch = control.stretching.stretch
        let limit = most ?? (stretch.isNone ? BufferPlayer.mostUnstretched : BufferPlayer.most)
        let interruption = newestInterruption.load(ordering: .relaxed)
        let now = playhead.load()
        var found: [ScheduledSound] = []
        var (count, seconds) = (0, 0.0)
        for ticket in control.tickets where ticket.number > done {
            if count >= limit { return (found, seconds >= secondsAhead) }
            let isNext = count < BufferPlayer.fewest || seconds < secondsAhead
            if !isNext && interruption < ticket.number { break }
            // Of the sound that is heard the rest counts.
            let frames =
                ticket.number == now.item && now.sampleRate == rate
                ? Double(max(0, now.geometry.end - now.frame)) / rate : ticket.duration / stretch.rate
            seconds += ticket.options.contains(.loops) ? secondsAhead : frames
            guard isNext || !ticket.options.isDisjoint(with: [.interrupts, .interruptsAtLoop]) else { continue }
            count += 1
            let wanted = Self.stretch(of: ticket.sound, stretch, at: rate)
            let present = control.streams[ticket.number]
            if present?.stretch == wanted || isStaged && (ticket.file == nil || present != nil) { continue }
            if ticket.frames.isEmpty { continue }
            found.append(ticket)
        }
        return (found, true)
    }

    /// Returns the change of tempo and pitch that the stream of a sound is to have; `nil` if it needs none.
    private static func stretch(of sound: Sound?, _ stretch: StreamStretch, at rate: Double) -> StreamStretch? {
        let canStretch = rate >= StreamStretch.lowestSampleRate && (sound?.channelCount ?? 1) <= 64
        guard canStretch, !stretch.isNone else { return sound == nil ? StreamStretch() : nil }
        return stretch
    }

    /// Returns a stream of a sound or a file, with its first frames: from the beginning, or from some time before the frame that
    /// is heard; `nil` if it needs none.
    func makeStream(
        _ content: Content, _ options: Options, number: Int?, at rate: Double, _ wanted: StreamStretch
    ) -> DiskStream? {
        guard let stretch = Self.stretch(of: content.sound, wanted, at: rate), !content.frames.isEmpty else {
            return nil
        }
        let sound = content.sound?.at(rate)
        guard let file = content.file ?? sound.map({ StreamFile($0) }) else { return nil }
        let frames = sound.map { 0..<Int64($0.frameCount) } ?? content.frames
        let now = playhead.load()
        // A place in a file holds at any sample rate; a sound in memory has been converted.
        let isHeard = number != nil && number == now.item && (sound == nil || now.sampleRate == rate)
        let loops = options.contains(.loops)
        func geometry(from frame: Int64, tempo: Double) -> StreamGeometry {
            StreamGeometry(
                lower: frames.lowerBound, upper: frames.upperBound, start: frame, passes: loops ? .max : 1,
                fileRate: file.sampleRate, outputRate: rate, tempo: tempo)
        }
        let plain = geometry(from: frames.lowerBound, tempo: 1)
        var start = frames.lowerBound
        if isHeard {
            // Nothing else needs the frames before, but for the filter of a converter.
            let runUp = max(
                stretch.isNone ? 0 : rate * stretch.runUp * max(1, stretch.rate), plain.isAtRate ? 0 : rate / 20)
            // In a loop the frames before the beginning are those of the end.
            let round = plain.end(ofPass: 1)
            let rounds = loops ? plain.end(ofPass: Int64(runUp) / max(1, round) + 1) : 0
            start = plain.place(before: rounds + plain.frame(like: now.frame, of: now.geometry), by: Int64(runUp))
        }
        let stream = DiskStream(
            file, geometry(from: start, tempo: stretch.rate), channels: channelCount, sampleRate: rate,
            seconds: content.sound == nil ? 2 : 1, stretch: stretch)
        if isHeard { stream.reference.jump(to: stream.geometry.frame(like: now.frame, of: now.geometry)) }
        stream.fill(atLeast: Int(rate / (isHeard ? 20 : 10)) + 2_048)
        return stream
    }

    /// Puts a stream into its place, if it is still wanted.
    private func install(_ stream: DiskStream?, _ ticket: ScheduledSound, at rate: Double, _ wanted: StreamStretch) {
        control.withLock { control in
            guard control.stretching.stretch == wanted, control.sampleRate == rate,
                ticket.number > done.load(ordering: .acquiring),
                // Another thread may have been faster.
                stream == nil || control.streams[ticket.number]?.stretch != wanted
            else { return }
            control.streams[ticket.number] = nil
            control.keep(stream, of: ticket.number)
            ticket.lead(to: stream)
            supply.store(0, ordering: .relaxed)
        }
    }
}

extension BufferPlayer: DiskClient {
    package func serveDisk() -> DiskNeed {
        guard streams.load(ordering: .acquiring) else { return .none }
        provideSoon()
        for stream in streamsInUse() { _ = stream.serve() }
        return control.withLock(\.stretching.isPending) || isStarted.load(ordering: .relaxed) ? .soon : .none
    }

    /// Returns the streams that the render thread may read, and releases the others.
    private func streamsInUse() -> [DiskStream] {
        control.withLock { control in
            control.allStreams.removeAll { !$0.isInUse }
            return control.allStreams.apart
        }
    }
}

extension BufferPlayer: StreamingModule {
    /// Makes the frames that the slice will need.
    ///
    /// Threads: render.
    public func awaitDisk(_ context: inout RenderContext) {
        let (slice, ahead) = (context.frameCount, context.frameCount + 12_288)
        pruneSoon()
        // Several slices at once; of sounds that are so short that this would be too many, those of this slice.
        let lasts = provide(seconds: Double(ahead) / context.sampleRate)
        if !lasts { provide(seconds: Double(slice) / context.sampleRate, most: .max) }
        for stream in streamsInUse() { stream.fill(atLeast: ahead) }
        supply.store(lasts ? ahead : slice, ordering: .relaxed)
    }

    /// Drops sounds that are over from the render thread's list, where many are: it goes faster than the collector comes by.
    private func pruneSoon() {
        let through = done.load(ordering: .acquiring)
        control.withLock { control in
            guard through - control.pruned >= 256, control.staged == 0 else { return }
            control.pruned = through
            entries.keep { $0 > through }
        }
    }

    /// Returns whether no sound is streamed, or frames are left of those that were made last, and there has been no
    /// change since.
    public func isDiskReady(frames: Int) -> Bool {
        !streams.load(ordering: .relaxed) || supply.load(ordering: .relaxed) >= frames
    }
}

extension BufferPlayer.Control {
    /// Keeps a stream as long as it may be heard.
    mutating func keep(_ stream: DiskStream?, of number: Int) {
        guard let stream else { return }
        streams[number] = stream
        allStreams.append(stream)
    }
}

extension StreamFile {
    /// Creates a file whose samples are those of a sound.
    fileprivate convenience init(_ sound: Sound) {
        self.init(
            path: "a sound in memory", sampleRate: sound.sampleRate, channelCount: sound.channelCount,
            frameCount: Int64(sound.frameCount), open: { () throws(AudioFileError) in SoundSource(sound) })
    }
}

/// A sound in memory, behind the face that streams have for files.
private final class SoundSource: StreamSource {
    private let sound: Sound
    private var position = 0

    init(_ sound: Sound) { self.sound = sound }

    func read(into block: inout AudioBlock, at first: Int, frames: Int) throws(AudioFileError) -> Int {
        let count = max(0, min(frames, sound.frameCount - position))
        block.copy(from: sound.block, sourceOffset: position, to: first, frames: count)
        position += count
        return count
    }

    func seek(to frame: Int64) throws(AudioFileError) { position = Int(frame) }
}
