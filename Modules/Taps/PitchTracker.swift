public import RenderCore

/// Follows the pitch of one voice: frequency, clarity and note, with the time at which they were heard. Reads the top.
///
///     let tracker = PitchTracker(range: 70...1_200)
///     …
///     context.run(tracker)
///     …
///     for await reading in tracker.events { show(reading.noteName, reading.cents) }       // a hundred a second
///     let readings = tracker.read()                                                       // or when it suits you
///
/// The render thread only copies. A thread of the control side looks at a window of 2.6 periods of the lowest frequency
/// every ``interval`` (YIN, with transforms), and chooses among the candidates of the last windows the path that is the
/// most likely as a whole, so that a window that is wrong by an octave does not show. One voice at a time: of a chord
/// the tracker finds the common period, or one of the notes.
///
/// Of a clean tone the frequency is right within 2 cents, in white noise 10 dB below the voice within 50 cents in 99 of
/// 100 readings or more.
///
/// Latency: none. A reading arrives later than the sound that it describes: by half a window (33 ms for a range from
/// 40 Hz on), by ``smoothing`` times ``interval``, and by some 10 ms.
///
/// Threads: control.
public final class PitchTracker: Tap, EventSource {
    /// The pitch at a moment.
    ///
    /// Threads: control.
    public struct Reading: Sendable, Hashable {
        /// The time of the middle of the window.
        public let time: RenderTime
        /// The frequency in hertz; `nil` if there is no tone: silence, a hiss, a consonant.
        public let frequency: Double?
        /// The likeness of the sound to itself one period later, 0…1: with white noise beside a voice it is the voice's
        /// share of the power. 0 if there is no tone.
        public let clarity: Double
        /// The level of the window in dB of full scale: a sine of amplitude 1 has -3.01; -infinity for silence.
        public let level: Double

        /// Creates a reading, as for a program's own tests.
        public init(time: RenderTime, frequency: Double?, clarity: Double, level: Double) {
            self.time = time
            self.frequency = frequency
            self.clarity = clarity
            self.level = level
        }

        /// The MIDI note with its fraction: 69 is the A of 440 Hz.
        public var note: Double? { frequency.map { 69 + 12 * RenderMath.log2($0 / 440) } }
        /// The nearest note of the equal temperament.
        public var nearestNote: Int? { note.map { Int($0.rounded()) } }
        /// The distance from the nearest note, in cents: -50…50.
        public var cents: Double? { note.map { 100 * ($0 - $0.rounded()) } }
        /// The name of the nearest note, such as "C4" for middle C, or "F#3".
        public var noteName: String? {
            let names = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"]
            return nearestNote.map { note in
                let octave = Int((Double(note) / 12).rounded(.down))
                return "\(names[note - 12 * octave])\(octave - 1)"
            }
        }
    }

    /// The frequencies that are looked for, in hertz.
    public let range: ClosedRange<Double>
    /// Seconds from one reading to the next, to the nearest frame.
    public let interval: Double
    /// The number of later windows that a reading waits for.
    public let smoothing: Int
    /// The level below which there is no tone, in dB of full scale.
    public let threshold: Double

    private let channels: Int
    private let channel: Int?
    private let feed: TapFeed
    private let hub = EventHub<Reading>(limit: 1_024)
    private let analysis: Lock<Analysis>

    /// Creates a tracker.
    ///
    /// - Parameters:
    ///   - range: The frequencies to look for, in hertz, within 10…20,000 and at least an octave: the lowest decides
    ///     how long the window is. By default 40…1,500.
    ///   - interval: Seconds from one reading to the next, 0.002…0.5, and less than a window.
    ///   - smoothing: The number of later windows that a reading waits for, 0…100. With 0, errors by an octave show
    ///     more often.
    ///   - threshold: The level below which there is no tone, in dB of full scale; by default -60.
    ///   - channels: The number of channels that are heard, 1…64.
    ///   - channel: The channel to look at; by default the average of all.
    /// - Precondition: The numbers are in range.
    public init(
        range: ClosedRange<Double> = 40...1_500, interval: Double = 0.01, smoothing: Int = 3,
        threshold: Double = -60, channels: Int = 2, channel: Int? = nil
    ) {
        demand(
            range.lowerBound >= 10 && range.upperBound <= 20_000 && range.upperBound >= 2 * range.lowerBound,
            "PitchTracker: frequencies of \(range) Hz; they must lie in 10…20,000, and be an octave or more")
        demand(
            interval >= 0.002 && interval <= 0.5, "PitchTracker: an interval of \(interval) s; it must be 0.002…0.5")
        demand((0...100).contains(smoothing), "PitchTracker: a smoothing of \(smoothing) windows; it must be 0…100")
        demand((1...64).contains(channels), "PitchTracker: \(channels) channels; it must be 1…64")
        demand(
            (0..<channels).contains(channel ?? 0),
            "PitchTracker: channel \(channel ?? 0) of \(channels); the first is 0")
        self.range = range
        self.interval = interval
        self.smoothing = smoothing
        self.threshold = threshold.isNaN ? -60 : threshold
        self.channels = channels
        self.channel = channel
        feed = TapFeed(channels: channels, seconds: 2)
        analysis = Lock(
            Analysis(48_000, range, interval, smoothing, channels: channels, channel: channel), .module)
    }

