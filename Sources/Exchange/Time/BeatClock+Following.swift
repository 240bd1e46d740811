// The transport of a session, and a clock around this one.

extension BeatClock {
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
            if let map {
                anchor(frame, at: map.beat(after: Double(transport.frame) / framesPerMinute))
                mapOrigin = 0
            } else {
                anchor(start, at: 0)
            }
            takeOwnTempo()
            return
        }
        hasBars = true
        let position = Double(told.bar &- 1) * told.beatsPerBar + Double(told.beat &- 1) + told.fraction
        bars = BarLines(beatsPerBar: told.beatsPerBar, beatType: told.beatType)
        let isSameTempo = piece.isEndless && piece.first == told.beatsPerMinute
        if isSameTempo && BeatClock.agrees(self.position(at: frame), position) { return }
        piece = TempoPiece(told.beatsPerMinute)
        anchor(start, at: 0)
        if !BeatClock.agrees(self.position(at: frame), position) { anchor(frame, at: position) }
    }

    /// Leaves the transport, which leads no more: the program's own tempo goes on from there.
    @_noLocks @_noAllocation
    package mutating func leave(at frame: Int64) {
        let hadBars = hasBars
        (isLed, hasBars) = (false, false)
        if map != nil {
            if !hadBars { return }
            move(to: frame)
            return takeFromMap()
        }
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
    ///   - beatsPerMinute: The tempo there.
    ///   - framesPerMinute: The number of these frames in a minute of the other one.
    @_noLocks @_noAllocation
    package mutating func follow(
        _ other: BeatClock, position: Double, ahead: Double, beatsPerMinute: Double, framesPerMinute: Double,
        at frame: Int64
    ) {
        (bars, isLed) = (other.bars, other.isLed)
        let here = self.position(at: frame)
        let distance = abs(here - position)
        let isSame = piece.first == beatsPerMinute && self.framesPerMinute == framesPerMinute
        if isSame && distance < 1e-7 { return }
        let last = here - 0.5 * piece.first / self.framesPerMinute
        piece = TempoPiece(beatsPerMinute)
        self.framesPerMinute = framesPerMinute
        anchor(frame, at: position)
        // If the clock goes on, no beat comes again and none is left out. If it is somewhere else, a beat that the
        // other clock is at comes late rather than not at all.
        first = distance <= ahead + 0.01 ? last : first - ahead
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
