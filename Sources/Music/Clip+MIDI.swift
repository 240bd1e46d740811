public import MIDIFiles
internal import RenderCore

extension Clip {
    /// Creates a clip of a track of a MIDI file: notes with their lengths, and all other messages.
    ///
    /// A tick becomes the exact fraction of a beat, which is a quarter note. In a file whose ticks are parts of film frames a beat is half
    /// a second. What is no message (tempo, metre, texts) is left out, and so are the velocities of note-offs. A note that never
    /// ends is ended with the track, and ``remarks`` says so.
    ///
    /// - Parameters:
    ///   - track: The track.
    ///   - file: Its file, which says how long a tick is.
    ///   - channel: Messages of this channel alone, 0…15; `nil` for all, in which case the notes of all channels are alike.
    ///   - length: The length, to which the clip is cut; `nil` for that of the track, up to the end of its last bar in the file's metre.
    public init(_ track: MIDIFile.Track, of file: MIDIFile, channel: UInt8? = nil, length: Fraction? = nil) {
        let beats = file.beatsPerTick
        var reading = TrackReading(beats: beats)
        for event in track.events.enumerated().sorted(by: {
            ($0.element.tick, $0.offset) < ($1.element.tick, $1.offset)
        }) {
            reading.read(event.element, channel: channel)
        }
        let end = Fraction(max(track.end, 0)) * beats
        let bar = file.bar
        let whole = max(Fraction((end / bar).ceiling), 1) * bar
        reading.finish(end)
        self.init(length: whole, events: reading.events)
        remarks = reading.remarks
        if let length { self = cut(from: 0, to: length) }
    }
}

/// The part of a track that was read so far.
private struct TrackReading {
    /// The notes of a key that have no end yet, as indices of events. Its first ones have ended.
    private struct Key {
        var open: [Int] = []
        var first = 0
    }

    private static let mostRemarks = 20

    let beats: Fraction
    var events: [MusicEvent] = []
    var remarks: [String] = []
    private var keys: [Int: Key] = [:]
    private var lost = 0

    init(beats: Fraction) { self.beats = beats }

    mutating func read(_ event: MIDIFile.Event, channel: UInt8?) {
        let beat = Fraction(max(event.tick, 0)) * beats
        switch event.content {
        case .message(let message):
            if let channel, let own = message.channel, own != channel { return }
            read(message, at: beat)
        case .systemExclusive(let bytes):
            var messages: [MIDIMessage] = []
            unsafe bytes.withUnsafeBytes { unsafe MIDIMessage.readExclusive($0) { messages.append($0) } }
            for message in messages { events.append(MusicEvent(.message(message), at: beat)) }
        case .tempo, .metre, .text, .other: return
        }
    }

    private mutating func read(_ message: MIDIMessage, at beat: Fraction) {
        switch message.held {
        case .noteOn(let channel, let note, let velocity):
            let number = Double(note)
            keys[Int(channel) << 8 | Int(note), default: Key()].open.append(events.count)
            let content = Note(word: Note.name(of: number), number: number, velocity: Double(velocity) / 127)
            events.append(MusicEvent(.note(content), at: beat, length: -1))
        case .noteOff(let channel, let note, _):
            let index = Int(channel) << 8 | Int(note)
            guard let key = keys[index], key.first < key.open.count else {
                lost += 1
                return
            }
            keys[index]?.first += 1
            let event = key.open[key.first]
            events[event].length = beat - events[event].start
        default: events.append(MusicEvent(.message(message), at: beat))
        }
    }

    mutating func finish(_ end: Fraction) {
        var hanging = 0
        for index in events.indices where events[index].length < 0 {
            events[index].length = max(end - events[index].start, 0)
            hanging += 1
            if hanging <= Self.mostRemarks, case .note(let note) = events[index].content {
                remarks.append(
                    "The note \(note.word) at beat \(events[index].start) has no end in the file; it ends with the track, at beat \(end)."
                )
            }
        }
        if hanging > Self.mostRemarks {
            remarks.append(
                "\(hanging - Self.mostRemarks) more notes have no end in the file; they end with the track, at beat \(end)."
            )
        }
        if lost == 1 { remarks.append("A note-off in the file ends no note; it is left out.") }
        if lost > 1 { remarks.append("\(lost) note-offs in the file end no note; they are left out.") }
    }
}

extension MIDIFile {
    /// The beats of a tick: a beat is a quarter note, or half a second.
    fileprivate var beatsPerTick: Fraction {
        switch division {
        case .quarter(let ticks): Fraction(1, min(max(ticks, 1), 0x7FFF))
        case .film(29, let ticks): Fraction(2 * 1_001, 30_000 * min(max(ticks, 1), 255))
        case .film(let frames, let ticks): Fraction(2, min(max(frames, 24), 30) * min(max(ticks, 1), 255))
        }
    }

