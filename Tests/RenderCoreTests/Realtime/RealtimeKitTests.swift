import CRender
import Foundation
import Synchronization
import Testing

@testable import LinuxRealtime

/// A message bus with an rtkit on it, in a socket of its own: as much of both as is asked.
private final class Bus: Sendable {
    let address: String
    private let path: String
    private let listener: Int32
    /// The calls, with their arguments.
    let calls = Mutex<[(member: String, body: [UInt8])]>([])

    /// - Parameters:
    ///   - most: The highest priority that it gives; `nil` if it does not know the service.
    ///   - refusal: The error by which it refuses.
    ///   - greets: `true` if it lets callers in.
    init(most: Int32? = 20, refusal: String? = nil, greets: Bool = true) throws {
        path = "/tmp/rs-bus-\(UUID().uuidString)"
        address = "unix:abstract=/none;unix:path=\(path),guid=00"
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let isBound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, listen(listener, 1) == 0 else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [self] in serve(most, refusal, greets) }
    }

    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        unlink(path)
    }

    private func serve(_ most: Int32?, _ refusal: String?, _ greets: Bool) {
        let peer = accept(listener, nil, nil)
        guard peer >= 0 else { return }
        defer { close(peer) }
        func take(_ count: Int) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            var done = 0
            while done < count {
                let got = bytes.withUnsafeMutableBytes { recv(peer, $0.baseAddress! + done, count - done, 0) }
                if got <= 0 { return nil }
                done += got
            }
            return bytes
        }
        func give(_ bytes: [UInt8]) { _ = send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
        var line = ""
        while !line.hasSuffix("\r\n"), let byte = take(1) { line += String(decoding: byte, as: UTF8.self) }
        let user = String(geteuid()).utf8.map { String($0, radix: 16) }.joined()
        guard greets, line == "\0AUTH EXTERNAL \(user)\r\n" else { return give(Array("REJECTED EXTERNAL\r\n".utf8)) }
        give(Array("OK 1234deadbeef\r\n".utf8))
        guard take(7) == Array("BEGIN\r\n".utf8) else { return }
        while let head = take(16) {
            var reader = BusReader(bytes: head, position: 4)
            let bodyCount = Int(reader.uint32()!), serial = reader.uint32()!
            let fieldCount = Int(reader.uint32()!)
            guard let rest = take((fieldCount + 7) / 8 * 8 + bodyCount) else { return }
            var fields = BusReader(bytes: Array(rest[0..<fieldCount]))
            var member = ""
            while fields.position < fieldCount {
                fields.align(8)
                let code = fields.byte()!
                let isSignature = fields.signature() == "g"
                let text = isSignature ? fields.signature()! : fields.string()!
                if code == 3 { member = text }
            }
            let body = Array(rest.suffix(bodyCount))
            calls.withLock { $0.append((member, body)) }
            // A signal comes in between, as from a real bus.
            give(Self.message(4, serial: 0, BusBytes(), signature: ""))
            switch member {
            case "Hello":
                var name = BusBytes()
                name.add(":1.7")
                give(Self.message(2, serial: serial, name, signature: "s"))
            case "Get":
                var arguments = BusReader(bytes: body)
                _ = arguments.string()
                let property = arguments.string()
                var value = BusBytes()
                if let most, property == "MaxRealtimePriority" {
                    value.bytes = [1, 105, 0]
                    value.add(UInt32(bitPattern: most))
                    give(Self.message(2, serial: serial, value, signature: "v"))
                } else if most != nil, property == "RTTimeUSecMax" {
                    // A hundred seconds: the limit stays when the test is over.
                    value.bytes = [1, 120, 0]
                    value.add(UInt64(100_000_000))
                    give(Self.message(2, serial: serial, value, signature: "v"))
                } else {
                    let error = "org.freedesktop.DBus.Error.ServiceUnknown"
                    give(Self.message(3, serial: serial, BusBytes(), signature: "", error: error))
                }
            default:
                give(
                    refusal.map { Self.message(3, serial: serial, BusBytes(), signature: "", error: $0) }
                        ?? Self.message(2, serial: serial, BusBytes(), signature: ""))
            }
        }
    }

    private static func message(
        _ type: UInt8, serial: UInt32, _ body: BusBytes, signature: String, error: String? = nil
    ) -> [UInt8] {
        var fields = BusBytes()
        fields.bytes = [5, 1, 117, 0]
        fields.add(serial)
        if let error {
            fields.align(8)
            fields.bytes += [4, 1, 115, 0]
            fields.add(error)
        }
        if !signature.isEmpty {
            fields.align(8)
            fields.bytes += [8, 1, 103, 0, UInt8(signature.utf8.count)] + signature.utf8 + [0]
        }
        var message = BusBytes()
        message.bytes = [108, type, 1, 1]
        message.add(UInt32(body.bytes.count))
        message.add(UInt32(77))
        message.add(UInt32(fields.bytes.count))
        message.bytes += fields.bytes
        message.align(8)
        return message.bytes + body.bytes
    }
}

