internal import RenderCore

/// Brings what one card captures to the clock of another: a resampler whose ratio follows the fill of its line.
///
/// Two cards of the same rate differ by up to some hundred parts per million. A controller of second order with a
/// bandwidth of a hundredth of a hertz finds the ratio; it hears nothing of a period's jitter, and the pitch moves too
/// slowly to be heard. Where the line runs dry or over all the same, after a standstill, it begins anew and counts that.
struct DriftFollower: ~Copyable, Sendable {
    /// Frames of the second card per frame of the first, as found so far.
    private(set) var ratio: Double
    /// How often the line ran dry or over.
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
    /// How far the ratio may be from the nominal one: cards are within 1/1000.
    private static var reach: Double { 0.004 }

    /// A follower.
    ///
    /// - Parameters:
    ///   - channels: 1…64.
    ///   - captureRate: nominal frames per second that come in.
    ///   - playbackRate: nominal frames per second that go out.
    ///   - capturePeriod: frames that come in at once.
    ///   - period: frames that go out at once.
    init(channels: Int, captureRate: Double, playbackRate: Double, capturePeriod: Int, period: Int) {
        nominal = captureRate / playbackRate
        ratio = nominal
        let needed = Double(period) * nominal
        // What goes out at once, what comes in at once, and what the controller needs to find an offset of 1/1000.
        target = needed + Double(capturePeriod) + captureRate * 0.008
        most = 2 * target + Double(capturePeriod)
        resampler = Resampler(
            channels: channels, steps: nominal * (1 - Self.reach)...nominal * (1 + Self.reach), room: Int(2 * most) + 64
        )
        // Critically damped: the fill is the integral of the ratio's error.
        let bandwidth = 2 * Double.pi * 0.01
        proportional = 2 * bandwidth / captureRate
        integrating = bandwidth * bandwidth / captureRate * Double(period) / playbackRate
        recentre()
        breakCount = 0
    }

    /// Takes in what was captured.
    mutating func push(_ block: borrowing AudioBlock, frames: Int) {
        if resampler.push(block, frames: frames) < frames { recentre() }
    }

    /// Gives frames out.
    ///
    /// - Parameters:
    ///   - frames: how many.
    ///   - block: where to, from its first frame on.
    ///   - lateness: frames by which this cycle is later than it should be: what came in meanwhile is no drift.
    mutating func pull(_ frames: Int, into block: inout AudioBlock, lateness: Double = 0) {
        if fill > most { recentre() }
        let error = fill - lateness * nominal - target
        let reach = Self.reach * 0.9
        integral = max(-reach, min(reach, integral + integrating * error))
        let correction = max(-reach, min(reach, integral + proportional * error))
        ratio = nominal * (1 + correction)
        let done = resampler.pull(frames, at: Resampler.Step(ratio), into: &block)
        if done < frames {
            block.silence(from: done, frames: frames - done)
            recentre()
        }
    }

    /// Gives out all that is there, while there is no other clock. Returns how many frames.
    mutating func drain(into block: inout AudioBlock) -> Int {
        resampler.pull(block.frameCount, at: Resampler.Step(nominal), into: &block)
    }

    /// Begins anew with silence, at the fill that is wanted. What was learned of the clocks stays.
    private mutating func recentre() {
        breakCount += 1
        beginAnew()
    }

    /// The same without counting it as a break.
    mutating func beginAnew() {
        resampler.reset()
        resampler.pushSilence(Int(target) + resampler.lookAhead - Int(resampler.lead))
    }
}
