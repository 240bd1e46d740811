internal import RenderCore

// The way of a gain to its goals, frame by frame.

extension GainComputer {
    /// Returns the share of an attack or a release: of one step, or of each of a gate's three, which together are as far
    /// after the time.
    @_noLocks @_noAllocation
    static func share(_ seconds: Float, _ isGate: Bool, _ rate: Double) -> Double {
        isGate
            ? GainComputer.share((Double(seconds) * rate + 1) / 3.258_252_468_866_904, 1)
            : GainComputer.share(Double(seconds), rate)
    }

    /// Moves from goal to goal.
    @_noLocks @_noAllocation @inline(__always)
    static func walk(
        _ lane: inout Lane, from start: Int, to end: Int, _ levels: borrowing RenderMemory<Float>,
        _ reductions: inout RenderMemory<Float>
    ) {
        guard start >= 0 && end <= levels.count && end <= reductions.count else { return }
        let pace = Pace(lane)
        var state = lane.state
        var reductions = reductions.span
        // Of the two ways the faster one is right on the way up, and the other on the way down.
        if lane.attackShare >= lane.releaseShare {
            for i in start..<end {
                state = pace.faster(state, levels[i])
                reductions[i] = Float(state)
            }
        } else {
            for i in start..<end {
                state = pace.slower(state, levels[i])
                reductions[i] = Float(state)
            }
        }
        lane.state = state
    }

    /// Opens and closes: three steps in a row, so that the gain has no corners.
    @_noLocks @_noAllocation
    static func swing(
        _ lane: inout Lane, from start: Int, to end: Int, _ levels: borrowing RenderMemory<Float>,
        _ reductions: inout RenderMemory<Float>
    ) {
        guard start >= 0 && end <= levels.count && end <= reductions.count else { return }
        let (attack, release) = (lane.attackShare, lane.releaseShare)
        var (first, second, third) = (lane.first, lane.second, lane.state)
        for i in start..<end {
            let goal = Double(levels[i])
            // 0 is open.
            let share = goal >= 0 ? attack : release
            first += share * (goal - first)
            second += share * (first - second)
            third += share * (second - third)
            reductions[i] = Float(third)
        }
        (lane.first, lane.second, lane.state) = (first, second, third)
    }

    /// Moves while the attack or the release moves.
    @inline(never) @_noLocks @_noAllocation
    static func creep(
        _ lane: inout Lane, _ frames: Int, _ settings: GainSettings, _ rate: Double,
        _ levels: borrowing RenderMemory<Float>, _ reductions: inout RenderMemory<Float>
    ) {
        let isGate = settings.isGate
        for i in 0..<frames {
            lane.attackShare = share(settings.attack[i], isGate, rate)
            lane.releaseShare = share(settings.release[i], isGate, rate)
            if isGate {
                swing(&lane, from: i, to: i &+ 1, levels, &reductions)
            } else {
                walk(&lane, from: i, to: i &+ 1, levels, &reductions)
            }
        }
        // These are the shares of no time that rests.
        (lane.attack, lane.release) = (-1, -1)
    }
}

/// The two ways of a gain in a frame.
private struct Pace: BitwiseCopyable {
    private let attack, release, attackRest, releaseRest: Double

    @_noLocks @_noAllocation @inline(__always)
    init(_ lane: GainComputer.Lane) {
        (attack, release) = (lane.attackShare, lane.releaseShare)
        // The second is negative, and subtracted: else the compiler packs both ways and shuffles in each frame.
        (attackRest, releaseRest) = (1 - attack, release - 1)
    }

    /// The next state if the attack is the faster way.
    @_noLocks @_noAllocation @inline(__always)
    func faster(_ state: Double, _ goal: Float) -> Double {
        let rising = attackRest * state + attack * Double(goal)
        let falling = release * Double(goal) - releaseRest * state
        return rising > falling ? rising : falling
    }

    /// The next state if the release is.
    @_noLocks @_noAllocation @inline(__always)
    func slower(_ state: Double, _ goal: Float) -> Double {
        let rising = attackRest * state + attack * Double(goal)
        let falling = release * Double(goal) - releaseRest * state
        return rising < falling ? rising : falling
    }
}
