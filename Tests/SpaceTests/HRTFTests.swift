import Foundation
import RenderStack
import SOFAFiles
import SignalBlocks
import TestSupport
import Testing

@testable import Space

/// The levels of a response in dB from 2 kHz, where they stay as they are, to 16 kHz, by a transform of 1024 samples.
private func spectrum(_ response: [Float], _ rate: Double) -> [Double] {
    var fft = RealFFT(size: 1_024)
    var re = [Float](repeating: 0, count: 513), im = [Float](repeating: 0, count: 513)
    let short = Array(response.prefix(1_024))
    var reSpan = re.mutableSpan
    var imSpan = im.mutableSpan
    fft.forward(Samples(short.span), real: &reSpan, imaginary: &imSpan)
    return (0...512).compactMap { k in
        let frequency = Double(k) * rate / 1_024
        if frequency < 2_000 || frequency > 16_000 { return nil }
        return 10 * log10(Double(re[k] * re[k] + im[k] * im[k]) + 1e-18)
    }
}

/// The root of the mean square of the difference of levels, without that of the means.
private func distance(_ a: [Float], _ b: [Float], _ rate: Double, by offset: Double) -> Double {
    let (one, two) = (spectrum(a, rate), spectrum(b, rate))
    let sum = zip(one, two).reduce(0.0) { $0 + ($1.0 - $1.1 - offset) * ($1.0 - $1.1 - offset) }
    return (sum / Double(one.count)).squareRoot()
}

private func made(_ table: consuming HeadTable?) throws -> HeadTableBox {
    guard let table else { throw HRTFError("test", "no table") }
    return HeadTableBox(table)
}

/// Returns the answer of a table to a direction: both filters of 64 taps and the delay.
private func answer(
    _ table: HeadTableBox.Reference, _ direction: SIMD3<Double>, taps: Int = 64
) -> ([Float], [Float], Double) {
    let place = table.place(x: Float(direction.x), y: Float(direction.y), z: Float(direction.z))
    var filters = EarFilters()
    filters.aim(table, place, share: 1, taps: taps, isBegun: false)
    return (filters.response(ear: 0), filters.response(ear: 1), Double(table.delay(place)))
}

/// The errors of a table against full responses: the mean and the worst of the time between the ears in microseconds, and the
/// mean of the spectra in dB.
private func errors(
    _ table: HeadTableBox.Reference, _ measurements: [HeadTable.Measurement], _ rate: Double
) -> (mean: Double, worst: Double, spectrum: Double) {
    var (times, spectra): ([Double], [Double]) = ([], [])
    let longest = measurements.map(\.left.count).max() ?? 1
    var workplace = MinimumPhase(length: longest, sampleRate: rate)
    // One level for all: the table's is scaled to the mean power of all directions.
    let power = measurements.reduce(0.0) { sum, one in
        let (left, right, _) = answer(table, one.direction)
        let made = spectrum(left, rate) + spectrum(right, rate)
        let real = spectrum(one.left, rate) + spectrum(one.right, rate)
        return sum + zip(made, real).reduce(0.0) { $0 + $1.0 - $1.1 } / Double(made.count)
    }
    let offset = power / Double(measurements.count)
    for one in measurements {
        let (left, right, delay) = answer(table, one.direction)
        let made = delay + workplace.delay(left: left, right: right)
        times.append(abs(made - workplace.delay(left: one.left, right: one.right)) / rate * 1e6)
        spectra += [distance(left, one.left, rate, by: offset), distance(right, one.right, rate, by: offset)]
    }
    let count = Double(measurements.count)
    return (
        times.reduce(0, +) / count, times.max() ?? 0, spectra.reduce(0, +) / (2 * count)
    )
}

@Suite struct HRTFTests {
    /// Time differences of the file's full responses in µs, by numpy with h5py as the reader: the maximum of the
    /// cross-correlation of what is below 2 kHz under half a cosine, 8 times finer, through a parabola.
    private static let times: [(azimuth: Double, elevation: Double, time: Double)] = [
        (30, 0, 290.4), (60, 0, 602.2), (90, 0, 704.4), (135, 0, 401.8), (180, 0, 0), (270, 0, -704.4),
        (24, -30, 205.8), (72, -30, 548.1), (60, 20, 559.1), (110, 20, 636.3), (210, 30, -265.8), (90, 60, 336.4),
        (45, 40, 341),
    ]

    @Test("Another reader finds the same times between the ears in the file", .ofAllDirections) func times() throws {
        let head = try kemar.get()
        #expect(head.directionCount == 710 && head.sampleRate == 44_100 && head.length == 512)
        var workplace = MinimumPhase(length: 512, sampleRate: 44_100)
        for (azimuth, elevation, time) in Self.times {
            let (a, e) = (azimuth * .pi / 180, elevation * .pi / 180)
            let direction = SIMD3(-cos(e) * sin(a), sin(e), -cos(e) * cos(a))
            let nearest = head.measurements.max { ($0.direction * direction).sum() < ($1.direction * direction).sum() }
            let one = try #require(nearest)
            let found = workplace.delay(left: one.left, right: one.right) / 44_100 * 1e6
            #expect(abs(found - time) < 1.5, "\(azimuth), \(elevation): \(found) µs")
        }
    }

