import Glibc
import Synchronization
import TestSupport
import Testing

@testable import RenderCore

@Suite struct BytePortTests {
    private final class Box: Sendable {
        let port: BytePort
        init(capacity: Int) { port = BytePort(capacity: capacity) }
    }

    /// What `printf` makes of a number, which rounds exactly.
    private static func printed(_ value: Double, _ decimals: Int) -> String {
        var text = [CChar](repeating: 0, count: 400)
        withVaList([Int32(decimals), value]) { _ = unsafe vsnprintf(&text, text.count, "%.*f", $0) }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func text(upTo room: Int = 256, _ body: (inout BytePort.Draft) -> Void) -> BytePort.Message? {
        let port = BytePort(capacity: 2_048)
        var message: BytePort.Message?
        port.send(upTo: room) { body(&$0) }
        port.drain { message = $0 }
        return message
    }

    /// A module that may neither lock nor allocate, by the compiler's word.
    private final class Logger: Tap {
        let log = BytePort()

        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            let frame = context.sampleTime
            var top = context.top
            let peak = top[0][0]
            log.send { line in
                line.append("Frame ")
                line.append(Int(frame))
                line.append(": ")
                line.append(peak, decimals: 2)
            }
        }
    }

    @Test("A module writes lines of text; nothing is sent in a dry run")
    func lines() throws {
        let logger = Logger()
        let renderer = try Renderer(channels: 1) { context in
            context.push(channels: 1)
            var top = context.top
            top.change { _, _, _ in -0.125 }
            context.run(logger)
        }
        _ = renderer.renderOffline(frames: 192, cycle: 64)
        var lines: [String] = []
        logger.log.drain { lines.append($0.text) }
        #expect(lines == ["Frame 0: -0.12", "Frame 64: -0.12", "Frame 128: -0.12"])
    }

    @Test("Numbers are written as printf writes them, however they round")
    func numbers() {
        var random = SplitMix(state: 44)
        var values: [Double] = [
            0, -0.0, 0.5, 1.5, 2.5, 0.125, 0.375, 0.145, 1.005, 0.9999999999, 9.5, 99.95, 1e14, 999_999_999_999_999.9,
            1e-300, .ulpOfOne,
        ]
        for _ in 0..<20_000 {
            let size = Double.random(in: -12...14.9, using: &random)
            values.append(pow(10, size) * (Bool.random(using: &random) ? 1 : -1))
            // Ties, and their neighbours.
            let tie = (Double.random(in: 0...1e6, using: &random) * 1_000).rounded() / 2_000
            values += [tie, tie.nextUp, tie.nextDown]
        }
        var wrong = 0
        for (index, value) in values.enumerated() {
            let decimals = index % 10
            let message = Self.text { $0.append(value, decimals: decimals) }
            if message?.text != Self.printed(value, decimals) { wrong += 1 }
        }
        #expect(wrong == 0)
        #expect(Self.text { $0.append(Double.nan) }?.text == "nan")
        #expect(Self.text { $0.append(-Float.infinity) }?.text == "-inf")
        #expect(Self.text { $0.append(1.5e15, decimals: 1) }?.text == "1.5e+15")
        #expect(Self.text { $0.append(-9.9999e307, decimals: 2) }?.text == "-1.00e+308")
        #expect(Self.text { $0.append(Double.greatestFiniteMagnitude, decimals: 99) }?.text == "1.797693135e+308")
        #expect(Self.text { $0.append(1.5, decimals: -3) }?.text == "2")
        #expect(Self.text { $0.append(Int.min) }?.text == "\(Int.min)")
        #expect(Self.text { $0.append(Int.max) }?.text == "\(Int.max)")
    }

    @Test("A message that is too long is cut between characters, and says so", arguments: 0...12)
    func cut(room: Int) throws {
        let whole = "aé€😀z"
        let message = try #require(Self.text(upTo: room) { $0.append("aé€😀z") })
        #expect(message.isCut == (room < 11))
        let text = String(decoding: message.bytes, as: UTF8.self)
        #expect(whole.hasPrefix(text) && !text.contains("\u{FFFD}"))
        #expect(message.bytes.count <= room && (room >= 11 || room - message.bytes.count < 4))
        #expect(message.text == text + (room < 11 ? "…" : ""))
    }

