internal import CSoxr
public import RenderCore

/// Brings a stream of audio from one sample rate to another, block by block.
///
///     var converter = SampleRateConverter(from: 44_100, to: 48_000, channels: 2)
///     let (consumed, produced) = converter.convert(input, into: &output)
///     …
///     let last = converter.finish(into: &output)              // what the filter still holds
///
/// Nothing is late: output frame *n* is the input at the time *n* × `from` / `to`, counted in input frames, and *N*
/// input frames become *N* × `to` / `from` output frames, rounded up: every output frame whose time lies before the end
/// of the input. The filter has to see some frames after the one that it computes, so output lags behind while a stream
/// goes on, and ``finish(into:at:room:)`` hands out the rest. The frames do not depend on how the blocks are cut.
///
/// Rates need not be whole numbers. Equal rates copy, bit for bit.
///
/// If a ratio is one of small whole numbers, as that of 44.1 to 48 kHz, the converter does the work; else the SoX
/// resampler library does. The library allocates while it converts: keep it off the render thread, where
/// `RateConverter` and `Resampler` do this. One converter is used by one thread at a time.
///
/// Threads: control.
@safe public struct SampleRateConverter: ~Copyable, @unchecked Sendable {
    // Unchecked because of the pointers: the memory behind them has one owner, this value, and no access but through
    // it.

    /// The amount of work for each frame. The article "Sample rates" has the figures.
    ///
    /// Threads: any.
    public enum Quality: Sendable, Hashable, CaseIterable {
        /// SNR 140 dB and more, within 0.008 dB to 20 kHz, aliases and images below -109 dB; below -140 dB where the ratio
        /// is not one of small whole numbers, or goes down by more than a tenth.
        case standard
        /// SNR 150 dB, which is all that 32-bit samples can carry; aliases below -150 dB. Takes two to three times as long as
        /// `standard` where the ratio is one of small whole numbers.
        case best
    }

    /// Frames per second of the input.
    public let inputRate: Double
    /// Frames per second of the output.
    public let outputRate: Double
    /// The number of channels, 1 to 64.
    public let channelCount: Int
    /// The amount of work for each frame.
    public let quality: Quality
    /// The number of frames taken in since the start or the last ``reset()``.
    public private(set) var consumedCount = 0
    /// The number of frames given out since the start or the last ``reset()``.
    public private(set) var producedCount = 0
    /// Indicates whether ``finish(into:at:room:)`` was called: nothing can go in until ``reset()``.
    public private(set) var isFinishing = false

    /// `nil` if the rates are equal, or `exact` does the work.
    private let handle: soxr_t?
    private var exact: RatioResampler?
    /// The addresses of the channels of a block: first those of the input, then those of the output.
    private let table: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    /// The silence behind the end, for all channels.
    private let silence: UnsafeMutablePointer<Float>
    private static let silentFrames = 1_024

    /// Creates a converter at the start of a stream.
    ///
    /// - Parameters:
    ///   - from: Frames per second of the input, 1…1,000,000; a rate outside becomes the nearest one, with a notice on
    ///     standard error, here and below.
    ///   - to: Frames per second of the output, 1…1,000,000.
    ///   - channels: 1…64.
    ///   - quality: The amount of work for each frame.
    /// - Precondition: There are 1…64 channels.
    /// - Complexity: It computes a filter, which takes about a millisecond.
    public init(from: Double, to: Double, channels: Int, quality: Quality = .standard) {
        let (from, to) = SampleRateConverter.nearest(from, to)
        demand(channels >= 1 && channels <= 64, "SampleRateConverter has 1 to 64 channels, not \(channels)")
        inputRate = from
        outputRate = to
        channelCount = channels
        self.quality = quality
        let exact = from == to || quality != .standard ? nil : SampleRateConverter.exact(from, to, channels)
        let isLibrarys = from != to && exact == nil
        self.exact = exact
        unsafe handle = isLibrarys ? SampleRateConverter.makeHandle(from, to, channels, quality) : nil
        unsafe table = .allocate(capacity: 2 * channels)
        unsafe table.initialize(repeating: nil, count: 2 * channels)
        unsafe silence = .allocate(capacity: SampleRateConverter.silentFrames)
        unsafe silence.initialize(repeating: 0, count: SampleRateConverter.silentFrames)
    }

    deinit {
        unsafe soxr_delete(handle)
        unsafe table.deallocate()
        unsafe silence.deallocate()
    }

