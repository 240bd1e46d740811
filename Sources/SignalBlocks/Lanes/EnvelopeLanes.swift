/// Eight envelopes: attack, decay, sustain, release.
///
///     level = envelope.next(notes.gate, times, notes.sampleRate)
///
/// Each segment lasts its time to the frame, from whatever level it begins, on the curves of an `Envelope`: with `x` from 0 to 1 over
/// the segment, `from + (goal - from) (1 - exp(-c x)) / (1 - exp(-c))`, where `c` is 1.5 in the attack and 5 in decay and release.
///
/// Threads: any.
public struct EnvelopeLanes: BitwiseCopyable, Sendable {
    /// The settings of eight envelopes. An envelope reads them when a segment begins.
    ///
    /// Threads: any.
    public struct Times: BitwiseCopyable, Sendable {
        /// Seconds from the beginning to the level 1.
        public var attack: Lanes
        /// Seconds from there to the sustained level.
        public var decay: Lanes
        /// The level that is held, 0…1.
        public var sustain: Lanes
        /// Seconds from the end of the gate to 0.
        public var release: Lanes

        /// Creates settings.
        ///
        /// - Parameters:
        ///   - attack: Seconds from the beginning to the level 1; 0…300, as the other times.
        ///   - decay: Seconds from there to the sustained level.
        ///   - sustain: The level that is held, 0…1.
        ///   - release: Seconds from the end of the gate to 0.
        @inlinable @inline(__always) @_noLocks @_noAllocation
        public init(attack: Lanes, decay: Lanes, sustain: Lanes, release: Lanes) {
            self.attack = attack
            self.decay = decay
            self.sustain = sustain
            self.release = release
        }

        /// Creates settings that all voices share.
        ///
        /// - Parameters:
        ///   - attack: Seconds from the beginning to the level 1; 0…300, as the other times.
        ///   - decay: Seconds from there to the sustained level.
        ///   - sustain: The level that is held, 0…1.
        ///   - release: Seconds from the end of the gate to 0.
        @inlinable @inline(__always) @_noLocks @_noAllocation
        public init(attack: Float, decay: Float, sustain: Float, release: Float) {
            self.attack = Lanes(repeating: attack)
            self.decay = Lanes(repeating: decay)
            self.sustain = Lanes(repeating: sustain)
            self.release = Lanes(repeating: release)
        }
    }

    /// The level that the segment tends to, and the distance from it; each frame takes a part of the distance.
    @usableFromInline var (aim, rest, part) = (Lanes.zero, Lanes.zero, Lanes.zero)
    /// Frames of the segment that are left.
    @usableFromInline var left = Lanes(repeating: .infinity)
    /// The gate of the last frame, and the segment: 0 at rest, 1 attack, 2 decay, 3 sustain, 4 release.
    @usableFromInline var (gate, stage) = (Lanes.zero, Lanes.zero)

    /// Creates envelopes at rest.
    @inlinable @_noLocks @_noAllocation
    public init() {}

    /// The envelopes that are not at rest: a voice whose envelope is at rest is silent.
    @inlinable public var isSounding: LaneMask { @_noLocks @_noAllocation get { stage .> 0 } }

    /// Returns the level of a frame, and goes on.
    ///
    /// - Parameters:
    ///   - gate: 1 while a key is down, 0 after that: `VoiceNotes.gate`.
    ///   - times: The settings.
    ///   - sampleRate: Frames in a second.
    @inlinable @inline(__always) @_noLocks @_noAllocation
    public mutating func next(_ gate: Lanes, _ times: Times, _ sampleRate: Float) -> Lanes {
        if LaneMath.any((left .<= 0) .| (gate .!= self.gate)) { turn(gate, times, sampleRate) }
        let level = aim + rest
        rest -= part * rest
        left -= 1
        return level
    }

    /// Begins the segments that are due.
    @inline(never) @_noLocks @_noAllocation
    @usableFromInline mutating func turn(_ gate: Lanes, _ times: Times, _ sampleRate: Float) {
        for lane in 0..<8 {
            var level = aim[lane] + rest[lane]
            if gate[lane] != self.gate[lane] {
                self.gate[lane] = gate[lane]
                stage[lane] = gate[lane] > 0 ? 1 : stage[lane] > 0 ? 4 : 0
                if stage[lane] == 0 { continue }
            } else if left[lane] <= 0 {
                // The goal of the segment that ends, without the rounding on the way.
                level = stage[lane] == 1 ? 1 : stage[lane] == 2 ? held(times.sustain[lane]) : 0
                stage[lane] = stage[lane] < 3 ? stage[lane] + 1 : 0
            } else {
                continue
            }
            // A segment of no time is over at once.
            if stage[lane] == 1 && begin(lane, level, 1, times.attack[lane] * sampleRate, 1.5) {
                (stage[lane], level) = (2, 1)
            }
            if stage[lane] == 2
                && begin(lane, level, held(times.sustain[lane]), times.decay[lane] * sampleRate, 5)
            {
                (stage[lane], level) = (3, held(times.sustain[lane]))
            }
            if stage[lane] == 4 && begin(lane, level, 0, times.release[lane] * sampleRate, 5) {
                (stage[lane], level) = (0, 0)
            }
            if stage[lane] == 3 || stage[lane] == 0 {
                (aim[lane], rest[lane], part[lane], left[lane]) = (level, 0, 0, .infinity)
            }
        }
    }

    @_noLocks @_noAllocation
    private func held(_ level: Float) -> Float { level > 0 ? min(level, 1) : 0 }

    /// Begins a segment. Returns whether it has no frame.
    @_noLocks @_noAllocation
    private mutating func begin(_ lane: Int, _ from: Float, _ goal: Float, _ frames: Float, _ curve: Double) -> Bool {
        // A time that is not a number counts as none.
        let count = frames > 0.5 ? Float(Int32(min(frames, 0x1p24) + 0.5)) : 0
        if count == 0 { return true }
        let whole = 1 / (1 - RenderMath.exp(-curve))
        let way = Float(Double(goal - from) * whole)
        aim[lane] = from + way
        rest[lane] = -way
        // Of 1 - exp(-x) for a small x, the series: the difference would have few digits.
        let x = curve / Double(count)
        part[lane] = Float(x < 1e-3 ? x * (1 - x / 2 * (1 - x / 3)) : 1 - RenderMath.exp(-x))
        left[lane] = count
        return false
    }
}
