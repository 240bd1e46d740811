/// Another node of a managed value.
@safe final class ManagedChange: Change, @unchecked Sendable {
    // Unchecked because a change has one owner at a time: see ``Change``.
    private let managed: ManagedReference
    private let node: UnsafeMutableRawPointer
    private var isStamped: Bool
    /// The memory that is freed in the end: the node itself until it is shown, then the one that was shown before it.
    private var stale: UnsafeMutableRawPointer

    /// - Parameter isStamped: `true` if the node has its version already.
    init(_ managed: ManagedReference, _ node: UnsafeMutableRawPointer, isStamped: Bool) {
        managed.retain()
        self.managed = managed
        unsafe self.node = node
        unsafe stale = node
        self.isStamped = isStamped
        super.init()
    }

    /// Returns the node that the transaction open on this thread will put in the place of a managed value.
    static func staged(_ managed: ManagedReference) -> UnsafeMutableRawPointer? {
        let newest = unsafe Transaction.current?.newest(of: UInt(bitPattern: managed.cell))
        return unsafe (newest as? ManagedChange)?.node
    }

    override var cell: UInt { unsafe UInt(bitPattern: managed.cell) }

    override func stamp() {
        if isStamped { return }
        unsafe managed.promise(node)
        isStamped = true
    }

    override func show() {
        if !isStamped { unsafe managed.cell.pointee.stamp(node) }
        unsafe stale = managed.cell.pointee.publish(node)
    }

    override func letGo(_ end: End) {
        unsafe managed.forget(node)
        unsafe managed.retire(stale)
        managed.release()
    }
}