    /// A reading for every ``interval``, from now on. A listener that does not keep up loses the oldest beyond 1,024.
    public var events: AsyncStream<Reading> {
        let stream = hub.subscribe()
        Collector.shared.add(self)
        return stream
    }

    /// Returns the readings since the last call, found on this thread where that has not been done yet: at most the
    /// last 1,024.
    public func read() -> [Reading] {
        analysis.withLock { analysis in
            advance(analysis)
            defer { analysis.unread = [] }
            return analysis.unread
        }
    }

    /// Returns the last reading; `nil` before there is one.
    public func latest() -> Reading? {
        analysis.withLock { analysis in
            advance(analysis)
            return analysis.last
        }
    }

    /// The number of frames that were not taken in time.
    public var lostFrameCount: Int { feed.lostFrameCount }

    /// Begins anew if the sample rate is another.
    public func prepare(_ preparation: Preparation) {
        analysis.withLock { analysis in
            guard analysis.finder.sampleRate != preparation.sampleRate else { return }
            let next = Analysis(
                preparation.sampleRate, range, interval, smoothing, channels: channels, channel: channel)
            next.unread = analysis.unread
            next.last = analysis.last
            analysis = next
        }
        feed.prepare(preparation)
    }

    /// Copies the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { feed.write(context) }

    /// Makes readings of the frames that wait. Returns whether there were some.
    @discardableResult
    private func advance(_ analysis: Analysis) -> Bool {
        var wasBusy = false
        var limit = feed.waitingFrames
        while true {
            switch analysis.window.fill(from: feed, atMost: &limit) {
            case .waits: return wasBusy
            case .gap: for reading in analysis.endPath() { tell(reading, analysis) }
            case .full:
                if let reading = analysis.next(threshold) { tell(reading, analysis) }
                analysis.window.moveOn()
            }
            wasBusy = true
        }
    }

    private func tell(_ reading: Reading, _ analysis: Analysis) {
        analysis.last = reading
        if analysis.unread.count >= 1_024 { analysis.unread.removeFirst() }
        analysis.unread.append(reading)
        hub.send(reading)
    }

    /// The state of the control side.
    private final class Analysis {
        var finder: PitchFinder
        var window: HopWindow
        var unread: [Reading] = []
        var last: Reading?
        private var path: PitchPath
        private let smoothing: Int
        /// The windows whose choice waits: the frame of the middle, and the power.
        private var waiting: [(middle: Int64, power: Double)] = []

        init(
            _ rate: Double, _ range: ClosedRange<Double>, _ interval: Double, _ smoothing: Int, channels: Int,
            channel: Int?
        ) {
            finder = PitchFinder(sampleRate: max(1, min(rate, 1e6)), range: range)
            let hop = min(finder.frameCount - 1, max(1, Int((rate * interval).rounded())))
            window = HopWindow(size: finder.frameCount, hop: hop, channels: channels, channel: channel)
            path = PitchPath(delay: smoothing)
            self.smoothing = smoothing
        }

        /// Analyses the window. Returns the reading of a window before, if there have been enough since.
        func next(_ threshold: Double) -> Reading? {
            let frames = window.samples
            let analysis = finder.analyse(Samples(frames.span))
            waiting.append((window.firstFrame + Int64(window.size / 2), analysis.power))
            let isQuiet = Self.level(analysis.power) < threshold
            return path.add(isQuiet ? [] : analysis.candidates).map(reading)
        }

        /// Returns the readings that still wait, and begins anew.
        func endPath() -> [Reading] {
            var readings: [Reading] = []
            while let choice = path.finishNext() { readings.append(reading(choice)) }
            path = PitchPath(delay: smoothing)
            return readings
        }

        private func reading(_ choice: PitchFinder.Candidate?) -> Reading {
            let (middle, power) = waiting.removeFirst()
            return Reading(
                time: .sample(middle), frequency: choice?.frequency, clarity: choice?.clarity ?? 0,
                level: Self.level(power))
        }

        private static func level(_ power: Double) -> Double {
            power > 0 ? 10 * RenderMath.log2(power) / RenderMath.log2(10) : -.infinity
        }
    }
}

extension PitchTracker: Collectable {
    package func collect() -> Bool { hub.hasListeners ? analysis.withLock { advance($0) } : false }
}
