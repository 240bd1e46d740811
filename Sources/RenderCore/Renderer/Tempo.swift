internal import Synchronization

/// The tempo of a renderer: beats per minute, the metre, and the position in the piece.
///
///     renderer.tempo.beatsPerMinute = 128                     // from the next cycle on
///     renderer.tempo.metre = Metre(3, 4)
///     renderer.tempo.position = 64                            // goes to a beat
///     renderer.tempo.ramp(to: 140, beats: 16)                 // faster and faster
///     renderer.tempo.map = TempoMap([.init(at: 0, 90), .init(at: 32, 120)])
///     try renderer.transaction(at: renderer.tempo.time(ofBeat: 96)) { renderer.tempo.beatsPerMinute = 140 }
///
/// Beats pass while the renderer renders: beat 0 is on its first frame, at 120 beats per minute in 4/4 until the
/// program sets others. In a transaction a change comes with the others; at a time, on that frame. The position is
/// reckoned from the last change, so that it does not drift.
///
/// The render thread asks ``RenderContext/beats``. If the transport of a session rolls (JACK), that leads: its tempo
/// and bars hold if another program leads them, else beats are counted from its frame 0 at this tempo. When it stops,
/// this tempo goes on from there. A renderer inside of another one has the beats of the outer one.
///
/// Threads: control.
public struct Tempo: Sendable {
    let state: CycleState

    /// The least and the most beats per minute that may be set.
    public static var range: ClosedRange<Double> { 1...999 }

    /// Beats per minute, as they were last set: 1…999, 120 at first. A number that is out of range becomes the nearest
    /// one inside; a value that is not a number is ignored and counted. Setting it ends a ramp and takes a map away; while
    /// one of them leads, ``beats`` says the present tempo.
    public var beatsPerMinute: Double {
        get { ask { clock, _ in clock.ownBeatsPerMinute } }
        nonmutating set {
            if isNumber(newValue) {
                set(.beatsPerMinute(min(max(newValue, Self.range.lowerBound), Self.range.upperBound)))
            }
        }
    }

    /// Goes to another tempo, from the present one and the next cycle on, or in a transaction with the other changes. A tempo
    /// or a map that is set afterwards takes its place. Numbers out of range become the nearest ones inside; if one is
    /// not a number the call is ignored and counted.
    ///
    ///     renderer.tempo.ramp(to: 140, beats: 16)
    ///     renderer.tempo.ramp(to: 60, beats: 8, shape: .exponential)      // each beat slower by the same factor
    ///
    /// - Parameters:
    ///   - beatsPerMinute: The tempo at the end, which stays.
    ///   - beats: The beats that it takes: 1/64…1e6.
    ///   - shape: A line, or a way on which each beat changes the tempo by the same factor. A step comes at once.
    public func ramp(to beatsPerMinute: Double, beats: Double, shape: TempoMap.Shape = .line) {
        if isNumber(beats) { ramp(beatsPerMinute, min(max(beats, 1.0 / 64), 1e6), 0, shape) }
    }

    /// Goes to another tempo in some seconds: see ``ramp(to:beats:shape:)``.
    ///
    /// - Parameters:
    ///   - beatsPerMinute: The tempo at the end, which stays.
    ///   - seconds: The seconds that it takes: 0.001…1e6.
    ///   - shape: A line over the beats, or a way on which each beat changes the tempo by the same factor. A step comes at once.
    public func ramp(to beatsPerMinute: Double, seconds: Double, shape: TempoMap.Shape = .line) {
        if isNumber(seconds) { ramp(beatsPerMinute, 0, min(max(seconds, 1e-3), 1e6) / 60, shape) }
    }

    private func ramp(_ target: Double, _ beats: Double, _ minutes: Double, _ shape: TempoMap.Shape) {
        guard isNumber(target) else { return }
        if shape == .step {
            beatsPerMinute = target
            return
        }
        let target = min(max(target, Self.range.lowerBound), Self.range.upperBound)
        set(.ramp(to: target, beats: beats, minutes: minutes, isExponential: shape == .exponential))
    }

    /// The tempo and metre of the whole piece, beat by beat; `nil` at first, and after another tempo was set. With `nil` the
    /// tempo stays as it is. ``metre`` counts where there is no map. If a transport without a tempo of its own leads, the
    /// map says which beat is at its place.
    public var map: TempoMap? {
        get { state.beats.map(at: state.clock.load(ordering: .relaxed), sampleRate: state.sampleRate) }
        nonmutating set {
            if let newValue {
                set(.map(newValue.table.places), KeptTempoMap(newValue))
            } else if map != nil {
                set(.beatsPerMinute(ask { clock, frame in clock.mapTempo(at: frame) }))
            }
        }
    }

    /// The grouping of beats into bars, as it was last set: 4/4 at first. A change in the middle of a bar holds from
    /// the next bar on.
    public var metre: Metre {
        get { ask { clock, _ in clock.ownMetre } }
        nonmutating set { set(.metre(newValue)) }
    }

    /// The position in beats since the beginning of the piece, at the first frame of the next cycle: -1e9…1e9, with
    /// bars that count from beat 0. Setting it goes to that beat, from that frame on, unless a transport leads.
    public var position: Double {
        get { beats.position }
        nonmutating set { if isNumber(newValue) { set(.position(min(max(newValue, -1e9), 1e9))) } }
    }

    /// The position of the first frame of the next cycle in the piece, and the tempo there: the transport's if it
    /// leads.
    public var beats: Beats { ask { clock, frame in clock.beats(at: frame) } }

    /// Returns the frame that is nearest to a beat, if the program sets no other tempo, for ``Renderer/transaction(at:_:)``,
    /// players and messages.
    public func time(ofBeat beat: Double) -> RenderTime {
        .sample(ask { clock, _ in clock.frameBeyond(of: beat) })
    }

    /// The number of values that were ignored because they were no numbers.
    public var ignoredCount: Int { state.beats.ignored.load(ordering: .relaxed) }

    private func ask<Result>(_ body: (BeatClock, Int64) -> Result) -> Result {
        let frame = state.clock.load(ordering: .relaxed)
        return state.beats.ask(at: frame, sampleRate: state.sampleRate) { body($0, frame) }
    }

    private func isNumber(_ value: Double) -> Bool {
        if value.isNaN { state.beats.ignored.wrappingAdd(1, ordering: .relaxed) }
        return !value.isNaN
    }

    /// Sets all that a clock was.
    ///
    /// - Parameter map: The map that it had.
    package func restore(_ clock: BeatClock, _ map: TempoMap?) {
        set(.clock(clock, map?.table.places), map.map(KeptTempoMap.init))
    }

    private func set(_ setting: BeatClock.Setting, _ map: KeptTempoMap? = nil) {
        let change = TempoChange(state.beats, setting, map)
        if let open = Transaction.current {
            if open.inbox === state.inbox { return open.stage(change) }
            // A clock is changed by its own render thread alone. If its inbox is full, the change comes at once.
            if (try? open.stage(change, for: state.inbox)) != nil { return }
        }
        let alone = Transaction(for: state.inbox, hasPlace: false)
        alone.stage(change)
        alone.commit()
    }
}

extension Renderer {
    /// Beats per minute, the metre and the position in beats.
    public var tempo: Tempo { Tempo(state: state) }
}
