internal import DiskStreaming
public import RenderCore

/// A player that can play at another tempo and another pitch, while it plays: a ``FilePlayer`` or a ``BufferPlayer``.
///
///     siren.rate = 0.8                    // slower, at the same pitch, from now on
///     siren.stretch(rate: 1.1, pitch: 200)
///
/// Threads: control.
public protocol StretchingPlayer: Generator {
    /// The values of ``rate``, ``pitch`` and ``keepsFormants``.
    var stretching: (rate: Double, pitch: Double, keepsFormants: Bool) { get }

    /// Sets several of ``rate``, ``pitch`` and ``keepsFormants`` as one change: half the work of one after the other.
    ///
    /// - Parameters:
    ///   - rate: The tempo, 1/32…32; as it is, if it is not given.
    ///   - pitch: The pitch in cents, -2,400…2,400.
    ///   - keepsFormants: Indicates whether formants stay.
    func stretch(rate: Double?, pitch: Double?, keepsFormants: Bool?)
}

extension StretchingPlayer {
    /// The tempo: seconds of the file or the sound in a second of the player's, 1/32…32. 1 is its own, and costs nothing. By
    /// default 1.
    ///
    /// The pitch stays. The sound is stretched ahead of what is heard, on its way from the disk or from memory, so that the
    /// render thread copies as it does at 1. Starts, loops and seeks are exact to the frame as ever; frames and times of a
    /// region are those of the file, and all files and sounds of the player, those that wait too, have the tempo.
    ///
    /// While the player plays, a change does not wait: it is heard within 50 ms, and the sound before fades over to the one
    /// behind in 20 ms; several changes within 25 ms are one. (Inside of a transaction, and rendered offline, it is made at
    /// once.) In a ``BufferPlayer`` it waits for the end of a ``BufferPlayer/microfade``. Frames that were not stretched in
    /// time are silent and counted: see `underrunCount`.
    ///
    /// At sample rates below 1,000 Hz nothing is changed. A number out of range becomes the nearest in it, and what is
    /// none changes nothing.
    public var rate: Double {
        get { stretching.rate }
        set { stretch(rate: newValue, pitch: nil, keepsFormants: nil) }
    }

    /// The pitch in cents (hundredths of a semitone) above the sound's own, -2,400…2,400; the tempo stays. 0 is its own,
    /// and costs nothing. By default 0. It is changed as ``rate`` is.
    public var pitch: Double {
        get { stretching.pitch }
        set { stretch(rate: nil, pitch: newValue, keepsFormants: nil) }
    }

    /// Indicates whether formants stay where they are while the pitch changes: one voice keeps its vowels, and of all else the
    /// averaged spectrum stays (<doc:ChangingTempoAndPitch>). By default they do not.
    public var keepsFormants: Bool {
        get { stretching.keepsFormants }
        set { stretch(rate: nil, pitch: nil, keepsFormants: newValue) }
    }
}

/// The tempo and the pitch that the streams of a player are to have. Under the player's lock.
struct WantedStretch: Sendable {
    var stretch = StreamStretch()
    /// Indicates whether streams have not been made for it yet.
    var isPending = false
    /// The host time at which streams were made for a change last.
    var last = Int64.min

    var values: (rate: Double, pitch: Double, keepsFormants: Bool) {
        (stretch.rate, stretch.cents, stretch.keepsFormants)
    }

    /// Sets those that are given. Returns what there was before, if the sound is another one now.
    mutating func set(_ rate: Double?, _ pitch: Double?, _ keepsFormants: Bool?) -> StreamStretch? {
        let old = stretch
        if let rate { stretch.rate = rate }
        if let pitch { stretch.cents = pitch }
        if let keepsFormants { stretch.keepsFormants = keepsFormants }
        return stretch == old || stretch.isNone && old.isNone ? nil : old
    }

    /// Indicates whether a change waits, and none was made just before.
    var isDue: Bool { isPending && HostClock.now.subtractingSaturated(last) >= 25_000_000 }

    /// Says that streams are being made for it.
    mutating func begin() {
        isPending = false
        last = HostClock.now
    }
}
