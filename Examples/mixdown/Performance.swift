import RenderStack

/// A session that can be rendered, once: the mix on the main output, each track on one of its own if stems are wanted.
struct Performance {
    let renderer: Renderer
    /// The length of the session, in seconds.
    let duration: Double
    /// The delay of the output, in seconds: the frames before are silent.
    let latency: Double

    /// - Parameters:
    ///   - session: The session to mix.
    ///   - gain: The gain of each track, in decibels.
    ///   - ceiling: The highest peak of the mix, in dBTP; by default there is no limiter.
    ///   - stems: `true` if the tracks have outputs of their own.
    init(_ session: Session, gain: Double = 0, ceiling: Double? = nil, stems: Bool = false) throws {
        let players = try session.tracks.map { try FilePlayer(path: $0.path) }
        let strips = zip(session.tracks, players).map(Strip.init)
        let ducks = session.ducks.map { Ducker($0, trackCount: players.count) }
        let volume = RenderMath.amplitude(decibels: Float(gain))
        let limiter = ceiling.map { ceiling in
            Limiter(ceiling: Float(ceiling), tracks: players.count)
        }
        renderer = try Renderer(auxiliaryOutputs: stems ? players.map { _ in 2 } : []) { context in
            context.forEach(strips) { context, strip in strip.run(&context) }  // each pushes 1
            context.forEach(ducks) { context, duck in duck.run(&context) }  // each edits a track
            for index in players.indices { context.gain(volume, at: index) }
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
            player.play(at: .sample(Int64((track.start * renderer.sampleRate).rounded())))
        }
        duration = zip(session.tracks, players).map { $0.start + $1.duration }.max() ?? 0
        latency = Double(renderer.latency) / renderer.sampleRate
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

/// The loudness of a session, and the limit of its peaks.
struct Master {
    /// The highest peak, in dBTP, as streaming services and EBU R 128 ask for.
    static let ceiling = -1.0
    /// The most that peaks are turned down, in decibels: more is heard.
    private static let mostLimiting = 6.0

    /// The gain of all tracks, in decibels.
    private(set) var gain: Double
    /// The setting of the limiter; `nil` if none is needed.
    private(set) var limit: Double?
    /// The loudness and the peak of the result, in LUFS and dBTP.
    private(set) var loudness: Double
    private(set) var peak: Double
    private let wanted: Double

    /// Renders the session as often as it takes.
    ///
    /// - Parameters:
    ///   - session: The session to mix.
    ///   - wanted: LUFS.
    ///   - seconds: The length to mix, in seconds.
    ///   - tell: Is called before each time.
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

    /// A sentence about the result.
    var description: String {
        func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
        let isReached = abs(loudness - wanted) < 0.05
        let why = isReached ? "" : ": for \(tenths(wanted)) LUFS its peaks would have to be turned down too much"
        let limiting = limit == nil ? "" : ", peaks limited"
        return "\(tenths(loudness)) LUFS, \(tenths(peak)) dBTP\(limiting)\(why)"
    }
}
