internal import RenderCore
internal import SignalBlocks

/// A source as the render thread has it: one point, or the left one of two, and the right one.
struct SpatialPair: ~Copyable, Sendable {
    // First the point that every source has: see `SpatialState.evenBytes`.
    var main: SpatialState
    private var side: SpatialState

    init(sampleRate: Double, longest: Int) {
        main = SpatialState(sampleRate: sampleRate, longest: longest)
        side = SpatialState(sampleRate: sampleRate, longest: longest)
        side.isSide = true
    }

    @_noLocks @_noAllocation
    mutating func reset() {
        main.reset()
        side.reset()
    }

    /// Renders a slice: the source is below the top, if it has sounded, and all samples of the top are written.
    @_noLocks @_noAllocation
    mutating func process(_ context: inout RenderContext, hasInput: Bool) {
        if main.hasWidth {
            main.process(&context, hasInput: hasInput, &side)
        } else {
            main.process(&context, hasInput: hasInput)
        }
    }
}

extension SpatialState {
    /// The seconds after which both points have come to the place of the source: what is left of their way is 1e-9 of it.
    private static var closingTime: Double { @_noLocks @_noAllocation get { 0.13 } }

    /// The frames by which sound may arrive later at an ear, with its filter.
    private static var slack: Double { @_noLocks @_noAllocation get { 1_024 } }

    /// Indicates whether the source is two points, or may become two.
    var hasWidth: Bool { @_noLocks @_noAllocation get { isPair || hasLoudSide || glance.rendering.w > 0 } }

    /// Renders a slice of a source that is, or has been, two points, of which this is the left one.
    @_noLocks @_noAllocation
    @inline(never) mutating func process(
        _ context: inout RenderContext, hasInput: Bool, _ side: inout SpatialState
    ) {
        let frames = context.frameCount
        beginSlice(context, hasInput: hasInput)
        side.followSlice(&self, context)
        let inputs = hasInput ? context.channelCount(at: 1) : 0
        var done = 0
        while done < frames {
            let phase = Int((context.sampleTime &+ Int64(done)) & Int64(SpatialState.block &- 1))
            if phase == 0 || isFresh { openOrClose(inputs, &side) }
            let isAlone = !isPair && !side.isAudible
            // A source of one channel stays alone to the end.
            let count = isAlone && inputs == 1 ? frames &- done : min(frames &- done, SpatialState.block &- phase)
            side.faded = faded
            process(&context, hasInput: hasInput, from: done, to: done &+ count)
            if !isAlone {
                let part = SpatialSignal.Part(first: done, count: count, phase: phase)
                side.join(&context, isPair ? inputs : 0, part)
            }
            done &+= count
        }
        hasLoudSide = side.isAudible
    }

    /// Makes two points of one at the source's place, or one of two that have come there, and aims at the width.
    @_noLocks @_noAllocation
    private mutating func openOrClose(_ inputs: Int, _ side: inout SpatialState) {
        if inputs == 0 { return }
        let wanted = inputs == 2 && settings.kind < 3 ? settings.width : 0
        if !isPair {
            // The line has another mixture of the channels while a sound field fades.
            if wanted == 0 || (isRendered(4) && !isFresh) { return }
            // Without sound under way there is nothing to wait for.
            (isPair, opened) = (true, isFresh ? .infinity : 0)
            if !side.isAudible {
                endSteadiness()
                side.begin(as: &self)
            }
        }
        opened += Double(SpatialState.block)
        // The sound that is under way from before has both channels in it: they may part when it has arrived.
        let angle = opened > next.delay + SpatialState.slack ? -0.5 * wanted : settings.angle
        if settings.angle != angle {
            settings.angle = angle
            hasChanged = true
            side.follow(&self)
        }
        closing = wanted == 0 ? closing + Double(SpatialState.block) / sampleRate : 0
        if settings.angle == 0 && closing > SpatialState.closingTime {
            (isPair, closing) = (false, 0)
            endSteadiness()
        }
    }

