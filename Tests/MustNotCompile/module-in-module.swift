// A module that holds another one: calling it counts references.
import RenderStack

final class Chain: Effect {
    let inner = Gain(0.5)
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { inner.process(&context) }  // expected-error {{this code performs reference counting operations which can cause locking}}
}
