import Glibc
import RenderStack
import Synchronization
import TestSupport
import Testing

@testable import JACKBackend

/// A session manager that speaks with one program: written against the protocol's description, not against our client.
final class SessionManager {
    private let socket: Int32
    private(set) var port: UInt16 = 0
    private var client = sockaddr_in()

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(socket) }

    /// Bytes as OSC has them: `,` and kinds, text padded with zeros to fours.
    private func text(_ string: String) -> [UInt8] {
        Array(string.utf8) + [UInt8](repeating: 0, count: 4 - string.utf8.count % 4)
    }

    func send(_ address: String, _ strings: [String] = []) {
        let bytes = text(address) + text("," + strings.map { _ in "s" }.joined()) + strings.flatMap { text($0) }
        withUnsafePointer(to: &client) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(socket, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// The next message as it came, without its zeros: `/reply ,ss /nsm/client/open OK`.
    func receive() -> String {
        var request = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&request, 1, 10_000) == 1 else { return "nothing came" }
        var bytes = [UInt8](repeating: 0, count: 4096)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &client) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(socket, &bytes, 4096, 0, $0, &length) }
        }
        guard count % 4 == 0 else { return "\(count) bytes" }
        return bytes[0..<max(0, count)].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            .joined(separator: " ")
    }
}

@Suite struct NSMSessionTests {
    @Test("A session is announced, opened, saved and told of trouble, as the protocol has it")
    func session() async throws {
        let manager = try SessionManager()
        let box = Calls()
        let made = NSMSession(
            name: "Synth", url: "osc.udp://127.0.0.1:\(manager.port)/",
            open: { place in
                box.add("open \(place.path) \(place.sessionName) \(place.clientName)")
                return nil
            },
            save: { place in
                box.add("save \(place.path)")
                return box.all.count > 2 ? "The disk is full." : nil
            })
        let session = try #require(made)
        let announced = manager.receive()
        #expect(announced.hasPrefix("/nsm/server/announce ,sssiii Synth :dirty:switch: "))
        manager.send("/nsm/client/save")
        #expect(manager.receive().contains("/error ,sis /nsm/client/save"))
        manager.send("/reply", ["/nsm/server/announce", "hello", "Test Manager", ":server_control:"])
        manager.send("/nsm/client/open", ["/tmp/session/Synth.nXYZ", "My Song", "Synth.nXYZ"])
        #expect(manager.receive() == "/reply ,ss /nsm/client/open OK")
        #expect(session.managerName == "Test Manager")
        let place = try #require(session.place)
        #expect(place.path == "/tmp/session/Synth.nXYZ")
        #expect(place.sessionName == "My Song" && place.clientName == "Synth.nXYZ")
        #expect(!session.isLoaded)
        manager.send("/nsm/client/session_is_loaded")
        #expect(await becomesTrue { session.isLoaded })
        session.setDirty(true)
        #expect(manager.receive() == "/nsm/client/is_dirty ,")
        manager.send("/nsm/client/save")
        #expect(manager.receive() == "/reply ,ss /nsm/client/save OK")
        session.setDirty(false)
        #expect(manager.receive() == "/nsm/client/is_clean ,")
        manager.send("/nsm/client/save")
        #expect(manager.receive().contains("The disk is full."))
        #expect(
            box.all == [
                "open /tmp/session/Synth.nXYZ My Song Synth.nXYZ", "save /tmp/session/Synth.nXYZ",
                "save /tmp/session/Synth.nXYZ",
            ])
    }

    final class Calls: Sendable {
        private let calls = Mutex<[String]>([])
        func add(_ call: String) { calls.withLock { $0.append(call) } }
        var all: [String] { calls.withLock { $0 } }
    }

    @Test("A manager is found where nobody listens at the first addresses of its host")
    func addresses() async throws {
        let manager = try SessionManager()
        let session = NSMSession(
            name: "S", hosts: ["::1", "127.0.0.2", "127.0.0.1", "127.0.0.3"], port: "\(manager.port)",
            open: { _ in nil },
            save: { _ in nil })
        try #require(session != nil)
        session?.setDirty(true)
        #expect(manager.receive().hasPrefix("/nsm/server/announce ,sssiii S "))
        #expect(manager.receive() == "/nsm/client/is_dirty ,")
        manager.send("/reply", ["/nsm/server/announce", "hello", "Test Manager", ":server_control:"])
        #expect(await becomesTrue { session?.managerName == "Test Manager" })
        // The address that has answered stays, and what is sent twice there would be two clients.
        session?.setDirty(false)
        #expect(manager.receive() == "/nsm/client/is_clean ,")
    }

    @Test("A session whose manager is at no address, or gone, stays without one")
    func nobody() async throws {
        var manager: SessionManager? = try SessionManager()
        let port = "\(manager?.port ?? 0)"
        manager = nil
        let made = NSMSession(
            name: "S", hosts: ["127.0.0.1", "127.0.0.2"], port: port, open: { _ in nil }, save: { _ in nil })
        let session = try #require(made)
        for number in 0..<100 {
            session.setDirty(number % 2 == 0)
            usleep(1_000)
        }
        #expect(session.managerName == nil && session.place == nil)
    }

    @Test("A session ignores messages that are not its own, or cut short")
    func nonsense() async throws {
        let manager = try SessionManager()
        let box = Calls()
        let session = NSMSession(
            name: "S", url: "osc.udp://localhost:\(manager.port)",
            open: { _ in
                box.add("open")
                return nil
            }, save: { _ in nil })
        try #require(session != nil)
        _ = manager.receive()
        for address in ["", "x", "/", "/nsm/client/open", "/nsm/client/unknown"] { manager.send(address) }
        manager.send("/nsm/client/open", ["only one"])
        manager.send("/nsm/client/open", ["a", "b", "c"])
        #expect(manager.receive() == "/reply ,ss /nsm/client/open OK")
        #expect(box.all == ["open"])
        _ = session
    }

    @Test("A place that was refused is not saved to: the one before stays")
    func refused() throws {
        let manager = try SessionManager()
        let box = Calls()
        let session = NSMSession(
            name: "S", url: "osc.udp://localhost:\(manager.port)",
            open: { $0.path == "/bad" ? "There is no room." : nil },
            save: { place in
                box.add(place.path)
                return nil
            })
        try #require(session != nil)
        _ = manager.receive()
        manager.send("/nsm/client/open", ["/bad", "b", "c"])
        #expect(manager.receive().contains("There is no room."))
        #expect(session?.place == nil)
        manager.send("/nsm/client/save")
        #expect(manager.receive().contains("No session has been opened."))
        manager.send("/nsm/client/open", ["/good", "b", "c"])
        #expect(manager.receive() == "/reply ,ss /nsm/client/open OK")
        manager.send("/nsm/client/open", ["/bad", "b", "c"])
        #expect(manager.receive().contains("There is no room."))
        manager.send("/nsm/client/save")
        #expect(manager.receive() == "/reply ,ss /nsm/client/save OK")
        #expect(box.all == ["/good"])
    }

    @Test("Without a manager there is no session")
    func none() {
        for url in ["", "osc.tcp://localhost:1/", "osc.udp://localhost/", "osc.udp://:12/", "osc.udp://h:70000/"] {
            #expect(NSMSession(name: "S", url: url, open: { _ in nil }, save: { _ in nil }) == nil)
        }
    }
}
