internal import RenderCore

extension SpatialState {
    /// Aims at the next block: where the source is heard now, and how.
    @_noLocks @_noAllocation
    mutating func aim(at frame: Int64) {
        let wasFresh = isFresh
        motion.hear()
        if jumpLeft > 0 { jumpLeft &-= 1 }
        before = now
        now = next
        let heard = motion.heard
        let distance = distanceLevel(Float(heard[3]), isFresh: wasFresh)
        let direct = distance * Float(heard[4])
        next.level = SpatialAim.audible(direct)
        next.opening = SpatialAim.opening(heard[5], sampleRate)
        next.send = SpatialAim.audible(Roots.root(distance) * Float(heard[6]))
        next.sendOpening = SpatialAim.opening(heard[7], sampleRate)
        let hasSlept = isAsleep
        isAsleep = false
        if !isHeard && !isSent && motion.isAtRest && levelLeft == 0 && jumpLeft == 0 && !wasFresh {
            isAsleep = SpatialState.isSettled(now.shares, kind: motion.settings.kind)
        }
        if hasSlept && isAsleep { return }
        next.shares = SpatialState.shares(after: now.shares, kind: motion.settings.kind, isFresh: wasFresh)
        aimDelay(heard[3], wasFresh, hasSlept, phase: Double(frame & Int64(SpatialState.block &- 1)))
        aimSides()
        let (x, y, z) = (Float(heard[0]), Float(heard[1]), Float(heard[2]))
        // Out of earshot nothing needs a direction.
        let isSilent = now.level == 0 && next.level == 0
        let begins = wasFresh || (before.level == 0 && now.level == 0)
        next.levels = SIMD16(repeating: 0)
        if !isSilent && next.shares[0] > 0 { aimLevels(x, y, z, by: next.level * next.shares[0]) }
        if !isSilent && (next.shares[1] > 0 || now.shares[1] > 0) { aimSphere(heard[0]) }
        if next.shares[4] > 0 || now.shares[4] > 0 { aimField() }
        if !isSilent && (next.shares[2] > 0 || now.shares[2] > 0) {
            aimHead(x, y, z, isBegun: now.shares[2] > 0 && !begins && !isNewSide)
        }
        if !isSilent { limitEars(begins) }
        isFresh = false
        if wasFresh { (before, now) = (next, next) }
    }

    /// Returns whether one rendering has all of the sound, and may sleep.
    @_noLocks @_noAllocation
    private static func isSettled(_ shares: SIMD8<Float>, kind: Int) -> Bool { kind < 3 && shares[kind] == 1 }

    /// Returns the level of the distance. With another model, or other numbers of it, it gets there in a straight line.
    @_noLocks @_noAllocation
    private mutating func distanceLevel(_ metres: Float, isFresh: Bool) -> Float {
        let new = motion.settings.distance
        let wanted = SpatialState.level(new, at: metres)
        let old = distance
        if old.x != new.x || old.y != new.y || old.z != new.z || old.w != new.w {
            if !isFresh {
                levelRest += SpatialState.level(old, at: metres) - wanted
                levelLeft = SpatialState.changeBlocks
            }
            distance = new
        }
        if isFresh { levelLeft = 0 }
        if levelLeft == 0 {
            levelRest = 0
            return wanted
        }
        let left = Float(Int32(truncatingIfNeeded: levelLeft))
        levelRest *= (left - 1) / left
        levelLeft &-= 1
        let level = wanted + levelRest
        return level > 0 ? level : 0
    }

    @_noLocks @_noAllocation
    private static func level(_ distance: SIMD4<Float>, at metres: Float) -> Float {
        model(distance.w).level(
            distance: metres, minimum: distance.x, maximum: distance.y, rollOff: distance.z)
    }

    @_noLocks @_noAllocation
    static func model(_ number: Float) -> DistanceModel {
        if number < 1 { return .inverse }
        if number < 2 { return .linear }
        return number < 3 ? .exponential : .none
    }

    /// Returns the next share of each rendering: on the way to the one that is set.
    @_noLocks @_noAllocation
    private static func shares(after last: SIMD8<Float>, kind: Int, isFresh: Bool) -> SIMD8<Float> {
        if !isFresh && last[kind] == 1 { return last }
        var target = SIMD8<Float>(repeating: 0)
        target[kind] = 1
        if isFresh { return target }
        let step = 1 / Float(SpatialState.changeBlocks)
        var shares = last
        for kind in 0..<5 {
            let rest = target[kind] - shares[kind]
            shares[kind] = rest > step ? shares[kind] + step : (rest < -step ? shares[kind] - step : target[kind])
        }
        return shares
    }

    /// Aims at the time that the sound needs. Where that changes at more than half of the speed of sound by other things than
    /// velocities, or falls at more than 0.9 of it, it fades from one delay to the other.
    @_noLocks @_noAllocation
    private mutating func aimDelay(_ heard: Double, _ isFresh: Bool, _ hasSlept: Bool, phase: Double) {
        let perMetre = motion.slowness * sampleRate
        let limit = room
        // After a jump the delay stands where the spring will come to rest.
        if abs(heard - motion.distance) < 0.01 { hasJumped = false }
        let there = SpatialState.round(motion.distance) * perMetre
        let reached = hasJumped ? there : SpatialState.round(heard) * perMetre
        let toward = motion.approach * motion.slowness
        let drift = motion.recession * perMetre * Double(SpatialState.block) / sampleRate
        let steady = drift > -0.9 * Double(SpatialState.block) ? drift : 0
        let most = 0.5 * Double(SpatialState.block)
        var wanted = reached < limit ? reached : limit
        if isFresh {
            // As it was at the beginning of the block, which may have gone on for a while.
            let met = toward > -0.9 ? (toward < 0.9 ? toward : 0.9) : -0.9
            wanted = wanted + met * phase > 0 ? wanted + met * phase : 0
            path.stand(at: wanted, approach: toward)
        } else if hasSlept {
            // It has gone evenly since then.
            path.stand(at: wanted, approach: toward, recession: reached < limit ? steady : 0)
        } else if abs(wanted - way) > most && abs(wanted - way - steady) > most {
            if jumpLeft > 0 {
                wanted = way
            } else {
                hasJumped = true
                wanted = there < limit ? there : limit
                (jumpDelay, jumpLeft) = (0.5 * (before.delay + now.delay), SpatialState.fadeBlocks)
                path.stand(at: wanted, approach: toward)
                now.delay = SpatialSignal.shortest + wanted
                before.delay = now.delay
            }
        }
        way = wanted
        next.delay = SpatialSignal.shortest + path.advance(wanted, approach: toward)
        if hasSlept { (before.delay, now.delay) = (next.delay, next.delay) }
    }