    @Test("Another reader finds the same samples and directions in the file") func samples() throws {
        let head = try HRTF.kemar()
        // Each number has a weight of its own, so that none may stand in the place of another.
        func weight(_ index: Int) -> Double { Double(index * 7_919 % 1_001) / 1_001 }
        var (sum, power, directions) = (0.0, 0.0, 0.0)
        for (index, one) in head.measurements.enumerated() {
            for (place, sample) in (one.left + one.right).enumerated() {
                sum += Double(sample) * weight(index * 1_024 + place)
                power += Double(sample) * Double(sample)
            }
            for axis in 0..<3 { directions += one.direction[axis] * weight(3 * index + axis) }
        }
        // By h5py and numpy.
        #expect(abs(sum - 2.662_972_6) < 1e-4 && abs(power - 1_430.385_611) < 1e-3, "\(sum), \(power)")
        #expect(abs(directions - 46.765_730_4) < 1e-4, "\(directions)")
    }

    @Test("With 64 taps measured directions keep their time and their spectrum", .ofAllDirections) func measured()
        throws
    {
        let head = try kemar.get()
        let table = try #require(head.table(sampleRate: 44_100))
        let found = errors(table.reference, head.measurements, 44_100)
        #expect(found.mean < 10 && found.worst < 30 && found.spectrum < 1.3, "\(found)")
    }

    @Test("Directions that are left out are found between the others", .ofAllDirections) func leftOut() throws {
        let head = try kemar.get()
        // Every fourth, but not in the lowest ring, whose neighbours are missing too.
        let left = head.measurements.indices.filter { $0 % 4 == 1 && head.measurements[$0].direction.y > -0.6 }
        let rest = head.measurements.enumerated().filter { !left.contains($0.offset) }.map(\.element)
        let table = try made(HeadTable(rest, sampleRate: 44_100))
        let found = errors(table.reference, left.map { head.measurements[$0] }, 44_100)
        #expect(found.mean < 10 && found.worst < 30 && found.spectrum < 1.7, "\(found)")
    }

    @Test("At another rate the time stays the same", .ofAllDirections, arguments: [48_000.0, 22_050]) func rates(
        rate: Double
    )
        throws
    {
        let head = try kemar.get()
        let here = try #require(head.table(sampleRate: 44_100))
        let there = try #require(head.table(sampleRate: rate))
        var workplace = MinimumPhase(length: 256, sampleRate: 44_100)
        var other = MinimumPhase(length: 256, sampleRate: rate)
        for one in head.measurements where one.direction.y == 0 || one.direction.x > 0.5 {
            let place = one.direction
            let (left, right, delay) = answer(here.reference, place, taps: 256)
            let (otherLeft, otherRight, otherDelay) = answer(there.reference, place, taps: 256)
            let before = (delay + workplace.delay(left: left, right: right)) / 44_100
            let after = (otherDelay + other.delay(left: otherLeft, right: otherRight)) / rate
            #expect(abs(before - after) < 10e-6, "\(place): \((before - after) * 1e6) µs")
        }
    }

    @Test(
        "Long responses of a low rate are brought to a high one, and their time stays the same",
        .ofAllDirections, arguments: [8_000.0, 44_100])
    func long(rate: Double) throws {
        // A click, in the right ear 3 frames later; the longest responses that a file may have.
        func response(_ place: Int) -> [Float] { (0..<16_384).map { $0 == place ? 1 : 0 } }
        let directions: [SIMD3<Double>] = [
            SIMD3(1, 0, 0), SIMD3(-1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, -1, 0), SIMD3(0, 0, 1), SIMD3(0, 0, -1),
        ]
        let measurements = directions.map {
            HeadTable.Measurement(direction: $0, left: response(20), right: response(23))
        }
        let head = HRTF(measurements, sampleRate: rate, length: 16_384)
        for other in [rate, 48_000, 192_000] {
            let table = try #require(head.table(sampleRate: other))
            let time = answer(table.reference, SIMD3(1, 0, 0)).2 / other
            #expect(abs(time - 3 / rate) < 10e-6, "\(rate) at \(other): \(time * 1e6) µs")
        }
    }

