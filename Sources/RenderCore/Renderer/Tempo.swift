internal import Synchronization

/// The tempo of a renderer: beats per minute, the metre, and the position in the piece.
///
///     renderer.tempo.beatsPerMinute = 128                     // from the next cycle on
///     renderer.tempo.metre = Metre(3, 4)
///     renderer.tempo.position = 64                            // goes to a beat
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
    /// one inside; a value that is not a number is ignored and counted.
    public var beatsPerMinute: Double {
        get { clock.ownBeatsPerMinute }
        nonmutating set {
            if isNumber(newValue) {
                set(.beatsPerMinute(min(max(newValue, Self.range.lowerBound), Self.range.upperBound)))
            }
        }
    }

    /// The grouping of beats into bars, as it was last set: 4/4 at first. A change in the middle of a bar holds from
    /// the next bar on.
    public var metre: Metre {
        get { clock.ownMetre }
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
    public var beats: Beats { clock.beats(at: frame) }

    /// Returns the frame that is nearest to a beat, if the tempo stays as it is, for ``Renderer/transaction(at:_:)``,
    /// players and messages.
    public func time(ofBeat beat: Double) -> RenderTime { .sample(clock.frame(of: beat)) }

    /// The number of values that were ignored because they were no numbers.
    public var ignoredCount: Int { state.beats.ignored.load(ordering: .relaxed) }

    private var frame: Int64 { state.clock.load(ordering: .relaxed) }

    private var clock: BeatClock { state.beats.clock(at: frame, sampleRate: state.sampleRate) }

    private func isNumber(_ value: Double) -> Bool {
        if value.isNaN { state.beats.ignored.wrappingAdd(1, ordering: .relaxed) }
        return !value.isNaN
    }

    private func set(_ setting: BeatClock.Setting) {
        let change = TempoChange(state.beats, setting)
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
