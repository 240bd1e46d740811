internal import AudioFiles
package import SignalBlocks

/// The responses of a head and its ears to sound from many directions.
///
///     let environment = Environment(hrtf: try .kemar())       // MIT's KEMAR, from Debian
///     environment.hrtf = try HRTF(path: "me.sofa")            // of any head, from a SOFA file
///
/// An environment makes of each pair of responses two filters of minimum phase and the time between the ears, which it finds by
/// the correlation below 2 kHz. It interpolates both, apart from each other, between the three measured directions around that of
/// the source.
///
/// Threads: control.
public struct HRTF: Sendable {
    /// The directions that were measured.
    public var directionCount: Int { measurements.count }
    /// The rate in hertz at which they were measured. A renderer of another rate gets them converted.
    public let sampleRate: Double
    /// The samples of each response.
    public let length: Int

    package let measurements: [HeadTable.Measurement]
    /// The tables of the last rates, for all environments with these responses.
    private let tables = Lock([Table]())

    private struct Table: Sendable {
        let sampleRate: Double
        let box: HeadTableBox
    }

    package init(_ measurements: [HeadTable.Measurement], sampleRate: Double, length: Int) {
        (self.measurements, self.sampleRate, self.length) = (measurements, sampleRate, length)
    }

    /// Returns the responses at a sample rate; `nil` if their directions do not surround the head. The first time takes a part
    /// of a second.
    package func table(sampleRate rate: Double) -> HeadTableBox? {
        func known(_ tables: [Table]) -> HeadTableBox? { tables.first { $0.sampleRate == rate }?.box }
        if let known = tables.withLock({ known($0) }) { return known }
        guard let table = makeTable(sampleRate: rate) else { return nil }
        let made = HeadTableBox(table)
        // It is freed behind the lock, because memory has a lock of its own.
        var oldest: Table?
        defer { withExtendedLifetime(oldest) {} }
        return tables.withLock { tables in
            // Another thread may have made it meanwhile.
            if let known = known(tables) { return known }
            if tables.count == 4 { oldest = tables.removeFirst() }
            tables.append(Table(sampleRate: rate, box: made))
            return made
        }
    }

    private func makeTable(sampleRate rate: Double) -> HeadTable? {
        if rate == sampleRate { return HeadTable(measurements, sampleRate: rate) }
        var converted: [HeadTable.Measurement] = []
        for first in stride(from: 0, to: measurements.count, by: 256) {
            converted += convert(measurements[first..<min(first + 256, measurements.count)], to: rate)
        }
        return HeadTable(converted, sampleRate: rate)
    }

    /// The most samples of a response at another rate: behind so many a head has long fallen silent.
    private static var longestConverted: Int { 8_192 }

    /// Returns responses at another rate.
    private func convert(_ some: ArraySlice<HeadTable.Measurement>, to rate: Double) -> [HeadTable.Measurement] {
        // One behind the other through one converter: whatever it adds in front, both ears get it.
        let (gap, lead) = (256, 64)
        let ratio = rate / sampleRate
        let used = min(length, max(Int(Double(HRTF.longestConverted) / ratio) - 2 * lead, 1))
        let room = used + 2 * gap
        var all = AudioBlock(channels: 2, frames: room * some.count)
        for (index, one) in some.enumerated() {
            for (i, sample) in one.left.prefix(used).enumerated() { all[0, index * room + gap + i] = sample }
            for (i, sample) in one.right.prefix(used).enumerated() { all[1, index * room + gap + i] = sample }
        }
        var converter = SampleRateConverter(from: sampleRate, to: rate, channels: 2)
        let frames = SampleRateConverter.frameCount(of: all.frameCount, from: sampleRate, to: rate)
        var result = AudioBlock(channels: 2, frames: frames)
        var (consumed, produced) = (0, 0)
        while consumed < all.frameCount {
            let (taken, made) = converter.convert(
                all, from: consumed, frames: min(65_536, all.frameCount - consumed), into: &result, at: produced)
            consumed += taken
            produced += made
            if taken == 0 && made == 0 { break }
        }
        _ = converter.finish(into: &result, at: produced)
        let left = result.array(0), right = result.array(1)
        return some.enumerated().map { index, one in
            let first = Int(Double(index * room + gap - lead) * ratio)
            let last = min(first + Int(Double(used + 2 * lead) * ratio) + 1, frames)
            let scale = Float(1 / ratio)
            return HeadTable.Measurement(
                direction: one.direction, left: left[first..<last].map { $0 * scale },
                right: right[first..<last].map { $0 * scale }, delay: one.delay * ratio)
        }
    }
}

/// The reason why responses could not be read: one sentence that says what to do.
///
///     Cannot read "me.sofa": it is not a SOFA file; give one that ends in .sofa and holds responses of a head.
///
/// Threads: control.
public struct HRTFError: Error, Hashable, CustomStringConvertible {
    /// The path of the file, as the program gave it.
    public let path: String
    /// The sentence.
    public let description: String

    package init(_ path: String, _ explanation: String) {
        self.path = path
        description = "Cannot read \"\(path.shown)\": \(explanation)."
    }
}