    /// The beats of the first bar.
    fileprivate var bar: Fraction {
        for event in tracks.lazy.flatMap(\.events) {
            if case .metre(let beats, let note) = event.content, beats > 0, note > 0 {
                return Fraction(beats) * Fraction(4, note)
            }
        }
        return 4
    }

    /// Creates a file of one clip; see ``Track/init(_:name:channel:keys:ticks:)``.
    ///
    /// - Parameters:
    ///   - clip: The clip.
    ///   - channel: The channel of its notes, 0…15.
    ///   - keys: The keys of words that are no notes.
    ///   - ticks: The ticks of a beat, held to 1…32,767.
    ///   - tempo: Beats per minute; `nil` leaves the tempo open, which is 120.
    public init(_ clip: Clip, channel: UInt8 = 0, keys: [String: UInt8] = [:], ticks: Int = 480, tempo: Double? = nil) {
        let ticks = min(max(ticks, 1), 0x7FFF)
        self.init(
            tracks: [Track(clip, channel: channel, keys: keys, ticks: ticks)], division: .quarter(ticks), tempo: tempo)
    }
}

extension MIDIFile.Track {
    /// Creates a track of a clip: a note-on and a note-off for each note, and all messages that a file can hold.
    ///
    /// A beginning and an end go to the nearest tick, and a note lasts for a tick at least. 480 ticks a beat have an exact place for halves,
    /// thirds, fifths, and halves of those down to a 32nd of a beat. A number goes to the nearest key, held to 0…127.
    ///
    /// - Parameters:
    ///   - clip: The clip. What it would not play is left out.
    ///   - name: The name of the track.
    ///   - channel: The channel of its notes, 0…15. Messages keep theirs.
    ///   - keys: The keys of words that are no notes, such as `["kick": 36]`. A note that has neither a number nor a key is left out.
    ///   - ticks: The ticks of a beat in the file, held to 1…32,767.
    public init(_ clip: Clip, name: String? = nil, channel: UInt8 = 0, keys: [String: UInt8] = [:], ticks: Int = 480) {
        let ticks = Fraction(min(max(ticks, 1), 0x7FFF))
        func tick(_ beat: Fraction) -> Int { min(max((beat * ticks).rounded, 0), 0xFFF_FFFF) }
        // Of one tick, what ends comes first, then messages, then what begins.
        var found: [(tick: Int, order: Int, content: MIDIFile.Content)] = []
        for event in clip.events.sortedByStart() where event.start >= 0 && event.start < clip.length {
            let start = tick(event.start)
            switch event.content {
            case .message(.systemExclusive(let chunk)):
                let bytes = (0..<min(max(chunk.count, 0), 16)).map { chunk.bytes[$0] }
                // The parts of one message are one again.
                if !chunk.isFirst, found.last?.tick == start, found[found.count - 1].content.append(bytes) { continue }
                found.append((start, 1, .systemExclusive(bytes)))
            case .message(let message): found.append((start, 1, .message(message)))
            case .note(let note):
                guard let known = note.number.flatMap(MIDIFile.Track.key) ?? keys[note.word] else { continue }
                let velocity = note.velocity.isNaN ? 0.8 : min(max(note.velocity, 0), 1)
                let (channel, key) = (channel & 15, min(known, 127))
                let on = MIDIMessage.noteOn(
                    channel: channel, note: key, velocity: UInt8(max(1, (velocity * 127).rounded())))
                found.append((start, 2, .message(on)))
                let off = MIDIMessage.noteOff(channel: channel, note: key, velocity: 64)
                found.append((max(tick(event.end), start + 1), 0, .message(off)))
            }
        }
        let events = found.enumerated().sorted { a, b in
            (a.element.tick, a.element.order, a.offset) < (b.element.tick, b.element.order, b.offset)
        }
        self.init(
            name: name, events: events.map { MIDIFile.Event($0.element.tick, $0.element.content) },
            end: tick(clip.length))
    }

    private static func key(_ number: Double) -> UInt8? {
        number.isNaN ? nil : UInt8(min(max(number, 0), 127).rounded())
    }
}

extension MIDIFile.Content {
    /// Appends a part of a system exclusive message to the parts before it.
    ///
    /// - Returns: Whether this is such a message.
    fileprivate mutating func append(_ bytes: [UInt8]) -> Bool {
        guard case .systemExclusive(var whole) = self else { return false }
        // Not a copy: nothing else holds the bytes now.
        self = .systemExclusive([])
        whole += bytes
        self = .systemExclusive(whole)
        return true
    }
}

extension MIDIMessage {
    /// The channel of the message, if it is for one.
    package var channel: UInt8? {
        @_noLocks @_noAllocation get {
            let status = bytes.status
            return status < 0xF0 ? status & 15 : nil
        }
    }
}
