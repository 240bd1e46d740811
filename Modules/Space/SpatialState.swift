internal import RenderCore

/// A source as the render thread has it.
///
/// Every 128 frames of the sample clock the way of the sound is computed anew, and all numbers go there without corners (see
/// `Course`): so the lengths of the slices change nothing.
struct SpatialState: ~Copyable, Sendable {
    /// The frames of a `Course`, whose own name for them would be called as a function.
    static var block: Int { @_noLocks @_noAllocation get { 128 } }
    /// The blocks in which a jump, or a change of the rendering, fades.
    static var fadeBlocks: Int { @_noLocks @_noAllocation get { 8 } }
    /// The blocks in which something that is aimed at changes, so that it is heard to change in ``fadeBlocks``: its course begins
    /// and ends half a block outside.
    static var changeBlocks: Int { @_noLocks @_noAllocation get { fadeBlocks &- 1 } }

    // First what every cycle of an even motion needs, so that few lines of the cache hold it: in so many bytes.
    static var evenBytes: Int { @_noLocks @_noAllocation get { 1_152 } }

    private(set) var glance = SpatialGlance()
    let sampleRate: Double
    /// The longest delay in frames. (The signal knows it too, and would be copied to be asked.)
    let limit: Double
    /// The frame behind the last one.
    var end: Int64 = 0
    /// The frames since the source was heard last.
    var silence = 1 << 30
    /// The frames of the source's fade that have gone.
    var faded = Int.max
    private let fade: Int
    var layout = SpatialLayout.stereo
    /// Indicates whether the environment has a reverb.
    var sends = false
    /// Indicates whether the source has just come into an environment.
    private var hasEntered = false
    /// Indicates whether a setting has changed since the way was computed.
    var hasChanged = true
    var isFresh = true
    /// Indicates whether this is the left one of two points, whether the right one sounds, whether this is that one, and whether its
    /// filters of a head have not begun.
    var isPair = false
    var hasLoudSide = false
    /// Indicates whether it plays in a mixer, as it is.
    private var isFlat = false
    var isSide = false
    var isNewSide = false
    /// Indicates whether it is out of earshot and nothing changes but its place: then its way is looked at every 8 blocks only.
    var isAsleep = false
    /// Indicates whether the source goes on evenly, and where it then is at the next blocks.
    var isSteady = false
    var ahead = SpatialAhead()
    var trail = SpatialTrail()
    /// The frames that sound from the source needs now, and what is under way.
    var way = 0.0
    var path: SoundPath
    var courses = SpatialCourses()
    var motion = SpatialMotion()
    var signal: SpatialSignal

    /// The settings that were read last.
    var settings = SpatialSettings()
    /// The seconds for which both points have gone to the place of the source.
    var closing = 0.0
    /// The frames since the source became two points, until its channels are apart on all of the way.
    var opened = 0.0
    /// The way at the block before, at this one, and at the next.
    var before = SpatialAim()
    var now = SpatialAim()
    var next = SpatialAim()
    /// The delay from which a jump fades, and the blocks that are left of that.
    var jumpDelay = 0.0
    var jumpLeft = 0
    /// Indicates whether the spring has not come to rest since a jump.
    var hasJumped = false
    /// The numbers of the distance's level, what is left of a change of them, and the blocks in which that goes.
    var distance = SIMD4<Float>(repeating: 0)
    var levelRest: Float = 0
    var levelLeft = 0
    let rings: SpeakerRings

    init(sampleRate: Double, longest: Int) {
        precondition(SpatialState.block == Course.frames)
        self.sampleRate = sampleRate
        signal = SpatialSignal(sampleRate: sampleRate, longest: longest)
        limit = signal.limit
        path = SoundPath(longest: Double(longest))
        rings = SpeakerRings()
        fade = Int(0.005 * sampleRate) + 1
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        forgetSound()
        motion = SpatialMotion()
        (isPair, hasLoudSide, closing, settings.angle) = (false, false, 0, 0)
    }

