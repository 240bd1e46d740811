internal import CRender

/// The module that the calling thread is preparing.
struct Preparing {
    /// Its token, of the preparation that is under way; 0 for none.
    let token: UInt
    /// Indicates whether no loop has had it before: then nothing renders it, and its states can be changed at once.
    let isFirst: Bool

    /// Indicates whether an older loop may still be rendering it.
    var isAgain: Bool { token != 0 && !isFirst }

    private static var firstBit: UInt64 { 1 << 63 }

    static var current: Preparing {
        let word = crender_preparing_get()
        return Preparing(token: UInt(word & ~firstBit), isFirst: word & firstBit != 0)
    }

    /// Runs a closure as the preparation of this module.
    func run(_ body: () -> Void) {
        let outer = crender_preparing_get()
        crender_preparing_set(UInt64(token) | (isFirst ? Preparing.firstBit : 0))
        body()
        crender_preparing_set(outer)
    }
}
