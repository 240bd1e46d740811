internal import Glibc

/// Runs a closure on a thread of a library that may end its threads at any instruction, as JACK ends its own: such an
/// end waits until the closure is done. In the middle of it, what the closure holds would be held forever.
package func withoutCancellation(_ body: () -> Void) {
    var state: Int32 = 0
    unsafe pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &state)
    body()
    pthread_setcancelstate(state, nil)
}
