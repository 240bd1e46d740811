// A process that calls the C library's mathematics, of which the compiler knows nothing.
import Glibc
import RenderStack

final class Shaper: Effect {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.gain(tanhf(2))  // expected-error {{called function is not available in this module and can have unpredictable performance}}
    }
}
