internal import Glibc
internal import RenderCore

/// A UDP socket that talks to one other, which may be at any of several addresses.
///
/// A name can have more addresses than the one that the other listens at: `localhost` is ::1 and 127.0.0.1. To connect a
/// datagram socket asks nobody, so only what becomes of a message shows whether anybody is there. It goes to the first
/// address, and to the next one only after a refusal: one program that listens at both would take a second message for a
/// second client's.
struct DatagramSocket: ~Copyable, Sendable {
    private struct State {
        /// A socket for each address that is left; messages go to the first.
        var descriptors: [Int32]
        /// The messages that the next address has to hear if nobody listens at the first.
        var unheard: [[UInt8]] = []

        /// Sends a message to the first address, or says that nobody listens there.
        func send(_ bytes: [UInt8]) -> Bool {
            unsafe Glibc.send(descriptors[0], bytes, bytes.count, 0) >= 0 || errno != ECONNREFUSED
        }

        /// Goes on to the next address, if there is one.
        mutating func moveOn() {
            while descriptors.count > 1 {
                close(descriptors.removeFirst())
                if unheard.allSatisfy({ send($0) }) { return }
            }
        }
    }
    private let state: Lock<State>

    /// Creates a socket to a port of hosts, which are tried in turn; `nil` if there is no way to any of them.
    init?(hosts: [String], port: String) {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var descriptors: [Int32] = []
        for host in hosts {
            var list: UnsafeMutablePointer<addrinfo>?
            guard unsafe getaddrinfo(host, port, &hints, &list) == 0 else { continue }
            defer { unsafe freeaddrinfo(list) }
            var next = unsafe list
            while let entry = unsafe next {
                let socket = unsafe Glibc.socket(entry.pointee.ai_family, entry.pointee.ai_socktype, 0)
                if socket >= 0 {
                    if unsafe connect(socket, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0 {
                        descriptors.append(socket)
                    } else {
                        close(socket)
                    }
                }
                unsafe next = entry.pointee.ai_next
            }
        }
        guard !descriptors.isEmpty else { return nil }
        state = Lock(State(descriptors: descriptors))
    }

    deinit { state.withLock { for descriptor in $0.descriptors { close(descriptor) } } }

    /// Sends a message. A message that gets lost is not sent again.
    func send(_ bytes: [UInt8]) {
        state.withLock { state in
            // As many as a program sends before it is answered, and no more.
            if state.descriptors.count > 1, state.unheard.count < 16 { state.unheard.append(bytes) }
            if !state.send(bytes) { state.moveOn() }
        }
    }

    /// Returns a message that has come.
    func receive() -> [UInt8]? {
        state.withLock { state in
            var request = pollfd(fd: state.descriptors[0], events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&request, 1, 0) == 1 else { return nil }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = unsafe recv(request.fd, &bytes, bytes.count, 0)
            if count < 0 {
                if errno == ECONNREFUSED { state.moveOn() }
                return nil
            }
            // Whoever answers is the one.
            for descriptor in state.descriptors.dropFirst() { close(descriptor) }
            state = State(descriptors: [request.fd])
            return Array(bytes[0..<count])
        }
    }
}