    /// Forgets the sound, as after a long silence, but not the way that the source has gone.
    @_noLocks @_noAllocation
    mutating func forgetSound() {
        signal.reset()
        hasChanged = true
        (jumpLeft, isFresh, hasJumped, isAsleep, isSteady) = (0, true, false, false, false)
        courses = SpatialCourses()
        silence = 1 << 30
    }

    /// Takes settings, of which one has changed.
    @_noLocks @_noAllocation
    mutating func take(_ new: SpatialSettings, _ glance: SpatialGlance) {
        if new.entry != settings.entry { hasEntered = true }
        let angle = settings.angle
        (settings, self.glance, hasChanged) = (new, glance, true)
        settings.angle = angle
        (layout, sends, isFlat) = (new.layout, new.sends, new.flat > 0)
    }

    /// Keeps what was read, where that is the same as before.
    @_noLocks @_noAllocation
    mutating func keep(_ glance: SpatialGlance) { self.glance = glance }

    /// Indicates whether the source may be heard in the next slice.
    var isAudible: Bool { @_noLocks @_noAllocation get { !isAsleep && silence < 1 << 30 } }

    /// Fetches the samples that the first part of a slice needs, and what is under way.
    @_noLocks @_noAllocation
    @inline(__always) mutating func fetch(_ context: borrowing RenderContext) {
        path.fetch()
        signal.fetch(delay: courses.frames, count: context.frameCount)
    }

