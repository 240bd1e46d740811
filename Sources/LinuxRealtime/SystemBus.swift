internal import Glibc

/// The system's message bus, as far as it takes to ask a service for something: D-Bus over a Unix socket.
///
/// Written from the D-Bus specification, so that no library has to be there. It waits a second at most for an answer.
struct SystemBus: ~Copyable {
    /// The answer of a service.
    enum Reply: Equatable {
        /// The body of the answer.
        case value([UInt8])
        /// The name of the error.
        case error(String)
        /// No answer, or none that can be read.
        case none
    }

    private let descriptor: Int32
    private var serial: UInt32 = 0

    /// Connects and signs in. `nil`: there is no bus.
    ///
    /// - Parameter address: The address, in the form of `DBUS_SYSTEM_BUS_ADDRESS`:
    ///   "unix:path=/run/dbus/system_bus_socket".
    init?(address: String) {
        descriptor = Self.connect(address)
        guard descriptor >= 0, signIn() else { return nil }
        let hello = call(
            "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus", member: "Hello")
        guard case .value = hello else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns a socket that is connected, or -1.
    private static func connect(_ address: String) -> Int32 {
        guard let path = path(address) else { return -1 }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard socket >= 0 else { return -1 }
        var patience = timeval(tv_sec: 1, tv_usec: 0)
        unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8.prefix(107))
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: bytes) }
        // The name of an abstract socket ends with its length and not with a 0.
        let length = 2 + bytes.count + (bytes.first == 0 ? 0 : 1)
        let isConnected = unsafe withUnsafePointer(to: &name) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(socket, $0, socklen_t(length)) == 0
            }
        }
        if isConnected { return socket }
        close(socket)
        return -1
    }

    /// Returns the socket in an address; an abstract one begins with a 0.
    static func path(_ address: String) -> String? {
        for part in address.split(separator: ";") where part.hasPrefix("unix:") {
            for pair in part.dropFirst(5).split(separator: ",") {
                if pair.hasPrefix("path=") { return String(pair.dropFirst(5)) }
                if pair.hasPrefix("abstract=") { return "\0" + pair.dropFirst(9) }
            }
        }
        return nil
    }

    private func signIn() -> Bool {
        // The kernel knows the user; the number is there for form's sake, in hexadecimal digits.
        let user = "\(geteuid())".utf8.map { "3\($0 - 48)" }.joined()
        guard send(Array("\0AUTH EXTERNAL \(user)\r\n".utf8)) else { return false }
        var line: [UInt8] = []
        while line.suffix(2) != [13, 10], line.count < 512, let byte = receive(1) { line += byte }
        return line.starts(with: Array("OK ".utf8)) && send(Array("BEGIN\r\n".utf8))
    }

    /// Calls a method.
    ///
    /// - Parameters:
    ///   - signature: The types of the arguments.
    ///   - body: The arguments.
    mutating func call(
        _ destination: String, path: String, interface: String, member: String, signature: String = "",
        body: BusBytes = BusBytes()
    ) -> Reply {
        serial += 1
        var fields = BusBytes()
        for (code, type, text) in [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination)] {
            fields.align(8)
            fields.bytes += [UInt8(code), 1, type.utf8.first ?? 0, 0]
            fields.add(text)
        }
        if !signature.isEmpty {
            fields.align(8)
            fields.bytes += [8, 1, 103, 0, UInt8(signature.utf8.count)] + signature.utf8 + [0]
        }
        // Little-endian, a method call, no flags, version 1.
        var message = BusBytes()
        message.bytes = [108, 1, 0, 1]
        message.add(UInt32(body.bytes.count))
        message.add(serial)
        message.add(UInt32(fields.bytes.count))
        message.bytes += fields.bytes
        message.align(8)
        message.bytes += body.bytes
        guard send(message.bytes) else { return .none }
        // The bus itself may have something to say before.
        for _ in 0..<16 {
            guard let reply = nextMessage() else { return .none }
            if reply.serial == serial { return reply.content }
        }
        return .none
    }

    /// Returns the next message: the number that it answers, and its content.
    private func nextMessage() -> (serial: UInt32, content: Reply)? {
        guard let head = receive(16), head[0] == 108 else { return nil }
        var reader = BusReader(bytes: head, position: 4)
        guard let bodyCount = reader.uint32(), reader.uint32() != nil, let fieldCount = reader.uint32(),
            bodyCount < 65_536, fieldCount < 65_536
        else { return nil }
        let padded = (Int(fieldCount) + 7) & ~7
        guard let rest = receive(padded + Int(bodyCount)) else { return nil }
        var fields = BusReader(bytes: Array(rest[0..<Int(fieldCount)]), position: 0)
        var (serial, error) = (UInt32(0), "")
        while fields.position < fields.bytes.count {
            fields.align(8)
            guard let code = fields.byte(), let signature = fields.signature() else { break }
            switch signature {
            case "u":
                guard let value = fields.uint32() else { return nil }
                if code == 5 { serial = value }
            case "s", "o":
                guard let value = fields.string() else { return nil }
                if code == 4 { error = value }
            case "g": guard fields.signature() != nil else { return nil }
            default: return nil
            }
        }
        switch head[1] {
        case 2: return (serial, .value(Array(rest[padded...])))
        case 3: return (serial, .error(error))
        default: return (0, .none)
        }
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            done += count
        }
        return true
    }

    private func receive(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = unsafe bytes.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress! + done, count - done, 0)
            }
            if got <= 0 { return nil }
            done += got
        }
        return bytes
    }
}
