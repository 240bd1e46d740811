/// The last page of an Ogg file that is being written, to put its end right (RFC 3533, 6).
struct OggPage {
    private(set) var position: Int64 = 0
    private(set) var bytes: [UInt8] = []

    /// Takes bytes that are written: a page's header, or the rest of the page.
    mutating func take(_ written: UnsafeRawBufferPointer, at position: Int64) {
        if unsafe written.starts(with: [0x4F, 0x67, 0x67, 0x53]) && position != self.position + Int64(bytes.count - 4) {
            self.position = position
            bytes = unsafe Array(written)
        } else if position == self.position + Int64(bytes.count) && bytes.count < 1 << 17 {
            unsafe bytes += written
        }
    }

    /// Returns the page for an end that is that many frames of 48 kHz earlier; `nil` if there is no page.
    func ending(earlier frames: Int64) -> [UInt8]? {
        guard bytes.count >= 27, bytes[5] & 4 != 0 else { return nil }
        let end = bytes[6..<14].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard Int64(truncatingIfNeeded: end) > frames else { return nil }
        var page = bytes
        for index in 0..<8 { page[6 + index] = UInt8(truncatingIfNeeded: (end - UInt64(frames)) >> UInt64(8 * index)) }
        for index in 22..<26 { page[index] = 0 }
        var sum: UInt32 = 0
        for byte in page {
            sum ^= UInt32(byte) << 24
            for _ in 0..<8 { sum = sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04C1_1DB7 : sum << 1 }
        }
        for index in 0..<4 { page[22 + index] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * index)) }
        return page
    }
}
