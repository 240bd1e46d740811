// The settings of the program, and its map.

extension BeatClock {
    /// Anything that the program sets.
    package enum Setting: Sendable {
        case beatsPerMinute(Double)
        /// A way to another tempo: in beats, or in minutes.
        case ramp(to: Double, beats: Double, minutes: Double, isExponential: Bool)
        case map(TempoTable.Places)
        /// All of a clock, with its map if it has one.
        case clock(BeatClock, TempoTable.Places?)
        case metre(Metre)
        case position(Double)

        /// Its place among the three: tempo, metre and position.
        package var index: Int {
            @_noLocks @_noAllocation get {
                switch self {
                case .beatsPerMinute, .ramp, .map, .clock: 0
                case .metre: 1
                case .position: 2
                }
            }
        }
    }

    /// Takes the program's settings, unless newer ones have come before them.
    @_noLocks @_noAllocation
    package mutating func set(_ setting: Setting, _ version: UInt64, at frame: Int64) {
        // The piece of a map that begins with this frame is the present one.
        advance(to: frame)
        switch setting {
        case .beatsPerMinute, .ramp, .map:
            if version <= tempoVersion { return }
            tempoVersion = version
            setTempo(setting, at: frame)
        case .clock(let other, let map):
            if version <= tempoVersion { return }
            let (metre, position) = (metreVersion, positionVersion)
            self = other
            self.map = map
            (tempoVersion, metreVersion, positionVersion) = (version, metre, position)
        case .metre(let metre):
            if version <= metreVersion { return }
            metreVersion = version
            ownMetre = metre
            if !hasBars && map == nil { takeOwnMetre(at: frame) }
        case .position(let position):
            if version <= positionVersion { return }
            positionVersion = version
            if isLed { return }
            // A ramp goes on.
            move(to: frame)
            anchor(frame, at: position)
            if map == nil { bars = ownBars } else { takePlaceInMap() }
        }
    }

    @_noLocks @_noAllocation
    private mutating func setTempo(_ setting: Setting, at frame: Int64) {
        let hadMap = map != nil
        (map, mapOrigin) = (nil, 0)
        switch setting {
        case .beatsPerMinute(let number):
            ownBeatsPerMinute = number
            if hasBars { return }
            setTempo(number, at: frame)
        case .ramp(let last, let beats, let minutes, let isExponential):
            ownBeatsPerMinute = last
            if hasBars { return }
            let now = tempo(at: frame)
            move(to: frame)
            let length =
                beats > 0
                ? beats : TempoPiece.beats(from: now, to: last, minutes: minutes, isExponential: isExponential)
            piece = TempoPiece(now, to: last, beats: length, isExponential: isExponential)
        case .map(let places):
            map = places
            if hasBars { return }
            if isLed {
                // The map says which beat is at the place of the transport.
                anchor(frame, at: places.beat(after: Double(frame &- origin) / framesPerMinute))
                takePlaceInMap()
            } else {
                move(to: frame)
                takeFromMap()
            }
            return
        case .metre, .position, .clock: return
        }
        if hadMap { takeOwnMetre(at: frame) }
    }

    private var ownBars: BarLines {
        @_noLocks @_noAllocation get {
            BarLines(beatsPerBar: Double(ownMetre.beatsPerBar), beatType: Double(ownMetre.beatType))
        }
    }

    /// Begins anew, at beat 0 of frame 0.
    @_noLocks @_noAllocation
    package mutating func startOver() {
        (isLed, hasBars) = (false, false)
        anchor(0, at: 0)
        takeOwnTempo()
    }

    /// Goes on with frames of another length.
    @_noLocks @_noAllocation
    package mutating func setRate(_ framesPerMinute: Double, at frame: Int64) {
        move(to: frame)
        self.framesPerMinute = framesPerMinute
        if map != nil && !hasBars { takeFromMap() }
    }

    @_noLocks @_noAllocation
    mutating func setTempo(_ beatsPerMinute: Double, at frame: Int64) {
        if piece.isEndless && beatsPerMinute == piece.first { return }
        move(to: frame)
        piece = TempoPiece(beatsPerMinute)
    }

    /// Takes the program's tempo and bars at the anchor.
    @_noLocks @_noAllocation
    mutating func takeOwnTempo() {
        if map != nil { return takePlaceInMap() }
        piece = TempoPiece(ownBeatsPerMinute)
        bars = ownBars
    }

    @_noLocks @_noAllocation
    mutating func takeOwnMetre(at frame: Int64) {
        bars.set(
            beatsPerBar: Double(ownMetre.beatsPerBar), beatType: Double(ownMetre.beatType), at: position(at: frame),
            margin: 2 * halfFrame(at: frame))
    }

    /// Makes another frame the anchor, with the position and the tempo that it has.
    @_noLocks @_noAllocation
    mutating func move(to frame: Int64) {
        if frame == self.frame && lead == 0 { return }
        let position = position(at: frame)
        // Beats that are nearest to an earlier frame have been.
        let first = position - halfFrame(at: frame)
        piece = piece.rest(after: position - beat)
        anchor(frame, at: position)
        self.first = first
    }

