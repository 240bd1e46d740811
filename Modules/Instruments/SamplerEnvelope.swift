internal import RenderCore

/// An envelope of six sections: delay, attack, hold, decay, sustain, release. Times are in frames.
struct SamplerEnvelope: BitwiseCopyable, Sendable {
    enum Section: UInt8, BitwiseCopyable, Sendable { case delay, attack, hold, decay, release, over }

    struct Times: BitwiseCopyable, Sendable {
        var delay: Float = 0
        var attack: Float = 0
        var hold: Float = 0
        /// From 1 to 0: the sustain is reached earlier.
        var decay: Float = 0
        var sustain: Float = 1
        /// From 1 to 0.
        var release: Float = 0

        @_noLocks @_noAllocation
        init() {}

        @_noLocks @_noAllocation
        init(delay: Float, attack: Float, hold: Float, decay: Float, sustain: Float, release: Float) {
            (self.delay, self.attack, self.hold) = (delay, attack, hold)
            (self.decay, self.sustain, self.release) = (decay, sustain, release)
        }
    }

    @_noLocks @_noAllocation
    init() {}

    private(set) var section = Section.delay
    /// Frames of the section that have passed.
    private var passed: Float = 0
    /// The value at the key's release.
    private var released: Float = 0

    /// Indicates whether it has not reached its top yet: the value is a part of the amplitude.
    var rises: Bool { @_noLocks @_noAllocation get { section == .delay || section == .attack } }
    /// Indicates whether the key has been released, or it has ended by itself.
    var falls: Bool { @_noLocks @_noAllocation get { section == .release || section == .over } }
    /// Indicates whether it has ended.
    var isOver: Bool { @_noLocks @_noAllocation get { section == .over } }

    /// The value, 0…1; in the attack a part of the amplitude, elsewhere of the decibels.
    @_noLocks @_noAllocation
    func value(_ times: Times) -> Float {
        switch section {
        case .delay, .over: return 0
        case .attack: return passed / times.attack
        case .hold: return 1
        case .decay:
            let value = 1 - passed / times.decay
            return value > times.sustain ? value : times.sustain
        case .release:
            let value = released - passed / times.release
            return value > 0 ? value : 0
        }
    }

    /// Goes on by that many frames.
    @_noLocks @_noAllocation
    mutating func advance(_ frames: Float, _ times: Times) {
        passed += frames
        if section == .delay && passed >= times.delay { enter(.attack, times.delay) }
        if section == .attack && passed >= times.attack { enter(.hold, times.attack) }
        if section == .hold && passed >= times.hold { enter(.decay, times.hold) }
        if section == .decay {
            // Nothing is counted on in the sustain, where counting would end to be exact.
            if passed >= times.decay { passed = times.decay > 0 ? times.decay : 1 }
            if times.sustain <= 0 && passed >= times.decay { section = .over }
        }
        if section == .release && passed >= released * times.release { section = .over }
    }

    @_noLocks @_noAllocation
    private mutating func enter(_ next: Section, _ length: Float) {
        section = next
        passed -= length
    }

    /// The key is released.
    ///
    /// - Parameters:
    ///   - times: The times.
    ///   - range: Decibels from 1 to 0, by which an amplitude in the attack is turned into a value.
    @_noLocks @_noAllocation
    mutating func release(_ times: Times, range: Float) {
        if section == .release || section == .over { return }
        var value = value(times)
        if section == .attack {
            value = value > 0 ? 1 + 20 * RenderMath.log10(value) / range : 0
            if value < 0 { value = 0 }
        }
        released = value
        passed = 0
        section = .release
    }
}

/// A triangle that begins at 0 and goes up, after a delay.
struct SamplerLFO: BitwiseCopyable, Sendable {
    /// Frames before it begins.
    private var delay: Float = 0
    /// Turns.
    private var phase: Float = 0

    @_noLocks @_noAllocation
    init(delay: Float) { self.delay = delay }

    var value: Float {
        @_noLocks @_noAllocation get {
            let x = 4 * phase
            return x < 1 ? x : x < 3 ? 2 - x : x - 4
        }
    }

    /// Goes on by that many frames of `step` turns each.
    @_noLocks @_noAllocation
    mutating func advance(_ frames: Float, step: Float) {
        var frames = frames
        if delay > 0 {
            if delay >= frames {
                delay -= frames
                return
            }
            frames -= delay
            delay = 0
        }
        phase += frames * step
        if phase >= 1 { phase -= Float(Int32(phase)) }
    }
}