    private static func nearest(_ from: Double, _ to: Double) -> (from: Double, to: Double) {
        (nearestSampleRate(to: from, for: "SampleRateConverter"), nearestSampleRate(to: to, for: "SampleRateConverter"))
    }

    /// Returns a resampler for rates in whole hertz whose ratio is one of small numbers; `nil` for others.
    private static func exact(_ from: Double, _ to: Double, _ channels: Int) -> RatioResampler? {
        guard from == from.rounded() && to == to.rounded() else { return nil }
        var (divisor, rest) = (Int(to), Int(from))
        while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
        return RatioResampler(up: Int(to) / divisor, down: Int(from) / divisor, channels: channels)
    }

    private static func makeHandle(_ from: Double, _ to: Double, _ channels: Int, _ quality: Quality) -> soxr_t {
        let recipe: UInt =
            switch quality {
            // SOXR_24_BITQ and SOXR_VHQ: Swift does not see macros that are defined by others. SOXR_HQ, which is below them,
            // computes in single precision and ends at 131.7 dB (96 to 44.1 kHz); from 21 bits on the library takes double.
            case .standard: 5
            case .best: 6
            }
        // The exact clock matters where the rates have no small common measure: without it the step between frames is
        // known to 2^-33 only, which is a sample after two days.
        var filter = unsafe soxr_quality_spec(recipe, UInt(SOXR_HI_PREC_CLOCK))
        var layout = unsafe soxr_io_spec(SOXR_FLOAT32_S, SOXR_FLOAT32_S)
        var error: soxr_error_t?
        let handle = unsafe soxr_create(from, to, UInt32(channels), &error, &layout, &filter, nil)
        guard let handle = unsafe handle else {
            let reason = unsafe error.map { unsafe String(cString: $0) } ?? "no reason given"
            fatalError("SampleRateConverter: the library refused \(from) to \(to) Hz: \(reason)")
        }
        return unsafe handle
    }

    /// Returns the number of frames that a stream of that many input frames becomes: *N* × `to` / `from`, rounded up.
    ///
    /// Exact as long as the product is below 2⁵³: for years of audio.
    public static func frameCount(of inputFrames: Int, from: Double, to: Double) -> Int {
        let (from, to) = nearest(from, to)
        return from == to ? inputFrames : Int(min((Double(inputFrames) * to / from).rounded(.up), 0x1p62))
    }

    /// The number of frames that ``finish(into:at:room:)`` would hand out.
    public var remainingCount: Int {
        SampleRateConverter.frameCount(of: consumedCount, from: inputRate, to: outputRate) - producedCount
    }

    /// Takes in frames and gives out frames, as many as there are and have room.
    ///
    /// Call it again with the input that was not consumed, or with the next. It always makes progress: input is left
    /// over only if the output is full.
    ///
    /// - Parameters:
    ///   - input: The block that the frames come from.
    ///   - first: The first of them.
    ///   - frames: The number of frames; by default up to the end of the block.
    ///   - output: The block for the result.
    ///   - start: Its first frame there.
    ///   - room: The largest number of frames to write; by default up to the end of the block.
    /// - Returns: The number of frames that were taken, and the number that were given.
    /// - Precondition: Both blocks have the converter's channels, the frames lie inside them, and the stream was not
    ///   finished.
    public mutating func convert(
        _ input: borrowing AudioBlock, from first: Int = 0, frames: Int? = nil, into output: inout AudioBlock,
        at start: Int = 0, room: Int? = nil
    ) -> (consumed: Int, produced: Int) {
        let frames = frames ?? input.frameCount - first
        let room = room ?? output.frameCount - start
        check(output, start, room, "convert: the output", channels: channelCount)
        return unsafe convert(input, from: first, frames: frames, into: output.pointers, at: start, room: room)
    }

    /// Indicates whether the input may be pairs of 16-bit integers in the place of samples.
    package var takesPairs: Bool { exact != nil && channelCount == 2 }

