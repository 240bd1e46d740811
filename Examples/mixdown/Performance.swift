import RenderStack

/// A session that can be rendered, once: the mix on the main output, each track on one of its own if stems are wanted.
struct Performance {
    let renderer: Renderer
    /// How long it is, in seconds.
    let duration: Double
    /// How much later it comes out, in seconds: what is before is silence.
    let latency: Double

    /// - Parameters:
    ///   - session: what is mixed.
    ///   - gain: how much louder each track is, in decibels.
    ///   - ceiling: what the mix may reach, in dBTP; no limiter if nothing is said.
    ///   - stems: whether the tracks have outputs of their own.
    init(_ session: Session, gain: Double = 0, ceiling: Double? = nil, stems: Bool = false) throws {
        let players = try session.tracks.map { try FilePlayer(path: $0.path) }
        let volume = RenderMath.amplitude(decibels: Float(gain))
        let limiter = ceiling.map { ceiling in
            Limiter(
                tracks: players.count, ceiling: RenderMath.amplitude(decibels: Float(ceiling)), sampleRate: 48_000)
        }
        renderer = try Renderer(auxiliaryOutputs: stems ? players.map { _ in 2 } : []) { context in
            context.forEach(players) { context, player in
                context.run(player)  // pushes 1
                context.gain(volume)  // edits the top
            }
            if let limiter {
                context.run(limiter)  // turns all down, and pushes the mix
                context.output()
                context.pop()
            } else {
                context.output(players.count)
            }
            for index in players.indices.reversed() {
                if stems { context.output(to: .auxiliary(index + 1)) }
                context.pop()
            }
        }
        for (track, player) in zip(session.tracks, players) {
            player.volume.value = RenderMath.amplitude(decibels: Float(track.gain))
            player.pan.value = Float(track.pan)
            player.play(at: .sample(Int64((track.start * renderer.sampleRate).rounded())))
        }
        duration = zip(session.tracks, players).map { $0.start + $1.duration }.max() ?? 0
        latency = Double(limiter?.latency ?? 0) / renderer.sampleRate
    }

    /// Renders it for its loudness, in LUFS, and its true peak, in dBTP.
    func measured(seconds: Double) throws -> (loudness: Double, peak: Double) {
        var measurement = LoudnessMeasurement(sampleRate: renderer.sampleRate, channels: 2)
        _ = renderer.renderOffline(frames: Int((latency * renderer.sampleRate).rounded()))
        let end = Int64((seconds + latency) * renderer.sampleRate)
        try renderer.renderOffline(until: { renderer.sampleTime >= end }) { block in
            try Task.checkCancellation()
            measurement.add(block)
        }
        return (measurement.integrated, measurement.truePeak)
    }
}

/// How loud a session is made, and how its peaks are kept under a ceiling.
struct Master {
    /// What peaks may reach, in dBTP: what streaming services and EBU R 128 ask for.
    static let ceiling = -1.0
    /// By how much peaks are turned down at most, in decibels: more is heard.
    private static let mostLimiting = 6.0

    /// How much louder each track becomes, in decibels.
    private(set) var gain: Double
    /// What the limiter is set to; `nil` if none is needed.
    private(set) var limit: Double?
    /// What comes out, in LUFS and dBTP.
    private(set) var loudness: Double
    private(set) var peak: Double
    private let wanted: Double

    /// Renders the session as often as it takes.
    ///
    /// - Parameters:
    ///   - session: what is mixed.
    ///   - wanted: LUFS.
    ///   - seconds: how much of it.
    ///   - tell: is called before each time.
    init(_ session: Session, wanted: Double, seconds: Double, tell: (String) -> Void) throws {
        tell("measuring")
        let plain = try Performance(session).measured(seconds: seconds)
        guard plain.loudness.isFinite else {
            throw Session.Mistake(description: "the session is silent, or too short")
        }
        self.wanted = wanted
        gain = wanted - plain.loudness
        loudness = wanted
        peak = plain.peak + gain
        guard peak > Self.ceiling else { return }
        // The limiter makes it softer, so that it needs more gain, and so on. Its ceiling has a little to spare.
        let most = Self.ceiling - plain.peak + Self.mostLimiting
        var limit = Self.ceiling - 0.05
        for round in 1...8 {
            gain = min(gain, most)
            tell("limiting, \(round)")
            (loudness, peak) = try Performance(session, gain: gain, ceiling: limit).measured(seconds: seconds)
            self.limit = limit
            let isLowEnough = peak <= Self.ceiling
            if isLowEnough && (abs(wanted - loudness) < 0.03 || gain == most && loudness < wanted) { return }
            if !isLowEnough { limit -= peak - Self.ceiling + 0.02 }
            gain += wanted - loudness
        }
    }

    /// What came out of it: a sentence.
    var description: String {
        func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
        let isReached = abs(loudness - wanted) < 0.05
        let why = isReached ? "" : ": for \(tenths(wanted)) LUFS its peaks would have to be turned down too much"
        let limiting = limit == nil ? "" : ", peaks limited"
        return "\(tenths(loudness)) LUFS, \(tenths(peak)) dBTP\(limiting)\(why)"
    }
}
