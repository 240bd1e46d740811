// The place where bytes become messages, and messages bytes: every port, plug-in and file uses it.
extension MIDIMessage {
    /// Calls `body` with what bytes say: a message, or one for each 16 bytes of a system exclusive one; nothing if they are none.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of one message, its status byte first.
    ///   - body: The closure that gets the messages, in order.
    package static func read(_ bytes: UnsafeRawBufferPointer, _ body: (MIDIMessage) -> Void) {
        let count = bytes.count
        if count == 0 { return }
        if unsafe bytes[0] == 0xF0 { return unsafe readExclusive(bytes, body) }
        let (first, second) = unsafe (count > 1 ? bytes[1] : 0, count > 2 ? bytes[2] : 0)
        if let message = unsafe MIDIMessage(status: bytes[0], first, second) { body(message) }
    }

    /// Calls `body` with the parts of a system exclusive message.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - isPart: `true` if they may be any part of a message: then 0xF0 and 0xF7 say where one begins and ends.
    ///   - body: The closure that gets the parts, in order.
    package static func readExclusive(
        _ bytes: UnsafeRawBufferPointer, isPart: Bool = false, _ body: (MIDIMessage) -> Void
    ) {
        var first = 0
        while first < bytes.count {
            let count = min(16, bytes.count - first)
            var chunk = SIMD16<UInt8>(repeating: 0)
            for index in 0..<count { unsafe chunk[index] = bytes[first + index] }
            let isFirst = first == 0 && (!isPart || chunk[0] == 0xF0)
            let isLast = first + count == bytes.count && (!isPart || chunk[count - 1] == 0xF7)
            body(.systemExclusive(MIDIChunk(bytes: chunk, count: count, isFirst: isFirst, isLast: isLast)))
            first += count
        }
    }

    /// Calls `body` with the bytes of the message, or of the part of one, their number, and `true` if the message ends with them.
    package func withBytes(_ body: (UnsafePointer<UInt8>, Int, Bool) -> Void) {
        let (used, status, first, second) = bytes
        var (count, ends, all) = (used, true, SIMD16<UInt8>(repeating: 0))
        (all[0], all[1], all[2]) = (status, first, second)
        if case .systemExclusive(let chunk) = self {
            (count, ends, all) = (max(0, min(16, chunk.count)), chunk.isLast, chunk.bytes)
        }
        // Bytes: debug builds would put another type together at the first call, under a lock.
        unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { memory in
            guard let start = memory.baseAddress else { return }
            let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
            for index in 0..<count { unsafe bytes[index] = all[index] }
            unsafe body(bytes, count, ends)
        }
    }
}
