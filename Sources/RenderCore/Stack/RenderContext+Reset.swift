// Resetting modules, and those inside of them.

extension RenderContext {
    /// Resets a module: empties delay lines and filters. Its ``Module/members`` are reset after it, each once.
    public mutating func reset<M: Module>(_ module: M) {
        let round = beginReset()
        resetAlone(module)
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        let record = unsafe CycleMemory.find(identity, in: core)
        unsafe resetMembers(of: record, round, level: 0)
    }

    /// Resets a module and none of its members.
    mutating func resetAlone<M: Module>(_ module: M) {
        let identity = unsafe UnsafeRawPointer(Unmanaged.passUnretained(module).toOpaque())
        if unsafe !ask(identity, { context in module.reset(&context) }) {
            unsafe explainRefusal(CycleMemory.find(identity, in: core), 0)
        }
    }

    /// Resets the module at work, and its members: it has made a sample that is no number, and may remember it.
    mutating func resetAtWork() {
        let record = unsafe core.pointee.current
        guard let slot = unsafe core.pointee.details(of: record).pointee.slot else { return }
        let round = beginReset()
        unsafe slot._withUnsafeGuaranteedRef { $0.reset(&self) }
        unsafe resetMembers(of: record, round, level: 0)
    }

    /// Returns the number of a round in which no module is reset twice, however they are inside of one another.
    private func beginReset() -> UInt64 {
        unsafe core.pointee.resetRounds &+= 1
        return unsafe core.pointee.resetRounds
    }

    private mutating func resetMembers(
        of record: UnsafeMutablePointer<ModuleRecord>, _ round: UInt64, level: Int
    ) {
        guard unsafe core.pointee.isModule(record) else { return }
        let details = unsafe core.pointee.details(of: record)
        // A `reset` that resets a member itself has begun a round of its own: its number is higher.
        unsafe details.pointee.resetRound = max(details.pointee.resetRound, round)
        if level >= RenderContext.nestingLimit { return }
        for index in unsafe 0..<details.pointee.members.count {
            let member = unsafe core.pointee.records + Int(details.pointee.members[index])
            let its = unsafe core.pointee.details(of: member)
            guard unsafe its.pointee.resetRound < round, let identity = unsafe its.pointee.identity,
                let slot = unsafe its.pointee.slot
            else { continue }
            _ = unsafe ask(identity) { context in unsafe slot._withUnsafeGuaranteedRef { $0.reset(&context) } }
            unsafe resetMembers(of: member, round, level: level + 1)
        }
    }
}
