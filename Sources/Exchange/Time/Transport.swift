/// The position of all programs of a session in their piece, as a sound server's transport gives it.
///
///     if context.transport.isRolling { context.run(player) } else { context.push() }     // rolls with the others
///
/// Threads: any.
public struct Transport: Sendable, Hashable, BitwiseCopyable {
    /// Indicates whether the transport rolls.
    public var isRolling: Bool
    /// The frame of the piece that the slice begins with; it stays while the transport is stopped.
    public var frame: Int64
    /// Bar, beat and tempo at that frame, if a program leads them.
    public var bars: MusicalPosition?

    /// Creates a transport that is at a frame.
    @_noLocks @_noAllocation
    public init(isRolling: Bool = false, frame: Int64 = 0, bars: MusicalPosition? = nil) {
        self.isRolling = isRolling
        self.frame = frame
        self.bars = bars
    }

    /// Returns the transport some frames later.
    @_noLocks @_noAllocation
    public func advanced(by frames: Int, sampleRate: Double) -> Transport {
        if !isRolling || frames == 0 { return self }
        var later = self
        later.frame &+= Int64(frames)
        if var bars = bars {
            bars.advance(seconds: Double(frames) / sampleRate)
            later.bars = bars
        }
        return later
    }
}

/// A place in a piece: bar, beat and tick, with the tempo there.
///
/// Threads: any.
public struct MusicalPosition: Sendable, Hashable, BitwiseCopyable {
    /// The bar, from 1 on.
    public var bar: Int
    /// The beat in the bar, from 1 on.
    public var beat: Int
    /// The part of the beat that has passed, 0 up to 1.
    public var fraction: Double
    /// Beats in a bar.
    public var beatsPerBar: Double
    /// The note that is a beat: 4 is a quarter.
    public var beatType: Double
    /// The tempo.
    public var beatsPerMinute: Double

    /// Creates a position.
    @_noLocks @_noAllocation
    public init(
        bar: Int = 1, beat: Int = 1, fraction: Double = 0, beatsPerBar: Double = 4, beatType: Double = 4,
        beatsPerMinute: Double = 120
    ) {
        self.bar = bar
        self.beat = beat
        self.fraction = fraction
        self.beatsPerBar = beatsPerBar
        self.beatType = beatType
        self.beatsPerMinute = beatsPerMinute
    }

    /// Goes on at the tempo, in this metre.
    @_noLocks @_noAllocation
    mutating func advance(seconds: Double) {
        guard beatsPerBar >= 1, beatsPerBar < 1e6, beatsPerMinute > 0 else { return }
        let beats = Double(beat &- 1) + fraction + seconds * beatsPerMinute / 60
        guard beats >= 0, beats < 1e9 else { return }
        let bars = Int(beats / beatsPerBar)
        let left = beats - Double(bars) * beatsPerBar
        bar &+= bars
        beat = Int(left) &+ 1
        fraction = left - Double(Int(left))
    }
}