    // MARK: The right one

    /// Takes the settings of the left point.
    @_noLocks @_noAllocation
    private mutating func follow(_ main: inout SpatialState) {
        settings = main.settings
        settings.angle = -main.settings.angle
        (layout, sends, hasChanged) = (main.layout, main.sends, true)
    }

    /// Notes that a slice begins.
    @_noLocks @_noAllocation
    private mutating func followSlice(_ main: inout SpatialState, _ context: borrowing RenderContext) {
        if context.sampleTime &- end > Int64(limit) &+ 4_096 && !isFresh { forgetSound() }
        end = main.end
        if main.hasChanged && (main.isPair || isAudible) { follow(&main) }
    }

    /// Begins where the left point is.
    @_noLocks @_noAllocation
    private mutating func begin(as main: inout SpatialState) {
        forgetSound()
        motion.become(main.motion)
        path.become(main.path)
        (way, isFresh, isAsleep) = (main.way, main.isFresh, main.isAsleep)
        (before, now, next) = (main.before, main.now, main.next)
        (jumpDelay, jumpLeft, hasJumped) = (main.jumpDelay, main.jumpLeft, main.hasJumped)
        (distance, levelRest, levelLeft) = (main.distance, main.levelRest, main.levelLeft)
        isNewSide = true
        follow(&main)
    }

    /// Adds a part of the right channel to the top.
    @_noLocks @_noAllocation
    private mutating func join(_ context: inout RenderContext, _ inputs: Int, _ part: SpatialSignal.Part) {
        if inputs > 0 { silence = 0 }
        if part.phase == 0 && silence > Int(limit) &+ 4_096 && !isFresh { forgetSound() }
        if silence >= 1 << 30 {
            if part.phase == 0 { motion.drift(frames: Double(SpatialState.block), sampleRate: sampleRate) }
            return
        }
        if part.phase == 0 || isFresh {
            begin(at: context.sampleTime &+ Int64(part.first))
            isNewSide = false
        }
        take(&context, inputs, part)
        add(&context, layout, part)
        if inputs == 0 { silence &+= part.count }
    }

    // MARK: What goes into the lines

    /// Takes the mean of all channels; of a sound field the first, which has no direction.
    @_noLocks @_noAllocation
    mutating func takeMean(_ context: inout RenderContext, _ channels: Int, _ part: SpatialSignal.Part) {
        let share = 1 / Float(Int32(truncatingIfNeeded: channels))
        let isField = channels > 1 && isRendered(4)
        for channel in 0..<channels {
            take(&context, channel, share, toward: channel == 0 ? 1 : 0, isField: isField, part)
        }
    }

    /// Takes half of a channel of two; of other sources half of the mean, until both points are one again.
    @_noLocks @_noAllocation
    mutating func takeHalf(_ context: inout RenderContext, _ channels: Int, _ part: SpatialSignal.Part) {
        let share = 0.5 / Float(Int32(truncatingIfNeeded: channels))
        let isField = channels > 1 && isRendered(4)
        for channel in 0..<channels {
            let own: Float = channel == (isSide ? 1 : 0) ? 0.5 : 0
            let toward: Float = channel == 0 ? 0.5 : 0
            take(&context, channel, channels == 2 ? own : share, toward: toward, isField: isField, part)
        }
    }

    /// Takes a share of a channel, and while it fades to a sound field another one.
    @_noLocks @_noAllocation
    @inline(__always) private mutating func take(
        _ context: inout RenderContext, _ channel: Int, _ share: Float, toward field: Float, isField: Bool,
        _ part: SpatialSignal.Part
    ) {
        let samples = context.samples(channel, at: 1)
        if isField {
            let course = Course(
                share + (field - share) * before.shares[4], share + (field - share) * now.shares[4],
                share + (field - share) * next.shares[4])
            signal.take(samples, share: course, begins: channel == 0, part)
        } else {
            signal.take(samples, share: share, begins: channel == 0, part)
        }
    }
}
