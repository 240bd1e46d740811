internal import RenderCore

extension SpatialState {
    /// Notes whether the source goes on evenly from here, so that the next blocks may be aimed at together: nothing fades, jumps or
    /// springs, one rendering has all of the sound, and it is heard.
    @_noLocks @_noAllocation
    mutating func noteSteadiness() {
        isSteady = false
        if isAsleep || isFresh || hasJumped || jumpLeft > 0 || levelLeft > 0 || !motion.isPlain { return }
        let kind = motion.settings.kind
        if kind >= 3 || courses.kind != kind || !motion.settings.layout.isStereo { return }
        if !courses.isOpen || before.sendOpening + now.sendOpening + next.sendOpening != 3 { return }
        let (new, old) = (motion.settings.distance, distance)
        if old.x != new.x || old.y != new.y || old.z != new.z || old.w != new.w { return }
        if !(now.level > 0 && next.level > 0) { return }
        isSteady = true
        ahead.end()
    }

    /// Begins a block of a source that goes on evenly. Returns `false`, and has changed nothing, if it does not in this block.
    @_noLocks @_noAllocation
    mutating func goesOn(at frame: Int64) -> Bool {
        if !ahead.isAt(frame) { ahead.aim(&motion, from: frame, limit: room, sampleRate: sampleRate) }
        let block = ahead.next()
        let (level, wanted) = (block.level, block.way)
        let most = 0.5 * Double(SpatialState.block)
        let isJump = abs(wanted - way) > most && abs(wanted - way - block.drift) > most
        if !(level > 1e-5) || isJump {
            isSteady = false
            return false
        }
        motion.follow(at: frame, frames: Double(SpatialState.block), sampleRate: sampleRate)
        before.follow(now)
        now.follow(next)
        next.level = level
        if motion.settings.ways.z > 0 {
            let send = Roots.root(level) * motion.settings.ways.z
            next.send = send > 1e-5 ? send : 0
        } else {
            next.send = 0
        }
        way = wanted
        next.delay = SpatialSignal.shortest + path.advance(wanted, approach: block.toward)
        switch motion.settings.kind {
        case 0: (next.levels[0], next.levels[1]) = (block.left, block.right)
        case 1: aimSphere(block.x)
        default: aimHead(Float(block.x), block.y, block.z, isBegun: true)
        }
        if motion.settings.kind > 0 { limitEars(false) }
        courses.goOn(&before, &now, &next, limit: limit)
        return true
    }
}
