import RenderStack
import TestSupport
import Testing

@Suite("Sweeps of distortion")
struct SweepTests {
    @Test("Each parameter, swept under a tone, makes at most 6 dB more above 10 kHz than the worst fixed setting")
    func sweeps() throws {
        for shape in [Distortion.Shape.none, .hardClip] {
            for sweep in try Sweep.all("Distortion, \(shape)", { Distortion(shape) }) {
                #expect(sweep.isClean(), "\(sweep)")
            }
        }
    }
}
