import RenderStack

/// A track: its file, its compressor and its faders.
struct Strip {
    private let player: FilePlayer
    private let compressor: Compressor?
    private let volume: Float
    private let pan: Float

    init(_ track: Session.Track, _ player: FilePlayer) {
        self.player = player
        compressor = track.compression.map { Compressor($0) }
        volume = RenderMath.amplitude(decibels: Float(track.gain))
        pan = Float(track.pan)
    }

    /// Pushes the track.
    func run(_ context: inout RenderContext) {
        context.run(player)
        if let compressor { context.run(compressor) }
        context.fade(volume: volume, balance: pan)
    }
}

/// A track that gets softer while another one is loud, with all tracks on the stack.
struct Ducker {
    private let compressor: Compressor
    /// Their places on the stack; the top is 0.
    private let track: Int
    private let key: Int

    init(_ duck: Session.Duck, trackCount: Int) {
        compressor = Compressor(duck.compression, key: .below)
        track = trackCount - 1 - duck.track
        key = trackCount - 1 - duck.key
    }

    /// Turns the track down. A compressor with a key takes the two buffers on top, so these are copies.
    func run(_ context: inout RenderContext) {
        context.duplicate(at: key)
        context.duplicate(at: track + 1)
        context.run(compressor)
        context.withBuffers(at: 0, track + 2) { copy, track in track.copy(from: copy) }
        context.pop(2)
    }
}

extension Compressor {
    /// Creates the compressor of a session. It holds a reduction for the half-wave of 25 Hz, so that it rests on a tone.
    fileprivate convenience init(_ setting: Session.Compression, key: KeySignal = .itself) {
        self.init(
            threshold: Float(setting.threshold), ratio: Float(setting.ratio), attack: Float(setting.attack / 1_000),
            release: Float(setting.release / 1_000), hold: 0.02, key: key)
    }
}
