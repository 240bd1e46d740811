import RenderCore

/// The echo of a ``Distortion``: between two frames in a straight line, without a filter.
struct EchoLine: ~Copyable, Sendable {
    private let length: Int
    private var samples: RenderMemory<Float>
    private var position = 0
    /// Frames that were written since the reset: older ones are silence, whatever the memory holds.
    private var filled = 0
    private var fadeIn = FadeIn()

    init(channels: Int, frames: Int) {
        length = frames + HalfBandResampler.room
        samples = RenderMemory(repeating: 0, count: channels * length)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        filled = 0
        fadeIn = FadeIn()
    }

    /// Forgets everything while no echo is heard. The sound that comes next fades in on its way into the line.
    @_noLocks @_noAllocation
    mutating func rest(_ rate: Double) {
        filled = 0
        fadeIn.begin(sampleRate: rate)
    }

    @_noLocks @_noAllocation
    mutating func advance(by frames: Int) {
        position &+= frames
        if position >= length { position &-= length }
        filled = min(filled &+ frames, length)
        fadeIn.advance(by: frames)
    }

    /// Adds the echoes to the first frames.
    @_noLocks @_noAllocation
    mutating func process(
        _ sound: inout RenderMemory<Float>, _ channel: Int, _ count: Int, _ first: Int, rate: Double, time: Glide,
        feedback: Glide, level: Glide
    ) {
        let start = channel &* length
        let longest = Double(length &- HalfBandResampler.room &- 2)
        let fades = !fadeIn.isOver
        for i in 0..<count {
            let asked = Double(time[first &+ i]) * rate
            let delay = asked > 1 ? (asked < longest ? asked : longest) : 1
            let whole = Int(delay)
            let share = Float(delay - Double(whole))
            let echo = (1 - share) * past(start, whole, i) + share * past(start, whole &+ 1, i)
            let input = fades ? sound[i] * fadeIn.gain(i) : sound[i]
            var kept = input + feedback[first &+ i] * echo
            // A silence costs no arithmetic on denormal numbers.
            if abs(kept) < 1e-20 { kept = 0 }
            let place = position &+ i
            samples[start &+ (place < length ? place : place &- length)] = kept
            sound[i] += level[first &+ i] * echo
        }
    }

    /// Returns the sample that was written so many frames before a frame of the block.
    @_noLocks @_noAllocation @inline(__always)
    private func past(_ start: Int, _ age: Int, _ frame: Int) -> Float {
        if age > filled &+ frame { return 0 }
        var place = position &+ frame &- age
        if place < 0 { place &+= length }
        if place >= length { place &-= length }
        return samples.value(at: start &+ place)
    }
}
