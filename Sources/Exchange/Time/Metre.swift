/// The grouping of beats: a waltz is `Metre(3, 4)`, three quarters to the bar.
///
/// Threads: any.
public struct Metre: Sendable, Hashable, BitwiseCopyable {
    /// Beats in a bar: 1…1024.
    public let beatsPerBar: Int
    /// The note that is a beat: 4 is a quarter. It names the unit of the tempo, and changes no time: 1…1024.
    public let beatType: Int

    /// Creates a metre. A number that is out of range becomes the nearest one inside.
    @_noLocks @_noAllocation
    public init(_ beatsPerBar: Int, _ beatType: Int = 4) {
        self.beatsPerBar = min(max(beatsPerBar, 1), 1_024)
        self.beatType = min(max(beatType, 1), 1_024)
    }
}
