import RenderStack
import SOFAFiles
import TestSupport
import Testing

/// The largest second difference of a sound, and where it is.
private func corner(_ sound: [Float], from first: Int = 2) -> (size: Float, place: Int) {
    var (size, place): (Float, Int) = (0, 0)
    for i in max(first, 2)..<sound.count {
        let bend = abs(sound[i] - 2 * sound[i - 1] + sound[i - 2])
        if bend > size { (size, place) = (bend, i) }
    }
    return (size, place)
}

/// Fades that a listener hears: of renderings, of levels, of sources that come, and of fast ones.
@Suite struct FadingTests {
    /// That of a sine of 200 Hz and an amplitude of 0.5.
    private static let bend: Float = 0.5 * 0.000_685_4

    private static func changed(
        from first: SpatialRendering, to second: SpatialRendering, cycle: Int = 333, channels: Int = 1
    ) throws -> [[Float]] {
        let environment = Environment(hrtf: try sparseKemar.get())
        let sine = Oscillator(frequency: 200, level: 0.5)
        let source = SpatialSource(sine, rendering: first, position: SpatialPoint(1, 0, -1))
        source.rollOff.value = 0
        environment.append(source, fadesIn: false)
        let renderer = try renderer(environment)
        try renderer.transaction(at: .sample(2_500)) { source.rendering = second }
        return render(renderer, frames: 6_000, cycles: [cycle])
    }

    @Test("A change between any two renderings makes no step") func changes() throws {
        let all: [SpatialRendering] = [
            .equalPower, .sphericalHead, .hrtf(), .hrtf(taps: 8), .hrtf(taps: 256), .passThrough, .soundField,
        ]
        for first in all {
            for second in all where first != second {
                let sound = try Self.changed(from: first, to: second)
                for channel in sound {
                    let found = corner(channel, from: 2_000)
                    #expect(found.size < 5 * Self.bend, "\(first) to \(second): \(found)")
                }
            }
        }
    }

    @Test("Between a sound field and what passes through the lengths of cycles make no difference") func cycles() throws
    {
        let whole = try Self.changed(from: .soundField, to: .passThrough)
        for cycle in [1, 17, 64, 512] {
            #expect(try Self.changed(from: .soundField, to: .passThrough, cycle: cycle) == whole, "\(cycle)")
        }
    }

    @Test("A changed number of taps fades in 1024 frames") func taps() throws {
        let one = try Self.changed(from: .hrtf(taps: 128), to: .hrtf(taps: 16))
        let same = try Self.changed(from: .hrtf(taps: 128), to: .hrtf(taps: 128))
        let other = try Self.changed(from: .hrtf(taps: 16), to: .hrtf(taps: 16))
        // Half way it is between both, and after 1,100 frames it is the other.
        var (far, near, late): (Float, Float, Float) = (0, 0, 0)
        for i in 2_900..<3_100 {
            far = max(far, abs(same[0][i] - other[0][i]))
            near = max(near, abs(one[0][i] - other[0][i]))
        }
        for i in 3_700..<6_000 { late = max(late, abs(one[0][i] - other[0][i])) }
        #expect(far > 1e-3 && near > 0.25 * far && near < 0.75 * far && late < 1e-5, "\(far), \(near), \(late)")
    }

    @Test("A new roll-off, minimum or model reaches its level in 1024 frames") func levels() throws {
        for change in 0..<3 {
            let environment = Environment(.ambisonics)
            let source = SpatialSource(Constant(1), position: SpatialPoint(0, 0, -4))
            environment.append(source, fadesIn: false)
            let renderer = try renderer(environment)
            _ = render(renderer, frames: 6_400, cycles: [64])
            switch change {
            case 0: source.rollOff.value = 100
            case 1: source.minimumDistance.value = 4
            default: source.distanceModel = .none
            }
            let sound = render(renderer, frames: 2_000, cycles: [64])[0]
            let last = sound[1_999]
            let steepest = zip(sound, sound.dropFirst()).map { abs($1 - $0) }.max() ?? 0
            #expect(abs(sound[0] - 0.25) < 1e-4 && abs(last - 0.25) > 0.2, "\(change)")
            #expect(steepest < 1.2 * abs(last - 0.25) / 1_024, "\(change): \(steepest)")
            #expect(abs(sound[1_152] - last) < 1e-5, "\(change)")
        }
    }

    @Test("A source that already sounds fades in where it is heard", arguments: [3, 30, 100] as [Float])
    func fadeIn(metres: Float) throws {
        let environment = Environment(.ambisonics)
        let renderer = try renderer(environment)
        _ = render(renderer, frames: 480)
        let source = SpatialSource(Constant(1), position: SpatialPoint(0, 0, -metres))
        source.rollOff.value = 0
        environment.append(source)
        let sound = render(renderer, frames: 24_000)[0]
        let steepest = zip(sound, sound.dropFirst()).map { abs($1 - $0) }.max() ?? 0
        #expect(steepest < 0.02 && abs(sound[23_999] - 1) < 1e-4, "\(metres) m: \(steepest)")
    }

