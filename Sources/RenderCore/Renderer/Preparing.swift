internal import CRender

/// The module that the calling thread is preparing.
struct Preparing {
    /// Its token, of the preparation that is under way; 0 for none.
    let token: UInt
    /// Indicates whether no loop has had it before: then nothing renders it, and its states can be changed at once.
    let isFirst: Bool
    /// The token of the oldest preparation whose loop may still be rendered.
    let oldest: UInt

    /// Indicates whether an older loop may still be rendering it.
    var isAgain: Bool { token != 0 && !isFirst }

    static var current: Preparing {
        guard let address = unsafe crender_preparing_get() else {
            return Preparing(token: 0, isFirst: false, oldest: 0)
        }
        return unsafe address.assumingMemoryBound(to: Preparing.self).pointee
    }

    /// Runs a closure as the preparation of this module.
    func run(_ body: () -> Void) {
        let outer = unsafe crender_preparing_get()
        unsafe withUnsafePointer(to: self) { address in
            unsafe crender_preparing_set(address)
            body()
        }
        unsafe crender_preparing_set(outer)
    }
}
