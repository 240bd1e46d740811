internal import RealtimeWatch
internal import RenderCore

// This part judges whether the module allocates on the render thread.

extension ModuleContract {
    func allocation(_ subject: ContractSubject, _ watch: AllocationWatch) throws -> [String] {
        let run = try ModuleRun(self)
        let parameters = run.module.parameters
        let first = parameters.map(\.value)
        var block = AudioBlock(channels: channels, frames: 64)
        let cycles = 200
        var calls: Int? = 0
        // In the first cycles a debug build looks up what it needs once, and the renderer fills what it keeps.
        for cycle in -100..<cycles {
            // Every parameter is on its way now and then.
            if cycle % 20 == 0 {
                for (parameter, first) in zip(parameters, first) where !parametersLeftOut.contains(parameter.name) {
                    parameter.value = cycle % 40 == 0 ? first : ParameterMove.all(parameter, from: first).last ?? first
                }
            }
            if cycle < 0 {
                run.renderer.render(into: &block, hostTime: 0)
            } else {
                let found = watch.calls { run.renderer.render(into: &block, hostTime: 0) }
                calls = found.flatMap { found in calls.map { $0 + found } }
            }
        }
        guard let calls else {
            return [
                "The contract cannot see whether \(subject.name) allocates on the render thread: a sanitizer keeps the counter "
                    + "out, and the watchdog does not run. Run the tests under rtwatch, or leave `.allocation` out."
            ]
        }
        if calls == 0 { return [] }
        return [
            "\(subject.name) allocates on the render thread: \(calls) calls of the allocator, frees among them, in \(cycles) "
                + "cycles."
        ]
    }
}
