// A process that prints.
import RenderStack

final class Printing: Tap {
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        print(1)  // expected-error {{Using type 'Any' can cause metadata allocation or locks}}
    }
}
