import Glibc
import RenderStackLive

/// The terminal, or the standard input and output where there is none.
final class Console {
    /// An order of the user's.
    enum Order: Equatable {
        case mute, previous, save(String?), list, set(String, String), status, quit, help
        case unknown(String)
    }

    private let isTerminal = isatty(STDIN_FILENO) != 0
    /// Indicates whether keys are orders. A job in the background must not touch the terminal.
    private var hasKeys = false
    private let drawsStatus = isatty(STDERR_FILENO) != 0
    private var normal = termios()
    private var line: [UInt8]?
    private var bytes: [UInt8] = []
    private var isAtEnd = false

    private var isInForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// Takes each key as it comes: at the start, and again when the program was stopped, or begun in the background.
    private func takeKeys() {
        var state = termios()
        guard isInForeground, unsafe tcgetattr(STDIN_FILENO, &state) == 0 else { return }
        let mask = tcflag_t(ICANON | ECHO)
        if state.c_lflag & mask != 0 {
            normal = state
            state.c_lflag &= ~mask
            _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &state)
        }
        hasKeys = true
    }

    /// Gives the terminal back as it was.
    func restore() {
        draw("")
        if hasKeys, isInForeground { _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &normal) }
    }

    /// Prints a line.
    func say(_ text: String) {
        if drawsStatus { Self.draw("\r\u{1B}[K") }
        write(text, to: STDOUT_FILENO)
    }

    /// Draws the line at the bottom, on a terminal.
    func draw(_ text: String) {
        guard drawsStatus else { return }
        let room = Self.columns - 1
        let order = line.map { ":" + String(decoding: $0, as: UTF8.self) }
        // Of an order the end is shown, which is typed, and of the status the beginning.
        let shown = order.map { String($0.suffix(room)) } ?? String(text.prefix(room))
        Self.draw("\r\(shown)\u{1B}[K")
    }

    /// The columns of the terminal that has the line at the bottom.
    private static var columns: Int {
        var size = winsize()
        let isKnown = unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return isKnown ? Int(size.ws_col) : 80
    }

    /// Returns the orders that have come, after a wait of some milliseconds at most.
    func orders(within milliseconds: Int32) -> [Order] {
        if isTerminal { takeKeys() }
        if isAtEnd || isTerminal && !isInForeground {
            usleep(UInt32(milliseconds) * 1_000)
            return []
        }
        var state = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&state, 1, milliseconds) > 0 else { return [] }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe Glibc.read(STDIN_FILENO, &buffer, buffer.count)
        if count <= 0 {
            isAtEnd = true
            return []
        }
        return isTerminal ? keys(buffer[..<count]) : lines(buffer[..<count])
    }

    /// Returns the orders that keys give. Arrows and other keys without a letter send several bytes, and are no orders.
    private func keys(_ new: ArraySlice<UInt8>) -> [Order] {
        var orders: [Order] = []
        var rest = new
        while let byte = rest.popFirst() {
            if byte == 27, let next = rest.first, next == UInt8(ascii: "[") || next == UInt8(ascii: "O") {
                rest.removeFirst()
                while let byte = rest.popFirst(), !(64..<127).contains(byte) {}
            } else if let order = key(byte) {
                orders.append(order)
            }
        }
        return orders
    }

    private func lines(_ new: ArraySlice<UInt8>) -> [Order] {
        bytes += new
        var orders: [Order] = []
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            if let order = Self.order(String(decoding: bytes[..<end], as: UTF8.self)) { orders.append(order) }
            bytes.removeSubrange(...end)
        }
        if bytes.count > 4_096 { bytes = [] }
        return orders
    }

    private func key(_ byte: UInt8) -> Order? {
        if let text = line {
            switch byte {
            case 10, 13:
                line = nil
                return Self.order(String(decoding: text, as: UTF8.self))
            case 8, 127: line = text.isEmpty ? nil : Array(String(decoding: text, as: UTF8.self).dropLast().utf8)
            case 27: line = nil
            case 32..<127, 128...: line = text + [byte]
            default: break
            }
            return nil
        }
        switch byte {
        case UInt8(ascii: "m"): return .mute
        case UInt8(ascii: "p"): return .previous
        case UInt8(ascii: "s"): return .save(nil)
        case UInt8(ascii: "l"): return .list
        case UInt8(ascii: "q"): return .quit
        case UInt8(ascii: "h"), UInt8(ascii: "?"): return .help
        case UInt8(ascii: ":"): line = []
        default: break
        }
        return nil
    }

    /// Returns the order that a line gives; `nil` for an empty one.
    static func order(_ line: String) -> Order? {
        let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
        guard let first = words.first.map({ $0.hasPrefix(":") ? String($0.dropFirst()) : $0 }) else { return nil }
        switch (first, words.count) {
        case ("mute", 1): return .mute
        case ("previous", 1): return .previous
        case ("save", 1): return .save(nil)
        case ("save", 2...): return .save(words[1...].joined(separator: " "))
        case ("list", 1): return .list
        case ("set", 3): return .set(words[1], words[2])
        // A name may have spaces in it: "set LowPass 2.cutoff 800".
        case ("set", 4...): return .set(words[1..<words.count - 1].joined(separator: " "), words[words.count - 1])
        case ("status", 1): return .status
        case ("quit", 1): return .quit
        case ("help", 1): return .help
        default: return .unknown(line.count > 60 ? line.prefix(60) + " …" : line)
        }
    }

    private static func draw(_ text: String) { write(text, to: STDERR_FILENO, end: "") }
}

/// Writes a line at once, whatever the C library would like to hold back.
func write(_ text: String, to descriptor: Int32, end: String = "\n") {
    var text = text + end
    text.withUTF8 { bytes in
        var done = 0
        while done < bytes.count {
            let count = unsafe Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
            if count <= 0 { return }
            done += count
        }
    }
}
