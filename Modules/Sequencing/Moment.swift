public import Music
public import RenderCore

/// The time at which a sequencer does something: now, or at the next beat or bar.
///
///     sequencer.start(at: .nextBar)
///     sequencer.stop(at: .nextBar.after(.now + .seconds(10)))
///
/// Beats and bars are those of the clock that the sequencer goes by; with a ``Sequencer/tempoMap`` those of the song.
///
/// Threads: any.
public struct Moment: Sendable, Hashable, BitwiseCopyable {
    let time: RenderTime
    /// The distance of the beats; 0 for at once, below 0 for bars.
    let grid: Double
    /// The bars after that.
    var bars = 0

    /// As soon as possible.
    public static let now = Moment(time: .immediately, grid: 0)
    /// The next beat.
    public static let nextBeat = Moment(time: .immediately, grid: 1)
    /// The next bar.
    public static let nextBar = Moment(time: .immediately, grid: -1)

    /// The next of the beats that lie so far apart, reckoned from beat 0 on: 1/64…4096.
    ///
    /// Threads: control.
    public static func next(_ beats: Fraction) -> Moment {
        Moment(time: .immediately, grid: max(1.0 / 64, min(beats.value, 4_096)))
    }

    /// A time.
    ///
    /// Threads: control.
    public static func at(_ time: RenderTime) -> Moment { Moment(time: time, grid: 0) }

    /// The first such moment from a time on.
    ///
    /// Threads: control.
    public func after(_ time: RenderTime) -> Moment { Moment(time: time, grid: grid, bars: bars) }

    /// The moment that many bars later: 0…4096.
    ///
    /// Threads: control.
    public func plus(bars: Int) -> Moment { Moment(time: time, grid: grid, bars: max(0, min(bars, 4_096))) }
}

extension BeatClock {
    /// Returns the beat of a grid that comes next, or the present one if it is on the grid.
    ///
    /// - Parameters:
    ///   - grid: The distance of the beats; 0 for the present one, below 0 for bars.
    ///   - here: The present beat.
    @_noLocks @_noAllocation
    func beat(on grid: Double, from here: Double) -> Double {
        if grid == 0 { return here }
        // A frame that is nearest to a beat of the grid counts as on it.
        let margin = 0.5 * tempo(atPosition: here) / framesPerMinute + Performance.rounding
        if grid < 0 {
            let place = bars.place(of: here + margin)
            return place.beat <= 2 * margin
                ? here + margin - place.beat : here + margin - place.beat + place.beatsPerBar
        }
        return beatOrigin - BeatClock.floor(-(here - beatOrigin - margin) / grid) * grid
    }

    /// Returns the beat that lies some bars after the next one of a grid.
    @_noLocks @_noAllocation
    func beat(on grid: Double, bars: Int, from here: Double) -> Double {
        let beat = beat(on: grid, from: here)
        return bars > 0 ? beat + Double(bars) * self.bars.place(of: beat + Performance.rounding).beatsPerBar : beat
    }
}
