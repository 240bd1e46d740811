internal import Glibc
internal import Outputs
internal import RenderCore
internal import Synchronization

// The render thread's answers to failures of a device.
extension ALSAEngine {
    /// Failures in a row, without a cycle between them, after which a device is as good as gone.
    private static var mostRecoveries: Int { 20 }
    private static var mostResumes: Int { 20 }

    /// Starts all there is. 0, or an error below 0.
    func begin() -> Int32 {
        captureSeen = HostClock.now
        if playback != nil, !isOneClock, let capture {
            if capture.stream.prepare() < 0 || capture.stream.start() < 0 { captureFailures += 1 }
        }
        return restart()
    }

    /// Gets over an error of the device that sets the pace. `false`: that is the end.
    ///
    /// - Parameter fault: The error that is left, below 0, or 0.
    func recover(from error: Int32, _ fault: inout Int32) -> Bool {
        if error == EPIPE {
            playback?.stream.noteFailure()
            pacedCapture?.noteFailure()
        }
        recoveries = cyclesSinceRecovery > 0 ? 1 : recoveries + 1
        if cyclesSinceRecovery > 0 { asleepSince = nil }
        cyclesSinceRecovery = 0
        guard shouldRun.load(ordering: .acquiring) else { return false }
        let isAsleep = reason(error) == End.asleep
        if isAsleep {
            let now = HostClock.now
            let since = asleepSince ?? now
            asleepSince = since
            guard now - since < settings.patience else {
                fault = 0
                return giveUp(End.asleep)
            }
            // Time counts here, and not how often it was tried.
            recoveries = min(2, recoveries)
            if recoveries > 1 { pause(0.02) }
        }
        let canRecover = error == EPIPE || error == EIO || error == EAGAIN || isAsleep
        if !canRecover || recoveries > Self.mostRecoveries {
            fault = 0
            return giveUp(reason(error))
        }
        if recoveries > 1 { pause(cycleSeconds) }
        run.noteXrun()
        isRecovering = true
        fault = error == ESTRPIPE ? resume() : restart()
        return true
    }

    /// Returns the reason for which a device is given back that fails with an error. Some devices that sleep say that
    /// they are in no state to be used.
    func reason(_ error: Int32) -> Int {
        error == ESTRPIPE || error == EBADFD ? End.asleep : End.lost + Int(error)
    }

    /// Gives back the device that sets the pace, and goes on with the other. `false`: there is none.
    func giveUp(_ reason: Int) -> Bool {
        guard playback != nil, capture != nil, !isOneClock else { return false }
        recoveries = 0
        playback = nil
        arrange()
        lostPlayback.store(reason, ordering: .releasing)
        return true
    }

    /// Gives back the device that records; the inputs are silent.
    func giveUpCapture(_ reason: Int) {
        captureFailures = 0
        capture = nil
        arrange()
        lostCapture.store(reason, ordering: .releasing)
    }

    /// Takes devices that are there again. 0, or an error below 0.
    func adopt() -> Int32 {
        if let line = newCapture.take() {
            capture = line
            captureFailures = 0
            captureSeen = HostClock.now
            arrange()
        }
        guard let line = newPlayback.take() else { return 0 }
        playback = line
        recoveries = 0
        cyclesSinceRecovery = 0
        isRecovering = true
        capture?.beginAnew()
        captureSeen = HostClock.now
        arrange()
        return restart()
    }

    /// Gets over an error of the device that is followed, while the other one plays.
    func recoverCapture(from error: Int32) {
        guard let stream = capture?.stream else { return }
        captureFailures += 1
        if error == EPIPE { stream.noteFailure() }
        if error == ENODEV || captureFailures > 2 * Self.mostRecoveries {
            giveUpCapture(End.lost + Int(error))
            return
        }
        if captureFailures == 1 { run.noteXrun() }
        if stream.isSuspended, captureFailures <= Self.mostResumes {
            _ = stream.resume()
        } else if stream.prepare() == 0 {
            _ = stream.start()
        }
    }

    /// The stream that is started and stopped together with the device that plays.
    private var pacedCapture: ALSAStream? { playback == nil || isOneClock ? capture?.stream : nil }

    /// Stops the device that sets the pace, fills its memory with silence, and starts it. 0, or an error below 0.
    private func restart() -> Int32 {
        if let error = playback?.stream.prepare(), error < 0 { return error }
        if !isLinked, let error = pacedCapture?.prepare(), error < 0 { return error }
        if let error = playback?.stream.fillWithSilence(), error < 0 { return error }
        if !isLinked, let error = pacedCapture?.start(), error < 0 { return error }
        if let error = playback?.stream.start(), error < 0 { return error }
        return 0
    }

    /// Wakes suspended devices, with patience: a resume may say that it is not ready, or that it worked when it did not.
    private func resume() -> Int32 {
        for attempt in 0..<Self.mostResumes {
            guard shouldRun.load(ordering: .acquiring) else { return 0 }
            let (first, second) = (resume(playback?.stream), resume(pacedCapture))
            if first == -ENODEV || second == -ENODEV { return -ENODEV }
            // Some cannot resume: these begin anew.
            if first < 0 || second < 0 { return restart() }
            if first == 0 && second == 0 {
                // A device that was put to sleep before it was started is back where it was: it does not run.
                let isIdle = playback?.stream.isPrepared ?? false || pacedCapture?.isPrepared ?? false
                return isIdle ? restart() : 0
            }
            pause(min(0.1, 0.002 * Double(attempt + 1)))
        }
        return restart()
    }

    /// Wakes a stream. Returns 0 if it is awake, 1 if not yet, and an error below 0 if it cannot wake.
    private func resume(_ stream: ALSAStream?) -> Int32 {
        guard let stream, stream.isSuspended else { return 0 }
        let error = stream.resume()
        if error < 0, error != -EAGAIN { return error }
        return stream.isSuspended ? 1 : 0
    }
}
