import Foundation
import RenderStack

/// One source around a listener, as scripts/checks/space wants to hear it: a line of `name=value` words, of which `name` is a must.
struct Scene {
    let name: String
    private let numbers: [String: Float]
    private let words: [String: String]

    init(_ line: Substring) {
        words = [:].merging(
            line.split(separator: " ").compactMap { word in
                let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }, uniquingKeysWith: { $1 })
        numbers = words.compactMapValues { Float($0) }
        guard let name = words["name"] else { stop("a scene has no name: \(line)") }
        self.name = name
    }

    private func number(_ key: String, _ other: Float = 0) -> Float { numbers[key] ?? other }
    private func point(_ key: String) -> SpatialPoint {
        SpatialPoint(number(key + "x"), number(key + "y"), number(key + "z"))
    }

    /// Renders it: `frames` of two channels.
    func render(_ heads: Heads) throws -> [[Float]] {
        let rate = Double(number("rate", 48_000))
        let rendering: SpatialRendering = number("taps") > 0 ? .hrtf(taps: Int(number("taps"))) : .equalPower
        let environment = Environment(hrtf: words["head"] == "fourth" ? heads.withoutFourths : heads.all)
        let generator: any Module =
            words["signal"] == "click"
            ? Click() : Oscillator(frequency: 1_000, level: 0.5)
        let source = SpatialSource(generator, rendering: rendering, position: point(""), range: 400)
        source.velocity = point("v")
        source.distanceModel = [.inverse, .linear, .exponential, .none][Int(number("model", 3))]
        source.minimumDistance.value = number("minimum", 1)
        source.maximumDistance.value = number("maximum", 1e6)
        source.rollOff.value = number("rollOff", 1)
        source.doppler.value = number("doppler", 1)
        environment.speedOfSound.value = number("speedOfSound", 343)
        environment.listener.velocity = point("listenerV")
        environment.append(source, fadesIn: false)
        let renderer = try Renderer(sampleRate: rate) { context in
            context.run(environment)
            context.output()
        }
        let heard = renderer.renderOffline(frames: Int(number("frames", 1_024)), cycle: 480)
        if renderer.faultCount > 0 { stop("\(name): \(renderer.faultCount) faults") }
        return [heard.array(0), heard.array(1)]
    }

    /// KEMAR with all directions, and without every fourth but for the lowest.
    struct Heads {
        let all: HRTF
        let withoutFourths: HRTF

        init() throws {
            all = try .kemar()
            let rest = all.measurements.enumerated().filter { $0.offset % 4 != 1 || $0.element.direction.y <= -0.6 }
            withoutFourths = HRTF(rest.map(\.element), sampleRate: all.sampleRate, length: all.length)
        }
    }
}

/// A single sample of 1 at frame 100.
private final class Click: Generator {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        let place = 100 &- context.sampleTime
        var top = context.top
        var samples = top[0]
        if place >= 0 && place < Int64(samples.count) { samples[Int(place)] = 1 }
    }
}
