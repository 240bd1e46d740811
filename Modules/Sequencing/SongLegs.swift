internal import RenderCore

/// The way of a song through a slice: from each frame at which it begins, stops or goes elsewhere to the next.
struct SongLegs: BitwiseCopyable, Sendable {
    /// A part of the slice in which the song goes on, or rests.
    struct Leg: BitwiseCopyable, Sendable {
        var frame = 0
        /// The beat of the clock at which the song's beat 0 is.
        var origin = 0.0
        var isPlaying = false

        @_noLocks @_noAllocation
        init() {}
    }

    /// The parts that there is room for; of more in one slice, those in the middle are passed over.
    private static var limit: Int { @_noLocks @_noAllocation get { 16 } }

    /// The slice's first frame on the sample clock; the least number before the first.
    private(set) var time = Int64.min
    /// The clock, and the slice's first frame on it.
    private(set) var clock = BeatClock(sampleRate: 48_000)
    private(set) var base: Int64 = 0
    private(set) var count = 0
    private var legs = InlineArray<16, Leg>(repeating: Leg())

    @_noLocks @_noAllocation
    init() {}

    /// Begins a slice.
    @_noLocks @_noAllocation
    mutating func begin(_ clock: BeatClock, _ base: Int64, at time: Int64, isPlaying: Bool, origin: Double) {
        (self.clock, self.base, self.time, count) = (clock, base, time, 0)
        add(0, isPlaying: isPlaying, origin: origin)
    }

    /// Notes how the song goes on from a frame, which is not before the last one.
    @_noLocks @_noAllocation
    mutating func add(_ frame: Int, isPlaying: Bool, origin: Double) {
        if count > 0 {
            let last = legs[count &- 1]
            if last.isPlaying == isPlaying && (last.origin == origin || !isPlaying) { return }
            // A leg of no frame is left out.
            if last.frame == frame || count == SongLegs.limit { count &-= 1 }
        }
        legs[count].frame = frame
        legs[count].isPlaying = isPlaying
        legs[count].origin = origin
        count &+= 1
    }

    @_noLocks @_noAllocation
    subscript(_ index: Int) -> Leg { legs[index] }

    /// Returns the beat of the clock at a frame of the slice.
    @_noLocks @_noAllocation
    func beat(at frame: Int) -> Double { clock.position(at: base &+ Int64(frame)) }

    /// Returns the frame of a beat, from the first of the slice.
    @_noLocks @_noAllocation
    func frame(of beat: Double) -> Int {
        if beat == .infinity { return .max }
        return Int(clock.frame(of: beat).subtractingSaturated(base))
    }
}
