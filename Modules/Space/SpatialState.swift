internal import RenderCore

/// A source as the render thread has it.
///
/// Every 64 frames of the sample clock the way of the sound is computed anew, and all numbers go there in straight lines until
/// the next time: so the lengths of the slices change nothing.
struct SpatialState: ~Copyable, Sendable {
    static var block: Int { @_noLocks @_noAllocation get { 64 } }
    /// The blocks in which a jump, or a change of the rendering, fades.
    static var fadeBlocks: Int { @_noLocks @_noAllocation get { 16 } }

    let sampleRate: Double
    var signal: SpatialSignal
    var motion = SpatialMotion()
    var now = SpatialAim()
    var next = SpatialAim()
    var isFresh = true
    /// The frames that sound from the source needs now, and what is under way.
    var way = 0.0
    var path: SoundPath
    /// The delay from which a jump fades, and the blocks that are left of that.
    var jumpDelay = 0.0
    var jumpLeft = 0
    /// Indicates whether the spring has not come to rest since a jump.
    var hasJumped = false
    /// Indicates whether it is out of earshot and nothing changes but its place: then its way is looked at every 16 blocks only.
    var isAsleep = false
    /// The numbers of the distance's level, what is left of a change of them, and the blocks in which that goes.
    var distance = SIMD4<Float>(repeating: 0)
    var levelRest: Float = 0
    var levelLeft = 0
    let rings: SpeakerRings
    /// The last time that the source has come into an environment, and the frames of its fade that have gone.
    private var entry = 0
    private var faded = Int.max
    /// The frame behind the last one.
    private var end: Int64 = 0
    /// Indicates whether the environment has a reverb.
    private(set) var sends = false
    /// The frames since the source was heard last.
    private var silence = 1 << 30

    init(sampleRate: Double, longest: Int) {
        self.sampleRate = sampleRate
        signal = SpatialSignal(sampleRate: sampleRate, longest: longest)
        path = SoundPath(longest: Double(longest))
        rings = SpeakerRings()
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        signal.reset()
        (jumpLeft, isFresh, hasJumped, isAsleep) = (0, true, false, false)
        motion = SpatialMotion()
        silence = 1 << 30
    }

    /// Forgets the sound, as after a long silence, but not the way that the source has gone.
    @_noLocks @_noAllocation
    private mutating func forgetSound() {
        let gone = motion
        reset()
        motion = gone
    }

