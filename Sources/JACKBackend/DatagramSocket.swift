internal import Glibc

/// A UDP socket that talks to one other.
struct DatagramSocket: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Creates a socket to a host and port; `nil` if there is no way to it.
    init?(host: String, port: String) {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, port, &hints, &list) == 0 else { return nil }
        defer { unsafe freeaddrinfo(list) }
        var next = unsafe list
        while let entry = unsafe next {
            let socket = unsafe Glibc.socket(entry.pointee.ai_family, entry.pointee.ai_socktype, 0)
            if socket >= 0 {
                if unsafe connect(socket, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0 {
                    descriptor = socket
                    return
                }
                close(socket)
            }
            unsafe next = entry.pointee.ai_next
        }
        return nil
    }

    deinit { close(descriptor) }

    /// Sends a message. A message that gets lost is not sent again.
    func send(_ bytes: [UInt8]) { _ = unsafe Glibc.send(descriptor, bytes, bytes.count, 0) }

    /// Returns a message that has come, or waits for one at most that many milliseconds.
    func receive(within milliseconds: Int32) -> [UInt8]? {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&request, 1, milliseconds) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        return count >= 0 ? Array(bytes[0..<count]) : nil
    }
}
