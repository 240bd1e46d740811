import Foundation
import RenderStack
import Synchronization

/// Hears the pitch of a voice, fifty times a second, and compares it with a melody. It sings in the octave that it likes.
final class Judge: Sendable {
    private let tracker: PitchTracker
    private let melody: Melody
    private let praise: @Sendable () -> Void
    private let state: Mutex<State>

    /// Cents that a note may be off, and the part of it that must be on key.
    private static let tolerance = 25.0
    private static let share = 0.7

    /// The sound and the score so far.
    private struct State {
        /// The name of the note that is sung, and its cents where there was something to judge.
        var sungNote: String?
        var cents: Double?
        var note: Melody.Note?
        /// Windows in which there was a note, in which there was a voice, and in which it was on key.
        var asked = 0
        var sung = 0
        var onKey = 0
        var centsOff = 0.0
        /// The numbers of windows for the note that is being sung, and the number of notes.
        var noteAsked = 0
        var noteOnKey = 0
        var notes = 0
        var pitches = ""
    }

    /// - Parameters:
    ///   - tracker: The pitch of the raw voice.
    ///   - melody: The melody to sing.
    ///   - praise: Is called after each note that was on key.
    init(_ tracker: PitchTracker, _ melody: Melody, praise: @escaping @Sendable () -> Void) {
        self.tracker = tracker
        self.melody = melody
        self.praise = praise
        state = Mutex(State())
    }

    /// Judges what has come in since the last time.
    func listen(sampleRate: Double) {
        state.withLock { state in
            for reading in tracker.read() {
                let middle = Double(reading.time.sampleTime ?? 0) / sampleRate
                judge(&state, at: middle, reading)
            }
        }
    }

    private func judge(_ state: inout State, at middle: Double, _ reading: PitchTracker.Reading) {
        let pitch = reading.frequency
        let note = melody.note(at: middle)
        if note != state.note { endNote(&state, next: note) }
        var cents: Double?
        if let note, let sung = reading.note {
            // From half an octave below to half an octave above.
            let semitones = sung - Double(note.number)
            cents = 100 * (semitones - 12 * (semitones / 12).rounded())
        }
        if pitch != nil || note != nil {
            let words = [pitch, cents].map { $0.map { String(format: "%.2f", $0) } ?? "-" }
            state.pitches += String(format: "%.4f ", middle) + words.joined(separator: " ") + "\n"
        }
        state.cents = cents
        state.sungNote = reading.noteName
        // At its beginning and its end, a window of a note has some of the neighbour.
        guard let note, middle > note.start + 0.06, middle < note.end - 0.06 else { return }
        state.asked += 1
        state.noteAsked += 1
        guard let cents else { return }
        state.sung += 1
        state.centsOff += cents
        if abs(cents) <= Self.tolerance {
            state.onKey += 1
            state.noteOnKey += 1
        }
    }

    private func endNote(_ state: inout State, next: Melody.Note?) {
        if state.note != nil, state.noteAsked > 0, Double(state.noteOnKey) >= Self.share * Double(state.noteAsked) {
            state.notes += 1
            praise()
        }
        (state.note, state.noteAsked, state.noteOnKey) = (next, 0, 0)
    }

    /// The line on the screen: the note to sing, the distance of the voice from it, from half a semitone below to half a
    /// semitone above, and the note that is sung.
    var status: String {
        state.withLock { state in
            var scale = Array("----------|----------")
            if let cents = state.cents { scale[10 + Int((max(-50, min(50, cents)) / 5).rounded())] = "●" }
            let name = state.note.map(\.name) ?? ""
            let cents = state.cents.map { String(format: "%+.0f cents", $0) } ?? ""
            let sung = (state.sungNote ?? "").padding(toLength: 4, withPad: " ", startingAt: 0)
            return name.padding(toLength: 4, withPad: " ", startingAt: 0) + String(scale) + " " + sung + " "
                + cents.padding(toLength: 10, withPad: " ", startingAt: 0) + " \(Self.score(state)) of 100"
        }
    }

    /// The sentence at the end.
    var verdict: String {
        state.withLock { state in
            if state.sung == 0 { return "Score: 0 of 100. Nobody sang a note." }
            let cents = state.centsOff / Double(state.sung)
            let side = cents < 0 ? "flat" : "sharp"
            return String(
                format: "Score: %d of 100. %d notes on key; on average %.1f cents %@.", Self.score(state), state.notes,
                abs(cents), side)
        }
    }

    /// A line for each window: the time of its middle in seconds, the pitch in hertz, cents above the melody.
    var pitches: String { state.withLock { $0.pitches } }

    private static func score(_ state: State) -> Int {
        state.asked == 0 ? 0 : Int((100 * Double(state.onKey) / Double(state.asked)).rounded())
    }
}
