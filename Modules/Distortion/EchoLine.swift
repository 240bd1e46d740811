import RenderCore

/// The echo of a ``Distortion``: between two frames in a straight line, without a filter.
struct EchoLine: ~Copyable, Sendable {
    private var ring: DelayRing
    private let longest: Double
    private var fadeIn = FadeIn()

    init(channels: Int, frames: Int) {
        ring = DelayRing(channels: channels, frames: frames, atOnce: HalfBandResampler.room)
        longest = Double(frames - 2)
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        ring.reset()
        fadeIn = FadeIn()
    }

    /// Forgets everything while no echo is heard. The sound that comes next fades in on its way into the line.
    @_noLocks @_noAllocation
    mutating func rest(_ rate: Double) {
        ring.reset()
        fadeIn.begin(sampleRate: rate)
    }

    @_noLocks @_noAllocation
    mutating func advance(by frames: Int) {
        ring.advance(by: frames)
        fadeIn.advance(by: frames)
    }

    /// Adds the echoes to the first frames.
    @_noLocks @_noAllocation
    mutating func process(
        _ sound: inout RenderMemory<Float>, _ channel: Int, _ count: Int, _ first: Int, rate: Double, time: Glide,
        feedback: Glide, level: Glide
    ) {
        let fades = !fadeIn.isOver
        for i in 0..<count {
            let asked = Double(time[first &+ i]) * rate
            let delay = asked > 1 ? (asked < longest ? asked : longest) : 1
            let whole = Int(delay)
            let share = Float(delay - Double(whole))
            let (near, far) = (
                ring.value(channel, delay: whole, frame: i), ring.value(channel, delay: whole &+ 1, frame: i)
            )
            let echo = (1 - share) * near + share * far
            let input = fades ? sound[i] * fadeIn.gain(i) : sound[i]
            var kept = input + feedback[first &+ i] * echo
            // A silence costs no arithmetic on denormal numbers.
            if abs(kept) < 1e-20 { kept = 0 }
            ring.put(kept, in: channel, frame: i)
            sound[i] += level[first &+ i] * echo
        }
    }
}
