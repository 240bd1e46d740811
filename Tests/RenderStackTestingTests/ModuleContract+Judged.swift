import RenderStackTesting

extension ModuleContract {
    /// Returns the violations. Under a sanitizer, which keeps the counter of allocations out, it leaves that part out.
    func judged() -> [String] {
        ContractPart.allocation.isPossible
            ? violations() : leavingOut(.allocation, because: "a sanitizer keeps the counter out").violations()
    }
}
