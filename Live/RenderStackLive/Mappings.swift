/// The number of pieces of memory that a process has mapped: each library of a loop takes some, and the kernel allows only so many.
package struct Mappings {
    let count, limit: Int

    /// Creates a count, beside the number that the kernel allows.
    package init(count: Int, limit: Int) {
        self.count = count
        self.limit = limit
    }

    /// A sentence when the end is near.
    package var warning: String? {
        if count < limit / 5 * 4 { return nil }
        return "This session has mapped \(count) pieces of memory of the \(limit) that the kernel allows a process: "
            + "save your version and start again soon, or raise the limit (sysctl vm.max_map_count)."
    }
}
