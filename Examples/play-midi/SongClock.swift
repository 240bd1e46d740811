import RenderStack
import Synchronization

/// Tells control code how far the renderer has come. Pushes and pops nothing.
final class SongClock: Module {
    private let milliseconds = Atomic<Int>(0)

    var stackEffect: StackEffect { StackEffect(pops: 0, pushes: 0) }
    /// Seconds of the renderer's clock.
    var seconds: Double { Double(milliseconds.load(ordering: .relaxed)) / 1_000 }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        milliseconds.store(Int(Double(context.sampleTime) * 1_000 / context.sampleRate), ordering: .relaxed)
    }
}
