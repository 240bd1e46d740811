/// Which devices come and go: those of the first look are known.
package struct DeviceNews {
    private var known: Set<String>?

    package init() {}

    /// Notes the names of the devices that there are, and returns the events of those that have come or gone since the last look.
    package mutating func note(_ names: Set<String>) -> [OutputEvent] {
        defer { known = names }
        guard let known else { return [] }
        return known.subtracting(names).sorted().map { .deviceGone($0) }
            + names.subtracting(known).sorted().map { .deviceCame($0) }
    }
}
