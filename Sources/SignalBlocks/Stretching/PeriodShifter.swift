/// Changes the pitch of one voice at once: it reads a delay line faster or slower, and jumps by whole periods.
///
///     var shifter = PeriodShifter(sampleRate: 48_000, channels: 1)      // allocates: in an `init`
///     shifter.process(input, into: &output, frames: 64, cents: Glide(300))
///
/// When the delay has moved too far, the place at which the sound is most like that of the place read now is searched for
/// among those 5 to 12.5 ms away, between two frames too, and the sound fades there in 4 ms. A jump that is off by a
/// thousandth of a period turns the tone that far at each jump, so the place is made more exact twice, by the slope of the
/// sound there. All channels are read at the same places. The samples do not depend on how the blocks are cut, bit for bit.
///
/// Latency: 20 ms at a pitch of 0; around that on the way, by half a jump and the fade. The pitch is meant to be -1,200…1,200
/// cents. Frequencies that it lifts above half of the rate are not removed.
///
/// Threads: any.
public struct PeriodShifter: ~Copyable, Sendable {
    /// The number of channels.
    public let channelCount: Int
    private let middle: Int
    private let shortest: Int
    private let longest: Int
    private let fadeLength: Int
    private let compared: Int
    private let mask: Int
    private var lines: AudioBlock
    /// The sum of the channels, which is compared.
    private var mix: SampleMemory
    private var differences: SampleMemory
    /// Weights between two frames, and frames between the frames.
    private var weights: SampleMemory
    private var between: SampleMemory
    private let taps: SampleMemory
    private var written = 0
    private var delay: Double
    private var nextDelay = 0.0
    /// Frames of the fade that are left.
    private var fade = 0

    private static var width: Int { @_noLocks @_noAllocation get { 16 } }
    private static var parts: Int { @_noLocks @_noAllocation get { 256 } }

    /// Returns the latency in frames.
    ///
    /// Threads: control.
    public static func latency(sampleRate: Double) -> Int { sampleRate > 0 ? Int(0.02 * min(sampleRate, 1e6)) : 0 }

    /// Allocates.
    ///
    /// - Parameters:
    ///   - sampleRate: 1,000…1,000,000 frames per second; a rate outside becomes the nearest one, with a notice on standard
    ///     error.
    ///   - channels: 1…64.
    /// - Precondition: There are 1…64 channels.
    ///
    /// Threads: control.
    public init(sampleRate: Double, channels: Int) {
        let sampleRate = nearestSampleRate(to: sampleRate, from: 1_000, for: "PeriodShifter")
        demand(channels >= 1 && channels <= 64, "PeriodShifter: \(channels) channels; there must be 1…64")
        channelCount = channels
        middle = PeriodShifter.latency(sampleRate: sampleRate)
        delay = Double(middle)
        shortest = max(4, Int(0.005 * sampleRate))
        longest = max(shortest + 4, Int(0.0125 * sampleRate))
        fadeLength = max(2, Int(0.004 * sampleRate))
        compared = max(8, Int(0.006 * sampleRate))
        var length = 64
        while length < 2 * middle + 2 * longest + compared + 64 { length *= 2 }
        mask = length - 1
        lines = AudioBlock(channels: channels, frames: length)
        mix = SampleMemory(count: length)
        differences = SampleMemory(count: longest - shortest + 3)
        weights = SampleMemory(count: PeriodShifter.width)
        between = SampleMemory(count: compared + 2)
        // A sinc under a window of Hann: between two frames it is flat up to 0.4 of the rate.
        let (width, parts) = (PeriodShifter.width, PeriodShifter.parts)
        var table = SampleMemory(count: (parts + 1) * width)
        for part in 0...parts {
            let place = Double(part) / Double(parts)
            var weights: [Double] = []
            for tap in 0..<width {
                let x = Double(tap - width / 2 + 1) - place
                let share = x / Double(width / 2)
                let window = abs(share) < 1 ? 0.5 + 0.5 * RenderMath.cos(Double.pi * share) : 0
                weights.append(window * (abs(x) < 1e-9 ? 1 : RenderMath.sin(Double.pi * x) / (Double.pi * x)))
            }
            let sum = weights.reduce(0, +)
            for tap in 0..<width { table[part * width + tap] = Float(weights[tap] / sum) }
        }
        taps = table
    }

