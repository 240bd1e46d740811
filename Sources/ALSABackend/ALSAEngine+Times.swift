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

    /// Notes the length of a gap, if this is the first cycle after one.
    func noteTime(_ due: Int64, _ frames: Int) {
        // Without the device that plays, nothing is heard: the gap goes on.
        if playback == nil, settings.device != nil { return }
        let expected = nextDue.load(ordering: .relaxed)
        if isRecovering, expected != .min {
            gaps.add(frames: max(0, Int64((Double(due - expected) * rate / 1e9).rounded())), hostTime: due)
        }
        isRecovering = false
        nextDue.store(due + Int64((Double(frames) * 1e9 / rate).rounded()), ordering: .relaxed)
    }
}
