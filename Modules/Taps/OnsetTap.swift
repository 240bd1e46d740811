public import RenderCore

/// Finds attacks, with their frame, and the running tempo. Reads the top.
///
///     let onsets = OnsetTap()
///     …
///     context.run(onsets)
///     …
///     for await onset in onsets.events { flash(at: onset.time) }
///     onsets.tempo                                    // beats per minute
///
/// The render thread only copies. A thread of the control side looks at the spectrum every 5 ms: an attack is a rise in
/// many bands at once. Of a drum, a plucked or struck string the frame is right within 3 ms. The tempo is that at which
/// the attacks of the last ten seconds fall on one pulse; accents decide between a tempo and its double.
///
/// Latency: none. An attack is reported some 55 ms after it was rendered.
///
/// Threads: control.
public final class OnsetTap: Tap, EventSource {
    /// An attack.
    ///
    /// Threads: any.
    public struct Onset: Sendable, Hashable {
        /// The frame at which it begins.
        public let time: RenderTime
        /// The mean rise of the spectrum, in dB: 2.5 for a soft attack, 20 for a drum out of silence.
        public let rise: Double
        /// The amplitude (RMS) of the first 10 ms, less that of the 10 ms before.
        public let amplitude: Double
        /// The tempo as it is known with this attack, in beats per minute; `nil` before five attacks.
        public let tempo: Double?
    }

    /// The least rise of an attack, in dB.
    public let threshold: Double
    /// The tempi that are looked for, in beats per minute.
    public let tempi: ClosedRange<Double>

    private let channels: Int
    private let channel: Int?
    private let feed: TapFeed
    private let hub = EventHub<Onset>(limit: 1_024)
    private let analysis: Lock<Analysis>

    /// Creates a tap.
    ///
    /// - Parameters:
    ///   - threshold: The least rise of an attack, in dB above what was usual in the last 300 ms, 0.1…40: less finds softer
    ///     attacks, and more that are none.
    ///   - tempi: The tempi to look for, in beats per minute, within 20…400; by default 58…206.
    ///   - channels: The number of channels that are heard, 1…64.
    ///   - channel: The channel to look at; by default the average of all.
    /// - Precondition: The numbers are in range.
    public init(
        threshold: Double = 2.5, tempi: ClosedRange<Double> = 58...206, channels: Int = 2, channel: Int? = nil
    ) {
        demand(threshold >= 0.1 && threshold <= 40, "OnsetTap: a threshold of \(threshold) dB; it must be 0.1…40")
        demand(
            tempi.lowerBound >= 20 && tempi.upperBound <= 400 && tempi.lowerBound < tempi.upperBound,
            "OnsetTap: tempi of \(tempi) BPM; they must lie in 20…400")
        demand((1...64).contains(channels), "OnsetTap: \(channels) channels; it must be 1…64")
        demand(
            (0..<channels).contains(channel ?? 0), "OnsetTap: channel \(channel ?? 0) of \(channels); the first is 0")
        self.threshold = threshold
        self.tempi = tempi
        self.channels = channels
        self.channel = channel
        feed = TapFeed(channels: channels, seconds: 2)
        analysis = Lock(Analysis(48_000, threshold, tempi, channels: channels, channel: channel), .module)
    }

    /// The attacks from now on. A listener that does not keep up loses the oldest beyond 1,024.
    public var events: AsyncStream<Onset> {
        let stream = hub.subscribe()
        Collector.shared.add(self)
        return stream
    }

    /// Returns the attacks since the last call, found on this thread where that has not been done yet: at most the last
    /// 1,024.
    public func read() -> [Onset] {
        analysis.withLock { analysis in
            advance(analysis)
            defer { analysis.unread = [] }
            return analysis.unread
        }
    }

    /// The tempo in beats per minute; `nil` before five attacks, or if they have no common pulse.
    public var tempo: Double? {
        analysis.withLock { analysis in
            advance(analysis)
            return analysis.finder.tempo
        }
    }

    /// The number of frames that were not taken in time.
    public var lostFrameCount: Int { feed.lostFrameCount }

    /// Begins anew if the sample rate is another.
    public func prepare(_ preparation: Preparation) {
        analysis.withLock { analysis in
            guard analysis.detector.sampleRate != preparation.sampleRate else { return }
            let next = Analysis(preparation.sampleRate, threshold, tempi, channels: channels, channel: channel)
            next.unread = analysis.unread
            analysis = next
        }
        feed.prepare(preparation)
    }

    /// Copies the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { feed.write(context) }

    /// Looks at the frames that wait. Returns whether there were some.
    @discardableResult
    private func advance(_ analysis: Analysis) -> Bool {
        var wasBusy = false
        var limit = feed.waitingFrames
        while true {
            switch analysis.window.fill(from: feed, atMost: &limit) {
            case .waits: return wasBusy
            case .gap:
                analysis.detector.reset()
                analysis.finder.reset()
            case .full:
                if let onset = analysis.next() {
                    if analysis.unread.count >= 1_024 { analysis.unread.removeFirst() }
                    analysis.unread.append(onset)
                    hub.send(onset)
                }
                analysis.window.moveOn()
            }
            wasBusy = true
        }
    }

    /// The state of the control side.
    private final class Analysis {
        var detector: OnsetDetector
        var finder: TempoFinder
        var window: HopWindow
        var unread: [Onset] = []

        init(_ rate: Double, _ threshold: Double, _ tempi: ClosedRange<Double>, channels: Int, channel: Int?) {
            let detector = OnsetDetector(sampleRate: max(1, min(rate, 1e6)), threshold: threshold)
            // Sound that begins with the first frame is an attack too: silence comes before it.
            window = HopWindow(
                size: detector.frameCount, hop: detector.hop, lead: detector.frameCount, channels: channels,
                channel: channel)
            self.detector = detector
            finder = TempoFinder(range: tempi)
        }

        /// Looks at the window. Returns an attack if there was one.
        func next() -> Onset? {
            let frames = window.samples
            guard let found = detector.add(Samples(frames.span), from: window.firstFrame) else { return nil }
            finder.add(at: Double(found.frame) / detector.sampleRate, weight: found.amplitude)
            return Onset(
                time: .sample(found.frame), rise: found.rise, amplitude: found.amplitude, tempo: finder.tempo)
        }
    }
}

extension OnsetTap: Collectable {
    package func collect() -> Bool { hub.hasListeners ? analysis.withLock { advance($0) } : false }
}