    @Test("A source to the left is heard first and louder on the left, in an environment") func environment() throws {
        for rendering in [SpatialRendering.hrtf(), .sphericalHead] {
            let environment = Environment(hrtf: try kemar.get())
            var click = [Float](repeating: 0, count: 1_000)
            click[100] = 1
            let source = SpatialSource(Playback([click]), rendering: rendering, position: SpatialPoint(-1, 0, 0))
            source.doppler.value = 0
            environment.append(source, fadesIn: false)
            let sound = render(try renderer(environment, sampleRate: 44_100), frames: 1_000)
            var workplace = MinimumPhase(length: 1_000, sampleRate: 44_100)
            let time = workplace.delay(left: sound[0], right: sound[1]) / 44_100 * 1e6
            #expect(time > 600 && time < 900, "\(rendering): \(time) µs")
            let (left, right) = (power(sound[0]), power(sound[1]))
            #expect(left > 4 * right, "\(rendering)")
            #expect(sound[0].firstIndex { abs($0) > 0.05 }.map { $0 >= 107 && $0 < 112 } == true, "\(rendering)")
        }
    }

    @Test("The filters last as long at each rate", arguments: [(24_000.0, 32), (44_100, 64), (96_000, 128)])
    func lengths(rate: Double, taps: Int) throws {
        let environment = Environment(hrtf: try sparseKemar.get())
        var click = [Float](repeating: 0, count: 1_000)
        click[100] = 1
        let source = SpatialSource(Playback([click]), rendering: .hrtf(taps: 64), position: SpatialPoint(0, 0, -1))
        source.doppler.value = 0
        environment.append(source, fadesIn: false)
        let sound = render(try renderer(environment, sampleRate: rate), frames: 1_000)[0]
        let last = try #require(sound.lastIndex { $0 != 0 })
        // 8 frames late; the samples between which a delay of 8 frames is found are beside the filter's end.
        #expect(last >= 108 + taps - 8 && last < 108 + taps + 8, "\(last - 107) taps at \(rate) Hz")
    }

    @Test("Responses that are silent, or without directions, are told apart") func silence() {
        let directions: [SIMD3<Double>] = [
            SIMD3(1, 0, 0), SIMD3(-1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, -1, 0), SIMD3(0, 0, 1), SIMD3(0, 0, -1),
        ]
        func fault(left: Float, right: Float, count: Int = 6) -> String? {
            HRTF.fault(
                of: directions.prefix(count).map {
                    HeadTable.Measurement(direction: $0, left: [left, 0], right: [right, 0])
                })
        }
        #expect(fault(left: 1, right: 0) == nil && fault(left: 0, right: 1) == nil)
        #expect(fault(left: 1e-6, right: 0) == nil)
        for level in [0, 1e-30, 100 * Float.leastNonzeroMagnitude] {
            #expect(fault(left: level, right: level)?.contains("silent") == true, "\(level)")
        }
        #expect(fault(left: 0, right: 0, count: 0)?.contains("surround") == true)
        #expect(fault(left: 1, right: 1, count: 1)?.contains("surround") == true)
    }

    @Test("A file that is no SOFA file, is damaged, empty or not there gives a sentence") func badFiles() throws {
        let folder = try TemporaryFolder()
        func sentence(_ bytes: [UInt8]?, _ name: String = "ears.sofa") throws -> String {
            let path = folder.path + "/" + name
            if let bytes { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
            do {
                _ = try HRTF(path: path)
                return "none"
            } catch { return "\(error)" }
        }
        #expect(try sentence(nil, "missing.sofa").contains("No such file"))
        #expect(try sentence([]).contains("empty"))
        #expect(try sentence(Array("RIFF….".utf8)).contains("not a SOFA file"))
        #expect(throws: HRTFError.self) { try HRTF(path: folder.path) }
        #expect(throws: HRTFError.self) { try HRTF(path: "/dev/zero") }
        let good = try [UInt8](Data(contentsOf: URL(fileURLWithPath: HRTF.kemarPath)))
        for length in [8, 100, 1_000, good.count / 2, good.count - 1] {
            let found = try sentence(Array(good[..<length]))
            #expect(found.hasPrefix("Cannot read"), "\(length): \(found)")
        }
        // A file of another kind: its name is said.
        for kind in ["SimpleFreeFieldHRTF", "SingleRoomDRIR", "MultiSpeakerBRIR"] {
            let name = Array("SimpleFreeFieldHRIR".utf8)
            var other = good
            let place = try #require(other.indices.first { other[$0...].starts(with: name) })
            for i in name.indices { other[place + i] = i < kind.utf8.count ? Array(kind.utf8)[i] : 0 }
            #expect(try sentence(other).contains("of another kind (\(kind))"))
        }
        // Bytes that are wrong: a sentence or responses, and never a trap.
        var random = SplitMix(state: 3)
        for _ in 0..<20 {
            // At 200 places, most of them in the file's own tables.
            var bytes = good
            for _ in 0..<10 {
                let place = Int(random.next() % UInt64(random.next() % 4 == 0 ? good.count : 4_000))
                bytes[place] = UInt8(truncatingIfNeeded: random.next())
            }
            let found = try sentence(bytes)
            #expect(found == "none" || found.hasPrefix("Cannot read"))
        }
    }
}

private func power(_ samples: [Float]) -> Float { samples.reduce(0) { $0 + $1 * $1 } }
