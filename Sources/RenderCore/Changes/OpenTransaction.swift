/// The transaction that is open on this thread, for modules whose control side keeps more than managed values.
package enum OpenTransaction {
    /// Indicates whether there is one.
    package static var exists: Bool { Transaction.isOpen }

    /// Runs a closure as if there were none: for changes that no caller has asked for, and that are not taken back with it.
    package static func suspended<Result>(_ body: () -> Result) -> Result { Transaction.suspended(body) }
}
