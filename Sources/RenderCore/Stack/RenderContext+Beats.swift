// Beats as frames of a slice.

extension RenderContext {
    /// The position in the piece at which this slice begins, in beats and bars, and the tempo there. It is the same in
    /// all slices of a renderer and of those inside of it, and changes only where the tempo does: a change begins a
    /// slice.
    public var beats: Beats { @_noLocks @_noAllocation get { beatClock.beats(at: beatFrame) } }

    /// Returns the length of that many beats at the tempo with which this slice begins, in frames.
    @_noLocks @_noAllocation
    public func frames(beats: Double) -> Double { beatClock.frames(beats: beats, at: beatFrame) }

    /// Returns the frame that is nearest to a beat, counted from the first of this slice: negative for a beat that has
    /// passed. It is reckoned at this tempo, if it lies beyond the slice.
    @_noLocks @_noAllocation
    public func frame(ofBeat beat: Double) -> Int64 { beatClock.frame(of: beat).subtractingSaturated(beatFrame) }

    /// Returns the position of a frame of this slice, in beats.
    @_noLocks @_noAllocation
    public func beat(atFrame frame: Int) -> Double { beatClock.position(at: beatFrame &+ Int64(frame)) }

    /// Returns the beats of this slice, or parts or groups of them, each in the frame that is nearest to it.
    ///
    ///     var ticks = context.ticks(every: 0.5)               // eighths, where a beat is a quarter
    ///     while let tick = ticks.next() { player.play(tick.isBar ? accent : click, inFrame: tick.frame, context) }
    ///
    /// Each beat comes once, whatever the slices and the changes of the tempo.
    ///
    /// - Parameter beats: The distance of the ticks: 1/1024 beat or more.
    @_noLocks @_noAllocation
    public func ticks(every beats: Double = 1) -> BeatTicks {
        BeatTicks(beatClock, from: beatFrame, count: frameCount, every: beats)
    }

    /// Returns a turn that takes that many beats and begins at beat 0, at the first frame of this slice: which one it is,
    /// where in it that is (2⁶⁴ to the turn), and how much of it a frame takes.
    ///
    /// - Precondition: `beats` is above 0.
    @_noLocks @_noAllocation
    package func turn(ofBeats beats: Double) -> (number: UInt64, phase: UInt64, step: UInt64) {
        beatClock.turn(of: beats, at: beatFrame)
    }

    /// The clock that counts the beats, and this slice's first frame on it.
    package var beatPlace: (clock: BeatClock, frame: Int64) {
        @_noLocks @_noAllocation get { (beatClock, beatFrame) }
    }

    /// The line on which the beats of this slice lie, and those after it while the tempo stays.
    package var beatLine: BeatLine {
        @_noLocks @_noAllocation get {
            var line = beatClock.line(at: beatFrame)
            line.origin &+= sampleTime &- beatFrame
            return line
        }
    }

    /// Has the next slice end before a frame of the sample clock, if it gets that far, so that one begins there. Of several
    /// frames the earliest counts. Who wants a later one asks again in the next slice.
    @_noLocks @_noAllocation
    package func cut(before frame: Int64) {
        if unsafe frame < core.pointee.cut { unsafe core.pointee.cut = frame }
    }

    /// The clock that counts the beats.
    private var beatClock: BeatClock {
        @_noLocks @_noAllocation get {
            guard let clock = unsafe core.pointee.beats else { return BeatClock(sampleRate: sampleRate) }
            return unsafe clock.pointee
        }
    }

    /// This slice's first frame on that clock.
    private var beatFrame: Int64 { @_noLocks @_noAllocation get { unsafe sampleTime &+ core.pointee.beatShift } }

    /// Returns the source of beats for a renderer that is rendered inside of this slice, frame for frame.
    ///
    /// - Parameter frames: The frame of the slice at which it begins.
    @_noLocks @_noAllocation
    package func beatSource(after frames: Int = 0) -> BeatSource {
        guard let clock = unsafe core.pointee.beats else { return .own }
        return unsafe .same(clock, frame: beatFrame &+ Int64(frames))
    }
}
