internal import RenderCore
internal import SignalBlocks

extension SpatialState {
    /// Notes whether the source goes on evenly from here, so that the next blocks may be aimed at together: nothing fades, jumps or
    /// springs, one rendering has all of the sound, and it is heard.
    @_noLocks @_noAllocation
    mutating func noteSteadiness() {
        isSteady = false
        if isSide || isAsleep || isFresh || hasJumped || jumpLeft > 0 || levelLeft > 0 || !motion.isPlain { return }
        let kind = motion.settings.kind
        if kind >= 3 || courses.kind != kind || !motion.settings.layout.isStereo { return }
        if !courses.isOpen || before.sendOpening + now.sendOpening + next.sendOpening != 3 { return }
        let (new, old) = (motion.settings.distance, distance)
        if old.x != new.x || old.y != new.y || old.z != new.z || old.w != new.w { return }
        if !(now.level > 0 && next.level > 0) { return }
        isSteady = true
        ahead.end()
        if kind == 0 { trail.begin(&before, &now, &next) }
    }

    /// Goes on unevenly.
    @_noLocks @_noAllocation
    mutating func endSteadiness() {
        if isSteady && courses.kind == 0 { trail.end(&before, &now, &next) }
        isSteady = false
    }

    /// Aims at the four blocks from a frame on.
    @_noLocks @_noAllocation
    mutating func lookAhead(from frame: Int64) {
        ahead.aim(&motion, from: frame, limit: room, sampleRate: sampleRate)
    }

    /// Plays a part of a block with equal power, and the blocks behind it as far as the source goes on evenly.
    /// - Returns: The frames of the slice that are done.
    @_noLocks @_noAllocation
    mutating func relay(_ context: inout RenderContext, from first: SpatialSignal.Part) -> Int {
        let frames = context.frameCount
        let way = SpatialCrossing(&context)
        var part = first
        while true {
            let done = part.first &+ part.count
            // The numbers of a block come one after the other, and each takes its time. The processor computes those of the next
            // block while it plays this one.
            var flight = courses.flight
            var goesOn = false
            if part.phase &+ part.count == SpatialState.block {
                let next = context.sampleTime &+ Int64(done)
                goesOn = done < frames && self.goesOn(at: next)
                if done == frames && isSteady && !hasChanged && ahead.isAtEnd { lookAhead(from: next) }
            }
            signal.relay(way, &flight, part)
            if !goesOn {
                signal.keep(way, before: done)
                return done
            }
            part = SpatialSignal.Part(first: done, count: min(frames &- done, SpatialState.block), phase: 0)
        }
    }

    /// Begins a block of a source that goes on evenly. Returns `false` if it does not in this block, which then
    /// begins in the ordinary way.
    @_noLocks @_noAllocation
    mutating func goesOn(at frame: Int64) -> Bool {
        if !isSteady || hasChanged { return false }
        if !ahead.isAt(frame) { lookAhead(from: frame) }
        let block = ahead.next()
        let (level, wanted) = (block.level, block.way)
        let most = 0.5 * Double(SpatialState.block)
        let isJump = abs(wanted - way) > most && abs(wanted - way - block.drift) > most
        if SpatialAim.audible(level) == 0 || isJump {
            endSteadiness()
            return false
        }
        motion.follow(at: frame, frames: Double(SpatialState.block), sampleRate: sampleRate)
        var send: Float = 0
        if motion.settings.ways.z > 0 { send = SpatialAim.audible(Roots.root(level) * motion.settings.ways.z) }
        way = wanted
        let delay = SpatialSignal.shortest + path.advance(wanted, approach: block.toward)
        if courses.kind == 0 {
            trail.goOn(delay: delay, block, send: send, limit: limit, &courses)
            return true
        }
        before.follow(now)
        now.follow(next)
        (next.delay, next.level, next.send) = (delay, level, send)
        if courses.kind == 1 { aimSphere(block.x) } else { aimHead(Float(block.x), block.y, block.z, isBegun: true) }
        limitEars(false)
        courses.goOn(&before, &now, &next, limit: limit)
        return true
    }
}