    @Test("A source keeps its attack if it is to", arguments: [3, 100] as [Float]) func attack(metres: Float) throws {
        let environment = Environment(.ambisonics)
        let source = SpatialSource(Constant(1), position: SpatialPoint(0, 0, -metres))
        source.rollOff.value = 0
        environment.append(source, fadesIn: false)
        let sound = render(try renderer(environment), frames: 24_000)[0]
        let first = sound.firstIndex { $0 > 0.9 } ?? 0
        #expect(abs(Float(first) - metres / 343 * 48_000 - 8) < 4, "\(first)")
        #expect(abs(sound[first - 12]) < 0.1)
    }

    @Test("A listener who moves hears the beginning of a source", arguments: [-60, -10, 20, 80] as [Float])
    func beginning(speed: Float) throws {
        let environment = Environment(.ambisonics)
        environment.listener.velocity = SpatialPoint(0, 0, -speed)
        let source = SpatialSource(Oscillator(frequency: 200, level: 0.5), position: SpatialPoint(0, 0, -3))
        source.rollOff.value = 0
        let renderer = try renderer(environment)
        _ = render(renderer, frames: 480)
        environment.append(source, fadesIn: false)
        let sound = render(renderer, frames: 800)[0]
        let first = sound.firstIndex { abs($0) > 0.01 } ?? 0
        let found = corner(sound, from: first + 8)
        #expect(first > 0 && found.size < 3 * Self.bend, "\(speed): \(found)")
    }

    @Test(
        "Up to nine tenths of the speed of sound the pitch is Doppler's",
        arguments: [-1_000, -300, 180, 250, 300] as [Double])
    func fast(speed: Double) throws {
        let environment = Environment(.ambisonics)
        let start: Double = speed > 0 ? -3 * speed : -5
        let source = SpatialSource(
            Oscillator(frequency: 500, level: 0.5), position: SpatialPoint(0, 0, Float(start)), range: 10_000)
        source.velocity = SpatialPoint(0, 0, Float(speed))
        source.rollOff.value = 0
        environment.append(source, fadesIn: false)
        let sound = render(try renderer(environment), frames: 142_000)[0]
        let expected = 500 * 343 / (343 - speed)
        var crossings: [Double] = []
        for i in 136_000..<141_000 where sound[i - 1] < 0 && sound[i] >= 0 {
            crossings.append(Double(i) - Double(sound[i]) / Double(sound[i] - sound[i - 1]))
        }
        let span: Double = (crossings.last ?? 0) - (crossings.first ?? 0)
        let found: Double = 48_000 * Double(crossings.count - 1) / max(span, 1)
        #expect(abs(found / expected - 1) < 0.002, "\(speed) m/s: \(found) Hz, not \(expected)")
    }

    @Test("A snapshot of an environment holds the rendering and the model of its sources") func parameters() throws {
        let source = SpatialSource(Constant(1), rendering: .hrtf(taps: 32))
        source.distanceModel = .linear
        let environment = Environment()
        environment.append(source)
        let saved = ParameterSnapshot(environment.parameters)
        source.rendering = .equalPower
        source.distanceModel = .none
        _ = saved.restore(to: environment.parameters)
        #expect(source.rendering == .hrtf(taps: 32) && source.distanceModel == .linear)
    }

    @Test("Together both ears have the power of the source in the bass, with any number of taps")
    func power() throws {
        let head = try sparseKemar.get()
        for direction in [SpatialPoint(0, 0, -1), SpatialPoint(1, 0, 0), SpatialPoint(0, 0, 1)] {
            for frequency in [50.0, 200, 400] {
                for taps in [32, 64, 128, 256] {
                    let environment = Environment(hrtf: head)
                    let sine = Oscillator(frequency: Float(frequency), level: 0.5)
                    environment.append(
                        SpatialSource(sine, rendering: .hrtf(taps: taps), position: direction), fadesIn: false)
                    let sound = render(try renderer(environment), frames: 9_600)
                    let power = sound.reduce(0.0) { sum, channel in
                        let fit = SineFit(channel[4_800...], frequency: frequency / 48_000, from: 4_800)
                        return sum + RenderMath.pow(10, fit.gain(over: 0.5) / 10)
                    }
                    let level = 10 * RenderMath.log2(power) * 0.301_03
                    #expect(abs(level) < (frequency < 400 ? 1.5 : 2.5), "\(direction), \(frequency), \(taps): \(level)")
                }
            }
        }
    }

    @Test("The sentence about a file stays one line, whatever its name is") func names() throws {
        func sentence(_ path: String) -> String {
            do {
                _ = try HRTF(path: path)
                return "none"
            } catch { return "\(error)" }
        }
        let strange = sentence("/none/new\nline \u{1b}[31m\u{2028}.sofa")
        #expect(strange.contains("new\\u{a}line \\u{1b}[31m\\u{2028}.sofa"), "\(strange)")
        #expect(sentence(String(repeating: "long/", count: 2_000)).count < 400)
        #expect(sentence("\(HRTF.kemarPath)\u{0}.sofa").contains("NUL"))
    }
}
