internal import RenderCore

/// The arithmetic of an envelope, for an ``Envelope`` and the voice of a synthesiser.
///
/// A segment goes from the level that there is to its goal, along a straight line or along an exponential that would
/// go a little further and is cut off at the goal: with `x` from 0 to 1 over the segment,
///
///     level = from + (goal - from) (1 - exp(-c x)) / (1 - exp(-c))
///
/// where `c` is 1.5 in the attack and 5 in decay and release. So every segment takes its time to the frame, from
/// wherever it begins, and a new attack or release goes on from the present level without a step.
///
/// Threads: any.
public struct EnvelopeCore: Sendable, BitwiseCopyable {
    /// The curves on which the level moves in attack, decay and release.
    ///
    /// Threads: any.
    public enum Curve: Sendable, Hashable, BitwiseCopyable, CaseIterable {
        /// Like the charge of a capacitor: fast at first. Falls sound even, as levels in dB do.
        case exponential
        /// The level moves in a straight line.
        case linear
    }

    /// The stages of an envelope.
    ///
    /// Threads: any.
    public enum Stage: Sendable, Hashable, BitwiseCopyable {
        /// The level is at 0, waiting.
        case idle
        /// The level is on the way up to 1.
        case attack
        /// The level is on the way from 1 to the sustain level.
        case decay
        /// The level is at the sustain level, for as long as the gate is open.
        case sustain
        /// The level is on the way down to 0, after the gate has been closed.
        case release
    }

    /// The settings of an envelope, in frames.
    ///
    /// Threads: any.
    public struct Settings: Sendable {
        /// Frames from the opening of the gate to the level 1.
        public var attack: Double
        /// Frames from there to the sustain level.
        public var decay: Double
        /// The level that is held, 0 to 1: another one is held to that, and one that is no number is 0.
        public var sustain: Double
        /// Frames from the closing of the gate to 0.
        public var release: Double
        /// The share of a change of the sustain level that the level follows in a frame, 0 to 1.
        public var following: Double
        /// The curve on which the level moves.
        public var curve: Curve

        /// Times in seconds.
        @_noLocks @_noAllocation
        public init(
            attack: Float, decay: Float, sustain: Float, release: Float, curve: Curve = .exponential, sampleRate: Double
        ) {
            self.attack = Double(attack) * sampleRate
            self.decay = Double(decay) * sampleRate
            self.sustain = Double(sustain)
            self.release = Double(release) * sampleRate
            following = 1 - RenderMath.exp(-200 / sampleRate)  // 5 ms
            self.curve = curve
        }
    }

    /// The stage of the next frame.
    public private(set) var stage = Stage.idle
    /// The level of the next frame, 0 to 1.
    public private(set) var level = 0.0

    private var from = 0.0
    private var goal = 0.0
    /// The rest of the exponential: 1 at the beginning of a segment.
    private var rest = 1.0
    private var elapsed = 0.0
    private var length = 1.0

    /// Creates an envelope at rest.
    @_noLocks @_noAllocation
    public init() {}

    /// Indicates whether the envelope is at work: not ``Stage/idle``.
    public var isActive: Bool { @_noLocks @_noAllocation get { if case .idle = stage { false } else { true } } }

    /// Opens the gate: up to 1 from the present level, also where it is open.
    @_noLocks @_noAllocation
    public mutating func open() { begin(.attack, 1) }

    /// Closes the gate: down to 0 from the present level. If it is closed, nothing changes.
    @_noLocks @_noAllocation
    public mutating func close() {
        switch stage {
        case .idle, .release: break
        case .attack, .decay, .sustain: begin(.release, 0)
        }
    }

    /// Multiplies a run of samples by the level, frame by frame.
    @_noLocks @_noAllocation
    public mutating func multiply(
        _ samples: inout MutableSpan<Float>, from first: Int, to end: Int, with settings: Settings
    ) {
        let sustain = settings.sustain > 0 ? (settings.sustain < 1 ? settings.sustain : 1) : 0
        var i = first
        while i < end {
            switch stage {
            case .idle:
                while i < end {
                    samples[i] = 0
                    i &+= 1
                }
            case .sustain:
                while i < end {
                    samples[i] *= Float(level)
                    follow(sustain, settings.following)
                    i &+= 1
                }
            case .attack:
                i = runSegment(&samples, i, end, settings.attack, 1.5, settings.curve)
                if elapsed >= length { begin(.decay, sustain) }
            case .decay:
                i = runSegment(&samples, i, end, settings.decay, 5, settings.curve)
                if elapsed >= length { stage = .sustain }
            case .release:
                i = runSegment(&samples, i, end, settings.release, 5, settings.curve)
                if elapsed >= length { stage = .idle }
            }
        }
    }

    @_noLocks @_noAllocation
    private mutating func begin(_ stage: Stage, _ goal: Double) {
        self.stage = stage
        self.goal = goal
        from = level
        rest = 1
        elapsed = 0
    }

    /// Multiplies up to the end of the segment or of the run. Returns where that is.
    @_noLocks @_noAllocation
    private mutating func runSegment(
        _ samples: inout MutableSpan<Float>, _ first: Int, _ end: Int, _ frames: Double, _ c: Double, _ curve: Curve
    ) -> Int {
        // A whole number of frames; a change of the time under way keeps the part that has passed.
        let whole = Double(Int(frames < 1 ? 1 : frames < 1e12 ? frames + 0.5 : 1e12))
        if elapsed == 0 { length = whole }
        if length != whole {
            elapsed *= whole / length
            length = whole
        }
        var i = first
        switch curve {
        case .linear:
            let slope = (goal - from) / length
            while i < end && elapsed < length {
                samples[i] *= Float(level)
                elapsed += 1
                level = from + slope * elapsed
                i &+= 1
            }
        case .exponential:
            let factor = RenderMath.exp(-c / length)
            let last = RenderMath.exp(-c)
            let aim = (goal - from * last) / (1 - last)
            while i < end && elapsed < length {
                samples[i] *= Float(level)
                elapsed += 1
                rest *= factor
                level = aim + (from - aim) * rest
                i &+= 1
            }
        }
        if elapsed >= length { level = goal }
        return i
    }

    /// Follows the sustain level where it changes.
    @_noLocks @_noAllocation
    private mutating func follow(_ sustain: Double, _ following: Double) {
        let distance = sustain - level
        level = distance < 1e-6 && distance > -1e-6 ? sustain : level + distance * following
    }
}
