// Prints the static curves of compressor, expander and gate, as the modules render them: for scripts/tools/draw-curves.

import RenderStack

/// Prints a line: panel, name, and pairs of the level that goes in and the one that comes out, in decibels.
func show(_ panel: String, _ name: String, _ make: () -> some Module) throws {
    var line = "\(panel)\t\(name)"
    for step in 0...368 {
        let level = -80 + Float(step) / 4
        let amplitude = RenderMath.amplitude(decibels: level)
        let module = make()
        let renderer = try Renderer(sampleRate: 48_000, channels: 1) { context in
            var samples = context.pushMono()
            for i in samples.indices { samples[i] = amplitude }
            context.run(module)
            context.output()
        }
        // A second: then the gain rests.
        let sound = renderer.renderOffline(frames: 48_000)
        line += "\t\(level) \(RenderMath.decibels(amplitude: sound[0, 47_999]))"
    }
    print(line)
}

func compressor(_ ratio: Float, knee: Float) -> Compressor {
    Compressor(threshold: -24, ratio: ratio, knee: knee, attack: 0.001, release: 0.001)
}
func expander(_ ratio: Float, knee: Float, range: Float) -> Expander {
    Expander(threshold: -40, ratio: ratio, knee: knee, range: range, attack: 0.001, release: 0.001)
}

let first = "Compressor, threshold -24 dB", second = "Expander and gate, threshold -40 dB"
try show(first, "2 : 1, knee 0") { compressor(2, knee: 0) }
try show(first, "4 : 1, knee 0") { compressor(4, knee: 0) }
try show(first, "4 : 1, knee 24") { compressor(4, knee: 24) }
try show(first, "100 : 1, knee 6") { compressor(100, knee: 6) }
try show(second, "1 : 2, knee 0") { expander(2, knee: 0, range: 120) }
try show(second, "1 : 2, knee 20") { expander(2, knee: 20, range: 120) }
try show(second, "1 : 4, range 20") { expander(4, knee: 0, range: 20) }
try show(second, "gate, range 30") { Gate(threshold: -40, range: 30, attack: 0.001, release: 0.001, hold: 0) }
