/// Filters a signal with a filter of any shape (an impulse response, a template to look for), by Fourier transform.
///
///     var reverb = Convolution(filterLength: impulse.count, blockLength: 512)     // allocates: in an `init`
///     reverb.setFilter(Samples(impulse.span))
///     reverb.process(&samples)                                                     // block by block, as they come
///
/// A stream goes through ``process(_:into:)`` in blocks of any length, without latency; a whole signal goes through
/// ``apply(to:extent:into:)``. The filter may be replaced between blocks: every sample keeps the filter that it met
/// when it came in, so a sound that is still ringing rings out.
///
/// - Complexity: O(*n* log *size*), where *size* is the smallest supported one of ``RealFFT`` that holds filter and
///   block; blocks so short that multiplying out is cheaper are multiplied out.
///
/// Threads: any.
public struct Convolution: ~Copyable, Sendable {
    /// The two ways in which a filter is applied.
    ///
    /// Threads: any.
    public enum Operation: Sendable {
        /// `y[n] = sum x[n - k] h[k]`: the filter is an impulse response.
        case convolution
        /// The filter is reversed: whole signals give `y[n] = sum x[n + k] h[k]`, highest where the signal looks like
        /// the filter. A stream cannot look ahead: there it comes `filterLength - 1` frames late.
        case correlation
    }

    /// The part of the result for a whole signal that is wanted.
    ///
    /// Threads: any.
    public enum Extent: Sendable {
        /// The frames for which the filter lies wholly inside of the signal: `signal - filter + 1` frames.
        case valid
        /// All frames for which filter and signal overlap: `signal + filter - 1` frames.
        case full
    }

    /// The longest filter that fits.
    public let maximumFilterLength: Int
    /// The length of the filter that is set, 0 at first: then the output is silent.
    public private(set) var filterLength = 0
    /// Frames that one transform takes in.
    private let blockLength: Int
    /// Up to so many multiplications a block is multiplied out.
    private let directLimit: Int
    private var fft: RealFFT
    private var taps: SampleMemory
    private var filterRe: SampleMemory
    private var filterIm: SampleMemory
    /// The samples that earlier blocks still add to the frames to come.
    private var tail: SampleMemory
    /// The frames a block makes: its own, then those that overlap the next.
    private var result: SampleMemory

    /// Allocates for filters up to a length.
    ///
    /// - Parameters:
    ///   - filterLength: The longest filter, at least 1.
    ///   - blockLength: Frames per transform, at least 1; about as long as the blocks that will come, or for whole
    ///     signals as the filter. Longer blocks are cut, whatever their length.
    /// - Precondition: Both together are at most 2^20.
    ///
    /// Threads: control.
    public init(filterLength: Int, blockLength: Int) {
        self.init(filterLength: filterLength, blockLength: blockLength, directCost: 24)
    }

    /// - Parameter directCost: The number of multiplications that cost as much as a transform there and back, per
    ///   sample of its size.
    init(filterLength: Int, blockLength: Int, directCost: Int) {
        demand(
            filterLength >= 1 && blockLength >= 1,
            "Convolution: a filter of \(filterLength) frames and blocks of \(blockLength); both must have 1 or more")
        demand(
            filterLength <= 1 << 20 && blockLength <= 1 << 20 && filterLength + blockLength <= 1 << 20,
            "Convolution: filter and block have \(filterLength) + \(blockLength) frames, together 2^20 at most")
        let size = RealFFT.size(atLeast: filterLength + blockLength - 1) ?? 1 << 20
        fft = RealFFT(size: size)
        maximumFilterLength = filterLength
        self.blockLength = size - filterLength + 1
        directLimit = size * directCost
        taps = SampleMemory(count: filterLength)
        filterRe = SampleMemory(count: fft.spectrumMemory)
        filterIm = SampleMemory(count: fft.spectrumMemory)
        tail = SampleMemory(count: size)
        result = SampleMemory(count: size)
    }

    /// Sets or replaces the filter. The render thread may do so: it costs one transform.
    ///
    /// - Parameters:
    ///   - filter: The filter. Samples beyond ``maximumFilterLength`` are cut off.
    ///   - operation: The way in which the filter is applied: as it is, or reversed.
    @_noLocks @_noAllocation
    public mutating func setFilter(_ filter: borrowing Samples, operation: Operation = .convolution) {
        let count = min(filter.count, maximumFilterLength)
        for k in 0..<count {
            switch operation {
            case .convolution: taps[k] = filter[k]
            case .correlation: taps[k] = filter[count &- 1 &- k]
            }
        }
        filterLength = count
        fft.analyse(taps, count: count)
        fft.copySpectrum(into: &filterRe, &filterIm)
    }

    /// Forgets the stream but not the filter: the next block is the first.
    @_noLocks @_noAllocation
    public mutating func reset() {
        var span = tail.span
        Signal.silence(&span)
    }

