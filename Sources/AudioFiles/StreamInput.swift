internal import Glibc
internal import RenderCore

/// The bytes of a stream as a decoder sees them: it reads them in order, and may go back a little, as far as they are kept.
///
/// A stream can hold several sounds, one behind the other, as internet radio in Ogg does. A decoder sees one of them: for it
/// the first byte is 0, and the stream ends where the next one begins.
@safe final class StreamInput {
    private let source: AudioBytes
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 8)
    /// The bytes that are kept, and the place of the first of them in the stream.
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0
    /// The byte at which the sound begins, and the one that is read next.
    private var start: Int64 = 0
    private var place: Int64 = 0
    /// Finds the end of a sound in Ogg.
    private var pages: OggPages?
    private var isAtEnd = false
    /// The reason why the stream ended where it did; none at its own end.
    private(set) var failure: AudioFileError?
    /// `true` to wait until there is as much as the decoder has asked for; else it waits for one byte.
    var isPatient = true
    /// Calls of the decoder since it came any further.
    private var idleCalls = 0
    /// Indicates whether it went to a place behind the samples.
    private var isBehindSamples = false
    private var farthest: Int64 = 0

    /// Bytes behind the reader that are kept.
    private static var kept: Int { 1 << 18 }
    /// A decoder that goes further ahead than this looks for the end.
    private static var longestSkip: Int64 { 1 << 24 }

    init(_ source: AudioBytes) { self.source = source }

    deinit { unsafe room.deallocate() }

    var name: String { source.name }

    /// Indicates whether the sound has no byte left.
    var isExhausted: Bool { (isAtEnd || pages?.isOver == true) && place >= windowStart + Int64(limit) }

    /// The byte of the sound that is read next.
    var position: Int64 { place - start }

    /// Returns up to so many bytes from the next one on, and waits for them; fewer at the end.
    func peek(_ count: Int) -> ArraySlice<UInt8> {
        _ = isThere(place + Int64(count))
        let first = min(window.count, Int(place - windowStart))
        return window[first..<max(first, min(limit, first + count))]
    }

    /// Reads bytes of the sound.
    ///
    /// - Returns: The number of bytes; 0 at the end.
    func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        if unsafe isInCircles() || room.isEmpty || isBehindSamples { return 0 }
        var done = 0
        while done < room.count && (done == 0 || isPatient), isThere(place + 1) {
            let first = Int(place - windowStart)
            let count = min(room.count - done, limit - first)
            unsafe UnsafeMutableRawBufferPointer(rebasing: room[done..<done + count])
                .copyBytes(from: window[first..<first + count])
            done += count
            place += Int64(count)
        }
        forget()
        return done
    }

    /// Goes to a byte of the sound. Ahead it waits for the bytes when they are read, but not for those behind the samples,
    /// where the library looks for texts: there the stream seems to end.
    ///
    /// - Returns: The byte, or -1 if it cannot go there.
    func seek(by offset: Int64, from origin: Int32) -> Int64 {
        if isInCircles() || origin == SEEK_END { return -1 }
        let (target, overflow) = (origin == SEEK_CUR ? place : start).addingReportingOverflow(offset)
        if overflow || target < windowStart || target < start || target > place + StreamInput.longestSkip { return -1 }
        isBehindSamples = target > windowStart + Int64(window.count) && isAtSamples
        place = target
        return position
    }

    /// Indicates whether the header of the samples lies before the byte that is read next: `data` in WAV and CAF, `SSND` in
    /// AIFF.
    private var isAtSamples: Bool {
        let first = max(0, min(window.count, Int(place - windowStart)))
        let before = Array(window[max(0, first - 28)..<first])
        return [Array("data".utf8), Array("SSND".utf8)].contains { name in
            before.indices.contains { before[$0...].starts(with: name) }
        }
    }

    /// Passes over bytes before the sound, which begins behind them.
    func skip(_ count: Int) {
        var left = count
        while left > 0 {
            let step = min(left, 16_384)
            if !isThere(place + Int64(step)) { left = step }
            place = min(place + Int64(step), windowStart + Int64(limit))
            forget()
            left -= step
        }
        (start, farthest) = (place, place)
    }

    /// Goes on with the sound that follows the one that has ended.
    ///
    /// - Returns: Whether there is one.
    func beginNext() -> Bool {
        guard pages != nil else { return false }
        while pages?.isOver == false, isThere(windowStart + Int64(limit) + 1) {
            place = windowStart + Int64(limit)
            forget()
        }
        guard pages?.isOver == true else { return false }
        place = windowStart + Int64(limit)
        start = place
        farthest = place
        beginPages()
        return true
    }

    /// Reads the sound as one in Ogg, which ends where another begins.
    func expectPages() { if pages == nil { beginPages() } }

    private func beginPages() {
        pages = OggPages(from: place)
        pages?.advance(&window, from: windowStart, isAtEnd: isAtEnd)
    }

    // MARK: The window

    /// The bytes of the window that belong to the sound, as far as is known.
    private var limit: Int { pages.map { Int($0.known - windowStart) } ?? window.count }

    /// Waits until a byte has come, and all before it. `false` at the end.
    private func isThere(_ end: Int64) -> Bool {
        while windowStart + Int64(limit) < end {
            if pages?.isOver == true { return false }
            if !more() { return false }
        }
        return true
    }

    private func more() -> Bool {
        if isAtEnd { return false }
        var count = 0
        do throws(AudioFileError) { count = try unsafe source.read(into: room) } catch { failure = error }
        unsafe window.append(contentsOf: room[..<count])
        isAtEnd = count == 0
        pages?.advance(&window, from: windowStart, isAtEnd: isAtEnd)
        return count > 0
    }

    /// Drops bytes that the reader has left behind.
    private func forget() {
        let passed = min(Int(place - windowStart) - StreamInput.kept, limit)
        guard passed > StreamInput.kept else { return }
        window.removeFirst(passed)
        windowStart += Int64(passed)
    }

    /// Counts a call of the decoder.
    private func isInCircles() -> Bool {
        if place > farthest { (farthest, idleCalls) = (place, 0) }
        idleCalls += 1
        return isLost
    }

    /// Indicates whether the decoder goes in circles, or asks for bytes behind the last again and again.
    var isLost: Bool { idleCalls > (isExhausted ? 1_000 : 100_000) }
}