    /// The longest way in frames.
    var room: Double {
        @_noLocks @_noAllocation get {
            let room = limit - SpatialSignal.shortest - 0.004 * sampleRate
            return room > 0 ? room : 0
        }
    }

    /// Returns the distance in metres without the corner that it has where a source goes through the middle of the head: a parabola
    /// inside of 0.2 m.
    @_noLocks @_noAllocation
    private static func round(_ metres: Double) -> Double { metres < 0.2 ? 0.1 + 2.5 * metres * metres : metres }

    @_noLocks @_noAllocation
    private mutating func aimLevels(_ x: Float, _ y: Float, _ z: Float, by level: Float) {
        switch motion.settings.layout {
        case .stereo:
            let side = x > -1 ? (x < 1 ? x : 1) : -1
            let angle = (side + 1) * (.pi / 4)
            next.levels[0] = side < 1 ? RenderMath.cos(angle) * level : 0
            next.levels[1] = side > -1 ? RenderMath.sin(angle) * level : 0
        case .ambisonics:
            next.levels[0] = level
            next.levels[1] = -x * level
            next.levels[2] = y * level
            next.levels[3] = -z * level
        case .quad: next.levels = rings.quad.gains(x: x, y: -z) * level
        case .surround51: next.levels = rings.surround51.gains(x: x, y: -z) * level
        case .surround71: next.levels = rings.surround71.gains(x: x, y: -z) * level
        }
    }

    /// Turns a sound field against the head: the source's own turn, then the listener's.
    @_noLocks @_noAllocation
    private mutating func aimField() {
        let field = SpatialTurn(yaw: motion.settings.cone.x, pitch: motion.settings.cone.y, roll: 0)
        // The room's, whatever the width is.
        let head = motion.settings.motion.turn
        next.ahead = SIMD4<Float>(head.local(field.forward))
        next.left = SIMD4<Float>(head.local(-field.right))
        next.up = SIMD4<Float>(head.local(field.up))
    }

    @_noLocks @_noAllocation
    mutating func aimSphere(_ side: Double) {
        let head = SphericalHead(sampleRate: sampleRate)
        let (left, right) = (head.ear(cosine: -side), head.ear(cosine: side))
        let nearer = left.delay < right.delay ? left.delay : right.delay
        next.sphere = SIMD2(left.delay - nearer, right.delay - nearer)
        let half: Float = 0.707_106_77
        next.ears = SIMD4(left.first, left.second, right.first, right.second) * half
    }

    /// Aims at the filters between the measured ones. Inside of the head the front's take their place more and more.
    @_noLocks @_noAllocation
    mutating func aimHead(_ x: Float, _ y: Float, _ z: Float, isBegun: Bool) {
        guard let head = motion.settings.head else {
            // A head without responses: the sphere takes over.
            next.shares[1] += next.shares[2]
            next.shares[2] = 0
            aimSphere(Double(x))
            return
        }
        let length = Roots.root(x * x + y * y + z * z)
        let share = length < 1 ? length : 1
        let place = head.place(x: x, y: y, z: z)
        let late = Double(share * head.delay(place))
        next.head = SIMD2(late < 0 ? -late : 0, late > 0 ? late : 0)
        signal.aim(head, place, share: share, taps: taps, isBegun: isBegun)
    }

    /// The taps of a measured head, as long as those that were set are at 48 kHz.
    private var taps: Int {
        @_noLocks @_noAllocation get {
            let wanted = Int(Double(motion.settings.taps) * sampleRate / 48_000 + 7.999) & ~7
            return wanted > 8 ? (wanted < HeadTable.longest ? wanted : HeadTable.longest) : 8
        }
    }

    /// Lets the time between the ears change no faster than sound can follow.
    @_noLocks @_noAllocation
    mutating func limitEars(_ isFresh: Bool) {
        if now.shares[1] == 0 && now.shares[2] == 0 && next.shares[1] == 0 && next.shares[2] == 0 { return }
        if isFresh || now.shares[1] == 0 {
            (before.sphere, now.sphere) = (next.sphere, next.sphere)
            (before.ears, now.ears) = (next.ears, next.ears)
        }
        if isFresh || now.shares[2] == 0 { (before.head, now.head) = (next.head, next.head) }
        for ear in 0..<2 {
            next.sphere[ear] = SpatialState.near(next.sphere[ear], to: now.sphere[ear])
            next.head[ear] = SpatialState.near(next.head[ear], to: now.head[ear])
        }
    }

    @_noLocks @_noAllocation
    private static func near(_ delay: Double, to last: Double) -> Double {
        let most = 0.375 * Double(SpatialState.block)
        return delay > last + most ? last + most : (delay < last - most ? last - most : delay)
    }
}
