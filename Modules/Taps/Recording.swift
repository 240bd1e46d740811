internal import DiskStreaming
internal import RenderCore

/// The render thread's own state of a ``FileRecorder``.
struct Recording: Sendable {
    /// The take that is recorded, and its frames in this slice.
    var take: TakeReference?
    var first = 0
    var end = 0
    /// Takes that have ended in this slice, each with its frames; other buffers of the slice may still belong to them.
    private var ended = InlineArray<8, Passage?>(repeating: nil)
    private var endedCount = 0
    /// The slice.
    var sampleTime: Int64 = .min
    var begin = DiskCommand()
    var stop = DiskCommand()
    /// The take that goes on with the sound of another one waits for its rate.
    var sequel = DiskCommand()
    /// Indicates whether another rate has ended the take, and the one that goes on has not come yet.
    var isCut = false
    /// The wishes of the render loop, in the order of time.
    private var orders = InlineArray<16, Order?>(repeating: nil)
    private var orderCount = 0
    /// The turn of the next order in the ring.
    private var turn: UInt = 0

    /// Frames of a slice that belong to a take which has ended.
    private struct Passage: BitwiseCopyable, Sendable {
        let take: TakeReference
        let first: Int
        let end: Int
    }

    /// The beginning of a take, or an end if it has none, at a sample time.
    struct Order: BitwiseCopyable, Sendable {
        let take: TakeReference?
        let sampleTime: Int64

        @_noLocks @_noAllocation
        init(_ take: TakeReference?, at frame: Int, _ context: borrowing RenderContext) {
            self.take = take
            sampleTime = context.sampleTime.addingSaturated(Int64(frame > 0 ? frame : 0))
        }
    }

    init() {}

    /// Takes orders, as many as there is room for, and keeps each until its time.
    @_noLocks @_noAllocation
    mutating func takeOrders(from ring: TurnRing<Order>) {
        while orderCount < 16, let order = ring.take(&turn) {
            var place = orderCount
            while place > 0, let before = orders[place &- 1], before.sampleTime > order.sampleTime {
                orders[place] = before
                place &-= 1
            }
            orders[place] = order
            orderCount &+= 1
        }
    }

    /// Takes the next order that is due in this slice, and its frame.
    @_noLocks @_noAllocation
    mutating func takeOrder(_ context: borrowing RenderContext) -> (order: Order, frame: Int)? {
        guard orderCount > 0, let order = orders[0] else { return nil }
        let distance = order.sampleTime.subtractingSaturated(context.sampleTime)
        if distance >= Int64(context.frameCount) { return nil }
        orderCount &-= 1
        for place in 0..<orderCount { orders[place] = orders[place &+ 1] }
        orders[orderCount] = nil
        return (order, distance > 0 ? Int(distance) : 0)
    }

    /// Ends the take at a frame of this slice.
    @_noLocks @_noAllocation
    mutating func close(at frame: Int, _ context: borrowing RenderContext) {
        guard let take else { return }
        if endedCount >= 8, let oldest = ended[0] {
            oldest.take.hear(context, from: oldest.first, to: oldest.end)
            oldest.take.end()
            endedCount &-= 1
            for place in 0..<endedCount { ended[place] = ended[place &+ 1] }
        }
        ended[endedCount] = Passage(take: take, first: first, end: frame > first ? frame : first)
        endedCount &+= 1
        self.take = nil
    }

    /// Has the takes that have ended in this slice hear their frames of the top.
    @_noLocks @_noAllocation
    func hearEnded(_ context: borrowing RenderContext) {
        for place in 0..<endedCount {
            if let passage = ended[place] { passage.take.hear(context, from: passage.first, to: passage.end) }
        }
    }

    /// Lets go of the takes that have ended in the slice, which is over.
    @_noLocks @_noAllocation
    mutating func endAll() {
        for place in 0..<endedCount {
            if let passage = ended[place] { passage.take.end() }
            ended[place] = nil
        }
        endedCount = 0
    }
}
