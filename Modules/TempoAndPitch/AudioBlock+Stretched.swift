public import RenderCore

extension AudioBlock {
    /// Returns the sound at another tempo, another pitch, or both, each by itself.
    ///
    ///     let faster = song.stretched(rate: 1.25, sampleRate: 44_100)
    ///     let higher = song.stretched(cents: 300, keepsFormants: true, sampleRate: 44_100)
    ///
    /// It has `frameCount / rate` frames, rounded to the nearest, and begins where this one begins. A rate of 1 and a pitch of 0
    /// return the sound within -120 dB. For a file that does not fit into the memory use `TimeStretch` itself.
    ///
    /// Numbers beyond their ranges become the nearest; for what is not a number, and for a sample rate outside of its range,
    /// there is a notice on standard error.
    ///
    /// - Parameters:
    ///   - rate: The tempo, 1/32…32: 2 is twice as fast.
    ///   - cents: The pitch in hundredths of a semitone, -2,400…2,400.
    ///   - keepsFormants: Indicates whether formants stay where they are.
    ///   - sampleRate: Frames per second, 1,000…1,000,000.
    ///   - progress: Called now and then with the share that is done, 0…1.
    ///
    /// Threads: control.
    public borrowing func stretched(
        rate: Double = 1, cents: Double = 0, keepsFormants: Bool = false, sampleRate: Double,
        progress: ((Double) -> Void)? = nil
    ) -> AudioBlock {
        let rate = nearest(
            to: min(max(rate, TimeStretch.rates.lowerBound), TimeStretch.rates.upperBound), in: TimeStretch.rates,
            insteadOfNaN: 1, "AudioBlock.stretched: the rate is not a number")
        let cents = nearest(
            to: cents, in: -.infinity ... .infinity, insteadOfNaN: 0, "AudioBlock.stretched: the pitch is not a number")
        let settings = TimeStretch.Settings(rate: rate, cents: cents, keepsFormants: keepsFormants)
        let frames = Int((Double(frameCount) / rate).rounded())
        var stretch = TimeStretch(
            sampleRate: sampleRate, channels: channelCount, block: TimeStretch.block(cents: cents))
        var shown = 0
        let result = stretch.stretched(self, settings, frames: frames) { done in
            guard let progress, done - shown >= 1 << 16 else { return }
            shown = done
            progress(Double(done) / Double(frames))
        }
        progress?(1)
        return result
    }
}
