/// The position in beats, as a renderer's cycle counts them. It is reckoned from an anchor, so that nothing adds up
/// over hours, and so that it makes no difference where slices begin.
package struct BeatClock: BitwiseCopyable, Sendable {
    // The anchor: a frame, and a beat that comes so many frames after it: 0 but where a piece of a map begins between two.
    package internal(set) var frame: Int64 = 0
    var lead = 0.0
    var beat = 0.0
    /// The tempo from that beat on.
    package internal(set) var piece = TempoPiece(120)
    /// The first beat that is reckoned from this anchor: the frame of an earlier one has passed.
    var first = 0.0
    package internal(set) var framesPerMinute: Double
    package internal(set) var bars = BarLines()

    /// The map that leads, the piece of it that is the present one, and the beat of the clock at which its beat 0 is.
    package internal(set) var map: TempoTable.Places?
    var mapIndex = 0
    var mapOrigin = 0.0

    /// Indicates whether a transport leads, and at which frame of this clock its piece begins.
    package internal(set) var isLed = false
    var origin: Int64 = 0
    /// Indicates whether the transport gives the tempo and the bars too.
    var hasBars = false

    // The tempo and metre that the program has set, with the version of each.
    package internal(set) var ownBeatsPerMinute = 120.0
    package internal(set) var ownMetre = Metre(4, 4)
    package internal(set) var tempoVersion: UInt64 = 0
    var metreVersion: UInt64 = 0
    var positionVersion: UInt64 = 0

    /// A number that is another one when the program has set anything.
    package var version: UInt64 {
        @_noLocks @_noAllocation get { tempoVersion &+ metreVersion &+ positionVersion }
    }

    @_noLocks @_noAllocation
    package init(sampleRate: Double) { framesPerMinute = 60 * sampleRate }

    // MARK: Asking

    /// Returns the position at a frame, in beats.
    @_noLocks @_noAllocation
    package func position(at frame: Int64) -> Double {
        let passed = Double(frame &- self.frame) - lead
        // Exact where a beat is a whole number of frames.
        if piece.isEndless { return beat + passed * piece.first / framesPerMinute }
        return beat + piece.beats(in: passed / framesPerMinute)
    }

    /// Indicates that neither a map nor a ramp leads.
    package var isSteady: Bool { @_noLocks @_noAllocation get { map == nil && piece.isEndless } }

    /// Returns the tempo at a frame.
    @_noLocks @_noAllocation
    package func tempo(at frame: Int64) -> Double { tempo(atPosition: position(at: frame)) }

    /// Returns the tempo at a position.
    @_noLocks @_noAllocation
    package func tempo(atPosition position: Double) -> Double {
        piece.isEndless ? piece.first : piece.tempo(after: position - beat)
    }

    /// Returns half of what a frame takes, in beats.
    @_noLocks @_noAllocation
    package func halfFrame(at frame: Int64) -> Double { 0.5 * tempo(at: frame) / framesPerMinute }

    /// Returns the frames from the anchor to a beat.
    @_noLocks @_noAllocation
    func distance(to beat: Double) -> Double {
        let way = beat - self.beat
        if piece.isEndless { return way * framesPerMinute / piece.first + lead }
        return piece.minutes(of: way) * framesPerMinute + lead
    }

    /// Returns the frame that is nearest to a beat. Each beat has one frame, also where the tempo changes in its
    /// middle.
    @_noLocks @_noAllocation
    package func frame(of beat: Double) -> Int64 {
        let exact = distance(to: beat)
        if exact.isNaN { return .max }
        let nearest = RenderTime.nearest(exact)
        let isPast = beat < first
        return frame.addingSaturated(isPast ? (nearest < 0 ? nearest : -1) : (nearest > 0 ? nearest : 0))
    }

    /// Returns a position from which on beats may be nearest to a frame, or to a later one.
    @_noLocks @_noAllocation
    func earliest(at frame: Int64) -> Double {
        let position = beginning(of: frame)
        return frame == self.frame && first < position ? first : position
    }

    /// Returns the position half a frame before a frame: from there on beats are nearest to it.
    @_noLocks @_noAllocation
    package func beginning(of frame: Int64) -> Double {
        if piece.isEndless { return position(at: frame) - halfFrame(at: frame) }
        return beat + piece.beats(in: (Double(frame &- self.frame) - lead - 0.5) / framesPerMinute)
    }

    /// The position from which on whole beats count: that of beat 0 of a map that lies somewhere else.
    package var beatOrigin: Double { @_noLocks @_noAllocation get { mapOrigin } }

    /// Returns the tempo that the map has where a frame is, or that the clock has if there is no map.
    package func mapTempo(at frame: Int64) -> Double {
        map.map { $0.tempo(at: position(at: frame) - mapOrigin) } ?? tempo(at: frame)
    }

    /// Returns the beats of a frame.
    @_noLocks @_noAllocation
    package func beats(at frame: Int64) -> Beats {
        let position = position(at: frame)
        let place = bars.place(of: position)
        let whole = BeatClock.floor(place.beat)
        let musical = MusicalPosition(
            bar: place.bar, beat: Int(whole) &+ 1, fraction: place.beat - whole, beatsPerBar: place.beatsPerBar,
            beatType: place.beatType, beatsPerMinute: tempo(at: frame))
        return Beats(position: position, bars: musical, isLed: isLed)
    }

    // MARK: Lines

    /// The frames of a line of a ramp. The slices end there.
    private static var lineLength: Int64 { @_noLocks @_noAllocation get { 32 } }

    /// Returns the line on which the position of a frame lies: the tempo that stays, or the part of a ramp between two
    /// frames that depend on the ramp alone. So what steps evenly from frame to frame has the same bits in all slices.
    @_noLocks @_noAllocation
    package func line(at frame: Int64) -> BeatLine {
        var start = self.frame
        if piece.isRamp {
            let passed = frame &- self.frame
            let last = lines
            let number = passed > 0 ? min(passed / Self.lineLength, last) : 0
            start = self.frame.addingSaturated(number &* Self.lineLength)
            if passed >= 0 && number < last {
                let position = position(at: start)
                let next = self.position(at: start &+ Self.lineLength)
                return BeatLine(
                    origin: start, position: position, step: next - position, divisor: Double(Self.lineLength))
            }
            if passed >= 0 {
                return BeatLine(
                    origin: start, position: position(at: start), step: piece.after, divisor: framesPerMinute)
            }
        }
        let step = piece.first
        return BeatLine(
            origin: start, position: beat - lead * step / framesPerMinute, step: step, divisor: framesPerMinute)
    }

    /// The number of lines of a ramp.
    private var lines: Int64 {
        @_noLocks @_noAllocation get {
            let frames = piece.minutes * framesPerMinute + lead
            return frames < 0x1p52 ? (RenderTime.nearest(frames) &+ Self.lineLength) / Self.lineLength : .max
        }
    }

    /// Returns the frame behind another one at which a slice must begin: where a line of a ramp ends, and a piece of a map.
    @_noLocks @_noAllocation
    package func cut(after frame: Int64) -> Int64 {
        let end = pieceEnd
        guard piece.isRamp, frame >= self.frame else { return end }
        let number = (frame &- self.frame) / Self.lineLength
        if number >= lines { return end }
        return min(end, self.frame.addingSaturated((number &+ 1) &* Self.lineLength))
    }

    /// The frame with which the next piece of the map begins.
    var pieceEnd: Int64 {
        @_noLocks @_noAllocation get {
            guard map != nil, !piece.isEndless else { return .max }
            return frame.addingSaturated(RenderTime.nearest(piece.minutes * framesPerMinute + lead))
        }
    }

    /// Returns the length of that many beats at the tempo of a frame, in frames.
    @_noLocks @_noAllocation
    package func frames(beats: Double, at frame: Int64) -> Double {
        if piece.isEndless { return beats * framesPerMinute / piece.first }
        let line = line(at: frame)
        return beats * line.divisor / line.step
    }

    /// Returns a turn that takes that many beats and begins at beat 0: which one a frame is in, where in it that is (2⁶⁴
    /// to the turn), and how much of it a frame takes.
    @_noLocks @_noAllocation
    package func turn(of beats: Double, at frame: Int64) -> (number: UInt64, phase: UInt64, step: UInt64) {
        let line = line(at: frame)
        let perFrame = line.step / (line.divisor * beats)
        let step = perFrame > 0 ? UInt64((perFrame < 0.5 ? perFrame : 0.5) * 0x1p64) : 0
        // The position is reckoned from the line's beginning in whole numbers: slices that begin elsewhere find the same.
        let turns = line.position / beats
        let whole = BeatClock.floor(turns)
        let part = turns - whole
        let passed = frame > line.origin ? UInt64(frame &- line.origin) : 0
        let (high, low) = step.multipliedFullWidth(by: passed)
        // And a trifle more, so that a turn that begins on a frame does so although the step is rounded down.
        let trifle: UInt64 = 1 &<< 34
        let (sum, isFull) = low.addingReportingOverflow(trifle)
        let (phase, isOver) = sum.addingReportingOverflow(part > 0 && part < 1 ? UInt64(part * 0x1p64) : 0)
        let number = UInt64(bitPattern: Int64(whole)) &+ high &+ (isOver ? 1 : 0) &+ (isFull ? 1 : 0)
        return (number, phase, step)
    }

    /// Returns the whole number below.
    @_noLocks @_noAllocation
    package static func floor(_ number: Double) -> Double {
        guard abs(number) < 0x1p52 else { return number.isNaN ? 0 : number > 0 ? 0x1p52 : -0x1p52 }
        let whole = Double(Int64(number))
        return whole > number ? whole - 1 : whole
    }
}
