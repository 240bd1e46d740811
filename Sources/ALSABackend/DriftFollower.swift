internal import RenderCore

/// Brings the sound that one card captures to the clock of another: a resampler whose ratio follows the fill of its
/// line.
///
/// Two cards of the same rate differ by up to some hundred parts per million. A controller of second order with a
/// bandwidth of a hundredth of a hertz finds the ratio; it hears nothing of a period's jitter, and the pitch moves too
/// slowly to be heard. At the start, and where the line runs dry or over after a standstill, its fill is measured and put
/// right by one cut: the controller would bend the pitch for half a minute instead.
struct DriftFollower: ~Copyable, Sendable {
    /// Frames of the second card per frame of the first, as found so far.
    private(set) var ratio: Double
    /// The number of times that the line ran dry or over.
    private(set) var breakCount = 0
    /// Captured frames that wait, the part that is not needed for the filter itself.
    var fill: Double { resampler.lead - Double(resampler.lookAhead) }

    /// Captured frames from the next one that goes out to the next one that comes in.
    var lead: Double { resampler.lead }

    private var resampler: Resampler
    private let nominal: Double
    private let target: Double
    private let most: Double
    private let proportional: Double
    private let integrating: Double
    private var integral = 0.0
    /// The block that receives frames to be dropped.
    private var scratch: AudioBlock
    /// Cycles for which the fill is measured at a start, those that are left of them, and the sum of its errors.
    private let settlingTime: Int
    private var settling = 0
    private var errorSum = 0.0
    /// Indicates whether the line has run dry and nothing has come in since, or run over and nothing has gone out.
    private var isDry = false
    /// Indicates whether anything came in since the last cycle, and the cycles up to this one for which that was so.
    private var hasNews = false
    private var cyclesSinceNews = 1
    private var isOver = false
    /// The largest deviation of the ratio from the nominal one: cards are within 1/1000.
    private static var reach: Double { 0.004 }

    /// Creates a follower.
    ///
    /// - Parameters:
    ///   - channels: 1…64.
    ///   - captureRate: Nominal frames per second that come in.
    ///   - playbackRate: Nominal frames per second that go out.
    ///   - capturePeriod: Frames that come in at once.
    ///   - period: Frames that go out at once.
    init(channels: Int, captureRate: Double, playbackRate: Double, capturePeriod: Int, period: Int) {
        nominal = captureRate / playbackRate
        ratio = nominal
        let needed = Double(period) * nominal
        // The frames that go out at once, those that come in at once, and those that the controller needs to find an
        // offset of 1/1000.
        target = needed + Double(capturePeriod) + captureRate * 0.008
        most = 2 * target + Double(capturePeriod)
        resampler = Resampler(
            channels: channels, steps: nominal * (1 - Self.reach)...nominal * (1 + Self.reach), room: Int(2 * most) + 64
        )
        // Critically damped: the fill is the integral of the ratio's error.
        let bandwidth = 2 * Double.pi * 0.01
        proportional = 2 * bandwidth / captureRate
        integrating = bandwidth * bandwidth / captureRate * Double(period) / playbackRate
        scratch = AudioBlock(channels: channels, frames: max(1, period))
        settlingTime = max(8, Int(0.1 * playbackRate / Double(period)))
        beginAnew()
    }

    /// Takes in captured frames.
    mutating func push(_ block: borrowing AudioBlock, frames: Int) {
        if isDry { beginAnew() }
        if frames > 0 { hasNews = true }
        guard resampler.push(block, frames: frames) < frames, !isOver else { return }
        isOver = true
        breakCount += 1
    }

    /// Gives frames out.
    ///
    /// - Parameters:
    ///   - frames: The number of frames.
    ///   - block: The block to fill, from its first frame on.
    ///   - lateness: The number of frames by which this cycle is later than it should be: frames that came in meanwhile
    ///     are no drift.
    mutating func pull(_ frames: Int, into block: inout AudioBlock, lateness: Double = 0) {
        if isDry {
            block.silence(from: 0, frames: frames)
            return
        }
        let isTooFull = fill - lateness * nominal > most
        if isTooFull && !isOver { breakCount += 1 }
        if isTooFull || isOver {
            isOver = false
            cut(fill - lateness * nominal - target)
            settle()
        }
        let error = fill - lateness * nominal - target
        let reach = Self.reach * 0.9
        if settling > 0 {
            measure(error)
            ratio = nominal * (1 + integral)
        } else if hasNews {
            integral = max(-reach, min(reach, integral + integrating * Double(cyclesSinceNews) * error))
            ratio = nominal * (1 + max(-reach, min(reach, integral + proportional * error)))
        }
        // If nothing comes in, the clocks are not slower: the pitch stays, until the line is dry.
        cyclesSinceNews = hasNews ? 1 : cyclesSinceNews + 1
        hasNews = false
        let done = resampler.pull(frames, at: Resampler.Step(ratio), into: &block)
        guard done < frames else { return }
        block.silence(from: done, frames: frames - done)
        isDry = true
        breakCount += 1
    }

    private mutating func settle() {
        settling = settlingTime
        errorSum = 0
    }

    private mutating func measure(_ error: Double) {
        errorSum += error
        settling -= 1
        if settling == 0 { cut(errorSum / Double(settlingTime)) }
    }

    /// Brings the fill to the wanted one: surplus frames are dropped, missing ones are silent.
    private mutating func cut(_ excess: Double) {
        if excess < 0 { resampler.pushSilence(Int(-excess)) }
        var left = Int(excess / nominal)
        while left > 0 {
            let done = resampler.pull(min(left, scratch.frameCount), at: Resampler.Step(nominal), into: &scratch)
            if done == 0 { return }
            left -= done
        }
    }

    /// Gives out all that is there, while there is no other clock. Returns how many frames.
    mutating func drain(into block: inout AudioBlock) -> Int {
        resampler.pull(block.frameCount, at: Resampler.Step(nominal), into: &block)
    }

    /// Begins anew with silence, at the fill that is wanted. The knowledge of the clocks stays.
    mutating func beginAnew() {
        (isDry, isOver) = (false, false)
        resampler.reset()
        resampler.pushSilence(Int(target) + resampler.lookAhead - Int(resampler.lead))
        settle()
    }
}