    /// Renders a slice: the source is below the top, if it has sounded, and the top is silent.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, hasInput: Bool, _ new: SpatialSettings) {
        let frames = context.frameCount
        if hasInput { silence = 0 }
        var isNew = true
        if context.sampleTime &- end > Int64(signal.limit) &+ 4_096 && !isFresh { forgetSound() }
        end = context.sampleTime &+ Int64(frames)
        if entry != new.entry {
            entry = new.entry
            faded = hasInput && new.fadesIn && isFresh ? 0 : Int.max
        }
        let layout = new.layout
        sends = new.sends
        var done = 0
        while done < frames {
            let phase = Int((context.sampleTime &+ Int64(done)) & Int64(SpatialState.block &- 1))
            let rest = frames &- done
            let count = rest < SpatialState.block &- phase ? rest : SpatialState.block &- phase
            if phase == 0 && silence > Int(signal.limit) &+ 4_096 && !isFresh { forgetSound() }
            if silence >= 1 << 30 {
                // Nothing is on its way. When it sounds again it is where it then is.
                if phase == 0 { motion.drift(frames: Double(SpatialState.block), sampleRate: sampleRate) }
                done &+= count
                continue
            }
            if phase == 0 || isFresh {
                let frame = context.sampleTime &+ Int64(done)
                if isAsleep && sleepsOn(new, isNew: isNew, at: frame) {
                    motion.drift(frames: Double(SpatialState.block), sampleRate: sampleRate)
                } else {
                    // One that wakes may have settings of an earlier cycle.
                    aim(new, isNew: isNew || isAsleep, at: frame)
                }
                isNew = false
            }
            let part = SpatialSignal.Part(first: done, count: count, phase: phase)
            take(context, hasInput: hasInput, part)
            if hasInput && (now.shares[3] > 0 || next.shares[3] > 0) {
                passThrough(&context, layout, part)
            }
            if hasInput && (now.shares[4] > 0 || next.shares[4] > 0) { passField(&context, layout, part) }
            if hasInput {
                for channel in 0..<context.channelCount(at: 1) {
                    signal.keep(context.samples(channel, at: 1), channel: channel, part)
                }
            } else {
                signal.forgetThrough()
            }
            add(&context, layout, part)
            done &+= count
            if !hasInput { silence &+= count }
        }
    }

    /// Returns whether a source that sleeps does so in this block too: nothing has been set, and its way is not due.
    @_noLocks @_noAllocation
    private func sleepsOn(_ new: SpatialSettings, isNew: Bool, at frame: Int64) -> Bool {
        if frame & Int64(SpatialState.fadeBlocks &* SpatialState.block &- 1) == 0 { return false }
        return !isNew || motion.settings.isSame(as: new)
    }

    /// Writes a part of the source into the line, and that of the send.
    @_noLocks @_noAllocation
    private mutating func take(_ context: borrowing RenderContext, hasInput: Bool, _ part: SpatialSignal.Part) {
        if hasInput {
            let channels = context.channelCount(at: 1)
            let share = 1 / Float(Int32(truncatingIfNeeded: channels))
            // Of a sound field the first channel is that without a direction.
            let (a, b) = channels > 1 ? (now.shares[4], next.shares[4]) : (0, 0)
            for channel in 0..<channels {
                if a == 0 && b == 0 {
                    signal.take(context.samples(channel, at: 1), share: share, begins: channel == 0, part)
                } else {
                    let (low, high) = (share - share * a, share - share * b)
                    let first: Float = channel == 0 ? 1 : 0
                    signal.take(
                        context.samples(channel, at: 1), from: low + first * a, to: high + first * b,
                        begins: channel == 0, part)
                }
            }
            let fade = Int(0.005 * sampleRate) &+ 1
            if faded < fade {
                signal.fadeIn(after: faded, of: fade, part)
                faded &+= part.count
            }
        } else {
            signal.begin(part)
        }
        if sends && (now.send > 0 || next.send > 0) {
            signal.makeSend(opening: now.sendOpening, to: next.sendOpening, part)
        }
        signal.write(opening: now.opening, to: next.opening, part)
    }

    /// Adds the sound as it is, as late as all others are.
    @_noLocks @_noAllocation
    private mutating func passThrough(
        _ context: inout RenderContext, _ layout: SpatialLayout, _ part: SpatialSignal.Part
    ) {
        let sources = context.channelCount(at: 1)
        let (a, b) = (now.shares[3], next.shares[3])
        for channel in 0..<sources {
            signal.pass(context.samples(channel, at: 1), channel: channel, part)
            var target = channel
            var top = context.top
            while target < layout.channels {
                var output = top[target]
                signal.add(ear: 0, level: a, to: b, part, to: &output)
                target &+= sources == 1 ? 1 : 64
            }
        }
    }

    /// Adds a sound field, as late as all others are.
    @_noLocks @_noAllocation
    private mutating func passField(
        _ context: inout RenderContext, _ layout: SpatialLayout, _ part: SpatialSignal.Part
    ) {
        let sources = context.channelCount(at: 1) < 4 ? context.channelCount(at: 1) : 4
        for channel in 0..<sources {
            signal.pass(context.samples(channel, at: 1), channel: channel, part)
            var top = context.top
            for target in 0..<layout.channels {
                let a = now.shares[4] * now.gain(ofField: channel, in: layout, at: target, rings)
                let b = next.shares[4] * next.gain(ofField: channel, in: layout, at: target, rings)
                if a == 0 && b == 0 { continue }
                var output = top[target]
                signal.add(ear: 0, level: a, to: b, part, to: &output)
            }
        }
    }

    /// Adds the sound as it is heard, and the send.
    @_noLocks @_noAllocation
    private mutating func add(_ context: inout RenderContext, _ layout: SpatialLayout, _ part: SpatialSignal.Part) {
        var top = context.top
        if now.level > 0 || next.level > 0 {
            if now.shares[0] > 0 || next.shares[0] > 0 {
                hear(SIMD2(repeating: 0), SIMD2(repeating: 0), ear: 0, part)
                for channel in 0..<layout.channels {
                    let a = now.gains[channel] * now.level * now.shares[0]
                    let b = next.gains[channel] * next.level * next.shares[0]
                    if a == 0 && b == 0 { continue }
                    var output = top[channel]
                    signal.add(ear: 0, level: a, to: b, part, to: &output)
                }
            }
            if now.shares[1] > 0 || next.shares[1] > 0 {
                for ear in 0..<2 { hear(now.sphere, next.sphere, ear: ear, part) }
                signal.shade(from: now.ears, to: next.ears, part)
                addEars(now.level * now.shares[1], next.level * next.shares[1], part, &top)
            }
            if now.shares[2] > 0 || next.shares[2] > 0 {
                for ear in 0..<2 {
                    hear(now.head, next.head, ear: ear, part)
                    signal.filter(ear: ear, part)
                }
                addEars(now.level * now.shares[2], next.level * next.shares[2], part, &top)
            }
        }
        if sends && (now.send > 0 || next.send > 0) {
            var output = top[layout.channels]
            signal.addSend(level: now.send, to: next.send, part, to: &output)
        }
    }

    @_noLocks @_noAllocation
    private mutating func addEars(_ a: Float, _ b: Float, _ part: SpatialSignal.Part, _ top: inout AudioBuffer) {
        for ear in 0..<2 {
            var output = top[ear]
            signal.add(ear: ear, level: a, to: b, part, to: &output)
        }
    }

    /// Hears the sound at an ear, which is so much later than the middle of the head.
    @_noLocks @_noAllocation
    private mutating func hear(_ a: SIMD2<Double>, _ b: SIMD2<Double>, ear: Int, _ part: SpatialSignal.Part) {
        signal.hear(ear: ear, from: now.delay + a[ear], to: next.delay + b[ear], part)
        if jumpLeft == 0 { return }
        let scale = 1 / Float(SpatialState.fadeBlocks &* SpatialState.block)
        let passed = (SpatialState.fadeBlocks &- jumpLeft) &* SpatialState.block
        let jump = SpatialSignal.Jump(
            delay: jumpDelay, passed: Float(Int32(truncatingIfNeeded: passed)) * scale, step: scale)
        signal.fade(ear: ear, from: a[ear], to: b[ear], jump, part)
    }
}
