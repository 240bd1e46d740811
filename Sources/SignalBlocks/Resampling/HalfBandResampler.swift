/// Brings the sound of some channels to 2, 4, 8 or 16 times the sample rate and back: for what makes new frequencies.
///
///     var resampler = HalfBandResampler(channels: 2, times: 4)
///     …
///     for i in 0..<64 { resampler.low[i] = samples[i] }
///     resampler.raise(0, frames: 64)
///     for i in 0..<256 { resampler.high[i] = shaped(resampler.high[i]) }
///     resampler.lower(0, frames: 64)                       // into `low`
///
/// Each octave is a half-band filter of linear phase: 287 taps between the rate and twice the rate, fewer above. What
/// lies beyond 0.529 of the lower rate, 25.4 kHz at 48 kHz, is 120 dB down, and up to 0.471 of it, 22.6 kHz, nothing
/// changes by more than 0.0001 dB. The samples do not depend on how the blocks are cut, bit for bit.
///
/// Threads: any.
public struct HalfBandResampler: ~Copyable, Sendable {
    /// The number of channels.
    public let channelCount: Int
    /// The factor between the rates: 1, 2, 4, 8 or 16.
    public let times: Int
    /// The delay that is added to that of the filters, in frames of the higher rate.
    public let padding: Int

    /// The frames of the lower rate: those that are raised, and those that come back.
    public var low: RenderMemory<Float>
    /// The frames of the higher rate.
    public var high: RenderMemory<Float>

    private let octaves: Int
    private let lineLength: Int
    private var taps: RenderMemory<Float>
    /// The past of each channel and octave: what goes up, and the even and the odd frames that come down.
    private var lines: RenderMemory<Float>
    /// The last frames of the higher rate, for the padding, of each channel.
    private var held: RenderMemory<Float>
    private var spare: RenderMemory<Float>

    /// The most frames of the lower rate that are converted at once.
    public static var room: Int { @_noLocks @_noAllocation get { 64 } }
    /// Half of the taps that are not 0, for each octave.
    @_noLocks @_noAllocation @inline(__always)
    private static func half(_ octave: Int) -> Int { octave == 0 ? 72 : octave == 1 ? 12 : octave == 2 ? 8 : 6 }
    /// Zeros that a loop over vectors may read and write beyond the end.
    private static var margin: Int { @_noLocks @_noAllocation get { 16 } }

    /// Creates a resampler at silence. On the control side: it allocates.
    ///
    /// - Parameters:
    ///   - channels: 1…64.
    ///   - times: 1, 2, 4, 8 or 16; 1 copies.
    ///   - padding: Frames of the higher rate that the way down takes longer, 0…`times`.
    /// - Precondition: The numbers are in range.
    ///
    /// Threads: control.
    public init(channels: Int, times: Int, padding: Int = 0) {
        demand((1...64).contains(channels), "HalfBandResampler: \(channels) channels; it must have 1…64")
        demand([1, 2, 4, 8, 16].contains(times), "HalfBandResampler: \(times) times; it must be 1, 2, 4, 8 or 16")
        demand((0...times).contains(padding), "HalfBandResampler: a padding of \(padding); it must be 0…\(times)")
        channelCount = channels
        self.times = times
        self.padding = padding
        octaves = times.trailingZeroBitCount
        let most = HalfBandResampler.room * times
        low = RenderMemory(repeating: 0, count: HalfBandResampler.room + HalfBandResampler.margin)
        high = RenderMemory(repeating: 0, count: most + HalfBandResampler.margin)
        spare = RenderMemory(repeating: 0, count: 2 * most + HalfBandResampler.margin)
        lineLength = 144 + max(HalfBandResampler.room, most / 2) + HalfBandResampler.margin
        lines = RenderMemory(repeating: 0, count: max(1, 3 * octaves * channels * lineLength))
        held = RenderMemory(repeating: 0, count: channels * max(1, padding))
        taps = RenderMemory(repeating: 0, count: 144 * max(1, octaves))
        for octave in 0..<octaves {
            let design = HalfBandResampler.design(HalfBandResampler.half(octave), octave == 0 ? 124 : 126)
            for (i, tap) in design.enumerated() { taps[144 * octave + i] = tap }
        }
    }

