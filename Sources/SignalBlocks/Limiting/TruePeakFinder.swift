internal import CKernels

/// Finds the peaks of a signal between its samples too: at eight times the rate.
///
///     var finder = TruePeakFinder(maximumFrameCount: 512)          // allocates: in an `init`
///     finder.find(history, from: first, count: 512, into: &peaks)
///
/// It keeps nothing of the signal: the caller has a ``SampleHistory`` with ``past`` frames before the first one, and ``future``
/// behind the last one.
///
/// Half-way between two samples it weighs 256 of them, so that it sees what white noise does up to half of the rate. Of a
/// second of noise its peaks err by less than 0.2 dB (uniform, every 10 ms), and of a sound without the highest octave by less
/// than 0.05 dB.
///
/// Threads: any.
public struct TruePeakFinder: ~Copyable, Sendable {
    /// The number of frames before the first one that must be there.
    public static var past: Int { @_noLocks @_noAllocation get { half &+ 1 } }
    /// The number of frames behind the last one by which a peak is found late.
    public static var delay: Int { @_noLocks @_noAllocation get { half &+ 2 } }
    /// The number of frames behind the last one that may be read. Those behind ``delay`` change nothing.
    public static var future: Int { @_noLocks @_noAllocation get { half &+ 64 } }
    private static var half: Int { @_noLocks @_noAllocation get { 128 } }

    /// No peak is higher than the highest sample times this number.
    public let bound: Float
    /// The longest run of frames for one call.
    public let maximumFrameCount: Int
    private var weights: SampleMemory
    private var places: SampleMemory
    private var halves: SampleMemory
    private var found: SampleMemory

    /// Allocates for runs up to a length.
    ///
    /// - Precondition: The length is not negative.
    ///
    /// Threads: control.
    public init(maximumFrameCount: Int) {
        demand(
            maximumFrameCount >= 0, "TruePeakFinder: a run of \(maximumFrameCount) frames; it must be 0 or more")
        self.maximumFrameCount = maximumFrameCount
        weights = SampleMemory(count: Self.half)
        places = SampleMemory(count: 24)
        // The kernels write 16 frames at a time, and want halves around.
        halves = SampleMemory(count: maximumFrameCount + 64)
        found = SampleMemory(count: maximumFrameCount + 64)
        let taps = (0..<Self.half).map { k -> Double in
            let place = Double(k) + 0.5
            let share = place / Double(Self.half)
            let window = RenderMath.bessel((1 - share * share).squareRoot()) / RenderMath.bessel(1)
            return (k % 2 == 0 ? window : -window) / (Double.pi * place)
        }
        let sum = 2 * taps.reduce(0, +)
        for k in 0..<Self.half { weights[k] = Float(taps[k] / sum) }
        // Least squares for all frequencies up to a quarter of the doubled rate, by numpy.linalg.lstsq: the response errs by
        // 0.0012 at most.
        let quarter: [Float] = [
            -0.00518979, 0.031221502, -0.12209266, 0.8713332, 0.2910156, -0.087734625, 0.025813483, -0.00456995,
        ]
        let middle: [Float] = [
            -0.0067933607, 0.03950251, -0.14271379, 0.6098626, 0.6098626, -0.14271379, 0.03950251, -0.0067933607,
        ]
        for (tap, weight) in (quarter + middle + quarter.reversed()).enumerated() { places[tap] = weight }
        var ofHalf = 0.0
        for tap in taps { ofHalf += 2 * abs(tap) / sum }
        // Every second of eight neighbours is a half.
        var highest = ofHalf
        for weights in [quarter, middle] {
            var magnitudes = (even: 0.0, odd: 0.0)
            for tap in stride(from: 0, to: 8, by: 2) {
                magnitudes.even += Double(abs(weights[tap]))
                magnitudes.odd += Double(abs(weights[tap + 1]))
            }
            highest = max(highest, magnitudes.even * ofHalf + magnitudes.odd)
            highest = max(highest, magnitudes.even + magnitudes.odd * ofHalf)
        }
        bound = Float(1.001 * highest)
    }

    /// Lifts peaks to those of a signal, each to the highest magnitude from its sample up to the next one. What is not a
    /// number is no peak.
    ///
    /// - Parameters:
    ///   - history: The signal.
    ///   - channel: Its channel.
    ///   - first: The position in the row of the sample that the first peak belongs to.
    ///   - count: The number of peaks, up to ``maximumFrameCount``.
    ///   - peaks: The peaks to lift, from the start on.
    /// - Precondition: The samples are there, and the peaks.
    @_noLocks @_noAllocation
    public mutating func find(
        _ history: borrowing SampleHistory, _ channel: Int = 0, from first: Int, count: Int,
        into peaks: inout RenderMemory<Float>
    ) {
        let samples = history.samples(channel)
        precondition(count >= 0 && count <= maximumFrameCount && count <= peaks.count)
        precondition(first >= TruePeakFinder.past && first <= samples.count &- count &- TruePeakFinder.future)
        if count == 0 { return }
        for i in 0..<count { found[i] = unsafe peaks.memory.base[i] }
        // The halves from the one behind the frame before the last one on.
        let behind = unsafe samples.base + (first &- 1)
        unsafe kernel_halves(weights.base, behind, halves.base, count &+ 4)
        unsafe kernel_peaks(places.base, samples.base + first, halves.base + 2, found.base, count)
        for i in 0..<count { unsafe peaks.memory.base[i] = found[i] }
    }

    /// Returns whether peaks may be above a level: `false` where the samples alone say that they are not, which takes
    /// almost no time.
    ///
    /// - Parameters:
    ///   - history: The signal.
    ///   - channel: Its channel.
    ///   - first: The position in the row of the sample that the first peak belongs to.
    ///   - count: The number of peaks.
    ///   - level: An amplitude.
    /// - Precondition: The samples are there, as for ``find(_:_:from:count:into:)``.
    @_noLocks @_noAllocation
    public func mayExceed(
        _ history: borrowing SampleHistory, _ channel: Int = 0, from first: Int, count: Int, level: Float
    ) -> Bool {
        let samples = history.samples(channel)
        let reach = count &+ TruePeakFinder.past &+ TruePeakFinder.delay
        precondition(count >= 0 && first >= TruePeakFinder.past)
        precondition(first <= samples.count &- count &- TruePeakFinder.delay)
        let view = unsafe Samples(at: samples.base + (first &- TruePeakFinder.past), count: reach)
        return Signal.peak(view) * bound > level
    }
}
