/// The beats at which bars begin: every so many beats from one of them on, and in another metre from the next change
/// on.
package struct BarLines: BitwiseCopyable, Sendable {
    /// The beat at which a bar begins, and the number of that bar.
    var line = 0.0
    var number = 1
    package private(set) var beatsPerBar = 4.0
    private(set) var beatType = 4.0
    /// The beat at which the next metre begins, if there is one.
    var nextLine = Double.infinity
    var nextBeatsPerBar = 4.0
    var nextBeatType = 4.0

    @_noLocks @_noAllocation
    init() {}

    /// Bars of one metre from beat 0 on.
    @_noLocks @_noAllocation
    init(beatsPerBar: Double, beatType: Double) {
        self.beatsPerBar = beatsPerBar
        self.beatType = beatType
    }

    /// Bars of a metre from a beat on, the first of which has a number.
    init(_ change: TempoMap.MetreChange, number: Int) {
        (line, self.number) = (change.beat, number)
        beatsPerBar = change.bar
        // A bar of 6/8 that takes three beats counts quarters.
        beatType = Double(change.metre.beatType) * change.bar / Double(change.metre.beatsPerBar)
    }

    /// Returns these bars on a clock on which a beat is so many beats later.
    @_noLocks @_noAllocation
    func moved(by beats: Double) -> BarLines {
        var lines = self
        lines.line += beats
        lines.nextLine += beats
        return lines
    }

    /// Returns the number of the bar that begins with a beat, or of the next one.
    func barLine(from beat: Double) -> Int {
        number &+ Int(min(1e9, -BeatClock.floor(BarLines.noise - (beat - line) / beatsPerBar)))
    }

    /// Returns the beat with which a bar begins.
    func beat(ofBar bar: Int) -> Double { line + Double(bar &- number) * beatsPerBar }

    /// Returns the bar of a beat, from 1 on, and the beats since it began.
    @_noLocks @_noAllocation
    package func place(of beat: Double) -> (bar: Int, beat: Double, beatsPerBar: Double, beatType: Double) {
        let lines = beat >= nextLine - BarLines.noise ? changed : self
        let bars = BeatClock.floor((beat - lines.line) / lines.beatsPerBar + BarLines.noise)
        let rest = beat - lines.line - bars * lines.beatsPerBar
        return (lines.number &+ Int(bars), rest > 0 ? rest : 0, lines.beatsPerBar, lines.beatType)
    }

    /// Changes the metre at a beat: in the middle of a bar, from the next bar on.
    ///
    /// - Parameter margin: The distance from a bar line that still counts as on it, in beats.
    @_noLocks @_noAllocation
    mutating func set(beatsPerBar: Double, beatType: Double, at beat: Double, margin: Double) {
        if beat >= nextLine - margin { self = changed }
        nextLine = .infinity
        if beatsPerBar == self.beatsPerBar && beatType == self.beatType { return }
        let bars = (beat - line) / self.beatsPerBar
        let nearest = BeatClock.floor(bars + 0.5)
        let isOnLine = abs(bars - nearest) * self.beatsPerBar <= margin
        nextLine = line + (isOnLine ? nearest : BeatClock.floor(bars) + 1) * self.beatsPerBar
        nextBeatsPerBar = beatsPerBar
        nextBeatType = beatType
    }

    /// The bars from the change on.
    private var changed: BarLines {
        @_noLocks @_noAllocation get {
            var lines = BarLines(beatsPerBar: nextBeatsPerBar, beatType: nextBeatType)
            lines.line = nextLine
            lines.number = number &+ Int(BeatClock.floor((nextLine - line) / beatsPerBar + 0.5))
            return lines
        }
    }

    /// The largest error that rounding makes in a beat.
    private static var noise: Double { @_noLocks @_noAllocation get { 1e-9 } }
}
