public import MIDIFiles
public import Music
internal import RenderCore
public import Voices

extension Sequencer {
    /// Creates a sequencer that plays a MIDI file in its own tempo: see ``Track/tracks(of:to:)`` and ``tempoMap``.
    ///
    ///     let song = Sequencer(playing: try MIDIFile(path: "song.mid"), on: synth)
    ///     …
    ///     song.start()
    ///     song.locate(.beats(32))                                             // with the programs and controllers that hold there
    ///     song["drums"]?.isMuted = true
    ///     song.tempoMap = song.tempoMap?.scaled(by: 0.9)
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - target: The target that plays all of it.
    ///   - name: The name in faults and statistics.
    public convenience init(playing file: MIDIFile, on target: any NoteTarget, name: String = "Sequencer") {
        self.init(tracks: Track.tracks(of: file, to: target), name: name)
        tempoMap = TempoMap(file)
    }

    /// The beat of the song behind the last note of its clips; 0 if there is none. Patterns have no end.
    public var end: Fraction { tracks.lazy.map(\.end).max() ?? 0 }
}

extension Track {
    /// Returns tracks of a MIDI file: one for each channel of each of its tracks, in their order, that plays once. Each is named
    /// as in the file, or by its number there, with the number of the channel if there are several.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - target: The target that plays all of it.
    public static func tracks(of file: MIDIFile, to target: any NoteTarget) -> [Track] {
        file.tracks.enumerated().flatMap { index, track in
            let name = track.name.flatMap { $0.isEmpty ? nil : $0 } ?? "\(index + 1)"
            let channels = track.channels
            return channels.map { channel in
                var clip = Clip(track, of: file, channel: UInt8(channel))
                // A message for all channels is played once.
                if channel != channels.first { clip.events.removeAll(where: \.isForAllChannels) }
                return Track(
                    channels.count > 1 ? "\(name), channel \(channel + 1)" : name, clip, to: target, channel: channel,
                    repeats: false)
            }
        }
    }
}

extension MusicEvent {
    fileprivate var isForAllChannels: Bool {
        if case .message(let message) = content { message.channel == nil } else { false }
    }
}

extension MIDIFile.Track {
    /// The channels of its messages. A message for all channels goes with the first one.
    fileprivate var channels: [Int] {
        var found: Set<Int> = []
        var isForAll = false
        for event in events {
            switch event.content {
            case .message(let message):
                if let channel = message.channel { found.insert(Int(channel)) } else { isForAll = true }
            case .systemExclusive: isForAll = true
            case .tempo, .metre, .text, .other: continue
            }
        }
        if found.isEmpty && isForAll { return [0] }
        return found.sorted()
    }
}