    /// Gives the frames out into channels that have the room from `start` on.
    ///
    /// - Parameter isPairs: `true` if each sample of the input's one channel is a pair of 16-bit integers; see ``takesPairs``.
    package mutating func convert(
        _ input: borrowing AudioBlock, isPairs: Bool = false, from first: Int, frames: Int,
        into output: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at start: Int, room: Int
    ) -> (consumed: Int, produced: Int) {
        demand(!isFinishing, "SampleRateConverter.convert after finish: begin the next stream with reset()")
        check(input, first, frames, "convert: the input", channels: isPairs && takesPairs ? 1 : channelCount)
        if let (consumed, produced) = unsafe exact?.convert(
            input, isPairs: isPairs, from: first, frames: frames, into: output, at: start, room: room)
        {
            consumedCount += consumed
            producedCount += produced
            return (consumed, produced)
        }
        guard unsafe handle != nil else {
            let count = min(frames, room)
            for channel in 0..<channelCount {
                unsafe (output[channel] + start).copySamples(from: input.pointers[channel] + first, count: count)
            }
            consumedCount += count
            producedCount += count
            return (count, count)
        }
        for channel in 0..<channelCount {
            unsafe table[channel] = UnsafeMutableRawPointer(input.pointers[channel] + first)
        }
        var (consumed, produced) = (0, 0)
        while true {
            unsafe pointTable(at: output, from: start + produced)
            let (taken, made) = process(frames - consumed, room: room - produced)
            consumed += taken
            produced += made
            if consumed == frames || produced == room || taken == 0 && made == 0 { break }
            for channel in 0..<channelCount {
                unsafe table[channel] = UnsafeMutableRawPointer(input.pointers[channel] + first + consumed)
            }
        }
        consumedCount += consumed
        producedCount += produced
        return (consumed, produced)
    }

    /// Gives out the remaining frames when the input has ended. Call it until it returns 0.
    ///
    /// - Parameters:
    ///   - output: The block for the result.
    ///   - start: Its first frame there.
    ///   - room: The largest number of frames to write; by default up to the end of the block.
    /// - Returns: The number of frames that were given; 0 when there are no more.
    /// - Precondition: The block has the converter's channels, and the frames lie inside it.
    public mutating func finish(into output: inout AudioBlock, at start: Int = 0, room: Int? = nil) -> Int {
        let room = room ?? output.frameCount - start
        check(output, start, room, "finish: the output", channels: channelCount)
        return unsafe finish(into: output.pointers, at: start, room: room)
    }

    /// Gives the remaining frames out into channels that have the room from `start` on.
    package mutating func finish(
        into output: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, at start: Int, room: Int
    ) -> Int {
        isFinishing = true
        let count = min(room, remainingCount)
        if exact != nil {
            unsafe exact?.finish(into: output, at: start, room: count)
            producedCount += count
            return count
        }
        for channel in 0..<channelCount { unsafe table[channel] = UnsafeMutableRawPointer(silence) }
        var produced = 0
        while produced < count {
            unsafe pointTable(at: output, from: start + produced)
            // The library is given silence and not the end of the stream, whose length it would round by its own rule.
            produced += process(SampleRateConverter.silentFrames, room: count - produced).produced
        }
        producedCount += count
        return count
    }

    /// Forgets the stream: the next frame is the first of another.
    public mutating func reset() {
        if unsafe handle != nil { unsafe _ = soxr_clear(handle) }
        exact?.reset()
        consumedCount = 0
        producedCount = 0
        isFinishing = false
    }

    private func check(
        _ block: borrowing AudioBlock, _ first: Int, _ frames: Int, _ what: String, channels: Int
    ) {
        demand(
            block.channelCount == channels,
            "SampleRateConverter.\(what) has \(block.channelCount) channels, the converter \(channels)")
        demand(
            first >= 0 && frames >= 0 && frames <= block.frameCount - first,
            "SampleRateConverter.\(what) has \(block.frameCount) frames, not \(first)..<\(first + frames)")
    }

    private func pointTable(at output: UnsafeMutablePointer<UnsafeMutablePointer<Float>>, from start: Int) {
        for channel in 0..<channelCount {
            unsafe table[channelCount + channel] = UnsafeMutableRawPointer(output[channel] + start)
        }
    }

    /// Calls the library once, between the places in the table.
    private func process(_ frames: Int, room: Int) -> (consumed: Int, produced: Int) {
        var (consumed, produced) = (0, 0)
        let error = unsafe soxr_process(
            handle, UnsafeRawPointer(table), frames, &consumed, UnsafeMutableRawPointer(table + channelCount), room,
            &produced)
        if let error = unsafe error {
            fatalError("SampleRateConverter: \(unsafe String(cString: error))")
        }
        return (consumed, produced)
    }
}
