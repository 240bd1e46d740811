import RenderCore

/// A move of a parameter while it is recorded, on its way to control code.
struct AutomationMove: BitwiseCopyable, Sendable {
    enum Kind: UInt8, Sendable {
        /// A passage begins.
        case begins
        /// Somebody has set the parameter.
        case moves
        /// The passage is over.
        case ends
    }
    var kind: Kind
    /// Its position and the length of the glide, in the unit of the curve.
    var position: Double
    var glide = 0.0
    /// The value that was heard there, and the one that it goes to.
    var from: Float = 0
    var to: Float = 0
}

/// The moves from ``Automation/record(_:)`` to ``Automation/finishRecording()``.
final class AutomationTake: Sendable {
    let mode: Automation.Recording
    let unit: AutomationCurve.TimeUnit
    let ring = TurnRing<AutomationMove>(capacity: 65_536)

    init(_ mode: Automation.Recording, _ unit: AutomationCurve.TimeUnit) { (self.mode, self.unit) = (mode, unit) }

    deinit { ring.deallocate() }

    /// Takes all moves. Once.
    func drain() -> [AutomationMove] {
        var turn: UInt = 0
        var moves: [AutomationMove] = []
        while let move = ring.take(&turn) { moves.append(move) }
        return moves
    }

    /// The take, or none, for the render thread: it holds on to the take, also in a transaction that is still to come.
    struct Shared: ~Copyable, Sendable {
        let reference: Reference
        private let owner: AutomationTake?

        init(_ take: AutomationTake? = nil, number: Int = 0) {
            reference = take.map { Reference($0, number: number) } ?? Reference()
            owner = take
        }
    }

    /// The part of a take that the render thread reads, which is there in a cycle.
    struct Reference: Sendable {
        let ring: TurnRing<AutomationMove>?
        let isTouch, isOverwrite: Bool
        let unit: AutomationClock
        let number: Int

        /// Creates a reference to nothing.
        @_noLocks @_noAllocation
        init() { (ring, isTouch, isOverwrite, unit, number) = (nil, false, false, .frames, 0) }

        init(_ take: AutomationTake, number: Int) {
            (ring, unit) = (take.ring, take.unit.clock)
            (isTouch, isOverwrite) = (take.mode == .touch, take.mode == .overwrite)
            self.number = number
        }
    }
}

/// The state by which the render thread sees who moves a parameter while it is recorded.
struct AutomationHands: BitwiseCopyable, Sendable {
    private var take = 0
    private var isHolding = false
    /// Indicates whether a move would be noticed although the curve does not drive the parameter.
    private var isWatching = false
    private var lastMove: Int64 = 0
    private var released = 0
    /// Indicates whether the last move was let go, perhaps in the slice in which it came.
    private var isLetGo = false
    /// The position at which the slice ends.
    private(set) var reached = 0.0

    init() {}

    /// Looks for moves in a slice, and sends them. Returns whether the parameter is left to who moves it.
    @_noLocks @_noAllocation
    mutating func hold(
        _ driver: ParameterWheel, _ reference: AutomationTake.Reference,
        _ playback: inout AutomationPlayback, _ unit: AutomationClock, isDriven: Bool, released: Int,
        _ context: borrowing RenderContext
    ) -> Bool {
        guard let ring = reference.ring, reference.unit.isEqual(to: unit) else {
            (take, isHolding, isWatching) = (0, false, false)
            return false
        }
        let now = context.sampleTime
        var begins = false
        if take != reference.number {
            take = reference.number
            isHolding = false
            isLetGo = false
            self.released = released
            begins = reference.isOverwrite
        }
        let isMoved = driver.isMoved && (playback.isDriving || isHolding || isWatching)
        let line = playback.line(unit, context)
        let position = line.position(at: now)
        isLetGo = released != self.released || isLetGo && !isMoved
        self.released = released
        let isReleased = isLetGo || Double(now &- lastMove) > 0.5 * context.sampleRate
        if isHolding && reference.isTouch && isReleased && !isMoved {
            _ = ring.send(AutomationMove(kind: .ends, position: position))
            isHolding = false
        } else if isHolding && !playback.goesOn(line, at: now) {
            _ = ring.send(AutomationMove(kind: .ends, position: playback.nextPosition))
            begins = true
        } else if !isHolding && isMoved {
            begins = true
        }
        if begins { isHolding = true }
        isWatching = !isHolding && !isDriven
        if !isHolding {
            if isWatching { driver.yield() }
            return false
        }
        let set = driver.current(context)
        let heard = driver.heard(context) ?? (set, set)
        driver.yield()
        if begins || isMoved {
            let glide = Double(driver.glideFrames(context.sampleRate)) * line.step / line.divisor
            _ = ring.send(
                AutomationMove(
                    kind: begins ? .begins : .moves, position: position, glide: glide, from: heard.now, to: heard.next))
            lastMove = now
        }
        reached = line.position(at: now &+ Int64(context.frameCount))
        return true
    }
}
