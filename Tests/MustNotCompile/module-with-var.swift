// A module with a mutable field: control code and the render thread could touch it at once.
import RenderStack

final class Counter: Tap {
    var count = 0  // expected-error {{stored property 'count' of 'Sendable'-conforming class 'Counter' is mutable}}
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { count += 1 }
}
