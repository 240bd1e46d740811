// A process that makes an array.
import RenderStack

final class Allocating: Effect {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let frames = [context.frameCount]  // expected-error {{Using type 'Int' can cause metadata allocation or locks}}
        context.pop(frames.count)
    }
}
