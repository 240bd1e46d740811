import RenderStack
import TestSupport
import Testing

@testable import Taps

@Suite struct LevelMeterTests {
    static let tolerance: Float = 0.01  // dB

    private func renderer(_ meter: LevelMeter, _ source: some Generator) throws -> Renderer {
        try Renderer(channels: 6, layout: StackLayout(slots: 8, channels: 8, frames: 512)) { context in
            context.run(source)
            context.run(meter)
            context.output()
        }
    }

    private func decibels(_ amplitude: Double) -> Float {
        Float(20 * RenderMath.log2(amplitude) / RenderMath.log2(10))
    }

    @Test("A sine's peak and RMS in true dB, whatever the cycles", arguments: cycleLengths)
    func sine(cycles: [Int]) throws {
        let meter = LevelMeter()
        let renderer = try renderer(meter, Oscillator(frequency: 1000, level: 0.5))
        #expect(meter.combined == LevelMeter.Level.silence)
        _ = render(renderer, frames: 9600, cycles: cycles)
        let level = meter.combined
        #expect(abs(level.peak - decibels(0.5)) < Self.tolerance)
        #expect(abs(level.rms - decibels(0.5 / 2.0.squareRoot())) < Self.tolerance)
        #expect(meter.levels == [level] && meter.level(0) == level)
        #expect(meter.level(1).peak == -.infinity && meter.level(-1).rms == -.infinity)
    }

    @Test("The meter shows the same numbers, bit for bit, at every cycle length", arguments: cycleLengths)
    func invariance(cycles: [Int]) throws {
        func levels(_ cycles: [Int]) throws -> [[LevelMeter.Level]] {
            let meter = LevelMeter(hold: 0.01, window: 0.02)
            let source = Chirp(channels: 3)
            let renderer = try renderer(meter, source)
            return [1000, 5003, 10_000].map { frames in
                _ = render(renderer, frames: frames, cycles: cycles)
                return meter.levels
            }
        }
        #expect(try levels(cycles) == levels([512]))
    }

    @Test("The peak is held, then falls three times a second; RMS is over its window", arguments: cycleLengths)
    func fall(cycles: [Int]) throws {
        let meter = LevelMeter(hold: 0.1)
        let burst = Burst(frames: 4800)
        let renderer = try renderer(meter, burst)
        _ = render(renderer, frames: 4800 + 4096, cycles: cycles)
        #expect(abs(meter.combined.peak - decibels(0.8)) < Self.tolerance)
        #expect(meter.combined.rms < -60)
        _ = render(renderer, frames: 4800 - 4096 + 24_000, cycles: cycles)
        #expect(abs(meter.combined.peak - decibels(0.8 / 3.0.squareRoot())) < 0.05)
        _ = render(renderer, frames: 24_000, cycles: cycles)
        #expect(abs(meter.combined.peak - decibels(0.8 / 3)) < 0.05)
        #expect(meter.combined.rms == -.infinity)
    }

    @Test("With half a window of sound, RMS is that of the half: 3 dB less", arguments: [0.1, 0.0853])
    func window(seconds: Double) throws {
        let meter = LevelMeter(window: seconds)
        // The window is a whole number of cells of 64 frames.
        let cells = (seconds * 48_000 / 64).rounded()
        let silent = (cells / 2).rounded()
        let burst = Burst(frames: 64 * Int(cells) * 2)
        let renderer = try renderer(meter, burst)
        _ = render(renderer, frames: 64 * (Int(cells) * 2 + Int(silent)))
        let expected = decibels(0.8 * ((cells - silent) / cells).squareRoot())
        #expect(abs(meter.combined.rms - expected) < Self.tolerance)
    }

    @Test("Any channel count, each by itself and together", arguments: [1, 2, 6, 8])
    func channels(count: Int) throws {
        let meter = LevelMeter()
        let renderer = try renderer(meter, Steps(channels: count))
        _ = render(renderer, frames: 4800)
        let levels = meter.levels
        #expect(levels.count == count)
        for (channel, level) in levels.enumerated() {
            #expect(abs(level.peak - decibels(1 / Double(channel + 1))) < Self.tolerance)
            #expect(abs(level.rms - level.peak) < Self.tolerance)
        }
        #expect(meter.combined == levels[0])
        // Left and right: mono is both.
        #expect(meter.stereo == (levels[0], levels[count > 1 ? 1 : 0]))
    }

