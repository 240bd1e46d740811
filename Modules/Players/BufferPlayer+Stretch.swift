internal import AudioFiles
package import DiskStreaming
public import RenderCore
internal import Sharing
internal import Synchronization

// Tempo and pitch: streams of sounds in memory, which are stretched on their way to the render thread.

extension BufferPlayer: StretchingPlayer {
    /// The values of ``StretchingPlayer/rate``, ``StretchingPlayer/pitch`` and ``StretchingPlayer/keepsFormants``.
    public var stretching: (rate: Double, pitch: Double, keepsFormants: Bool) {
        control.withLock { $0.stretching.values }
    }

    /// Sets several of tempo, pitch and formants as one change: see ``StretchingPlayer``.
    public func stretch(rate: Double? = nil, pitch: Double? = nil, keepsFormants: Bool? = nil) {
        let isLive = control.withLock { control -> Bool? in
            let streams = control.streams
            guard let old = control.stretching.set(rate, pitch, keepsFormants) else { return nil }
            let new = control.stretching.stretch
            stage(&control) { control in
                if control.stretching.stretch == new { (control.stretching.stretch, control.streams) = (old, streams) }
            }
            if OpenTransaction.exists { return false }
            control.stretching.isPending = true
            return self.isLive.load(ordering: .relaxed) && shownState.load(ordering: .relaxed) == 2
        }
        guard let isLive else { return }
        if !stretches.exchange(true, ordering: .acquiringAndReleasing) { DiskThread.shared.add(self) }
        // Rendered offline, or while nothing is heard, no control is waiting for a knob to move on.
        if !isLive { provide() }
        DiskThread.shared.wake()
    }

    /// The number of frames that were silent because a sound was not stretched in time. See
    /// ``FilePlayer/stretchedPlayerLimit`` for how many players the processors can bear.
    public var underrunCount: Int { missing.load(ordering: .relaxed) }

    // MARK: Streams

    /// The number of streams, for tests.
    package var streamCount: Int { control.withLock { $0.allStreams.count } }

    /// The frames that the render thread finds in each stream at least, for tests; without a stream it wants none.
    package var framesAhead: Int64 { control.withLock { $0.streams.values.map(\.ahead).min() ?? .max } }

    /// Sounds that are made ready ahead: so many seconds of them, and so many at least and at most.
    private static var secondsAhead: Double { 1 }
    private static var fewest: Int { 4 }
    private static var most: Int { 16 }

    /// Makes what is missing, unless a change was made just before. On the disk thread, which comes by again.
    private func provideSoon() {
        let isDue = control.withLock { control in
            if nextToMake(control, []) == nil {
                control.stretching.isPending = false
                return false
            }
            return !control.stretching.isPending || control.stretching.isDue
        }
        if isDue { provide() }
    }

    /// Makes the streams that are missing, or have another tempo or pitch than is wanted.
    func provide() {
        if !stretches.load(ordering: .acquiring) { return }
        let isOpen = OpenTransaction.exists
        let isDue = control.withLock { control in
            // A change in a transaction is not heard before the transaction's time.
            if control.staged > 0 && !isOpen { return false }
            if control.stretching.isPending { control.stretching.begin() }
            return true
        }
        if !isDue { return }
        // Each ticket once: a stream that cannot be put into its place is not tried again and again.
        var tried: Set<Int> = []
        while let ticket = control.withLock({ nextToMake($0, tried) }) {
            tried.insert(ticket.number)
            let (rate, stretch) = control.withLock { ($0.sampleRate, $0.wantedStretch) }
            guard let rate else { return }
            let sound = ticket.sound.at(rate)
            let stream = stretch.map { makeStream(sound, ticket.options, number: ticket.number, $0) }
            install(stream, sound, ticket, stretch)
        }
    }

    /// Returns a sound that will be heard soon and has no stream as is wanted.
    private func nextToMake(_ control: Control, _ tried: Set<Int>) -> ScheduledSound? {
        guard let rate = control.sampleRate else { return nil }
        let done = done.load(ordering: .acquiring)
        var (count, seconds) = (0, 0.0)
        for ticket in control.tickets where ticket.number > done && count < BufferPlayer.most {
            let isNext = count < BufferPlayer.fewest || seconds < BufferPlayer.secondsAhead
            seconds += ticket.sound.duration / control.stretching.stretch.rate
            if isNext || !ticket.options.isDisjoint(with: [.interrupts, .interruptsAtLoop]) {
                count += 1
                let isAsWanted = control.streams[ticket.number]?.stretch == control.wantedStretch
                if isAsWanted || tried.contains(ticket.number) { continue }
                if Self.canStretch(ticket.sound, at: rate) { return ticket }
            }
        }
        return nil
    }

