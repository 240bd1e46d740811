/// Objects that are looked after for as long as they exist, without being kept.
///
/// Its owner holds a lock while it looks. No object may end under that lock, since its `deinit` may run code of a user: so
/// the references that were found outlive the search for those that are gone.
package struct WeakList<Object>: Sendable {
    private var all: [ObjectIdentifier: @Sendable () -> Object?] = [:]

    package init() {}

    /// Adds an object, once.
    ///
    /// - Parameters:
    ///   - identity: The object's.
    ///   - find: Gives the object while it exists, and does not keep it.
    package mutating func add(_ identity: ObjectIdentifier, _ find: @escaping @Sendable () -> Object?) {
        all[identity] = find
    }

    /// The objects that still exist. The others are forgotten.
    package var living: [Object] {
        mutating get {
            let living = all.values.compactMap { $0() }
            if living.count < all.count { all = all.filter { $0.value() != nil } }
            // They are kept until the others are forgotten.
            return withExtendedLifetime(living) { living }
        }
    }
}
