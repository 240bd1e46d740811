internal import Glibc
public import RenderStack
internal import Synchronization

/// The texts that the examples show on a terminal.
public enum Terminal {
    /// Indicates whether standard error is a terminal: the meters are drawn only then.
    public static let isInteractive = isatty(STDERR_FILENO) != 0

    /// The name by which the program was called.
    public static var programName: String {
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "example"
    }

    /// Draws a level meter for each channel over the line before, on the standard error stream.
    public static func drawMeters(_ decibels: [Float], _ note: String) {
        draw(decibels.map(bar).joined(separator: "  ") + "  " + note)
    }

    /// The columns that the line has which is drawn.
    private static let drawn = Mutex(0)

    /// Puts a text over the line before, on the standard error stream. What the terminal has no room for is cut, so that the line
    /// does not become two.
    public static func draw(_ text: String) {
        let columns = Screen.size.columns
        let line = Screen.cut(text, to: columns - 1)
        drawn.withLock { drawn in
            // A terminal that has become narrower has broken the line before into several.
            let above = max(0, drawn - 1) / max(1, columns)
            drawn = Screen.width(of: line)
            write("\r" + (above > 0 ? "\u{1B}[\(above)A" : "") + "\(line)\u{1B}[K" + (above > 0 ? "\u{1B}[J" : ""))
        }
    }

    /// Draws how far a file is.
    public static func show(_ progress: FileOutput.Progress, of path: String) {
        guard isInteractive else { return }
        let share = progress.frameCount.map { " \(100 * progress.frame / max(1, $0)) %," } ?? ""
        draw("\(path):\(share) \(Int(progress.speed)) times as fast as it sounds")
    }

    /// Ends the line that is drawn.
    public static func endDrawing() { if isInteractive { draw("") } }

    /// Prints a sentence on the standard error stream and ends the program.
    public static func stop(_ text: String, status: Int32) -> Never {
        if status == 0 { print(text) } else { write(text + "\n") }
        exit(status)
    }

    /// A line on the standard error stream.
    public static func note(_ text: String) {
        if Screen.keep(text) { return }
        endDrawing()
        write(text + "\n")
    }

    /// Hands on each key that is pressed, until the task is cancelled or the standard input ends. Arrows are ↑ ↓ ← →.
    ///
    /// - Parameter isElsewhere: `true` if the standard input is for something else, and keys come from the terminal
    ///   itself.
    public static func readKeys(isElsewhere: Bool = false, _ handle: @Sendable (Character) -> Void) async {
        let input = isElsewhere ? unsafe open("/dev/tty", O_RDONLY | O_CLOEXEC) : STDIN_FILENO
        guard input >= 0 else { return }
        defer { if isElsewhere { close(input) } }
        await readKeys(from: input, handle)
    }

    private static func readKeys(from input: Int32, _ handle: @Sendable (Character) -> Void) async {
        // Without waiting for a whole line, and without showing it. A program in the background has no keys.
        var normal = termios()
        let isKnown = unsafe tcgetattr(input, &normal) == 0
        let hasKeyboard = isKnown && tcgetpgrp(input) == getpgrp()
        if hasKeyboard {
            var raw = normal
            raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
            _ = unsafe tcsetattr(input, TCSANOW, &raw)
        } else if isKnown {
            return
        }
        defer { if hasKeyboard { _ = unsafe tcsetattr(input, TCSANOW, &normal) } }
        var keys = Keys()
        while !Task.isCancelled {
            var state = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&state, 1, 0) > 0 {
                var byte: UInt8 = 0
                guard unsafe Glibc.read(input, &byte, 1) == 1 else { return }
                if let key = keys.take(byte) { handle(key) }
            } else {
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// Keys from bytes: an arrow is three of them (ECMA-48).
    private struct Keys {
        private var sequence: [UInt8] = []

        mutating func take(_ byte: UInt8) -> Character? {
            if byte == 0x1B {
                sequence = [byte]
                return nil
            }
            switch sequence.count {
            case 1 where byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O"):
                sequence.append(byte)
                return nil
            case 2:
                sequence = []
                return [65: "↑", 66: "↓", 67: "→", 68: "←"][byte]
            default:
                sequence = []
                return Character(UnicodeScalar(byte))
            }
        }
    }

    static func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// 20 steps of 3 dB, from -60 dB to 0 dB: two bars and the note have room on a terminal of 80 columns.
    private static func bar(_ decibels: Float) -> String {
        let filled = decibels.isFinite ? max(0, min(20, Int((decibels + 60) / 3))) : 0
        let number = decibels.isFinite ? "\(Int(decibels.rounded())) dB" : "-inf"
        return String(repeating: "█", count: filled) + String(repeating: "·", count: 20 - filled) + " " + number
    }
}
