internal import RenderCore

extension SpatialState {
    /// Begins a block: what was aimed at is reached, and the way of the sound is computed anew.
    @_noLocks @_noAllocation
    mutating func aim(_ settings: SpatialSettings, isNew: Bool, at frame: Int64) {
        let wasFresh = isFresh
        motion.advance(at: frame, frames: Double(SpatialState.block), sampleRate: sampleRate)
        if isNew || motion.isFresh { motion.take(settings, at: frame, sampleRate: sampleRate) }
        motion.hear()
        if jumpLeft > 0 { jumpLeft &-= 1 }
        now = next
        let heard = motion.heard
        let distance = distanceLevel(Float(heard[3]), isFresh: wasFresh)
        let direct = distance * Float(heard[4])
        next.level = direct > 1e-5 ? direct : 0
        next.opening = SpatialAim.opening(heard[5], sampleRate)
        let send = Roots.root(distance) * Float(heard[6])
        next.send = send > 1e-5 ? send : 0
        next.sendOpening = SpatialAim.opening(heard[7], sampleRate)
        let hasSlept = isAsleep
        let isHeard = now.level > 0 || next.level > 0 || (sends && (now.send > 0 || next.send > 0))
        isAsleep = false
        if !isHeard && motion.isAtRest && levelLeft == 0 && jumpLeft == 0 && !wasFresh {
            isAsleep = SpatialState.isSettled(now.shares, kind: motion.settings.kind)
        }
        if hasSlept && isAsleep { return }
        next.shares = SpatialState.shares(after: now.shares, kind: motion.settings.kind, isFresh: wasFresh)
        aimDelay(heard[3], wasFresh, hasSlept, phase: Double(frame & Int64(SpatialState.block &- 1)))
        let (x, y, z) = (Float(heard[0]), Float(heard[1]), Float(heard[2]))
        // Out of earshot nothing needs a direction.
        let isSilent = now.level == 0 && next.level == 0
        let begins = wasFresh || now.level == 0
        if !isSilent && (next.shares[0] > 0 || now.shares[0] > 0) { aimLevels(x, y, z) }
        if !isSilent && (next.shares[1] > 0 || now.shares[1] > 0) { aimSphere(heard[0]) }
        if next.shares[4] > 0 || now.shares[4] > 0 { aimField() }
        if !isSilent && (next.shares[2] > 0 || now.shares[2] > 0) {
            aimHead(x, y, z, isBegun: now.shares[2] > 0 && !begins)
        }
        if !isSilent { limitEars(begins) }
        isFresh = false
        if wasFresh { now = next }
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
                levelLeft = SpatialState.fadeBlocks
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
    private static func model(_ number: Float) -> DistanceModel {
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
        let step = 1 / Float(SpatialState.fadeBlocks)
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
        let perMetre = motion.settings.doppler * sampleRate / motion.settings.motion.speedOfSound
        let room = signal.limit - SpatialSignal.shortest - 0.004 * sampleRate
        let limit = room > 0 ? room : 0
        // After a jump the delay stands where the spring will come to rest.
        if abs(heard - motion.distance) < 0.01 { hasJumped = false }
        let there = motion.distance * perMetre
        let reached = hasJumped ? there : heard * perMetre
        let toward = motion.approach * motion.settings.doppler / motion.settings.motion.speedOfSound
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
                (jumpDelay, jumpLeft) = (now.delay, SpatialState.fadeBlocks)
                path.stand(at: wanted, approach: toward)
                now.delay = SpatialSignal.shortest + wanted
            }
        }
        way = wanted
        next.delay = SpatialSignal.shortest + path.advance(wanted, approach: toward)
        if hasSlept { now.delay = next.delay }
    }

    @_noLocks @_noAllocation
    private mutating func aimLevels(
        _ x: Float, _ y: Float, _ z: Float
    ) {
        switch motion.settings.layout {
        case .stereo:
            let side = x > -1 ? (x < 1 ? x : 1) : -1
            let angle = (side + 1) * (.pi / 4)
            next.gains[0] = side < 1 ? RenderMath.cos(angle) : 0
            next.gains[1] = side > -1 ? RenderMath.sin(angle) : 0
        case .ambisonics:
            next.gains[0] = 1
            next.gains[1] = -x
            next.gains[2] = y
            next.gains[3] = -z
        case .quad: next.gains = rings.quad.gains(x: x, y: -z)
        case .surround51: next.gains = rings.surround51.gains(x: x, y: -z)
        case .surround71: next.gains = rings.surround71.gains(x: x, y: -z)
        }
    }

    /// Turns a sound field against the head: the source's own turn, then the listener's.
    @_noLocks @_noAllocation
    private mutating func aimField() {
        let field = SpatialTurn(yaw: motion.settings.cone.x, pitch: motion.settings.cone.y, roll: 0)
        let head = motion.settings.motion.turn
        next.ahead = SIMD4<Float>(head.local(field.forward))
        next.left = SIMD4<Float>(head.local(-field.right))
        next.up = SIMD4<Float>(head.local(field.up))
    }

    @_noLocks @_noAllocation
    private mutating func aimSphere(_ side: Double) {
        let head = SphericalHead(sampleRate: sampleRate)
        let (left, right) = (head.ear(cosine: -side), head.ear(cosine: side))
        let nearer = left.delay < right.delay ? left.delay : right.delay
        next.sphere = SIMD2(left.delay - nearer, right.delay - nearer)
        let half: Float = 0.707_106_77
        next.ears = SIMD4(left.first, left.second, right.first, right.second) * half
    }

    /// Aims at the filters between the measured ones. Inside of the head the front's take their place more and more.
    @_noLocks @_noAllocation
    private mutating func aimHead(_ x: Float, _ y: Float, _ z: Float, isBegun: Bool) {
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
        signal.aim(head, place, share: share, taps: motion.settings.taps, isBegun: isBegun)
    }

    /// Lets the time between the ears change no faster than sound can follow.
    @_noLocks @_noAllocation
    private mutating func limitEars(_ isFresh: Bool) {
        if isFresh || now.shares[0] == 0 { now.gains = next.gains }
        if now.shares[1] == 0 && now.shares[2] == 0 && next.shares[1] == 0 && next.shares[2] == 0 { return }
        if isFresh || now.shares[1] == 0 { now.sphere = next.sphere }
        if isFresh || now.shares[2] == 0 { now.head = next.head }
        for ear in 0..<2 {
            next.sphere[ear] = SpatialState.near(next.sphere[ear], to: now.sphere[ear])
            next.head[ear] = SpatialState.near(next.head[ear], to: now.head[ear])
        }
        if isFresh || now.shares[1] == 0 { now.ears = next.ears }
    }

    @_noLocks @_noAllocation
    private static func near(_ delay: Double, to last: Double) -> Double {
        let most = 24.0
        return delay > last + most ? last + most : (delay < last - most ? last - most : delay)
    }
}
