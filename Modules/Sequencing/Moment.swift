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
    public func after(_ time: RenderTime) -> Moment { Moment(time: time, grid: grid) }
}