    /// Returns a stream for a sound that is about to be scheduled, unless so many are that it has time.
    func firstStream(of sound: Sound, _ options: Options, at rate: Double, _ stretch: StreamStretch) -> DiskStream? {
        guard Self.canStretch(sound, at: rate), scheduledCount < Self.most else { return nil }
        return makeStream(sound.at(rate), options, number: nil, stretch)
    }

    private static func canStretch(_ sound: Sound, at rate: Double) -> Bool {
        rate >= StreamStretch.lowestSampleRate && sound.frameCount > 0 && sound.channelCount <= 64
    }

    /// Returns a stream of a sound, with its first frames: from the beginning, or from some time before the frame that
    /// is heard.
    private func makeStream(
        _ sound: Sound, _ options: Options, number: Int?, _ stretch: StreamStretch
    ) -> DiskStream {
        let place = BufferPlayback.ShownPlace(place.load(ordering: .acquiring))
        let isHeard = number.map(place.isIn) ?? false
        let loops = options.contains(.loops)
        func geometry(from frame: Int64, tempo: Double) -> StreamGeometry {
            StreamGeometry(
                lower: 0, upper: Int64(sound.frameCount), start: frame, passes: loops ? .max : 1,
                fileRate: sound.sampleRate, outputRate: sound.sampleRate, tempo: tempo)
        }
        let plain = geometry(from: 0, tempo: 1)
        var start: Int64 = 0
        if isHeard {
            let runUp = Int64(sound.sampleRate * stretch.runUp * max(1, stretch.rate))
            // In a loop the frames before the beginning are those of the end.
            let rounds = loops ? (runUp / Int64(sound.frameCount) + 1) * Int64(sound.frameCount) : 0
            start = plain.place(before: rounds + place.frame, by: runUp)
        }
        let stream = DiskStream(
            StreamFile(sound), geometry(from: start, tempo: stretch.rate), channels: channelCount,
            sampleRate: sound.sampleRate, seconds: 1, stretch: stretch)
        if isHeard { stream.reference.jump(to: stream.geometry.frame(like: place.frame, of: plain)) }
        stream.fill(atLeast: Int(sound.sampleRate / (isHeard ? 20 : 10)) + 2_048)
        return stream
    }

    /// Puts a stream into the list, if it is still wanted.
    private func install(_ stream: DiskStream?, _ sound: Sound, _ ticket: ScheduledSound, _ wanted: StreamStretch?) {
        control.withLock { control in
            guard control.wantedStretch == wanted, control.sampleRate == sound.sampleRate,
                control.streams[ticket.number]?.stretch != wanted
            else { return }
            let entry = BufferEntry(ticket.number, sound, ticket, stream)
            guard entries.replace(ticket.number, with: entry) else { return }
            control.streams[ticket.number] = nil
            control.keep(stream, of: ticket.number)
            supply.store(0, ordering: .relaxed)
        }
    }
}

extension BufferPlayer: DiskClient {
    package func serveDisk() -> DiskNeed {
        guard stretches.load(ordering: .acquiring) else { return .none }
        provideSoon()
        for stream in streamsInUse() { _ = stream.serve() }
        return control.withLock(\.stretching.isPending) || shownState.load(ordering: .relaxed) != 0 ? .soon : .none
    }

    /// Returns the streams that the render thread may read, and releases the others.
    private func streamsInUse() -> [DiskStream] {
        let done = done.load(ordering: .acquiring)
        return control.withLock { control in
            control.streams = control.streams.filter { $0.key > done }
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
        provide()
        for stream in streamsInUse() { stream.fill(atLeast: context.frameCount + 12_288) }
        supply.store(context.frameCount + 12_288, ordering: .relaxed)
    }

    /// Returns whether no sound is stretched, or frames are left of those that were made last, and there has been no
    /// change since.
    public func isDiskReady(frames: Int) -> Bool {
        !stretches.load(ordering: .relaxed) || supply.load(ordering: .relaxed) >= frames
    }
}

extension BufferPlayer.Control {
    /// The change of tempo and pitch that streams are to have; `nil` if sounds are played as they are.
    var wantedStretch: StreamStretch? { stretching.stretch.isNone ? nil : stretching.stretch }

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