    /// Returns the delay of the way up and the way down together, in frames of the higher rate.
    ///
    /// Threads: control.
    public static func latency(times: Int) -> Int {
        (0..<([2, 4, 8, 16].contains(times) ? times.trailingZeroBitCount : 0)).reduce(0) { sum, octave in
            sum + (4 * half(octave) - 2) * times >> (octave + 1)
        }
    }

    /// Returns every second tap of a windowed half-band filter, from the first on: the others are 0, but for the one in
    /// the middle.
    private static func design(_ half: Int, _ decibels: Double) -> [Float] {
        let beta = 0.1102 * (decibels - 8.7)
        let middle = Double(2 * half - 1)
        var taps = (0..<2 * half).map { i in
            let place = 2 * Double(i) - middle
            let ratio = place / middle
            let window = RenderMath.bessel(beta * max(0, 1 - ratio * ratio).squareRoot()) / RenderMath.bessel(beta)
            return RenderMath.sin(.pi * place / 2) / (.pi * place / 2) * window
        }
        let sum = taps.reduce(0, +)
        for i in taps.indices { taps[i] /= sum }
        return taps.map { Float($0) }
    }

    /// Forgets the sound before.
    @_noLocks @_noAllocation
    public mutating func reset() {
        var i = 0
        while i < lines.count {
            unsafe lines.memory.base[i] = 0
            i &+= 1
        }
        i = 0
        while i < held.count {
            unsafe held.memory.base[i] = 0
            i &+= 1
        }
    }

    /// The start of a line: 0 goes up, 1 and 2 are the even and the odd frames that come down.
    @_noLocks @_noAllocation @inline(__always)
    private func line(_ channel: Int, _ octave: Int, _ number: Int) -> UnsafeMutablePointer<Float> {
        unsafe lines.memory.base + ((channel &* octaves &+ octave) &* 3 &+ number) &* lineLength
    }

    /// Raises the first frames of ``low`` to the higher rate: `frames` × ``times`` of them are in ``high`` then.
    ///
    /// - Parameters:
    ///   - channel: The number of the channel, whose past belongs to it.
    ///   - frames: Frames of the lower rate, 0…``room``.
    /// - Precondition: Both are in range.
    @_noLocks @_noAllocation
    public mutating func raise(_ channel: Int, frames: Int) {
        precondition(channel >= 0 && channel < channelCount && frames >= 0 && frames <= HalfBandResampler.room)
        let (low, high, spare) = unsafe (self.low.memory.base, self.high.memory.base, self.spare.memory.base)
        if octaves == 0 {
            unsafe HalfBandResampler.copy(low, high, frames)
            return
        }
        var count = frames
        var octave = 0
        while octave < octaves {
            let half = HalfBandResampler.half(octave)
            let history = 2 &* half &- 1
            let line = unsafe line(channel, octave, 0)
            unsafe HalfBandResampler.copy(octave == 0 ? low : high, line + history, count)
            unsafe HalfBandResampler.filter(line, taps.memory.base + 144 &* octave, 2 &* half, spare, count)
            var i = 0
            while i < count {
                unsafe high[2 &* i] = spare[i]
                unsafe high[2 &* i &+ 1] = line[i &+ half]
                i &+= 1
            }
            unsafe HalfBandResampler.copy(line + count, line, history)
            count &*= 2
            octave &+= 1
        }
    }