    /// Forgets the sound.
    @_noLocks @_noAllocation
    public mutating func reset() {
        lines.silence()
        for i in 0...mask { mix[i] = 0 }
        (written, delay, fade) = (0, Double(middle), 0)
    }

    /// Changes the pitch of frames.
    ///
    /// - Parameters:
    ///   - input: The frames, from its first on, with the shifter's channels.
    ///   - output: Receives the frames, from its first on.
    ///   - frames: The number of frames, up to the length of both.
    ///   - cents: The pitch, -2,400…2,400.
    ///   - first: At which frame of the slice, for a pitch that glides.
    /// - Precondition: Both blocks have the channels and the frames.
    @_noLocks @_noAllocation
    public mutating func process(
        _ input: borrowing AudioBlock, into output: inout AudioBlock, frames: Int, cents: Glide, from first: Int = 0
    ) {
        precondition(input.channelCount >= channelCount && output.channelCount >= channelCount)
        precondition(frames >= 0 && frames <= input.frameCount && frames <= output.frameCount)
        var ratio = 1.0
        let isFlat = cents.isFlat
        if isFlat { ratio = PeriodShifter.ratio(cents.end) }
        for i in 0..<frames {
            if !isFlat { ratio = PeriodShifter.ratio(cents[first &+ i]) }
            let place = written & mask
            var sum: Float = 0
            for channel in 0..<channelCount {
                let sample = input[channel, i]
                lines[channel, place] = sample
                sum += sample
            }
            mix[place] = sum
            written &+= 1
            if fade == 0 { jump() }
            read(delay, 1, isFirst: true, &output, i)
            if fade > 0 {
                let share = Float(fadeLength &- fade &+ 1) / Float(fadeLength &+ 1)
                // The first is read again, so that what fades keeps the level of alike sounds.
                read(delay, 1 - share, isFirst: true, &output, i)
                read(nextDelay, share, isFirst: false, &output, i)
                nextDelay += 1 - ratio
                fade &-= 1
            }
            delay += 1 - ratio
            if fade == 0 && nextDelay != 0 {
                delay = nextDelay
                nextDelay = 0
            }
        }
    }

    @_noLocks @_noAllocation
    private static func ratio(_ cents: Float) -> Double {
        // A pitch that is not a number compares as false.
        cents >= -2_400 && cents <= 2_400 && cents != 0 ? RenderMath.exp2(Double(cents) / 1_200) : 1
    }

    /// Begins a fade to another place, if the delay is too far from the middle.
    @_noLocks @_noAllocation
    private mutating func jump() {
        let off = delay - Double(middle)
        let limit = Double(longest) * 0.5
        if off <= limit && off >= -limit { return }
        let isLonger = off < 0
        nextDelay = delay + (isLonger ? search(1) : -search(-1))
        if nextDelay < Double(PeriodShifter.width) { nextDelay = Double(PeriodShifter.width) }
        let end = Double(mask &- 2 &* compared &- 2 &* PeriodShifter.width)
        if nextDelay > end { nextDelay = end }
        fade = fadeLength
    }

    /// Returns the distance at which the sound is most alike: behind the place that is read, or before it.
    @_noLocks @_noAllocation
    private mutating func search(_ sign: Int) -> Double {
        // The newest frame of both: the places that are read, and what follows them.
        let room = sign < 0 ? Int(delay) &- longest &- 2 : Int(delay) &- 2
        let after = room > compared / 2 ? compared / 2 : (room > 0 ? room : 0)
        let newest = written &- 1 &- Int(delay) &+ after
        let count = longest &- shortest &+ 1
        var best = 0
        // Each fourth distance and each fourth frame, then those around the best.
        var distance = 0
        while distance < count {
            differences[distance] = difference(newest, sign &* (shortest &+ distance), 4)
            if differences[distance] < differences[best] { best = distance }
            distance &+= 2
        }
        let low = max(0, best &- 4), high = min(count &- 1, best &+ 4)
        best = low
        for near in low...high {
            differences[near] = difference(newest, sign &* (shortest &+ near), 1)
            if differences[near] < differences[best] { best = near }
        }
        var exact = Double(shortest &+ best)
        if best > low && best < high {
            let (a, b, c) = (Double(differences[best &- 1]), Double(differences[best]), Double(differences[best &+ 1]))
            let bend = a - 2 * b + c
            if bend > 0 { exact += 0.5 * (a - c) / bend }
        }
        for _ in 0..<2 { exact += Double(sign) * correction(newest, Double(sign) * exact) }
        return exact
    }