    /// Gives a frame a position.
    @_noLocks @_noAllocation
    mutating func anchor(_ frame: Int64, at position: Double) {
        self.frame = frame
        lead = 0
        beat = position
        first = position - 0.5 * piece.first / framesPerMinute
    }

    // MARK: By a map

    /// Has a map lead from a position on.
    ///
    /// - Parameters:
    ///   - map: The map, which lives for as long as it leads.
    ///   - origin: The position at which the map's beat 0 is.
    @_noLocks @_noAllocation
    package mutating func lead(by map: TempoTable.Places, origin: Double, from position: Double) {
        move(to: position)
        (self.map, mapOrigin) = (map, origin)
        takeFromMap()
    }

    /// Stays at the tempo and in the metre of a beat of a map, from a position on.
    @_noLocks @_noAllocation
    package mutating func hold(_ map: TempoTable.Places, at beat: Double, from position: Double) {
        move(to: position)
        (self.map, mapOrigin) = (nil, position - beat)
        piece = TempoPiece(map.tempo(at: beat))
        bars = map[map.index(of: beat)].bars.moved(by: position - beat)
    }

    /// Leaves the map, whose memory may be gone, and stays at its tempo.
    @_noLocks @_noAllocation
    package mutating func leaveMap(at frame: Int64) {
        mapOrigin = 0
        if map == nil { return }
        map = nil
        let now = tempo(at: frame)
        move(to: frame)
        piece = TempoPiece(now)
    }

    /// The position at which the present piece of the map begins.
    package var pieceBeginning: Double { @_noLocks @_noAllocation get { beat } }

    /// The position at which the present piece of the map ends.
    package var pieceEndPosition: Double {
        @_noLocks @_noAllocation get { map == nil ? .infinity : beat + piece.beats }
    }

    /// Makes a position the anchor, with the time that it has.
    @_noLocks @_noAllocation
    private mutating func move(to position: Double) {
        let exact = distance(to: position)
        let start = RenderTime.nearest(exact)
        first = self.position(at: frame.addingSaturated(start)) - halfFrame(at: frame.addingSaturated(start))
        frame = frame.addingSaturated(start)
        lead = exact - Double(start)
        piece = piece.rest(after: position - beat)
        beat = position
    }

    /// Takes the piece of the map in which the anchor is, before which nothing has been.
    @_noLocks @_noAllocation
    private mutating func takePlaceInMap() {
        takeFromMap()
        first = position(at: frame) - halfFrame(at: frame)
    }

    /// Takes the piece of the map in which the anchor is.
    @_noLocks @_noAllocation
    mutating func takeFromMap() {
        guard let map else { return }
        let place = beat - mapOrigin
        let entry = take(map.index(of: place), of: map)
        // The piece began before: its first beat is the beat of the anchor.
        lead -= piece.minutes(of: place - entry.beat) * framesPerMinute
    }

    /// Has a piece of the map be the present one.
    @_noLocks @_noAllocation
    @discardableResult
    private mutating func take(_ index: Int, of map: TempoTable.Places) -> TempoTable.Entry {
        let entry = map[index]
        mapIndex = index
        piece = entry.piece
        bars = entry.bars.moved(by: mapOrigin)
        beat = entry.beat + mapOrigin
        return entry
    }

    /// Returns the frame that is nearest to a beat, also in a later piece of the map.
    package func frameBeyond(of beat: Double) -> Int64 {
        guard let map, !hasBars, beat > self.beat + piece.beats else { return frame(of: beat) }
        let way = map.minutes(of: beat - mapOrigin) - map.minutes(of: self.beat - mapOrigin)
        return frame.addingSaturated(RenderTime.nearest(lead + way * framesPerMinute))
    }

    /// Goes on to the next pieces of the map, those that have begun up to a frame. Returns whether there was one.
    @_noLocks @_noAllocation
    @discardableResult
    package mutating func advance(to frame: Int64) -> Bool {
        if hasBars || pieceEnd > frame { return false }
        var tries = 0
        while pieceEnd <= frame {
            if tries < 16 { goOn() } else { goOn(to: frame) }
            tries &+= 1
        }
        return true
    }

    /// Goes on to the piece of the map in which a frame is, over many short ones.
    @_noLocks @_noAllocation
    private mutating func goOn(to frame: Int64) {
        guard let map else { return }
        let begun = map[mapIndex].minutes
        let last = map.index(after: begun + (Double(frame &- self.frame) - lead) / framesPerMinute)
        // The step from the piece before it is the usual one.
        let entry = take(max(mapIndex, last &- 1), of: map)
        let start = lead + (entry.minutes - begun) * framesPerMinute
        let whole = RenderTime.nearest(start)
        self.frame = self.frame.addingSaturated(whole)
        lead = start - Double(whole)
        goOn()
    }

    /// Goes on to the next piece of the map.
    @_noLocks @_noAllocation
    package mutating func goOn() {
        guard let map else { return }
        let end = piece.minutes * framesPerMinute + lead
        let start = RenderTime.nearest(end)
        // Of several that begin with one frame, the first one says which beats have been.
        if start != 0 { first = beat + piece.beats(in: (Double(start) - 0.5 - lead) / framesPerMinute) }
        frame = frame.addingSaturated(start)
        lead = end - Double(start)
        take(mapIndex &+ 1, of: map)
    }
}
