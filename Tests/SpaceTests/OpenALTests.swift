import RenderStack
import TestSupport
import Testing

/// Compares with the levels and pitches that OpenAL Soft 1.19 gave through its loopback device (mono, 48 kHz, called by Python's
/// ctypes, the pitch by a transform of a second with a parabola through its three highest lines).
@Suite struct OpenALTests {
    /// Levels of a constant with `AL_REFERENCE_DISTANCE` 2, `AL_MAX_DISTANCE` 50 and `AL_ROLLOFF_FACTOR` 0.7, clamped models.
    private static let metres: [Float] = [0.5, 1, 2, 3.5, 7, 30, 50, 200]
    private static let levels: [(model: DistanceModel, levels: [Float])] = [
        (.inverse, [1, 1, 1, 0.65574, 0.36364, 0.09259, 0.05618, 0.05618]),
        (.linear, [1, 1, 1, 0.97812, 0.92708, 0.59167, 0.3, 0.3]),
        (.exponential, [1, 1, 1, 0.67589, 0.41606, 0.15022, 0.10506, 0.10506]),
    ]

    @Test("Distances are heard as OpenAL Soft plays them") func distances() throws {
        for (model, expected) in Self.levels {
            for (metres, level) in zip(Self.metres, expected) {
                let environment = Environment(.ambisonics)
                let source = SpatialSource(Constant(1), position: SpatialPoint(0, 0, -metres))
                source.distanceModel = model
                source.minimumDistance.value = 2
                source.maximumDistance.value = 50
                source.rollOff.value = 0.7
                source.doppler.value = 0
                environment.append(source, fadesIn: false)
                let found = render(try renderer(environment), frames: 960)[0][959]
                #expect(abs(found - level) < 2e-5, "\(model), \(metres) m: \(found), not \(level)")
            }
        }
    }

    /// The speed of a source towards the listener, that of the listener towards the source, `AL_DOPPLER_FACTOR`, and what
    /// becomes of 1 kHz at a speed of sound of 343 m/s.
    private static let pitches: [(source: Float, listener: Float, factor: Float, pitch: Double)] = [
        (-60, 0, 1, 851.074), (-5, 0, 1, 985.596), (10, 0, 1, 1030.029), (40, 0, 1, 1132.08), (100, 0, 1, 1411.621),
        (0, -40, 1, 883.301), (0, 10, 1, 1029.053), (0, 60, 1, 1175.049), (10, 20, 1, 1090.088),
        (20, -10, 0.5, 1015.137), (30, 0, 2, 1211.914),
    ]

    @Test("Pitches are Doppler's as OpenAL Soft plays them, within half a cent") func pitches() throws {
        for (speed, listener, factor, expected) in Self.pitches {
            let environment = Environment(.ambisonics)
            let place = SpatialPoint(0, 0, speed + listener > 0 ? -130 : -3)
            let source = SpatialSource(
                Oscillator(frequency: 1_000, level: 0.5), position: place, range: 300)
            source.distanceModel = .none
            source.velocity = SpatialPoint(0, 0, speed)
            source.doppler.value = factor
            environment.listener.velocity = SpatialPoint(0, 0, -listener)
            environment.append(source, fadesIn: false)
            let sound = render(try renderer(environment), frames: 56_000)[0]
            let first = SineFit(sound[42_000..<46_000], frequency: expected / 48_000, from: 42_000)
            let second = SineFit(sound[52_000..<56_000], frequency: expected / 48_000, from: 52_000)
            let turns = second.turns - first.turns
            let found = expected + (turns - turns.rounded()) / (10_000 / 48_000.0)
            let cents = 1_200 * RenderMath.log2(found / expected)
            #expect(abs(cents) < 0.5, "\(speed), \(listener) m/s, × \(factor): \(found) Hz, \(cents) cents")
        }
    }
}
