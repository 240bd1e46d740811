public import RenderCore
internal import Synchronization

// The MIDI of a cycle: plain messages on the renderer's side, these or bytes on the driver's.

extension OutputCycle {
    /// Brings a message that has come in, before the cycle is rendered.
    ///
    /// - Parameters:
    ///   - message: The message; a long one in its parts.
    ///   - frame: Its frame, held to those of the cycle.
    ///   - port: The number of the input.
    /// - Returns: `false` if there was no room.
    ///
    /// Threads: any.
    @discardableResult
    public mutating func receive(_ message: MIDIMessage, at frame: Int, on port: Int) -> Bool {
        precondition(unsafe port >= 0 && port < supply.pointee.receivedCount)
        guard unsafe lists[port].add(MIDIEvent(frame: max(0, frame), message)) else {
            news.lostInputs.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        unsafe held[port].note(message)
        return true
    }

    /// Brings a message that has come in as bytes: a whole one, of any length. Bytes that are no message are passed over.
    ///
    /// - Parameters:
    ///   - bytes: The bytes, from the status on.
    ///   - frame: Its frame, held to those of the cycle.
    ///   - port: The number of the input.
    ///
    /// Threads: any.
    public mutating func receive(_ bytes: RawSpan, at frame: Int, on port: Int) {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe MIDIMessage.read(bytes) { receive($0, at: frame, on: port) }
        }
    }

    /// Returns whether an input has room for another message in this cycle: one that may come later too can wait.
    ///
    /// Threads: any.
    public func hasRoom(on port: Int) -> Bool {
        precondition(unsafe port >= 0 && port < supply.pointee.receivedCount)
        return unsafe lists[port].count < Self.messageLimit
    }

    /// Calls `body` with the messages that the cycle has sent, in the order of their frames; long ones in their parts.
    ///
    /// - Parameters:
    ///   - port: The number of the output.
    ///   - body: Gets each message, with its frame from the first of the cycle.
    ///
    /// Threads: any.
    public func forEachEvent(on port: Int, _ body: (MIDIEvent) -> Void) {
        precondition(unsafe port >= 0 && port < supply.pointee.sentCount)
        let list = unsafe supply.pointee.sent.unsafelyUnwrapped + port
        for number in unsafe 0..<list.pointee.count { body(unsafe list.pointee.events[number]) }
    }

    /// Calls `body` with the messages that the cycle has sent, as bytes, each in one piece.
    ///
    /// - Parameters:
    ///   - port: The number of the output.
    ///   - body: Gets the frame and the bytes of each; it returns `false` if the driver has no room for it, which counts as lost.
    ///
    /// Threads: any.
    public func forEachMessage(on port: Int, _ body: (_ frame: Int, _ bytes: RawSpan) -> Bool) {
        forEachEvent(on: port) { event in
            unsafe event.message.withBytes { bytes, count, _ in
                var (bytes, count) = unsafe (bytes, count)
                if case .systemExclusive(let chunk) = event.message {
                    count = append(chunk, port)
                    unsafe bytes = UnsafePointer(messages + port * Self.longestMessage)
                }
                guard count > 0, unsafe !body(event.frame, UnsafeRawBufferPointer(start: bytes, count: count).bytes)
                else {
                    return
                }
                news.lostOutputs.wrappingAdd(1, ordering: .relaxed)
            }
        }
    }

    /// Appends a part of a long message. Returns the length of the whole one, when it was the last; else 0.
    private func append(_ chunk: MIDIChunk, _ port: Int) -> Int {
        let message = unsafe messages + port * Self.longestMessage
        var length = unsafe chunk.isFirst ? 0 : messageLengths[port]
        for index in 0..<max(0, min(16, chunk.count)) {
            if length < Self.longestMessage { unsafe message[length] = chunk.bytes[index] }
            length &+= 1
        }
        unsafe messageLengths[port] = chunk.isLast ? 0 : length
        guard chunk.isLast else { return 0 }
        guard length > Self.longestMessage else { return length }
        news.tooLong.wrappingAdd(1, ordering: .relaxed)
        return 0
    }

    /// Holds what has come in to the frames of the cycle: before it began these were not known.
    func holdReceived() {
        for index in unsafe 0..<supply.pointee.receivedCount {
            var number = unsafe lists[index].count &- 1
            while number >= 0, unsafe lists[index].events[number].frame >= frameCount {
                unsafe lists[index].events[number].frame = max(0, frameCount &- 1)
                number &-= 1
            }
        }
    }

    func forgetReceived() {
        for index in unsafe 0..<supply.pointee.receivedCount { unsafe lists[index].count = 0 }
    }

    /// Forgets what the last cycle has sent, and counts what found no room.
    func forgetSent() {
        for index in unsafe 0..<supply.pointee.sentCount {
            let list = unsafe lists + (supply.pointee.receivedCount &+ index)
            if unsafe list.pointee.lost > 0 {
                unsafe news.lostOutputs.wrappingAdd(list.pointee.lost, ordering: .relaxed)
            }
            unsafe (list.pointee.count, list.pointee.lost) = (0, 0)
        }
    }

    /// Lets go of what sources hold down that are gone. What finds no room comes in the next cycle.
    mutating func endNotes() {
        if endsIn == 0 {
            ending = news.partings.exchange(0, ordering: .relaxed)
            endsIn = ending == 0 ? 0 : patience
        }
        guard endsIn > 0 else { return }
        endsIn &-= 1
        guard endsIn == 0 else { return }
        let now = ending
        ending = 0
        for index in unsafe 0..<supply.pointee.receivedCount where now & MIDINews.bit(index) != 0 {
            guard unsafe !held[index].letGo(into: &lists[index]) else { continue }
            ending |= MIDINews.bit(index)
            endsIn = 1
        }
    }
}

/// Tells the control side what the cycles of an output have lost, and the cycles which sources are gone.
package final class MIDINews: Sendable {
    /// Messages that found no room, of those that came in and of those that were sent.
    let lostInputs = Atomic<Int>(0)
    let lostOutputs = Atomic<Int>(0)
    /// System exclusive messages that were longer than ``OutputCycle/longestMessage``: none of their parts was sent.
    let tooLong = Atomic<Int>(0)
    /// A bit for each input that has lost a source; the last is that of all further ones too.
    let partings = Atomic<UInt64>(0)

    package init() {}

    static func bit(_ port: Int) -> UInt64 { 1 &<< UInt64(min(port, 63)) }

    /// Has the notes of an input end, or those of all. On any thread.
    package func endNotes(on port: Int? = nil) {
        partings.bitwiseOr(port.map { Self.bit($0) } ?? .max, ordering: .relaxed)
    }

    /// Sentences about what was lost since the last call.
    var sentences: [String] {
        let (most, longest) = (OutputCycle.messageLimit, OutputCycle.longestMessage)
        return [
            (lostInputs.exchange(0, ordering: .relaxed), "that came in were lost: a port can take \(most) in a cycle."),
            (
                lostOutputs.exchange(0, ordering: .relaxed),
                "that were sent were lost: a port can take \(most) in a cycle, and a server's own memory for them may hold fewer."
            ),
            (
                tooLong.exchange(0, ordering: .relaxed),
                "were not sent: they are system exclusive ones, and longer than \(longest) bytes."
            ),
        ].filter { $0.0 > 0 }.map { "\($0.0) MIDI messages \($0.1)" }
    }
}