@Suite(.serialized) struct RealtimeKitTests {
    @Test("rtkit is asked over the system's bus, for this thread, and for no more than it gives")
    func asks() throws {
        let bus = try Bus()
        defer { bus.end() }
        #expect(RealtimeKit.raise(to: 70, address: bus.address) == .notThere)
        #expect(RealtimeKit.raise(to: 70, address: String(bus.address.split(separator: ";")[1])) == .raised(20))
        let calls = bus.calls.withLock { $0 }
        #expect(calls.map(\.member) == ["Hello", "Get", "Get", "MakeThreadRealtimeWithPID"])
        var arguments = BusReader(bytes: try #require(calls.last).body)
        let (process, number, priority) = (arguments.uint64(), arguments.uint64(), arguments.uint32())
        #expect(process == UInt64(getpid()))
        let thread = try #require(number)
        #expect(FileManager.default.fileExists(atPath: "/proc/self/task/\(thread)"))
        #expect(priority == 20)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(15), &limit)
        #expect(limit.rlim_max <= 100_000_000 && limit.rlim_cur <= limit.rlim_max / 2)
    }

    @Test("No thread is raised if rtkit refuses, is not on the bus, or there is no bus, and a sentence says so")
    func refusals() throws {
        func answer(_ bus: Bus) -> RealtimeKit.Answer {
            defer { bus.end() }
            return RealtimeKit.raise(to: 10, address: String(bus.address.split(separator: ";")[1]))
        }
        let denied = "org.freedesktop.DBus.Error.AccessDenied"
        #expect(try answer(Bus(refusal: denied)) == .refused(denied))
        #expect(try answer(Bus(most: nil)) == .notThere)
        #expect(try answer(Bus(greets: false)) == .notThere)
        #expect(RealtimeKit.raise(to: 10, address: "unix:path=/tmp/rs-no-bus") == .notThere)
        #expect(RealtimeKit.raise(to: 10, address: "tcp:host=here") == .notThere)
        let sentence = RealtimeThread.sentence(refusal: EPERM, answer: .refused("AccessDenied"))
        #expect(try #require(sentence).contains("rtkit: AccessDenied"))
        #expect(try #require(RealtimeThread.sentence(refusal: EPERM, answer: .notThere)).contains("no rtkit"))
        let raised = RealtimeThread.sentence(refusal: EPERM, answer: .raised(20))
        #expect(raised == "rtkit has given a real-time priority of 20.")
    }

    @Test("if memory is locked in part, the sentence says how much of it is, and how much is missing")
    func sentenceOfLocks() {
        var locks = crender_locks()
        (locks.audio_wanted, locks.audio, locks.wanted, locks.locked) = (3 << 20, 3 << 20, 24 << 20, 8 << 20)
        locks.error = ENOMEM
        let all = RealtimeThread.sentence(locks)
        #expect(all.contains("all 3.0 MB of the audio's buffers are locked"))
        #expect(all.contains("16.0 MB of 24.0 MB") && all.contains("memlock"))
        locks.audio = 1_258_291
        #expect(RealtimeThread.sentence(locks).contains("1.2 MB of the audio's 3.0 MB of buffers are locked"))
    }
}
