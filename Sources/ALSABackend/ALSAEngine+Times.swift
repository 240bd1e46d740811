internal import Outputs
internal import RenderCore
internal import Synchronization

// The times at which a cycle is heard, and at which its input was captured.

extension ALSAEngine {
    /// Returns the time for which the position of the device that sets the pace holds: see ``CycleTimes``.
    func smoothedNow() -> Int64 {
        let now = settings.now()
        if let playback {
            return now + playback.times.correction(at: now, position: playback.stream.bufferSize - free, isRecovering)
        }
        return now + (capture?.times.correction(at: now, position: -there, isRecovering) ?? 0)
    }

    /// Has the events of a cycle ready: in the renderer's frames, as the device's would drift from them.
    func beginMIDI(_ now: Int64, _ frames: Int) {
        guard let midi else { return }
        guard let playback else {
            midi.begin(&outputCycle, now: now, queued: 0, memory: frames, extra: 0, rate: rate)
            return
        }
        func ours(_ frames: Int) -> Int { Int((Double(frames) * rate / playback.rate).rounded()) }
        let stream = playback.stream
        midi.begin(
            &outputCycle, now: now, queued: ours(stream.bufferSize - free) + playback.lookAhead,
            memory: ours(stream.bufferSize) + playback.lookAhead, extra: ours(stream.extraDelay), rate: rate)
    }

    /// Notes how late the sound of a cycle is that begins in time, and how old its input.
    func noteLatency() {
        var late = 0.0
        if let playback {
            let stream = playback.stream
            let queued = stream.bufferSize - stream.period + stream.extraDelay
            late = (Double(queued) / playback.rate + playback.lead) * rate
        }
        run.latency.playback = Int(late.rounded())
        var age = 0.0
        if let capture {
            // One that follows another clock is read to its end in each cycle.
            let there = capture.isFollowing && !isOneClock ? 0 : capture.stream.period
            age = Double(capture.age(there)) * rate / 1e9
        }
        run.latency.capture = Int(age.rounded())
    }

    /// Notes the length of a gap, if this is the first cycle after one.
    ///
    /// - Parameters:
    ///   - heard: The time at which the cycle is heard, by which gaps count.
    ///   - due: Its host time.
    ///   - frames: Its frames.
    func noteTime(_ heard: Int64, _ due: Int64, _ frames: Int) {
        // Without the device that plays, nothing is heard: the gap goes on.
        if playback == nil, settings.device != nil { return }
        let expected = nextDue.load(ordering: .relaxed)
        if isRecovering, expected != .min {
            gaps.add(frames: max(0, Int64((Double(heard - expected) * rate / 1e9).rounded())), hostTime: due)
        }
        isRecovering = false
        nextDue.store(heard + Int64((Double(frames) * 1e9 / rate).rounded()), ordering: .relaxed)
    }
}
