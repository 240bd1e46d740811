internal import RenderCore

extension Sound {
    /// Returns the sound at another tempo, and at another pitch: for a ``BufferPlayer``, a ``SamplePlayer`` or a file.
    ///
    /// It is made at once, on this thread, some hundred times as fast as it sounds. A ``BufferPlayer`` and a ``FilePlayer``
    /// have a rate and a pitch of their own, live. A ``SamplePlayer`` has none that keeps the tempo: its voices begin at once,
    /// many at a time, and stretched sound has to be made ahead.
    ///
    /// - Parameters:
    ///   - rate: The tempo, 1/32…32: 2 is twice as fast. A number outside becomes the nearest inside.
    ///   - pitch: The pitch in cents, -2,400…2,400, likewise.
    ///   - keepsFormants: Indicates whether formants stay where they are, so that a voice keeps its character.
    /// - Returns: The sound, 1 / `rate` times as long; this one if nothing changes, or below 1,000 frames a second.
    public func stretched(rate: Double = 1, pitch: Double = 0, keepsFormants: Bool = false) -> Sound {
        let tempo = rate.isNaN ? 1 : max(TimeStretch.rates.lowerBound, min(rate, TimeStretch.rates.upperBound))
        let cents = pitch.isNaN ? 0 : max(-2_400, min(pitch, 2_400))
        if tempo == 1 && cents == 0 || sampleRate < 1_000 || frameCount == 0 || channelCount > 64 { return self }
        var engine = TimeStretch(
            sampleRate: sampleRate, channels: channelCount, block: TimeStretch.block(cents: cents))
        let settings = TimeStretch.Settings(rate: tempo, cents: cents, keepsFormants: keepsFormants)
        let frames = Int((Double(frameCount) / tempo).rounded(.up))
        return Sound(engine.stretched(block, settings, frames: frames), sampleRate: sampleRate)
    }
}
