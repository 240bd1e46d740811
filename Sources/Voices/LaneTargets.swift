internal import RenderCore

/// The values towards which the numbers of eight voices go.
struct LaneTargets: BitwiseCopyable, Sendable {
    var note = Lanes(repeating: 69)
    var bend = Lanes.zero
    var bendAim = Lanes.zero
    var pressure = Lanes.zero
    var pressureAim = Lanes.zero
    /// The values of the parameters at the end of the chunk.
    var ends = InlineArray<16, Lanes>(repeating: .zero)
    /// Values of their own, which are no numbers where there is none.
    var own = InlineArray<16, Lanes>(repeating: Lanes(repeating: .nan))
    var isMoving = true

    @_noLocks @_noAllocation
    init() {}

    @_noLocks @_noAllocation
    mutating func begin(_ lane: Int, note: Float, bend: Float, pressure: Float) {
        self.note[lane] = note
        self.bend[lane] = bend
        bendAim[lane] = bend
        self.pressure[lane] = pressure
        pressureAim[lane] = pressure
        isMoving = true
    }

    @_noLocks @_noAllocation
    mutating func give(_ parameter: Int, _ lane: Int, _ value: Float, from start: Float) {
        own[parameter][lane] = value
        ends[parameter][lane] = start
    }

    @_noLocks @_noAllocation
    mutating func own(_ parameter: Int, _ lane: Int, _ value: Float) {
        own[parameter][lane] = value
        isMoving = true
    }

    /// Returns the values at the end of the next chunk.
    @_noLocks @_noAllocation
    func aim(_ parameter: Int, _ shared: Float, _ part: Float) -> Lanes {
        let own = own[parameter]
        return LaneMath.select(
            LaneTargets.follow(ends[parameter], own, part), Lanes(repeating: shared), where: own .== own)
    }

    /// Returns numbers a part of the way further to others; a number that is near arrives.
    @_noLocks @_noAllocation
    static func follow(_ from: Lanes, _ to: Lanes, _ part: Float) -> Lanes {
        let way = to - from
        let isNear = LaneMath.abs(way) .<= 1e-4 * LaneMath.abs(to) + 1e-6
        return LaneMath.select(to, from + part * way, where: isNear)
    }
}
