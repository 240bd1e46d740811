import RenderStack

/// The symmetrical clipper: straight to a third, a parabola to two thirds, flat above: see `symmetric-clipper`. What it
/// adds folds back where it does not belong, unless `Oversampled` runs it at several times the sample rate.
///
/// 1 in, 1 out.
final class Clipper: Effect {
    /// The amplitude factor before the clipping.
    let drive = Parameter(1, in: 0...100)
    /// The amplitude factor behind it.
    let level = Parameter(0.5, in: 0...1)

    var parameters: [ParameterReference] { [drive.named("drive"), level.named("level")] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let (drive, level) = (drive.glide(context), level.glide(context))
        var top = context.top
        top.change { sample, frame, channel in level[frame] * symmetricallyClipped(drive[frame] * sample) }
    }
}

@_noLocks @_noAllocation
private func symmetricallyClipped(_ x: Float) -> Float {
    let size = abs(x)
    if size < 1 / 3 { return 2 * x }
    let bend = size < 2 / 3 ? 2 - 3 * size : 0
    let clipped = 1 - bend * bend / 3
    return x < 0 ? -clipped : clipped
}

/// The largest factor that there is up to a number: 1, 2, 4, 8 or 16.
func factor(upTo number: Int) -> Int { [16, 8, 4, 2].first { $0 <= number } ?? 1 }