    @Test("A mixing meter measures the sum of what it hears in a slice", arguments: cycleLengths)
    func mixing(cycles: [Int]) throws {
        let (mixing, plain) = (LevelMeter(mixing: true), LevelMeter())
        let (one, two) = (Constant(0.25), Constant(-0.75, channels: 2))
        let renderer = try Renderer { context in
            context.run(one)
            context.run(mixing)
            context.run(plain)
            context.run(two)
            context.run(mixing)
            context.output()
        }
        let output = render(renderer, frames: 9600, cycles: cycles)
        #expect(output[0].allSatisfy { $0 == -0.75 })
        #expect(abs(mixing.level(0).peak - decibels(0.5)) < Self.tolerance)
        #expect(abs(mixing.level(1).rms - decibels(0.75)) < Self.tolerance)
        #expect(abs(plain.level(0).peak - decibels(0.25)) < Self.tolerance)
    }

    @Test("When the audio stops, what is read falls to -infinity within about a second") func stops() throws {
        let meter = LevelMeter()
        let renderer = try renderer(meter, Constant(0.5))
        var block = AudioBlock(channels: 6, frames: 4800)
        let time = HostClock.now
        renderer.render(into: &block, hostTime: time)
        // The sound is over after 100 ms. It is read at other moments: just then, half a second later, long after.
        #expect(meter.combined(at: time + 100_000_000).peak == decibels(0.5))
        let falling = meter.combined(at: time + 600_000_000).peak
        #expect(falling < decibels(0.5) - 1 && falling > -40)
        let silence = meter.combined(at: time + 1_300_000_000)
        #expect(silence.peak == -.infinity && silence.rms == -.infinity)
        // A reader without a time reads now.
        renderer.render(into: &block, hostTime: HostClock.now + 3_600_000_000_000)
        #expect(meter.combined.peak == decibels(0.5))
        renderer.render(into: &block, hostTime: HostClock.now - 1_300_000_000)
        #expect(meter.combined.peak == -.infinity && meter.combined.rms == -.infinity)
    }

    @Test("A lazy meter measures only while control code asks") func lazy() throws {
        let meter = LevelMeter(isLazy: true)
        let renderer = try renderer(meter, Constant(0.5))
        var block = AudioBlock(channels: 6, frames: 480)
        let time = HostClock.now
        renderer.render(into: &block, hostTime: time)
        #expect(meter.combined(at: time).peak == -.infinity)
        // The levels have been read just now.
        renderer.render(into: &block, hostTime: time)
        #expect(meter.combined(at: time).peak > -7)
        // The levels have not been read for a second.
        renderer.render(into: &block, hostTime: time + 2_000_000_000)
        #expect(meter.combined(at: time).peak == -.infinity)
        // A reader without a time reads now.
        #expect(meter.combined.peak == -.infinity)
        renderer.render(into: &block, hostTime: time)
        #expect(meter.combined(at: time).peak > -7)
    }

    @Test("Slices longer than the window, windows shorter than a cell: no division by zero")
    func extremes() throws {
        for window in [0, 1e-5, 0.001] {
            let meter = LevelMeter(hold: 0, window: window)
            let source = Constant(0.5)
            let layout = StackLayout(slots: 4, channels: 2, frames: 16_384)
            let renderer = try Renderer(channels: 1, layout: layout) { context in
                context.run(source)
                context.run(meter)
            }
            _ = render(renderer, frames: 20_000, cycles: [20_000])
            #expect(abs(meter.combined.rms - decibels(0.5)) < Self.tolerance)
        }
    }

    @Test("The meter leaves the sound as it is; a reset begins anew; silence is -infinity") func rest() throws {
        let meter = LevelMeter()
        let source = Chirp(channels: 2)
        let renderer = try renderer(meter, source)
        let alone = try Renderer(channels: 6) { [source = Chirp(channels: 2)] context in
            context.run(source)
            context.output()
        }
        #expect(render(renderer, frames: 2000) == render(alone, frames: 2000))
        try renderer.messages.send { context in context.reset(meter) }
        _ = render(renderer, frames: 0)
        _ = render(renderer, frames: 1)
        #expect(meter.combined.peak <= meter.combined.rms + 0.01)
        let quiet = LevelMeter()
        _ = render(try self.renderer(quiet, Constant(0)), frames: 2000)
        #expect(quiet.combined == LevelMeter.Level.silence)
    }
}

/// 0.8 for so many frames, then silence.
private final class Burst: Generator {
    private let position = RenderState<Int>(0)
    let frames: Int
    init(frames: Int) { self.frames = frames }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let start = position.read(context)
        context.pushUninitialized(channels: 1)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = start &+ i < frames ? 0.8 : 0 }
        let count = context.frameCount
        position.write(start &+ count, context)
    }
}

/// 1, 1/2, 1/3 …, a value per channel.
private final class Steps: Generator {
    let channels: Int
    init(channels: Int) { self.channels = channels }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: channels)
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices { samples[i] = 1 / Float(channel &+ 1) }
        }
    }
}
