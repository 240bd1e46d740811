import RenderStack

/// The song as it is played: from where, how fast, round which bars, and the keys that change that.
struct Performance: Sendable {
    let sequencer: Sequencer
    private let map: TempoMap
    private let tracks: [Track]
    private let first: Int
    private let loop: ClosedRange<Int>?

    /// Prepares a song.
    ///
    /// - Parameters:
    ///   - file: The song.
    ///   - synth: The instrument.
    ///   - output: A MIDI output that gets the messages too.
    ///   - first: The bar with which it begins.
    ///   - loop: The bars that it plays again and again.
    ///   - speed: The factor of its tempo.
    init(
        _ file: MIDIFile, on synth: SoundFontPlayer, sendingTo output: MIDIOutput?, from first: Int,
        loop: ClosedRange<Int>?, speed: Double
    ) {
        map = TempoMap(file)
        tracks = Track.tracks(of: file, to: synth)
        let sent = output.map { Track.tracks(of: file, to: $0) } ?? []
        sequencer = Sequencer(tracks: tracks + sent)
        sequencer.tempoMap = map.scaled(by: speed)
        (self.first, self.loop) = (loop?.lowerBound ?? first, loop)
        if let loop { sequencer.loop = beat(loop.lowerBound)..<beat(loop.upperBound + 1) }
    }

    private func beat(_ bar: Int) -> Fraction { Fraction(map.beat(ofBar: bar)) }

    /// The seconds of the song as it is in the file, wherever it is now.
    var seconds: Double { map.seconds(at: sequencer.position) }

    /// The seconds from the first bar to the end, or two rounds of the loop.
    var duration: Double {
        let played = sequencer.tempoMap ?? map
        let end = max(sequencer.end.value, 0)
        if let loop {
            return 2
                * (played.seconds(at: map.beat(ofBar: loop.upperBound + 1)) - played.seconds(at: map.beat(ofBar: first)))
        }
        return max(0, played.seconds(at: end) - played.seconds(at: map.beat(ofBar: first)))
    }

    /// The number of its bars.
    var bars: Int { map.bars(at: max(0, sequencer.end.value - 0.01)).bar }

    func start() { sequencer.start(from: beat(first)) }

    /// Mutes tracks, by their names or their numbers. Returns the first that there is not.
    func mute(_ names: [String]) -> String? {
        for name in names {
            let found = sequencer.tracks.filter { $0.name.lowercased() == name.lowercased() }
            let number = Int(name).flatMap { tracks.indices.contains($0 - 1) ? tracks[$0 - 1] : nil }
            let muted = found.isEmpty ? number.map { [$0] } ?? [] : found
            if muted.isEmpty { return name }
            for track in muted { track.isMuted = true }
        }
        return nil
    }

    /// The tracks, with their numbers.
    var names: String { tracks.enumerated().map { "\($0.offset + 1) \($0.element.name)" }.joined(separator: ", ") }

    /// Takes a key: the space bar stops and goes on, `,` and `.` go a bar back and on, `-` and `+` change the tempo, a digit mutes a track.
    func press(_ key: Character) {
        switch key {
        case " ": if sequencer.isPlaying { sequencer.stop() } else { sequencer.start() }
        case ",", ".":
            let bar = map.bars(at: sequencer.position).bar
            sequencer.locate(beat(max(1, key == "." ? bar + 1 : bar - 1)))
        case "-", "+": sequencer.tempoMap = sequencer.tempoMap?.scaled(by: key == "+" ? 1.05 : 1 / 1.05)
        default:
            guard let number = key.wholeNumberValue, tracks.indices.contains(number - 1) else { return }
            tracks[number - 1].isMuted.toggle()
        }
    }

    /// A line that says where the song is.
    var line: String {
        let place = map.bars(at: sequencer.position)
        let tempo = (sequencer.tempoMap ?? map).beatsPerMinute(at: sequencer.position)
        let muted = tracks.filter(\.isMuted).map(\.name)
        return "bar \(place.bar), beat \(place.beat), \(Int(tempo.rounded())) beats a minute"
            + (sequencer.isPlaying ? "" : ", stopped")
            + (muted.isEmpty ? "" : ", without \(muted.joined(separator: ", "))")
    }
}
