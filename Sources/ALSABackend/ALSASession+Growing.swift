internal import RenderCore
internal import Synchronization

extension ALSASession.Control {
    /// The settings for a device, whose buffer may have had to grow.
    func settings(for device: String) -> ALSASettings {
        var settings = settings
        guard let least = leastBuffers[device], least > settings.period * settings.periods else { return settings }
        // Few periods, which are longer: PipeWire takes no more than eight at once, and plays silence instead of the rest.
        settings.periods = min(settings.periods, 4)
        settings.period = (least + settings.periods - 1) / settings.periods
        settings.hasGrown = true
        return settings
    }
}

// Buffers that grow, because their devices move by more frames at once than they hold. With the gate held.
extension ALSASession {
    /// Buffers that have grown lately, which has not been reported.
    struct Growth {
        /// What a device had agreed to before, by its name.
        var before: [String: ALSAConfiguration] = [:]
        /// The time at which one has grown last.
        var time: Int64 = 0
    }

    /// The frames of a buffer that grows no more.
    private static var longestBuffer: Int { 131_072 }
    /// The time after which a buffer that has grown counts as long enough, in nanoseconds.
    private static var trial: Int64 { 1_000_000_000 }

    /// Opens the devices again if one of them needs a longer buffer. Returns whether it has done so.
    func growBuffers(_ control: inout Control) -> Bool {
        var hasGrown = false
        for stream in control.streams where stream.isTooShort.exchange(false, ordering: .relaxed) {
            let name = stream.configuration.device
            let frames = stream.bufferSize
            // A device that has not given what it was asked for has no more.
            if frames >= Self.longestBuffer || 2 * frames <= control.leastBuffers[name] ?? 0 && !hasGrown {
                tell(
                    "The device \"\(name)\" moves by steps that are too long for the \(frames) frames that its buffer can "
                        + "hold, so the sound is interrupted again and again. Try another device.", &control)
                continue
            }
            control.growth.before[name] = control.growth.before[name] ?? stream.configuration
            control.leastBuffers[name] = max(2 * frames, control.leastBuffers[name] ?? 0)
            hasGrown = true
        }
        guard hasGrown else { return false }
        control.growth.time = control.settings.now()
        // If they cannot be opened now, they are looked for.
        try? reopen(&control)
        return true
    }

    /// Says once how long a buffer has become, when it has proved long enough.
    ///
    /// - Parameter isLast: `true` if there is no later time.
    func tellGrowth(_ control: inout Control, isLast: Bool = false) {
        guard !control.growth.before.isEmpty,
            isLast || control.settings.now() - control.growth.time > Self.trial
        else { return }
        for stream in control.streams {
            let configuration = stream.configuration
            guard let before = control.growth.before.removeValue(forKey: configuration.device) else { continue }
            let milliseconds = Double(stream.bufferSize) * 1000 / configuration.sampleRate
            tell(
                "The device \"\(configuration.device)\" moves by steps that are too long for cycles of \(before.period) frames "
                    + "in a buffer of \(before.bufferSize), as those of a sound server are. A cycle has \(stream.period) "
                    + "frames now, in a buffer of \(stream.bufferSize) (\(Int(milliseconds.rounded())) ms).", &control)
        }
        control.growth.before = [:]
    }
}
