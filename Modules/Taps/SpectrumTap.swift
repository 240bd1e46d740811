public import RenderCore

/// Measures the spectrum of the sound that it hears, for drawing and for finding pitch. Reads the top.
///
///     let tap = SpectrumTap(size: 4096)
///     …
///     context.run(tap)
///     …
///     if let spectrum = tap.latest() { draw(spectrum.decibels()) }         // sixty times a second
///     for await spectrum in tap.events { … }                               // one for every `hop` frames
///     tap.latest()?.peaks().first?.frequency                               // the loudest sine, in Hz
///
/// The render thread only copies. A thread of the control side makes the transform, and only when a program asks. Bins
/// are amplitudes: a sine of amplitude 1 shows as 1. ``Spectrum/peaks(_:above:)`` finds levels and frequencies between
/// the bins. All channels are averaged, or one is chosen.
///
/// Threads: control.
public final class SpectrumTap: Tap, EventSource {
    /// Frames in a spectrum.
    public let size: Int
    /// Frames from one spectrum of ``events`` to the next.
    public let hop: Int
    /// The window that weighs the frames.
    public let window: Spectrum.Window

    private let feed: TapFeed
    private let hub = EventHub<Spectrum>(limit: 64)
    private let analysis: Lock<Analysis>

    /// Creates a tap.
    ///
    /// - Parameters:
    ///   - size: Frames in a spectrum: a size that `RealFFT.isSupported`, such as 1024, 4096 or 16,384.
    ///   - hop: Frames from one spectrum of ``events`` to the next; by default a half of `size`.
    ///   - window: The window that weighs the frames.
    ///   - channels: The number of channels that are heard.
    ///   - channel: The channel to look at; by default the average of all.
    /// - Precondition: The numbers are in range.
    public init(
        size: Int = 4096, hop: Int? = nil, window: Spectrum.Window = .blackmanHarris, channels: Int = 2,
        channel: Int? = nil
    ) {
        demand(
            RealFFT.isSupported(size),
            "SpectrumTap: a size of \(size) frames; it must be one that RealFFT.isSupported, such as 4096")
        demand((1...64).contains(channels), "SpectrumTap: \(channels) channels; it must be 1…64")
        demand(
            (0..<channels).contains(channel ?? 0),
            "SpectrumTap: channel \(channel ?? 0) of \(channels); the first is 0")
        demand(hop ?? 1 >= 1, "SpectrumTap: a hop of \(hop ?? 1) frames; it must be 1 or more")
        self.size = size
        self.hop = hop ?? size / 2
        self.window = window
        feed = TapFeed(channels: channels, seconds: max(2, 4 * Double(size) / 96_000))
        analysis = Lock(Analysis(size: size, window: window, channels: channels, channel: channel), .module)
    }

    /// Returns the spectrum of the last ``size`` frames; `nil` before there have been that many without a gap.
    public func latest() -> Spectrum? {
        analysis.withLock { analysis in
            advance(analysis, eachHop: hub.hasListeners)
            return analysis.isFull ? analysis.spectrum(sampleRate: feed.ring.sampleRate) : nil
        }
    }

    /// A spectrum for every ``hop`` frames, from now on.
    public var events: AsyncStream<Spectrum> {
        let stream = hub.subscribe()
        Collector.shared.add(self)
        return stream
    }

    /// The number of frames that were not taken in time.
    public var lostFrameCount: Int { feed.lostFrameCount }

    /// Begins anew if the sample rate is another.
    public func prepare(_ preparation: Preparation) {
        if feed.ring.sampleRate != preparation.sampleRate { analysis.withLock { $0.forget() } }
        feed.prepare(preparation)
    }

    /// Copies the top.
    ///
    /// Threads: render.
    @_noLocks @_noAllocation
    public func process(_ context: inout RenderContext) { feed.write(context) }

