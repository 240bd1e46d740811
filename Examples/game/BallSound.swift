import RenderStack

/// The sound of a ball: it hums while it flies, the faster the louder, and knocks at walls. Pushes one buffer.
final class BallSound: Sendable {
    let source: SpatialSource
    private let hum: Oscillator
    private let knocks: SamplePlayer
    private let knock: SamplePlayer.Sample

    /// - Parameters:
    ///   - number: The number of the ball, which decides its pitch.
    ///   - rendering: The way in which it gets its direction.
    init(number: Int, rendering: SpatialRendering) {
        // Five notes to the octave, so that any balls go together.
        let notes = [0.0, 3, 5, 7, 10, 12, 15, 17]
        let pitch = 220 * RenderMath.exp2(notes[number % notes.count] / 12)
        let hum = Oscillator(.saw, frequency: Float(pitch), level: 0)
        let knocks = SamplePlayer(voices: 4, channels: 1, name: "knocks")
        self.hum = hum
        self.knocks = knocks
        knock = knocks.load(Self.knock(pitch: 2 * pitch))
        let both = Mixer(channels: 1, name: "ball \(number)")
        both.append(hum)
        both.append(knocks)
        source = SpatialSource(both, rendering: rendering)
        source.minimumDistance.value = 2
        source.send.value = 0.4
        source.airAbsorption.value = 1
    }

    /// Hums as loud as a speed in metres per second makes it.
    func fly(speed: Double) { hum.level.value = Float(0.01 * min(speed, 12)) }

    /// Knocks at a wall.
    func hit(speed: Double) { knocks.play(knock, gain: Float(min(speed / 12, 1))) }

    /// A knock of 0.3 s: two tones, and a little noise at its beginning.
    private static func knock(pitch: Double) -> Sound {
        let rate = 48_000.0
        var block = AudioBlock(channels: 1, frames: 14_400)
        var chance: UInt32 = 7
        for frame in 0..<block.frameCount {
            chance = chance &* 1_664_525 &+ 1_013_904_223
            let time = Double(frame) / rate
            let noise = Double(Int32(bitPattern: chance)) * 0x1p-31 * RenderMath.exp(-time / 0.004)
            let low = RenderMath.sin(2 * .pi * pitch * time) * RenderMath.exp(-time / 0.06)
            let high = RenderMath.sin(2 * .pi * 2.76 * pitch * time) * RenderMath.exp(-time / 0.02)
            let rise = min(1, time / 0.0005)
            block[0, frame] = Float(rise * (0.3 * noise + 0.5 * low + 0.25 * high))
        }
        return Sound(block, sampleRate: rate)
    }
}
