/// The position in beats, as a renderer's cycle counts them. It is reckoned from an anchor, so that nothing adds up
/// over hours, and so that it makes no difference where slices begin.
package struct BeatClock: BitwiseCopyable, Sendable {
    // The anchor: a frame, and the position in beats there.
    package private(set) var frame: Int64 = 0
    private(set) var beat = 0.0
    /// The first beat that is reckoned from this anchor: the frame of an earlier one has passed.
    private var first = 0.0
    package private(set) var framesPerMinute: Double
    package private(set) var beatsPerMinute = 120.0
    package private(set) var bars = BarLines()

    /// Indicates whether a transport leads, and at which frame of this clock its piece begins.
    package private(set) var isLed = false
    private var origin: Int64 = 0
    /// Indicates whether the transport gives the tempo and the bars too.
    private var hasBars = false

    // The tempo and metre that the program has set, with the version of each.
    package private(set) var ownBeatsPerMinute = 120.0
    package private(set) var ownMetre = Metre(4, 4)
    private var tempoVersion: UInt64 = 0
    private var metreVersion: UInt64 = 0
    private var positionVersion: UInt64 = 0

    @_noLocks @_noAllocation
    package init(sampleRate: Double) { framesPerMinute = 60 * sampleRate }

    // MARK: Asking

    /// Returns the position at a frame, in beats.
    @_noLocks @_noAllocation
    package func position(at frame: Int64) -> Double {
        beat + Double(frame &- self.frame) * beatsPerMinute / framesPerMinute
    }

    /// Returns the length of that many beats, in frames.
    @_noLocks @_noAllocation
    package func frames(beats: Double) -> Double { beats * framesPerMinute / beatsPerMinute }

    /// Returns the frame that is nearest to a beat. Each beat has one frame, also where the tempo changes in its
    /// middle.
    @_noLocks @_noAllocation
    package func frame(of beat: Double) -> Int64 {
        let exact = frames(beats: beat - self.beat)
        if exact.isNaN { return .max }
        let nearest = RenderTime.nearest(exact)
        let isPast = beat < first
        return frame.addingSaturated(isPast ? (nearest < 0 ? nearest : -1) : (nearest > 0 ? nearest : 0))
    }

    /// Returns a position from which on beats may be nearest to a frame, or to a later one.
    @_noLocks @_noAllocation
    func earliest(at frame: Int64) -> Double {
        let position = position(at: frame) - 0.5 * beatsPerMinute / framesPerMinute
        return frame == self.frame && first < position ? first : position
    }

    /// Returns the beats of a frame.
    @_noLocks @_noAllocation
    package func beats(at frame: Int64) -> Beats {
        let position = position(at: frame)
        let place = bars.place(of: position)
        let whole = BeatClock.floor(place.beat)
        let musical = MusicalPosition(
            bar: place.bar, beat: Int(whole) &+ 1, fraction: place.beat - whole, beatsPerBar: place.beatsPerBar,
            beatType: place.beatType, beatsPerMinute: beatsPerMinute)
        return Beats(position: position, bars: musical, isLed: isLed)
    }

    /// Returns a turn that takes that many beats and begins at beat 0: which one a frame is in, where in it that is (2⁶⁴
    /// to the turn), and how much of it a frame takes.
    @_noLocks @_noAllocation
    package func turn(of beats: Double, at frame: Int64) -> (number: UInt64, phase: UInt64, step: UInt64) {
        let perFrame = beatsPerMinute / (framesPerMinute * beats)
        let step = perFrame > 0 ? UInt64((perFrame < 0.5 ? perFrame : 0.5) * 0x1p64) : 0
        // The position is reckoned from the anchor in whole numbers: slices that begin elsewhere find the same.
        let turns = beat / beats
        let whole = BeatClock.floor(turns)
        let part = turns - whole
        let passed = frame > self.frame ? UInt64(frame &- self.frame) : 0
        let (high, low) = step.multipliedFullWidth(by: passed)
        // And a trifle more, so that a turn that begins on a frame does so although the step is rounded down.
        let trifle: UInt64 = 1 &<< 34
        let (sum, isFull) = low.addingReportingOverflow(trifle)
        let (phase, isOver) = sum.addingReportingOverflow(part > 0 && part < 1 ? UInt64(part * 0x1p64) : 0)
        let number = UInt64(bitPattern: Int64(whole)) &+ high &+ (isOver ? 1 : 0) &+ (isFull ? 1 : 0)
        return (number, phase, step)
    }

    // MARK: Changing

    /// Anything that the program sets.
    package enum Setting: Sendable {
        case beatsPerMinute(Double)
        case metre(Metre)
        case position(Double)

        /// Its place among the three.
        package var index: Int {
            @_noLocks @_noAllocation get {
                switch self {
                case .beatsPerMinute: 0
                case .metre: 1
                case .position: 2
                }
            }
        }
    }

    /// Takes the program's settings, unless newer ones have come before them.
    @_noLocks @_noAllocation
    package mutating func set(_ setting: Setting, _ version: UInt64, at frame: Int64) {
        switch setting {
        case .beatsPerMinute(let number):
            if version <= tempoVersion { return }
            tempoVersion = version
            ownBeatsPerMinute = number
            if !hasBars { setTempo(number, at: frame) }
        case .metre(let metre):
            if version <= metreVersion { return }
            metreVersion = version
            ownMetre = metre
            if !hasBars { takeOwnMetre(at: frame) }
        case .position(let position):
            if version <= positionVersion { return }
            positionVersion = version
            if isLed { return }
            anchor(frame, at: position)
            bars = BarLines(beatsPerBar: Double(ownMetre.beatsPerBar), beatType: Double(ownMetre.beatType))
        }
    }

    /// Begins anew, at beat 0 of frame 0.
    @_noLocks @_noAllocation
    package mutating func startOver() {
        (isLed, hasBars) = (false, false)
        beatsPerMinute = ownBeatsPerMinute
        anchor(0, at: 0)
        bars = BarLines(beatsPerBar: Double(ownMetre.beatsPerBar), beatType: Double(ownMetre.beatType))
    }

    /// Goes on with frames of another length.
    @_noLocks @_noAllocation
    package mutating func setRate(_ framesPerMinute: Double, at frame: Int64) {
        move(to: frame)
        self.framesPerMinute = framesPerMinute
    }

    @_noLocks @_noAllocation
    private mutating func setTempo(_ beatsPerMinute: Double, at frame: Int64) {
        if beatsPerMinute == self.beatsPerMinute { return }
        move(to: frame)
        self.beatsPerMinute = beatsPerMinute
    }

    @_noLocks @_noAllocation
    private mutating func takeOwnMetre(at frame: Int64) {
        bars.set(
            beatsPerBar: Double(ownMetre.beatsPerBar), beatType: Double(ownMetre.beatType), at: position(at: frame),
            margin: beatsPerMinute / framesPerMinute)
    }

    /// Makes another frame the anchor, with the position that it has.
    @_noLocks @_noAllocation
    private mutating func move(to frame: Int64) {
        if frame == self.frame { return }
        let position = position(at: frame)
        // Beats that are nearest to an earlier frame have been.
        first = position - 0.5 * beatsPerMinute / framesPerMinute
        beat = position
        self.frame = frame
    }

    /// Gives a frame a position.
    @_noLocks @_noAllocation
    private mutating func anchor(_ frame: Int64, at position: Double) {
        self.frame = frame
        beat = position
        first = position - 0.5 * beatsPerMinute / framesPerMinute
    }

    // MARK: Being led

    /// The coarsest ticks of a transport, in beats.
    private static var tick: Double { @_noLocks @_noAllocation get { 1.0 / 96 } }

    /// Goes with a transport that rolls: at its tempo if another program leads that, else at the program's own, from
    /// frame 0 of the transport's piece on.
    ///
    /// A session's position is coarse: JACK's leaders give the place in the beat at which a cycle begins in whole
    /// ticks, and those are some ten frames long. So the clock takes an exact position that agrees with the session's:
    /// the present one, or that of a piece which has had this tempo from its first frame on. Only if neither agrees it
    /// takes the session's.
    @_noLocks @_noAllocation
    package mutating func follow(_ transport: Transport, at frame: Int64) {
        let start = frame &- transport.frame
        let isSamePiece = isLed && start == origin
        isLed = true
        origin = start
        guard let told = transport.bars, told.isSensible else {
            if isSamePiece && !hasBars { return }
            hasBars = false
            beatsPerMinute = ownBeatsPerMinute
            anchor(start, at: 0)
            bars = BarLines(beatsPerBar: Double(ownMetre.beatsPerBar), beatType: Double(ownMetre.beatType))
            return
        }
        hasBars = true
        let position = Double(told.bar &- 1) * told.beatsPerBar + Double(told.beat &- 1) + told.fraction
        bars = BarLines(beatsPerBar: told.beatsPerBar, beatType: told.beatType)
        if beatsPerMinute == told.beatsPerMinute && BeatClock.agrees(self.position(at: frame), position) { return }
        beatsPerMinute = told.beatsPerMinute
        anchor(start, at: 0)
        if !BeatClock.agrees(self.position(at: frame), position) { anchor(frame, at: position) }
    }

    /// Leaves the transport, which leads no more: the program's own tempo goes on from there.
    @_noLocks @_noAllocation
    package mutating func leave(at frame: Int64) {
        (isLed, hasBars) = (false, false)
        setTempo(ownBeatsPerMinute, at: frame)
        takeOwnMetre(at: frame)
    }

    /// Returns whether two positions agree. A tick counts when it is whole.
    @_noLocks @_noAllocation
    private static func agrees(_ position: Double, _ told: Double) -> Bool {
        position > told - 1e-6 && position < told + tick
    }

    /// Goes with the clock of another renderer, whose frames have another length.
    ///
    /// - Parameters:
    ///   - position: The position of the other clock at this frame.
    ///   - ahead: The number of beats by which that is ahead of the frame that the other one renders now.
    ///   - framesPerMinute: The number of these frames in a minute of the other one.
    @_noLocks @_noAllocation
    package mutating func follow(
        _ other: BeatClock, position: Double, ahead: Double, framesPerMinute: Double, at frame: Int64
    ) {
        (bars, isLed) = (other.bars, other.isLed)
        let here = self.position(at: frame)
        let distance = abs(here - position)
        let isSame = beatsPerMinute == other.beatsPerMinute && self.framesPerMinute == framesPerMinute
        if isSame && distance < 1e-7 { return }
        let last = here - 0.5 * beatsPerMinute / self.framesPerMinute
        beatsPerMinute = other.beatsPerMinute
        self.framesPerMinute = framesPerMinute
        anchor(frame, at: position)
        // If the clock goes on, no beat comes again and none is left out. If it is somewhere else, a beat that the
        // other clock is at comes late rather than not at all.
        first = distance <= ahead + 0.01 ? last : first - ahead
    }

    /// Returns the whole number below.
    @_noLocks @_noAllocation
    package static func floor(_ number: Double) -> Double {
        guard abs(number) < 0x1p52 else { return number.isNaN ? 0 : number > 0 ? 0x1p52 : -0x1p52 }
        let whole = Double(Int64(number))
        return whole > number ? whole - 1 : whole
    }
}

extension MusicalPosition {
    /// Indicates whether one can reckon with it.
    var isSensible: Bool {
        @_noLocks @_noAllocation get {
            beatsPerMinute > 1e-3 && beatsPerMinute < 1e4 && beatsPerBar >= 1 && beatsPerBar < 1e6
                && abs(Double(bar)) < 1e9 && abs(Double(beat)) < 1e9 && abs(fraction) < 1e9
        }
    }
}
