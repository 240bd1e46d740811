/// The position of a frame in the piece, counted in beats. ``/RenderCore/RenderContext/beats`` returns it.
///
/// Threads: any.
public struct Beats: Sendable, Hashable, BitwiseCopyable {
    /// Beats since the beginning of the piece.
    public let position: Double
    /// The bar and the beat in it, from 1 on, with the metre and the tempo.
    public let bars: MusicalPosition
    /// Indicates whether a transport leads, and not the program's own ``/RenderCore/Renderer/tempo``.
    public let isLed: Bool

    @_noLocks @_noAllocation
    init(position: Double, bars: MusicalPosition, isLed: Bool) {
        self.position = position
        self.bars = bars
        self.isLed = isLed
    }

    /// The tempo.
    public var beatsPerMinute: Double { @_noLocks @_noAllocation get { bars.beatsPerMinute } }
}

/// A beat, or a part of one, that falls into a slice: see ``/RenderCore/RenderContext/ticks(every:)``.
///
/// Threads: any.
public struct BeatTick: Sendable, Hashable, BitwiseCopyable {
    /// The frame that is nearest to the tick, counted from the slice's first.
    public let frame: Int
    /// Beats since the beginning of the piece.
    public let position: Double
    /// The bar, from 1 on.
    public let bar: Int
    /// The beat in the bar to which the tick belongs, from 1 on.
    public let beat: Int
    /// Indicates whether a bar begins with the tick.
    public let isBar: Bool
}

/// The ticks of a slice, one after the other: see ``/RenderCore/RenderContext/ticks(every:)``.
///
/// Threads: any.
public struct BeatTicks: Sendable, BitwiseCopyable {
    private let clock: BeatClock
    private let start: Int64
    private let count: Int
    private let step: Double
    private var number: Double

    @_noLocks @_noAllocation
    package init(_ clock: BeatClock, from start: Int64, count: Int, every step: Double) {
        self.clock = clock
        self.start = start
        self.count = count
        self.step = step >= 0x1p-10 ? (step <= 1e6 ? step : 1e6) : step > 0 ? 0x1p-10 : 1
        number = BeatClock.floor(clock.earliest(at: start) / self.step)
    }

    /// Returns the next beat; `nil` if there is none in this slice any more.
    @_noLocks @_noAllocation
    public mutating func next() -> BeatTick? {
        // If numbers are so large that a step makes no difference, there are no beats.
        var past = 0
        while past < 64 {
            let position = number * step
            let frame = clock.frame(of: position).subtractingSaturated(start)
            if frame >= Int64(count) { return nil }
            number += 1
            if frame < 0 || number * step == position {
                past &+= 1
                continue
            }
            let place = clock.bars.place(of: position)
            return BeatTick(
                frame: Int(frame), position: position, bar: place.bar, beat: Int(place.beat) &+ 1,
                isBar: place.beat < 1e-6)
        }
        return nil
    }
}