    /// Renders a slice of a source that is one point: the source is below the top, if it has sounded, and all samples of the top are
    /// written.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, hasInput: Bool) {
        beginSlice(context, hasInput: hasInput)
        process(&context, hasInput: hasInput, from: 0, to: context.frameCount)
    }

    /// Notes that a slice begins.
    @_noLocks @_noAllocation
    @inline(__always) mutating func beginSlice(_ context: borrowing RenderContext, hasInput: Bool) {
        if hasInput { silence = 0 }
        if context.sampleTime &- end > Int64(limit) &+ 4_096 && !isFresh { forgetSound() }
        end = context.sampleTime &+ Int64(context.frameCount)
        if hasEntered {
            hasEntered = false
            faded = hasInput && settings.fadesIn && isFresh ? 0 : Int.max
        }
    }

    /// Renders some frames of a slice.
    @_noLocks @_noAllocation
    @inline(__always) mutating func process(
        _ context: inout RenderContext, hasInput: Bool, from first: Int, to frames: Int
    ) {
        let layout = self.layout
        let inputs = hasInput ? context.channelCount(at: 1) : 0
        // The sound that is relayed goes to the end of the slice.
        let isPlain = inputs == 1 && layout.isStereo && !sends && !isPair && !isFlat && frames == context.frameCount
        var done = first
        while done < frames {
            let phase = Int((context.sampleTime &+ Int64(done)) & Int64(SpatialState.block &- 1))
            let room = SpatialState.block &- phase
            let rest = frames &- done
            let count = rest < room ? rest : room
            if phase == 0 && silence > Int(limit) &+ 4_096 && !isFresh { forgetSound() }
            if silence >= 1 << 30 {
                // No sound is under way. The source goes on moving.
                if phase == 0 { motion.drift(frames: Double(SpatialState.block), sampleRate: sampleRate) }
                var top = context.top
                SpatialState.clear(&top, from: done, count: count)
                done &+= count
                continue
            }
            if phase == 0 || isFresh { begin(at: context.sampleTime &+ Int64(done)) }
            let part = SpatialSignal.Part(first: done, count: count, phase: phase)
            if isPlain && courses.kind == 0 && courses.isOpen && faded >= fade {
                done = relay(&context, from: part)
                continue
            }
            take(&context, inputs, part)
            let isSimple = courses.kind != nil && layout.isStereo
            if !isSimple {
                var top = context.top
                SpatialState.clear(&top, from: done, count: count)
                if hasInput && isRendered(3) { passThrough(&context, layout, part) }
                if hasInput && isRendered(4) { passField(&context, layout, part) }
            }
            if hasInput {
                for channel in 0..<inputs { signal.keep(context.samples(channel, at: 1), channel: channel, part) }
            } else {
                signal.forgetThrough()
            }
            if isSimple && isFlat { clearOthers(&context, part) }
            if isSimple { play(&context, part) } else { add(&context, layout, part) }
            done &+= count
            if !hasInput { silence &+= count }
        }
    }

    /// Begins a block, or the first part of one.
    @_noLocks @_noAllocation
    mutating func begin(at frame: Int64) {
        if goesOn(at: frame) { return }
        endSteadiness()
        if isAsleep && sleepsOn(at: frame) {
            return motion.drift(frames: Double(SpatialState.block), sampleRate: sampleRate)
        }
        motion.advance(at: frame, frames: Double(SpatialState.block), sampleRate: sampleRate)
        if hasChanged || motion.isFresh { takeWay(at: frame) }
        hasChanged = false
        aim(at: frame)
        courses.take(&before, &now, &next, limit: limit, jumps: jumpLeft > 0)
        noteSteadiness()
    }

    /// Returns whether a source that sleeps does so in this block too: nothing has been set, and its way is not due.
    /// It is `mutating` like the next one, though both change nothing: the compiler calls other methods with a copy of the state.
    @_noLocks @_noAllocation
    private mutating func sleepsOn(at frame: Int64) -> Bool {
        if frame & Int64(SpatialState.fadeBlocks &* SpatialState.block &- 1) == 0 { return false }
        return !hasChanged || hasSameSettings()
    }

    /// Returns whether nothing was set that is heard. It stands by itself, or each block would begin with copies of the settings.
    @_noLocks @_noAllocation
    @inline(never) private mutating func hasSameSettings() -> Bool { motion.settings.isSame(as: settings) }

    /// Returns whether a rendering has a share of the sound in this block.
    @_noLocks @_noAllocation
    func isRendered(_ kind: Int) -> Bool {
        before.shares[kind] > 0 || now.shares[kind] > 0 || next.shares[kind] > 0
    }

    /// Indicates whether the direct sound is heard in this block, and the send.
    var isHeard: Bool {
        @_noLocks @_noAllocation get { before.level > 0 || now.level > 0 || next.level > 0 }
    }
    var isSent: Bool {
        @_noLocks @_noAllocation get { sends && (before.send > 0 || now.send > 0 || next.send > 0) }
    }

    @_noLocks @_noAllocation
    private static func clear(_ buffer: inout AudioBuffer, from first: Int, count: Int) {
        for channel in 0..<buffer.channelCount { clear(&buffer, channel: channel, from: first, count: count) }
    }

    @_noLocks @_noAllocation
    static func clear(_ buffer: inout AudioBuffer, channel: Int, from first: Int, count: Int) {
        var output = buffer[channel]
        for i in first..<(first &+ count) { output[i] = 0 }
    }

    /// Writes a part of the source into the line, and that of the send.
    @_noLocks @_noAllocation
    mutating func take(_ context: inout RenderContext, _ channels: Int, _ part: SpatialSignal.Part) {
        let isSent = sends && courses.isSent
        if channels > 0 {
            if channels == 1 && courses.isOpen && faded >= fade && !isSent && !isPair && !isSide {
                return signal.write(context.samples(0, at: 1), part)
            }
            if isPair || isSide {
                takeHalf(&context, channels, part)
            } else {
                takeMean(&context, channels, part)
            }
            if faded < fade {
                signal.fadeIn(after: faded, of: fade, part)
                faded &+= part.count
            }
        } else {
            signal.begin(part)
        }
        if isSent {
            signal.makeSend(opening: Course(before.sendOpening, now.sendOpening, next.sendOpening), part)
        }
        signal.write(opening: Course(before.opening, now.opening, next.opening), part)
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
                let a = before.gain(ofField: channel, in: layout, at: target, rings)
                let b = now.gain(ofField: channel, in: layout, at: target, rings)
                let c = next.gain(ofField: channel, in: layout, at: target, rings)
                if a == 0 && b == 0 && c == 0 { continue }
                var output = top[target]
                let level = Course(before.shares[4] * a, now.shares[4] * b, next.shares[4] * c)
                signal.add(ear: 0, level: level, part, to: &output)
            }
        }
    }

    /// Plays the sound where one rendering has all of it: in two channels, and the send in a third.
    @_noLocks @_noAllocation
    private mutating func play(_ context: inout RenderContext, _ part: SpatialSignal.Part) {
        var top = context.top
        if courses.kind == 0 {
            signal.play(&courses.flight, part, in: &top)
        } else {
            if courses.kind == 1 {
                signal.hear(ear: 0, courses.left, part)
                signal.shade(ear: 0, first: courses.leftEar.first, second: courses.leftEar.second, part)
                signal.hear(ear: 1, courses.right, part)
                signal.shade(ear: 1, first: courses.rightEar.first, second: courses.rightEar.second, part)
            } else {
                signal.hearFiltered(ear: 0, courses.left, part)
                signal.hearFiltered(ear: 1, courses.right, part)
            }
            for ear in 0..<2 {
                var output = top[ear]
                signal.play(ear: ear, level: courses.level, part, to: &output)
            }
        }
        if !sends { return }
        SpatialState.clear(&top, channel: 2, from: part.first, count: part.count)
        if !courses.isSent { return }
        var output = top[2]
        signal.addSend(level: courses.send, part, to: &output)
    }

    /// Adds the sound as it is heard, and the send.
    @_noLocks @_noAllocation
    mutating func add(_ context: inout RenderContext, _ layout: SpatialLayout, _ part: SpatialSignal.Part) {
        var top = context.top
        if isHeard {
            if isRendered(0) {
                hear(DelayCourse(0, 0, 0), ear: 0, part)
                for channel in 0..<layout.channels {
                    let (a, b, c) = (before.levels[channel], now.levels[channel], next.levels[channel])
                    if a == 0 && b == 0 && c == 0 { continue }
                    var output = top[channel]
                    signal.add(ear: 0, level: Course(a, b, c), part, to: &output)
                }
            }
            if isRendered(1) {
                for ear in 0..<2 {
                    let (first, second) = (2 &* ear, 2 &* ear &+ 1)
                    hear(DelayCourse(before.sphere[ear], now.sphere[ear], next.sphere[ear]), ear: ear, part)
                    signal.shade(
                        ear: ear, first: Course(before.ears[first], now.ears[first], next.ears[first]),
                        second: Course(before.ears[second], now.ears[second], next.ears[second]), part)
                }
                addEars(1, part, &top)
            }
            if isRendered(2) {
                for ear in 0..<2 {
                    hear(DelayCourse(before.head[ear], now.head[ear], next.head[ear]), ear: ear, part)
                    signal.filter(ear: ear, part)
                }
                addEars(2, part, &top)
            }
        }
        if isSent {
            var output = top[layout.channels]
            signal.addSend(level: Course(before.send, now.send, next.send), part, to: &output)
        }
    }

    @_noLocks @_noAllocation
    private mutating func addEars(_ kind: Int, _ part: SpatialSignal.Part, _ top: inout AudioBuffer) {
        let level = Course(
            before.level * before.shares[kind], now.level * now.shares[kind], next.level * next.shares[kind])
        for ear in 0..<2 {
            var output = top[ear]
            signal.add(ear: ear, level: level, part, to: &output)
        }
    }

    /// Hears the sound at an ear, which it reaches later than the middle of the head.
    @_noLocks @_noAllocation
    private mutating func hear(_ late: DelayCourse, ear: Int, _ part: SpatialSignal.Part) {
        let delay = (DelayCourse(before.delay, now.delay, next.delay) + late).held(to: limit)
        signal.hear(ear: ear, delay, part)
        if jumpLeft == 0 { return }
        let scale = 1 / Float(SpatialState.fadeBlocks &* SpatialState.block)
        let passed = (SpatialState.fadeBlocks &- jumpLeft) &* SpatialState.block
        let jump = SpatialSignal.Jump(
            delay: jumpDelay, passed: Float(Int32(truncatingIfNeeded: passed)) * scale, step: scale)
        signal.fade(ear: ear, late, jump, part)
    }
}
