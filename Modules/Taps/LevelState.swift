internal import RenderCore

/// Peaks and energies of a level meter, on the render thread.
///
/// Measured in chunks of 64 frames, counted from the first that was heard: so the lengths of the slices make no difference.
/// A chunk's energy is summed in eight lanes, by the frame's number, whether the chunk comes whole or in pieces.
struct LevelState: ~Copyable, Sendable {
    /// The number of channels of the buffer that was heard last.
    private(set) var channelCount = 0
    private let limit: Int
    private let windowChunks: Int
    private let holdChunks: Int
    /// The factor for each chunk by which a peak falls.
    private let fall: Float

    // The held peaks, by channel.
    private var held: RenderMemory<Float>
    private var age: RenderMemory<Int>
    private var chunkPeak: RenderMemory<Float>
    private var lanes: RenderMemory<Float>
    private var sums: RenderMemory<Double>
    /// The energies of the last chunks, `windowChunks` per channel.
    private var energies: RenderMemory<Double>

    /// The index of the present chunk in the window, the number of chunks, and the number of frames in the present one.
    private var chunk = 0
    private var chunks = 0
    private var count = 0

    // The sum that is to be measured, of the slice that begins at `mixTime`.
    private var mix: AudioBlock
    private var mixFrames = 0
    private var mixChannels = 0
    private var mixTime = Int64.min

    private static var chunkFrames: Int { @_noLocks @_noAllocation get { 64 } }

    /// - Parameters:
    ///   - frames: The longest slice that is to be mixed.
    ///   - hold: Seconds that a peak is held.
    ///   - window: Seconds that RMS is taken over.
    init(sampleRate: Double, frames: Int, channels: Int, hold: Double, window: Double) {
        limit = channels
        let chunkRate = sampleRate / Double(Self.chunkFrames)
        windowChunks = max(1, Int(saturating: (window * chunkRate).rounded()))
        holdChunks = Int(saturating: (hold * chunkRate).rounded())
        fall = Float(RenderMath.exp(-RenderMath.log(3) / chunkRate))
        held = RenderMemory(repeating: 0, count: limit)
        age = RenderMemory(repeating: 0, count: limit)
        chunkPeak = RenderMemory(repeating: 0, count: limit)
        lanes = RenderMemory(repeating: 0, count: limit * 8)
        sums = RenderMemory(repeating: 0, count: limit)
        energies = RenderMemory(repeating: 0, count: limit * windowChunks)
        mix = AudioBlock(channels: max(1, limit), frames: frames)
    }

    /// Returns the peak of a channel: the one that is held, or that of the present chunk.
    @_noLocks @_noAllocation
    func peak(_ channel: Int) -> Float {
        let (old, new) = (held[channel], chunkPeak[channel])
        return new > old ? new : old
    }

    /// Returns the mean square of a channel over the window, or over the frames so far.
    @_noLocks @_noAllocation
    func meanSquare(_ channel: Int) -> Float {
        if chunks > 0 { return Float(sums[channel] / Double(chunks &* LevelState.chunkFrames)) }
        return count > 0 ? Float(energy(channel) / Double(count)) : 0
    }

    /// Measures the top.
    @_noLocks @_noAllocation
    mutating func measure(_ context: borrowing RenderContext) {
        adopt(context.channelCount())
        var done = 0
        while done < context.frameCount {
            let length = nextLength(context.frameCount &- done)
            for channel in 0..<channelCount { take(context.samples(channel), from: done, length, channel) }
            done &+= length
            advance(length)
        }
    }

    /// Adds the top to the sum of the same slice, and measures the slice before when another begins.
    @_noLocks @_noAllocation
    mutating func add(_ context: borrowing RenderContext) {
        if context.sampleTime != mixTime {
            measureMix()
            mixTime = context.sampleTime
            mixFrames = context.frameCount < mix.frameCount ? context.frameCount : mix.frameCount
            mixChannels = 0
            mix.silence()
        }
        let channels = context.channelCount() < limit ? context.channelCount() : limit
        for channel in 0..<channels {
            let source = context.samples(channel)
            var sum = mix[channel]
            for i in 0..<(source.count < sum.count ? source.count : sum.count) { sum[i] += source[i] }
        }
        if channels > mixChannels { mixChannels = channels }
    }

