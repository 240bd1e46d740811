internal import Glibc

/// A door on this machine that one program may come in by, to send bytes.
public struct LoopbackSocket: Sendable {
    private let descriptor: Int32
    /// Its number; 127.0.0.1 is its address.
    public let port: Int

    /// Opens the door.
    ///
    /// - Parameter port: Its number; 0 for any that is free.
    /// - Throws: An error if the socket cannot be opened.
    public init(port: Int) throws(Closed) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(clamping: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, size) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard descriptor >= 0 && isOpen else {
            throw Closed(description: "port \(port) cannot be opened: \(unsafe String(cString: strerror(errno)))")
        }
        self.descriptor = descriptor
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    /// Waits for a visitor, and returns the descriptor that its bytes are read from; `nil` if no visitor can come.
    public func accept() -> Int32? {
        let visitor = Glibc.accept(descriptor, nil, nil)
        return visitor < 0 ? nil : visitor
    }

    /// It cannot be opened.
    public struct Closed: Error, CustomStringConvertible {
        /// One sentence.
        public let description: String
    }
}