    @Test("Numbers and bytes come whole or not at all, and nothing follows what was left out")
    func whole() throws {
        let number = try #require(
            Self.text(upTo: 3) {
                $0.append(1_234)
                $0.append("a")
            })
        #expect(number.bytes.isEmpty && number.isCut)
        let bytes: [UInt8] = [1, 0, 255]
        #expect(Self.text(upTo: 3) { $0.append(bytes.span) }?.bytes == bytes)
        #expect(Self.text(upTo: 2) { $0.append(bytes.span) }?.bytes == [])
        #expect(Self.text { $0.append("\u{20AC}") }?.text == "€")
    }

    @Test("A full port says so, and counts; the longest message is a quarter of it")
    func full() {
        let port = BytePort(capacity: 1_000)
        #expect(port.capacity == 1_024 && port.longestMessage == 256)
        let long = [UInt8](repeating: 7, count: 256)
        let taken = (0..<5).map { _ in port.send(long.span) }
        #expect(taken == [true, true, true, true, false])
        var hasRun = false
        let isSent = port.send { _ in hasRun = true }
        #expect(!isSent && !hasRun && port.lostCount == 2)
        var sizes: [Int] = []
        port.drain { sizes.append($0.bytes.count) }
        #expect(sizes == [256, 256, 256, 256])
        let tooLong = [UInt8](repeating: 7, count: 257)
        let isTaken = port.send(tooLong.span)
        #expect(!isTaken && port.lostCount == 3)
        // Room that was asked for and not used is free again: without that, four lines would fill the port.
        let lines = (0..<17).map { _ in port.send(upTo: .max) { $0.append("short") } }
        #expect(lines == Array(repeating: true, count: 13) + Array(repeating: false, count: 4))
    }

    @Test("Messages of random lengths go round the port many times, as a queue has them")
    func queue() {
        var random = SplitMix(state: 7)
        let port = BytePort(capacity: 4_096)
        var model: [[UInt8]] = []
        var (sent, lost) = (0, 0)
        for _ in 0..<20_000 {
            if Int.random(in: 0..<8, using: &random) == 0 {
                var received: [[UInt8]] = []
                port.drain { received.append($0.bytes) }
                #expect(received == model)
                model = []
            } else {
                let count = Int.random(in: 0...Int.random(in: 0...1_024, using: &random), using: &random)
                let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                let room = count + Int.random(in: 0...300, using: &random)
                if port.send(upTo: room, { $0.append(bytes.span) }) {
                    model.append(bytes)
                    sent += 1
                } else {
                    lost += 1
                }
            }
        }
        #expect(port.lostCount == lost && sent > 5_000)
    }

    @Test("Several senders, each one's messages whole and in its order")
    func senders() {
        let box = Box(capacity: 8_192)
        let (threads, count) = (3, 10_000)
        let ended = Atomic<Int>(0)
        let senders = (0..<threads).map { thread in
            TestThread {
                for number in 0..<count {
                    let length = (number &* 37 &+ thread) % 300
                    while !box.port.send(
                        upTo: 320,
                        { draft in
                            draft.append(byte: UInt8(thread))
                            draft.append(number)
                            draft.append(" ")
                            for _ in 0..<length { draft.append(byte: UInt8(truncatingIfNeeded: number)) }
                        })
                    {
                        sched_yield()
                    }
                }
                ended.wrappingAdd(1, ordering: .releasing)
            }
        }
        var next = [0, 0, 0]
        var wrong = 0
        while true {
            let isOver = ended.load(ordering: .acquiring) == threads
            let received = box.port.drain { message in
                let thread = Int(message.bytes[0])
                let number = next[thread]
                next[thread] += 1
                let expected =
                    Array("\(number) ".utf8)
                    + Array(repeating: UInt8(truncatingIfNeeded: number), count: (number &* 37 &+ thread) % 300)
                if Array(message.bytes.dropFirst()) != expected { wrong += 1 }
            }
            if isOver && received == 0 { break }
        }
        senders.forEach { $0.join() }
        #expect(next == [count, count, count] && wrong == 0)
    }

    @Test("A listener has the messages that waited, and its stream ends with the port")
    func listener() async {
        var box: Box? = Box(capacity: 256)
        let events = box!.port.events
        box!.port.send { $0.append("one") }
        box!.port.send { $0.append("two") }
        box = nil
        var texts: [String] = []
        for await message in events { texts.append("\(message)") }
        #expect(texts == ["one", "two"])
    }

    @Test("Messages of two ports that a closure exchanges arrive at the other one, cut to their room")
    func exchanged() {
        let small = BytePort(capacity: 256)
        let large = BytePort(capacity: 4_096)
        for _ in 0..<100 {
            small.send(upTo: 8) { first in
                large.send(upTo: 1_000) { second in
                    swap(&first, &second)
                    for _ in 0..<900 { first.append(byte: 65) }
                    second.append("b")
                }
            }
            var sizes: [Int] = []
            small.drain { sizes.append($0.bytes.count) }
            large.drain { sizes.append($0.bytes.count) }
            #expect(sizes == [64, 1])
        }
        #expect(small.lostCount == 0 && large.lostCount == 0)
    }
}
