internal import Loudness
public import RenderCore

/// Loudness as broadcasters measure it, by EBU R 128: momentary, short-term, integrated, range, true peak. Reads the top.
///
///     let meter = LoudnessMeter()
///     …
///     context.run(meter)
///     …
///     meter.reading.integrated            // LUFS
///     meter.restart()                     // a new programme begins
///
/// The render thread only copies. A thread of the control side measures, and catches up with the sound when it is
/// asked. Rendering offline is faster than that: read from time to time, at least once for every two seconds of audio,
/// or use a `LoudnessMeasurement` without a renderer. Lost frames are counted by ``lostFrameCount``.
///
/// Below 16 frames per second all readings are silence.
///
/// Threads: control.
public final class LoudnessMeter: Tap {
    /// The measured values, in LUFS, LU and dBTP; -infinity for silence.
    ///
    /// Threads: any.
    public struct Reading: Sendable, Hashable {
        /// The loudness of the last 400 ms.
        public let momentary: Double
        /// The loudness of the last 3 s.
        public let shortTerm: Double
        /// The loudness of everything since the start, gated.
        public let integrated: Double
        /// The distance between loud and soft, in LU.
        public let range: Double
        /// The highest level that the signal reaches, between the samples too.
        public let truePeak: Double
        /// The highest momentary loudness since the start.
        public let maximumMomentary: Double
        /// The highest short-term loudness since the start.
        public let maximumShortTerm: Double
    }

    private let feed: TapFeed
    private let channels: Int
    private let isDualMono: Bool
    private let work: Lock<Work>

    /// The state of the control side.
    private final class Work {
        var measurement: LoudnessMeasurement
        var block: AudioBlock
        /// The renderer's; the measurement's own where it can be measured at that.
        var sampleRate: Double
        var isMeasurable: Bool { sampleRate == measurement.sampleRate }
        init(_ measurement: consuming LoudnessMeasurement) {
            block = AudioBlock(channels: measurement.channelCount, frames: 4096)
            sampleRate = measurement.sampleRate
            self.measurement = measurement
        }
    }

    /// Creates a meter.
    ///
    /// - Parameters:
    ///   - channels: 1…64; up to six count, as `LoudnessMeasurement` says.
    ///   - isDualMono: `true` if a mono signal is to be heard from two loudspeakers, and counts 3 LU more.
    ///   - seconds: The time that may wait to be measured, in seconds, up to 96 kHz.
    public init(channels: Int = 2, isDualMono: Bool = false, seconds: Double = 2) {
        self.channels = channels
        self.isDualMono = isDualMono
        feed = TapFeed(channels: channels, seconds: seconds)
        work = Lock(
            Work(LoudnessMeasurement(sampleRate: 48_000, channels: channels, isDualMono: isDualMono)), .module)
        Collector.shared.add(self)
    }

    /// The measured values up to now.
    public var reading: Reading {
        work.withLock { work in
            _ = catchUp(work)
            return Reading(
                momentary: work.measurement.momentary, shortTerm: work.measurement.shortTerm,
                integrated: work.measurement.integrated, range: work.measurement.range,
                truePeak: work.measurement.truePeak, maximumMomentary: work.measurement.maximumMomentary,
                maximumShortTerm: work.measurement.maximumShortTerm)
        }
    }

    /// Forgets everything, and begins with the sound from now on.
    public func restart() { restart(sampleRate: nil) }

    /// The number of frames that were not measured because the control side was too slow.
    public var lostFrameCount: Int { feed.lostFrameCount }

    /// Begins anew if the sample rate is another.
    public func prepare(_ preparation: Preparation) {
        feed.prepare(preparation)
        let isSame = work.withLock { $0.sampleRate == preparation.sampleRate }
        if !isSame { restart(sampleRate: preparation.sampleRate) }
    }

    /// Copies the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { feed.write(context) }

    private func restart(sampleRate: Double?) {
        work.withLock { work in
            feed.ring.skip(frames: .max)
            work.sampleRate = sampleRate ?? work.sampleRate
            let rate = max(work.sampleRate, LoudnessMeasurement.sampleRates.lowerBound)
            work.measurement = LoudnessMeasurement(sampleRate: rate, channels: channels, isDualMono: isDualMono)
        }
    }

    /// Measures the frames that wait. Returns whether there was something.
    private func catchUp(_ work: Work) -> Bool {
        var wasBusy = false
        var limit = feed.waitingFrames
        while true {
            let chunk = feed.ring.read(into: &work.block, frames: limit)
            if chunk.frameCount == 0 { return wasBusy }
            limit -= chunk.frameCount
            if work.isMeasurable { work.measurement.add(work.block, frames: chunk.frameCount) }
            wasBusy = true
        }
    }
}

extension LoudnessMeter: Collectable {
    package func collect() -> Bool { work.withLock { catchUp($0) } }
}
