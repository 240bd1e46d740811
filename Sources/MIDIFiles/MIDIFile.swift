public import RenderCore

/// The contents of a standard MIDI file, of type 0 (one track) or 1 (several that sound together).
///
///     let song = try MIDIFile(path: "song.mid")
///     print("\(song.tracks.count) tracks, \(song.duration) s")
///     for event in song.messages { print(event.seconds, event.track, event.message) }
///
/// A file is made from tracks in the same way, and written:
///
///     var melody = MIDIFile.Track(name: "melody")
///     melody.add(.noteOn(channel: 0, note: 60, velocity: 100), at: 0)
///     melody.add(.noteOff(channel: 0, note: 60, velocity: 64), at: 480)
///     try MIDIFile(tracks: [melody], tempo: 96).write(path: "melody.mid")
///
/// Threads: control.
public struct MIDIFile: Sendable, Hashable {
    /// The length of a tick.
    ///
    /// Threads: any.
    public enum Division: Sendable, Hashable {
        /// Ticks for each quarter note, 1…32,767: the tempo says how long they are.
        case quarter(Int)
        /// Ticks for each frame of a film, 1…255, and frames per second: 24, 25, 29 (which stands for 29.97) or 30.
        case film(framesPerSecond: Int, ticks: Int)

        /// The division that a file can have: numbers out of their range are held to it, and a film gets the nearest of the four
        /// rates.
        var held: Division {
            switch self {
            case .quarter(let ticks): .quarter(min(max(ticks, 1), 0x7FFF))
            case .film(let frames, let ticks):
                .film(
                    framesPerSecond: frames < 25 ? 24 : frames < 28 ? 25 : frames < 30 ? 29 : 30,
                    ticks: min(max(ticks, 1), 255))
            }
        }
    }

    /// A list of events with their ticks.
    ///
    /// Threads: control.
    public struct Track: Sendable, Hashable {
        /// The events, in any order; those of one tick keep theirs.
        public var events: [Event]
        /// The tick at which the track ends. It is never before the last event.
        public var end: Int {
            get { max(length, events.lazy.map(\.tick).max() ?? 0) }
            set { length = newValue }
        }
        private var length: Int

        /// Creates a track.
        public init(name: String? = nil, events: [Event] = [], end: Int = 0) {
            self.events = (name.map { [Event(0, .text(kind: Event.name, $0))] } ?? []) + events
            length = end
        }

        /// The name of the track, if it has one.
        public var name: String? {
            for event in events { if case .text(Event.name, let text) = event.content { return text } }
            return nil
        }

        /// Adds a message at a tick.
        public mutating func add(_ message: MIDIMessage, at tick: Int) { events.append(Event(tick, .message(message))) }
    }

    /// An entry of a track.
    ///
    /// Threads: control.
    public struct Event: Sendable, Hashable {
        /// The tick from the beginning of the file, at least 0.
        public var tick: Int
        /// The content.
        public var content: Content

        /// Creates an event.
        public init(_ tick: Int, _ content: Content) { (self.tick, self.content) = (tick, content) }

        /// The kind of a text that names its track.
        static let name: UInt8 = 3
    }

    /// The content of an event.
    ///
    /// Threads: control.
    public enum Content: Sendable, Hashable {
        /// A message for an instrument.
        case message(MIDIMessage)
        /// A system exclusive message, from 0xF0 to 0xF7, or a part of one.
        case systemExclusive([UInt8])
        /// The tempo from here on, in microseconds a quarter note: 1…16,777,215.
        case tempo(microseconds: Int)
        /// The metre: beats to the bar, and the note of a beat (4 is a quarter).
        case metre(beats: Int, note: Int)
        /// A text of a kind from 1 to 15: 1 is any text, 2 a copyright, 3 a name, 4 an instrument, 5 a syllable, 6 a mark.
        case text(kind: UInt8, String)
        /// Any other entry, by its kind and bytes, for programs that know it.
        case other(kind: UInt8, [UInt8])
    }

    /// A message with its time.
    ///
    /// Threads: any.
    public struct TimedMessage: Sendable, Hashable, BitwiseCopyable {
        /// Seconds from the beginning of the file.
        public var seconds: Double
        /// The index of the track.
        public var track: Int
        /// The message. A system exclusive one is a message for each of its parts of 16 bytes.
        public var message: MIDIMessage

        /// Creates a message at a time.
        ///
        /// Threads: control.
        public init(seconds: Double, track: Int = 0, _ message: MIDIMessage) {
            (self.seconds, self.track, self.message) = (seconds, track, message)
        }
    }

    /// The length of a tick.
    public var division: Division
    /// The tracks. A file of one track is of type 0, another one of type 1.
    public var tracks: [Track]

    /// Creates the contents of a file.
    ///
    /// - Parameters:
    ///   - tracks: The tracks.
    ///   - division: The length of a tick; by default 480 are a quarter note.
    ///   - tempo: Beats per minute from the first tick on, 4…60,000,000; `nil` if a track says it, or for 120.
    public init(tracks: [Track], division: Division = .quarter(480), tempo: Double? = nil) {
        self.division = division
        self.tracks = tracks
        if let tempo, tempo.isFinite, tempo > 0 {
            let event = Event(0, .tempo(microseconds: Int(min(max(6e7 / tempo, 1), 16_777_215).rounded())))
            if self.tracks.isEmpty { self.tracks = [Track()] }
            self.tracks[0].events.insert(event, at: 0)
        }
    }

    /// The time at which the last track ends, in seconds.
    public var duration: Double { seconds(at: tracks.lazy.map(\.end).max() ?? 0) }

    /// Returns the time of a tick, in seconds.
    public func seconds(at tick: Int) -> Double { TempoMap(self).seconds(at: Double(tick) / ticksPerBeat) }

    /// All messages of all tracks in the order of their times. Those of one time are in the order of the tracks.
    public var messages: [TimedMessage] {
        let (map, ticks) = (TempoMap(self), ticksPerBeat)
        var found: [(tick: Int, message: TimedMessage)] = []
        for (index, track) in tracks.enumerated() {
            for event in track.events {
                func add(_ message: MIDIMessage) {
                    let seconds = map.seconds(at: Double(event.tick) / ticks)
                    found.append((event.tick, TimedMessage(seconds: seconds, track: index, message)))
                }
                switch event.content {
                case .message(let message): add(message)
                case .systemExclusive(let bytes):
                    unsafe bytes.withUnsafeBytes { unsafe MIDIMessage.readExclusive($0, add) }
                case .tempo, .metre, .text, .other: continue
                }
            }
        }
        return found.enumerated().sorted { a, b in
            (a.element.tick, a.offset) < (b.element.tick, b.offset)
        }.map(\.element.message)
    }
}