    /// Returns the frames by which the place at which the sound is most alike is older: the step of Gauss and Newton, half a
    /// frame at most.
    ///
    /// - Parameters:
    ///   - newest: The newest of the frames that are compared.
    ///   - distance: The frames by which the place is older than those.
    @_noLocks @_noAllocation
    private mutating func correction(_ newest: Int, _ distance: Double) -> Double {
        var place = Int(-distance)
        if Double(place) > -distance { place &-= 1 }
        let part = Float((-distance - Double(place)) * Double(PeriodShifter.parts))
        let row = min(Int(part), PeriodShifter.parts &- 1)
        for tap in 0..<PeriodShifter.width {
            let low = taps[row &* PeriodShifter.width &+ tap], high = taps[(row &+ 1) &* PeriodShifter.width &+ tap]
            weights[tap] = low + (high - low) * (part - Float(row))
        }
        // From one frame behind the newest to one before the oldest.
        let start = newest &+ 1 &+ place &- PeriodShifter.width / 2 &+ 1
        for back in 0..<compared &+ 2 {
            var sum: Float = 0
            for tap in 0..<PeriodShifter.width { sum += weights[tap] * mix[(start &- back &+ tap) & mask] }
            between[back] = sum
        }
        var (product, square): (Float, Float) = (0, 1e-30)
        for back in 0..<compared {
            let slope = 0.5 * (between[back] - between[back &+ 2])
            product += (mix[(newest &- back) & mask] - between[back &+ 1]) * slope
            square += slope * slope
        }
        let step = -product / square
        // A comparison with a value that is not a number is false.
        return step > -0.5 && step < 0.5 ? Double(step) : 0
    }

    /// Returns how much frames differ from those that are `distance` older.
    @_noLocks @_noAllocation
    private func difference(_ newest: Int, _ distance: Int, _ stride: Int) -> Float {
        var (sum, energy): (Float, Float) = (0, 1e-20)
        var back = 0
        while back < compared {
            let here = mix[(newest &- back) & mask], there = mix[(newest &- back &- distance) & mask]
            sum += (here - there) * (here - there)
            energy += there * there
            back &+= stride
        }
        return sum / energy
    }

    /// Reads all channels at a delay.
    @_noLocks @_noAllocation
    private func read(_ delay: Double, _ gain: Float, isFirst: Bool, _ output: inout AudioBlock, _ frame: Int) {
        let delay = delay > 0 ? delay : 0
        let whole = Int(delay)
        let part = delay - Double(whole)
        // The frame at or before the place, and how far behind it the place is.
        let newest = part == 0 ? written &- 1 &- whole : written &- 2 &- whole
        let behind = part == 0 ? 0 : 1 - part
        if behind == 0 {
            for channel in 0..<channelCount {
                let value = gain * lines[channel, newest & mask]
                output[channel, frame] = isFirst ? value : output[channel, frame] + value
            }
            return
        }
        let position = behind * Double(PeriodShifter.parts)
        let row = min(Int(position), PeriodShifter.parts &- 1)
        let share = Float(position - Double(row))
        let start = newest &- PeriodShifter.width / 2 &+ 1
        let (low, high) = (row &* PeriodShifter.width, (row &+ 1) &* PeriodShifter.width)
        for channel in 0..<channelCount {
            var sum: Float = 0
            for tap in 0..<PeriodShifter.width {
                let weight = taps[low &+ tap] + (taps[high &+ tap] - taps[low &+ tap]) * share
                sum += weight * lines[channel, (start &+ tap) & mask]
            }
            output[channel, frame] = isFirst ? gain * sum : output[channel, frame] + gain * sum
        }
    }
}