    /// Brings the first frames of ``high`` back to the lower rate: `frames` of them are in ``low`` then.
    ///
    /// - Parameters:
    ///   - channel: The number of the channel.
    ///   - frames: Frames of the lower rate, 0…``room``.
    /// - Precondition: Both are in range.
    @_noLocks @_noAllocation
    public mutating func lower(_ channel: Int, frames: Int) {
        precondition(channel >= 0 && channel < channelCount && frames >= 0 && frames <= HalfBandResampler.room)
        let (low, high, spare) = unsafe (self.low.memory.base, self.high.memory.base, self.spare.memory.base)
        if padding > 0 { pad(channel, frames &* times) }
        if octaves == 0 {
            unsafe HalfBandResampler.copy(high, low, frames)
            return
        }
        var octave = octaves &- 1
        var count = frames &* times / 2
        while octave >= 0 {
            let half = HalfBandResampler.half(octave)
            let history = 2 &* half &- 1
            let (even, odd) = unsafe (line(channel, octave, 1), line(channel, octave, 2))
            var i = 0
            while i < count {
                unsafe even[history &+ i] = high[2 &* i]
                unsafe odd[half &+ i] = high[2 &* i &+ 1]
                i &+= 1
            }
            unsafe HalfBandResampler.filter(even, taps.memory.base + 144 &* octave, 2 &* half, spare, count)
            let target = unsafe octave == 0 ? low : high
            i = 0
            while i < count {
                unsafe target[i] = 0.5 * (spare[i] + odd[i])
                i &+= 1
            }
            unsafe HalfBandResampler.copy(even + count, even, history)
            unsafe HalfBandResampler.copy(odd + count, odd, half)
            count /= 2
            octave &-= 1
        }
    }

    /// Delays the frames of the higher rate by the padding.
    @_noLocks @_noAllocation
    private mutating func pad(_ channel: Int, _ count: Int) {
        let (high, spare) = unsafe (self.high.memory.base, self.spare.memory.base)
        let held = unsafe self.held.memory.base + channel &* padding
        unsafe HalfBandResampler.copy(held, spare, padding)
        unsafe HalfBandResampler.copy(high, spare + padding, count)
        unsafe HalfBandResampler.copy(spare, high, count)
        unsafe HalfBandResampler.copy(spare + count, held, padding)
    }

    /// Copies samples to a lower address, or to where they do not overlap.
    @_noLocks @_noAllocation @inline(__always)
    private static func copy(_ source: UnsafeMutablePointer<Float>, _ target: UnsafeMutablePointer<Float>, _ count: Int)
    {
        var i = 0
        while i < count {
            unsafe target[i] = source[i]
            i &+= 1
        }
    }

    /// Weighs `width` samples for each frame. It computes sixteen frames at once, each in the same order, so that it does
    /// not matter which sixteen; the margin takes what is beyond the count.
    @_noLocks @_noAllocation
    private static func filter(
        _ line: UnsafeMutablePointer<Float>, _ taps: UnsafeMutablePointer<Float>, _ width: Int,
        _ output: UnsafeMutablePointer<Float>, _ count: Int
    ) {
        var first = 0
        while first < count {
            var (a, b) = (SIMD8<Float>(repeating: 0), SIMD8<Float>(repeating: 0))
            let source = unsafe UnsafeRawPointer(line + first)
            var tap = 0
            while tap < width {
                let weight = unsafe SIMD8<Float>(repeating: taps[tap])
                a += unsafe weight * source.loadUnaligned(fromByteOffset: 4 &* tap, as: SIMD8<Float>.self)
                b += unsafe weight * source.loadUnaligned(fromByteOffset: 4 &* tap &+ 32, as: SIMD8<Float>.self)
                tap &+= 1
            }
            let target = unsafe UnsafeMutableRawPointer(output + first)
            unsafe target.storeBytes(of: a, as: SIMD8<Float>.self)
            unsafe target.storeBytes(of: b, toByteOffset: 32, as: SIMD8<Float>.self)
            first &+= 16
        }
    }
}
