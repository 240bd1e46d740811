internal import Glibc
internal import Synchronization

/// The whole terminal, while a program draws on it: a page of its own, behind which what was there comes back.
public enum Screen {
    private struct State {
        var isShown = false
        /// The notes that have come meanwhile.
        var notes: [String] = []
    }
    private static let state = Mutex(State())

    /// Turns to a new page, without a cursor.
    static func begin() {
        state.withLock { $0 = State(isShown: true) }
        Terminal.write("\u{1B}[?1049h\u{1B}[?25l")
    }

    /// Draws the lines: each over the one that was there, so that nothing flickers. The last note stands below. Lines
    /// that are too long are cut, and lines that do not fit are left out.
    static func draw(_ lines: [String]) {
        let (rows, columns) = size
        let note = state.withLock { $0.notes.last }
        let all = (lines + (note.map { ["", $0] } ?? [])).prefix(rows)
        let text = all.map { "\(cut($0, to: columns))\u{1B}[0m\u{1B}[K" }.joined(separator: "\r\n")
        Terminal.write("\u{1B}[H\(text)\u{1B}[J")
    }

    /// Turns back, and prints the notes that have come meanwhile.
    static func end() {
        let notes = state.withLock { state in
            defer { state = State() }
            return state.notes
        }
        Terminal.write("\u{1B}[?25h\u{1B}[?1049l")
        for note in notes { Terminal.note(note) }
    }

    /// Keeps a text for the page.
    ///
    /// - Returns: `false` if there is none.
    static func keep(_ text: String) -> Bool {
        state.withLock { state in
            if state.isShown { state.notes.append(text) }
            return state.isShown
        }
    }

    static var size: (rows: Int, columns: Int) {
        var size = winsize()
        let isKnown = unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0 && size.ws_col > 0
        return isKnown ? (Int(size.ws_row), Int(size.ws_col)) : (24, 80)
    }

    /// Returns the columns that a line takes.
    static func width(of line: String) -> Int {
        var count = 0, isSequence = false
        for character in line {
            if character == "\u{1B}" { isSequence = true }
            if !isSequence { count += 1 }
            if isSequence && character.isLetter { isSequence = false }
        }
        return count
    }

    /// Returns the first columns of a line; characters that only set a colour take none.
    static func cut(_ line: String, to columns: Int) -> String {
        var result = "", count = 0, isSequence = false
        for character in line {
            if character == "\u{1B}" { isSequence = true }
            if !isSequence {
                if count == columns { continue }
                count += 1
            }
            result.append(character)
            if isSequence && character.isLetter { isSequence = false }
        }
        return result
    }
}

extension Screen {
    /// Shown as light on dark, or the other way round.
    public static func highlighted(_ text: String) -> String { "\u{1B}[7m\(text)\u{1B}[27m" }

    /// A place between left (-1) and right (1) in words: "L30", "C", "R5".
    public static func side(_ position: Float) -> String {
        let percent = Int((abs(position) * 100).rounded())
        return percent == 0 ? "C" : "\(position < 0 ? "L" : "R")\(percent)"
    }

    /// A level in words: "-3.5 dB".
    public static func decibels(_ value: Float) -> String {
        value.isFinite ? "\((value * 10).rounded() / 10) dB" : "-inf dB"
    }

    /// A level meter from -60 dB to 0 dB, which are marked; above that it warns.
    public static func meter(_ decibels: Float, width: Int) -> String {
        let share = decibels.isFinite ? max(0, min(1, (decibels + 60) / 60)) : 0
        let eighths = Int((share * Float(8 * width)).rounded())
        let cells = (0..<width).map { cell -> Character in
            [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"][max(0, min(8, eighths - 8 * cell))]
        }
        return "[\(String(cells))]\(decibels > 0 ? "!" : " ")"
    }

    /// A knob on its track.
    ///
    /// - Parameters:
    ///   - share: The position, 0…1.
    ///   - mark: The position of a mark on the track, 0…1.
    ///   - width: Columns.
    public static func slider(_ share: Float, mark: Float, width: Int) -> String {
        var cells = [Character](repeating: "─", count: width)
        func cell(_ share: Float) -> Int { max(0, min(width - 1, Int((share * Float(width - 1)).rounded()))) }
        cells[cell(mark)] = "┼"
        cells[cell(share)] = "█"
        return String(cells)
    }
}