    @_noLocks @_noAllocation
    private mutating func measureMix() {
        adopt(mixChannels)
        var done = 0
        while done < mixFrames {
            let length = nextLength(mixFrames &- done)
            for channel in 0..<channelCount {
                for i in 0..<length { takeOne(mix[channel, done &+ i], at: count &+ i, channel) }
            }
            done &+= length
            advance(length)
        }
        mixFrames = 0
    }

    /// Begins anew.
    @_noLocks @_noAllocation
    mutating func forget() {
        adopt(0)
        chunk = 0
        chunks = 0
        count = 0
        mixFrames = 0
        mixChannels = 0
        mixTime = .min
    }

    // MARK: Chunks

    /// Takes another number of channels. Those that are no more begin anew when they come back.
    @_noLocks @_noAllocation
    private mutating func adopt(_ wanted: Int) {
        let channels = wanted < limit ? wanted : limit
        var channel = channels
        while channel < channelCount {
            held[channel] = 0
            age[channel] = 0
            chunkPeak[channel] = 0
            sums[channel] = 0
            for lane in 0..<8 { lanes[channel &* 8 &+ lane] = 0 }
            for i in 0..<windowChunks { energies[channel &* windowChunks &+ i] = 0 }
            channel &+= 1
        }
        channelCount = channels
    }

    /// Returns how many of that many frames go into the present chunk.
    @_noLocks @_noAllocation
    private func nextLength(_ frames: Int) -> Int {
        let rest = LevelState.chunkFrames &- count
        return frames < rest ? frames : rest
    }

    @_noLocks @_noAllocation
    private mutating func takeOne(_ sample: Float, at position: Int, _ channel: Int) {
        let magnitude = abs(sample)
        if magnitude > chunkPeak[channel] { chunkPeak[channel] = magnitude }
        lanes[channel &* 8 &+ (position & 7)] += sample * sample
    }

    @_noLocks @_noAllocation
    private mutating func take(_ samples: borrowing Samples, from start: Int, _ length: Int, _ channel: Int) {
        if length < LevelState.chunkFrames {
            for i in 0..<length { takeOne(samples[start &+ i], at: count &+ i, channel) }
            return
        }
        var sum = SIMD8<Float>(repeating: 0)
        var loudest = SIMD8<Float>(repeating: 0)
        var i = 0
        while i < LevelState.chunkFrames {
            let vector = samples.vector8(at: start &+ i)
            let magnitude = vector.replacing(with: -vector, where: vector .< 0)
            loudest.replace(with: magnitude, where: magnitude .> loudest)
            sum += vector * vector
            i &+= 8
        }
        for lane in 0..<8 {
            lanes[channel &* 8 &+ lane] = sum[lane]
            if loudest[lane] > chunkPeak[channel] { chunkPeak[channel] = loudest[lane] }
        }
    }

    /// Returns the energy of the present chunk.
    @_noLocks @_noAllocation
    private func energy(_ channel: Int) -> Double {
        var sum = 0.0
        for lane in 0..<8 { sum += Double(lanes[channel &* 8 &+ lane]) }
        return sum
    }

    @_noLocks @_noAllocation
    private mutating func advance(_ length: Int) {
        count &+= length
        if count < LevelState.chunkFrames { return }
        count = 0
        for channel in 0..<channelCount { endChunk(channel) }
        chunk = chunk &+ 1 == windowChunks ? 0 : chunk &+ 1
        if chunks < windowChunks { chunks &+= 1 }
    }

    @_noLocks @_noAllocation
    private mutating func endChunk(_ channel: Int) {
        let first = channel &* windowChunks
        let energy = energy(channel)
        let sum = sums[channel] + energy - energies[first &+ chunk]
        energies[first &+ chunk] = energy
        sums[channel] = sum > 0 ? sum : 0
        if chunk &+ 1 == windowChunks {
            // Summed anew once per window, so that errors do not add up.
            var exact = 0.0
            for i in 0..<windowChunks { exact += energies[first &+ i] }
            sums[channel] = exact
        }
        for lane in 0..<8 { lanes[channel &* 8 &+ lane] = 0 }

        let peak = chunkPeak[channel]
        chunkPeak[channel] = 0
        if peak >= held[channel] {
            held[channel] = peak
            age[channel] = 0
        } else if age[channel] < holdChunks {
            age[channel] &+= 1
        } else {
            // Below -200 dB it is silence, and costs nothing.
            let fallen = held[channel] * fall
            held[channel] = fallen > 1e-10 ? fallen : 0
            if peak > held[channel] { held[channel] = peak }
        }
    }
}
