public import RenderCore

/// Events in beats, with a length: what was recorded, written or read from a MIDI file.
///
///     var riff = Clip(length: .bars(1))
///     riff.add("A1", at: 0, length: 1/2)
///     riff.add("C2", at: 3/2, length: 1/2, velocity: 0.6)
///     let tune = Clip(midiFile.tracks[2], of: midiFile, length: .bars(8))
///     let tight = tune.quantised(to: 1/4, strength: 0.8)
///     riff.pattern + tight.pattern.slow(2)
///
/// Threads: control.
public struct Clip: Sendable {
    /// The events, in any order; those of one beginning keep theirs. What begins before 0 or not before the end is not played.
    public var events: [MusicEvent]
    /// The beats after which the clip begins again. A clip without a length is silent.
    public var length: Fraction
    /// A sentence for each thing that was mended in the MIDI file from which the clip was read.
    ///
    /// Two clips that differ in this alone are equal.
    public internal(set) var remarks: [String] = []

    /// Creates a clip.
    public init(length: Fraction = 4, events: [MusicEvent] = []) { (self.length, self.events) = (length, events) }

    /// Creates a clip of what a pattern plays.
    ///
    /// - Parameters:
    ///   - pattern: The pattern.
    ///   - start: The beat of the pattern at which the clip begins.
    ///   - length: The length, held to 0…1,048,576 beats.
    public init(_ pattern: Pattern, from start: Fraction = 0, length: Fraction) {
        let length = min(max(length, 0), 1_048_576)
        self.init(length: length)
        // In parts, because the work for one span has a bound.
        var from: Fraction = 0
        while from < length {
            let to = min(from + 16, length)
            for var event in pattern.events(from: start + from, to: start + to) {
                event.start -= start
                events.append(event)
            }
            from = to
        }
    }

    /// Adds a note of a word or a name: `kick`, `A1`, `60`.
    public mutating func add(_ word: String, at start: Fraction, length: Fraction = 1, velocity: Double = 0.8) {
        events.append(MusicEvent(.note(Note(word, velocity: velocity)), at: start, length: length))
    }

    /// Adds a message.
    public mutating func add(_ message: MIDIMessage, at start: Fraction) {
        events.append(MusicEvent(.message(message), at: start))
    }

    /// The clip as a pattern, which plays it again and again; its cycle is the clip's length.
    public var pattern: Pattern { Pattern(self) }

    /// The clip with its events on a grid, or nearer to it.
    ///
    /// An event that comes to the end of the clip so goes to its beginning, because a clip is played again and again.
    ///
    /// - Parameters:
    ///   - grid: The beats from one line to the next. What is not more than 0 changes nothing.
    ///   - strength: How much of the way each event goes, held to 0…1. What is not a number changes nothing.
    public func quantised(to grid: Fraction, strength: Double = 1) -> Clip {
        if grid <= 0 || strength.isNaN { return self }
        let part = Fraction(min(max(strength, 0), 1))
        return changed { event in
            let isInside = event.start >= 0 && event.start < length
            event.start += (Fraction((event.start / grid).rounded) * grid - event.start) * part
            if isInside { event.start = event.start.remainder(by: length) }
        }
    }

    /// The events that begin in a part of the clip, as a clip. Notes that sound beyond the part's end are shortened.
    ///
    /// An end that is not behind the start gives an empty clip without a length.
    public func cut(from start: Fraction, to end: Fraction) -> Clip {
        var result = Clip(length: max(end - start, 0))
        result.remarks = remarks
        for var event in events where event.start >= start && event.start < end {
            event.length = min(event.length, end - event.start)
            event.start -= start
            result.events.append(event)
        }
        return result
    }

    /// The clip some times in a row, held to 0 times and to a million events.
    public func looped(_ times: Int) -> Clip {
        let most = 1_000_000 / max(events.count, 1)
        let times = min(max(times, 0), max(most, 1))
        var result = Clip(length: length * Fraction(times))
        result.remarks = remarks
        let inside = events.filter { $0.start >= 0 && $0.start < length }
        for time in 0..<(inside.isEmpty ? 0 : times) {
            let base = Fraction(time) * length
            for var event in inside {
                event.start += base
                result.events.append(event)
            }
        }
        return result
    }

    /// The clip with the numbers of its notes higher by some semitones. What is not finite changes nothing.
    public func transposed(by semitones: Double) -> Clip {
        guard semitones.isFinite else { return self }
        return changed { event in
            guard case .note(var note) = event.content else { return }
            note.number = note.number.map { $0 + semitones }
            event.content = .note(note)
        }
    }

    /// The clip with the events of another one in addition, as in an overdub. The length is that of the longer one.
    public func merged(with other: Clip) -> Clip {
        var result = self
        result.events = (events + other.events).sortedByStart()
        result.length = max(length, other.length)
        result.remarks += other.remarks
        return result
    }

    private func changed(_ change: (inout MusicEvent) -> Void) -> Clip {
        var result = self
        for index in events.indices { change(&result.events[index]) }
        result.events = result.events.sortedByStart()
        return result
    }
}

extension Clip: Hashable {
    /// Indicates whether both have the same events, in the same order, and the same length.
    public static func == (a: Clip, b: Clip) -> Bool { a.length == b.length && a.events == b.events }

    /// Hashes the events and the length.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(events)
        hasher.combine(length)
    }
}