    /// Takes the frames that wait, and sends a spectrum for every hop if there are listeners. Returns whether there
    /// were frames.
    @discardableResult
    private func advance(_ analysis: Analysis, eachHop: Bool) -> Bool {
        var wasBusy = false
        var limit = feed.waitingFrames
        while true {
            let wanted = eachHop ? min(analysis.block.frameCount, hop - analysis.sinceLast) : analysis.block.frameCount
            let chunk = feed.ring.peekContiguous(frames: min(wanted, limit))
            if chunk.frameCount == 0 { return wasBusy }
            limit -= chunk.frameCount
            feed.ring.copy(chunk, into: &analysis.block)
            feed.ring.consume(chunk)
            analysis.take(chunk)
            wasBusy = true
            if analysis.sinceLast >= hop {
                analysis.sinceLast = 0
                if eachHop && analysis.isFull { hub.send(analysis.spectrum(sampleRate: feed.ring.sampleRate)) }
            }
        }
    }

    /// The state of the control side.
    private final class Analysis {
        let channel: Int?
        let window: Spectrum.Window
        var block: AudioBlock
        var sinceLast = 0
        private var fft: RealFFT
        /// The last frames, the oldest at `position`.
        private var history: [Float]
        private var position = 0
        private var count = 0
        private var next: Int64?
        private var end = RenderTime.sample(0)
        private let weights: [Float]

        init(size: Int, window: Spectrum.Window, channels: Int, channel: Int?) {
            self.channel = channel
            self.window = window
            block = AudioBlock(channels: channels, frames: 1024)
            fft = RealFFT(size: size)
            history = Array(repeating: 0, count: size)
            // Scaled so that a sine shows its amplitude: the transform adds up half of it in each frame.
            let scale = 2 / (Double(size) * window.terms[0])
            weights = (0..<size).map { Float(window.weight($0, of: size) * scale) }
        }

        var isFull: Bool { count == history.count }

        func forget() {
            count = 0
            sinceLast = 0
        }

        /// Goes on with a chunk that is in the block; begins anew after a gap.
        func take(_ chunk: AudioRing.Chunk) {
            let first = chunk.time.sampleTime
            if next != first { count = 0 }
            next = first.map { $0.addingSaturated(Int64(chunk.frameCount)) }
            end = next.map { .sample($0) } ?? .immediately
            let channels = channel.map { $0...$0 } ?? 0...(block.channelCount - 1)
            let gain = 1 / Float(channels.count)
            for i in 0..<chunk.frameCount {
                var sum: Float = 0
                for channel in channels { sum += block[channel, i] }
                history[position] = sum * gain
                position = position + 1 == history.count ? 0 : position + 1
            }
            count = min(history.count, count + chunk.frameCount)
            sinceLast += chunk.frameCount
        }

        func spectrum(sampleRate: Double) -> Spectrum {
            let size = history.count
            var frames = Array(history[position...] + history[..<position])
            for i in 0..<size { frames[i] *= weights[i] }
            var real = [Float](repeating: 0, count: size / 2 + 1)
            var imaginary = real
            var realSpan = real.mutableSpan
            var imaginarySpan = imaginary.mutableSpan
            fft.forward(Samples(frames.span), real: &realSpan, imaginary: &imaginarySpan)
            var magnitudes = zip(real, imaginary).map { (real: Float, imaginary: Float) -> Float in
                (real * real + imaginary * imaginary).squareRoot()
            }
            // These two have no counterpart at the negative frequency.
            magnitudes[0] *= 0.5
            magnitudes[size / 2] *= 0.5
            let time = end.sampleTime.map { RenderTime.sample($0.subtractingSaturated(Int64(size))) } ?? .immediately
            return Spectrum(
                time: time, sampleRate: sampleRate, size: size, window: window, magnitudes: magnitudes)
        }
    }
}

extension SpectrumTap: Collectable {
    package func collect() -> Bool {
        hub.hasListeners ? analysis.withLock { advance($0, eachHop: true) } : false
    }
}
