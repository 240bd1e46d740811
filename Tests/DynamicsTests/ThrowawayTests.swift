import Foundation
import RenderStack
import TestSupport
import Testing

@Suite struct ThrowawayTests {
    final class Nothing: Effect {
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {}
    }
    func cost(_ name: String, _ module: some Module, channels: Int, below: Bool = false) throws {
        let tone = noise(512)
        let source = Playback(Array(repeating: tone, count: channels))
        let layout = StackLayout(slots: 8, channels: channels, frames: 512)
        func make(_ m: some Module) throws -> Renderer {
            try Renderer(channels: channels, layout: layout) { context in
                if below { context.push(channels: channels) }
                context.push(channels: channels)
                var top = context.top
                for c in 0..<channels { var s = top[c]; for i in s.indices { s[i] = Float(i & 31) * 0.02 - 0.3 } }
                context.run(m)
                if below { context.pop() }
                context.pop()
            }
        }
        func time(_ r: Renderer) -> Double {
            var block = AudioBlock(channels: channels, frames: 512)
            var best = Double.infinity
            for _ in 0..<40 {
                let start = HostClock.now
                for _ in 0..<20 {
                    for k in 0..<8 { r.render(into: &block, from: k * 64, frames: 64, hostTime: 0, isOffline: true) }
                }
                best = min(best, Double(HostClock.now - start) / Double(20 * 512 * channels))
            }
            return best
        }
        let a = try time(make(module))
        let b: Double
        if below { b = try time(make(Compressor(mix: 0, key: .below))) * 0 } else { b = try time(make(Nothing())) }
        print("MEASURE \(name) \(channels) ch: \(a - b) (\(b))")
        _ = source
    }
    @Test func measure() throws {
        try cost("plain", Compressor(), channels: 1)
        try cost("plain", Compressor(), channels: 2)
        try cost("plain", Compressor(), channels: 8)
        try cost("hold", Compressor(hold: 0.01), channels: 1)
        try cost("hold", Compressor(hold: 0.01), channels: 2)
        try cost("unlinked", Compressor(isLinked: false), channels: 2)
        try cost("rms", Compressor(detector: .rms(seconds: 0.01)), channels: 1)
        try cost("rms", Compressor(detector: .rms(seconds: 0.01)), channels: 2)
        try cost("ahead", Compressor(lookAhead: 0.005), channels: 1)
        try cost("ahead", Compressor(lookAhead: 0.005), channels: 2)
        try cost("filtered", Compressor(key: .filtered(highPass: 100, lowPass: 8_000)), channels: 2)
        try cost("gate", Gate(), channels: 2)
        try cost("expander", Expander(), channels: 2)
    }
}
