/// The voice that a note takes, and the one that makes room for it: a note is never refused.
///
/// It is shown all voices, one by one. A voice that is free is taken. If too many sound, one of those that die away fades out, else
/// the oldest. Where none is free because so many fade out, the first of them to end is taken.
package struct VoiceChoice: BitwiseCopyable, Sendable {
    private var (free, soonest, oldest, sounding) = (-1, 0, -1, 0)
    private var (first, least) = (Int.max, Float.infinity)

    /// Creates a choice among no voices.
    @_noLocks @_noAllocation
    package init() {}

    /// The voice for the note.
    package var taken: Int { @_noLocks @_noAllocation get { free >= 0 ? free : soonest } }

    /// Shows a voice.
    ///
    /// - Parameters:
    ///   - index: The voice.
    ///   - order: The number of its note, which tells its age; 0 if it is free.
    ///   - fadeLeft: The frames for which it still fades out; -1 if it does not.
    ///   - diesAway: `true` if nothing holds its note any more.
    @_noLocks @_noAllocation
    package mutating func show(_ index: Int, order: Int, fadeLeft: Float, diesAway: Bool) {
        if order == 0 {
            if free < 0 { free = index }
        } else if fadeLeft >= 0 {
            if fadeLeft < least { (soonest, least) = (index, fadeLeft) }
        } else {
            sounding &+= 1
            let rank = diesAway ? order &- (1 &<< 62) : order
            if rank < first { (oldest, first) = (index, rank) }
        }
    }

    /// Returns the voice that is to fade out because of the note; -1 if fewer than so many sound.
    @_noLocks @_noAllocation
    package func stolen(limit: Int) -> Int { sounding >= limit ? oldest : -1 }

    /// The number of voices that sound with the note, if none is stolen.
    package var soundingCount: Int { @_noLocks @_noAllocation get { sounding &+ 1 } }
}