    /// Filters the next block of a stream.
    ///
    /// - Parameters:
    ///   - source: The block, of any length.
    ///   - output: Receives as many frames.
    @_noLocks @_noAllocation
    public mutating func process(_ source: borrowing Samples, into output: inout MutableSpan<Float>) {
        let count = min(source.count, output.count)
        var done = 0
        while done < count {
            let length = min(blockLength, count &- done)
            step(source, from: done, count: length)
            for i in 0..<length { output[done &+ i] = result[i] }
            done &+= length
        }
    }

    /// Filters the next block of a stream in place.
    @_noLocks @_noAllocation
    public mutating func process(_ buffer: inout MutableSpan<Float>) {
        let count = buffer.count
        var done = 0
        while done < count {
            let length = min(blockLength, count &- done)
            step(buffer.samples, from: done, count: length)
            for i in 0..<length { buffer[done &+ i] = result[i] }
            done &+= length
        }
    }

    /// Filters a whole signal; it does not touch a stream that is being processed.
    ///
    /// - Parameters:
    ///   - signal: The signal, of any length.
    ///   - extent: The part of the result that is wanted.
    ///   - output: Receives the result, or as much of it as it holds.
    /// - Returns: The frames written.
    @_noLocks @_noAllocation
    @discardableResult
    public mutating func apply(
        to signal: borrowing Samples, extent: Extent, into output: inout MutableSpan<Float>
    ) -> Int {
        if signal.count == 0 || filterLength == 0 { return 0 }
        let length: Int
        let skipped: Int
        switch extent {
        case .valid: (length, skipped) = (max(0, signal.count &- filterLength &+ 1), filterLength &- 1)
        case .full: (length, skipped) = (signal.count &+ filterLength &- 1, 0)
        }
        let count = min(length, output.count)
        for i in 0..<count { output[i] = 0 }
        var done = 0
        while done < signal.count && done &- skipped < count {
            let taken = min(blockLength, signal.count &- done)
            transform(signal, from: done, count: taken)
            // Frame i of the block is frame `begin + i` of the result.
            let begin = done &- skipped
            let first = max(0, 0 &- begin)
            let end = min(taken &+ filterLength &- 1, count &- begin)
            if first < end {
                for i in first..<end { output[begin &+ i] += result[i] }
            }
            done &+= taken
        }
        return count
    }

    /// Filters one block by the transform: `count + filterLength - 1` frames of result.
    @_noLocks @_noAllocation
    private mutating func transform(_ signal: borrowing Samples, from start: Int, count: Int) {
        fft.analyse(signal, from: start, count: count)
        fft.synthesise(multipliedBy: filterRe, filterIm)
        fft.unpack(into: &result)
    }

    /// Filters the next `count` frames of a stream, at most `blockLength`, into the result.
    @_noLocks @_noAllocation
    private mutating func step(_ signal: borrowing Samples, from start: Int, count: Int) {
        if count &* filterLength <= directLimit {
            Convolution.multiplyOut(signal, from: start, count: count, taps, filterLength, into: &tail)
            Convolution.shift(&tail, by: count, into: &result)
        } else {
            transform(signal, from: start, count: count)
            Convolution.overlap(&tail, &result, count: count, ringing: maximumFilterLength &- 1)
        }
    }

    /// Adds the filter's answer to each sample to the frames to come.
    @_noLocks @_noAllocation
    private static func multiplyOut(
        _ signal: borrowing Samples, from start: Int, count: Int, _ taps: borrowing SampleMemory, _ length: Int,
        into tail: inout SampleMemory
    ) {
        for n in 0..<count {
            let sample = signal[start &+ n]
            let factor = SIMD4<Float>(repeating: sample)
            var k = 0
            while k &+ 4 <= length {
                tail.store(tail.vector4(at: n &+ k) + taps.vector4(at: k) * factor, at: n &+ k)
                k &+= 4
            }
            while k < length {
                tail[n &+ k] += taps[k] * sample
                k &+= 1
            }
        }
    }

    /// Takes the first `count` frames out of the tail.
    @_noLocks @_noAllocation
    private static func shift(_ tail: inout SampleMemory, by count: Int, into result: inout SampleMemory) {
        for i in 0..<count { result[i] = tail[i] }
        let left = tail.count &- count
        for i in 0..<left { tail[i] = tail[count &+ i] }
        for i in left..<tail.count { tail[i] = 0 }
    }

    /// Adds the tail to the first `count` frames of a result; its other frames are added to the tail.
    @_noLocks @_noAllocation
    private static func overlap(
        _ tail: inout SampleMemory, _ result: inout SampleMemory, count: Int, ringing: Int
    ) {
        for i in 0..<count { result[i] += tail[i] }
        let kept = max(0, ringing &- count)
        for i in 0..<kept { tail[i] = tail[count &+ i] + result[count &+ i] }
        for i in kept..<ringing { tail[i] = result[count &+ i] }
    }
}
