/// The clock by which a cycle counts beats.
@safe package enum BeatSource: BitwiseCopyable {
    /// The renderer's own clock: the renderer is inside of no other.
    case own
    /// The clock of a renderer around it, whose frames are as long: the clock, and the frame on it with which the cycle
    /// begins.
    case same(UnsafeMutablePointer<BeatClock>, frame: Int64)
    /// The clock of a renderer around it, whose frames have another length: the clock, the position in beats at which
    /// the cycle begins, the beats by which that is ahead of the frame that is rendered around it, and the number of
    /// the inner frames in a minute, and the tempo.
    case converted(
        UnsafeMutablePointer<BeatClock>, position: Double, ahead: Double, beatsPerMinute: Double,
        framesPerMinute: Double)

    /// Returns the source for a renderer whose frames have another length.
    ///
    /// - Parameters:
    ///   - frames: The time at which its first frame is heard, in frames of this source from its first on.
    ///   - sampleRate: The number of its frames that are heard in a second.
    @_noLocks @_noAllocation
    package func converted(after frames: Double, sampleRate: Double) -> BeatSource {
        guard case .same(let clock, let frame) = self else { return .own }
        let tempo = unsafe clock.pointee.tempo(at: frame)
        let ahead = unsafe frames * tempo / clock.pointee.framesPerMinute
        return unsafe .converted(
            clock, position: clock.pointee.position(at: frame) + ahead, ahead: ahead, beatsPerMinute: tempo,
            framesPerMinute: 60 * sampleRate)
    }
}
