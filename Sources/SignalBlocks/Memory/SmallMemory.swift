internal import CRender

/// The memory of small states and tables, side by side in the order in which modules are made.
///
/// Modules that run one after the other then find their memory in lines of the cache that follow one another, which the
/// processor fetches by itself before they are needed. With a place of its own on the heap each of them would lie between
/// names, closures and other things that no render thread reads.
///
/// Pieces are never given back: the next takers get what is free.
package enum SmallMemory {
    /// The longest memory that is small.
    private static var limit: Int { 512 }
    private static var piece: Int { 65_536 }
    private static var line: Int { 64 }
    /// The size of the smallest places, four of which share a line.
    private static var least: Int { 16 }

    @safe private struct Room: @unchecked Sendable {
        // Unchecked because a lock holds it.
        /// The memory of the piece at hand that was never taken.
        var next: UnsafeMutableRawPointer?
        var left = 0
        /// The places that were given back: the smallest ones, then those of one line, of two, and so on.
        var free: [[UnsafeMutableRawPointer]] = unsafe Array(repeating: [], count: 9)
    }

    private static let room = Lock(Room(), .leaf)

    /// Returns whether memory of so many bytes is to come from here. With a sanitizer none is, because each has its own place on
    /// the heap then. AddressSanitizer finds accesses out of bounds only there. ThreadSanitizer does not see Swift count
    /// references, which keeps an old owner's accesses apart from the next one's: only `free` makes it forget the old ones.
    package static func has(_ bytes: Int) -> Bool { bytes <= limit && !crender_has_sanitizer() }

    /// Takes zeroed memory: on a line of its own if it has more than 16 bytes. `nil` if the system has none left.
    package static func take(_ bytes: Int) -> UnsafeMutableRawPointer? {
        let kind = kind(bytes)
        let size = kind == 0 ? least : kind * line
        let place = unsafe room.withLock { room in
            if let place = unsafe room.free[kind].popLast() { return unsafe Optional(place) }
            if kind == 0 {
                // A line becomes four places.
                guard let start = unsafe cut(line, &room) else { return nil }
                for index in (1..<line / least).reversed() { unsafe room.free[0].append(start + index * least) }
                return unsafe start
            }
            return unsafe cut(size, &room)
        }
        if let place = unsafe place { unsafe place.initializeMemory(as: UInt8.self, repeating: 0, count: size) }
        return unsafe place
    }

    /// Gives memory back that was taken with the same number of bytes.
    package static func give(_ memory: UnsafeMutableRawPointer, _ bytes: Int) {
        room.withLock { unsafe $0.free[kind(bytes)].append(memory) }
    }

    private static func kind(_ bytes: Int) -> Int { bytes <= least ? 0 : (bytes + line - 1) / line }

    /// Cuts a place off the piece at hand, or off a new one.
    private static func cut(_ size: Int, _ room: inout Room) -> UnsafeMutableRawPointer? {
        if room.left < size {
            // The rest of the old piece serves those who need less.
            while let rest = unsafe room.next, room.left > 0 {
                let kind = min(room.left / line, limit / line)
                unsafe room.free[kind].append(rest)
                unsafe room.next = rest + kind * line
                room.left -= kind * line
            }
            guard let new = unsafe crender_take_memory(piece) else { return nil }
            unsafe room.next = new
            room.left = piece
        }
        let place = unsafe room.next
        unsafe room.next = place.map { unsafe $0 + size }
        room.left -= size
        return unsafe place
    }
}