/// The pages of a sound in Ogg (RFC 3533, 6), to find where the next sound of a chain begins.
struct OggPages {
    /// The byte up to which the pages are known.
    private(set) var known: Int64
    /// Indicates whether the next page begins another sound.
    private(set) var isOver = false
    /// Indicates whether there was a page behind those with which the sound begins.
    private var hasBegun = false

    init(from byte: Int64) { known = byte }

    /// Looks at the pages that are there as a whole, and takes out what is none.
    mutating func advance(_ bytes: inout [UInt8], from start: Int64, isAtEnd: Bool) {
        while !isOver {
            let first = Int(known - start)
            let left = bytes.count - first
            if left < 27 { return isAtEnd ? known += Int64(left) : () }
            let next = OggPages.first(in: bytes, from: first)
            if next > first {
                bytes.removeSubrange(first..<next)
                continue
            }
            let segments = Int(bytes[first + 26])
            if left < 27 + segments { return isAtEnd ? known += Int64(left) : () }
            let length = bytes[first + 27..<first + 27 + segments].reduce(27 + segments) { $0 + Int($1) }
            if left < length { return isAtEnd ? known += Int64(left) : () }
            let isFirst = bytes[first + 5] & 2 != 0
            if isFirst && hasBegun {
                isOver = true
                return
            }
            hasBegun = hasBegun || !isFirst
            known += Int64(length)
        }
    }

    /// Returns where the next page begins, or may.
    private static func first(in bytes: [UInt8], from first: Int) -> Int {
        var place = first
        while place + 4 <= bytes.count {
            if bytes[place] == 0x4F && bytes[place + 1] == 0x67 && bytes[place + 2] == 0x67 && bytes[place + 3] == 0x53
            {
                break
            }
            place += 1
        }
        return place
    }
}
