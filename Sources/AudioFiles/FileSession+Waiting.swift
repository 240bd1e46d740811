internal import RenderCore
internal import Synchronization

extension FileSession {
    private final class Flag: Sendable { let isSet = Atomic<Bool>(false) }

    /// Does work on the session's thread, and waits for it, but not for ever: if the task is cancelled while the render loop
    /// does not end, that is an error. Then the thread stays in the loop, and the files keep what was written before.
    ///
    /// Only the work itself holds the session, and it has let go before the caller goes on: files that are not whole leave the
    /// disk with the last reference, and the program may end right after it.
    nonisolated func work<Value: Sendable>(
        _ body: @escaping @Sendable (isolated FileSession) throws -> Value
    ) async throws -> Value {
        if let sentence = stuck.withLock({ $0 }) { throw OutputError(sentence) }
        let (rendered, stuck) = (rendered, stuck)
        let (ends, end) = AsyncStream.makeStream(of: Result<Value, any Error>.self)
        let isOver = Flag()
        let work = Task { try await body(self) }
        Task {
            let result = await work.result
            stuck.withLock { stuck in
                isOver.isSet.store(true, ordering: .relaxed)
                stuck = nil
            }
            end.yield(result)
        }
        // In a task of its own, which is not cancelled.
        let wait = Task {
            for await result in ends { return try result.get() }
            throw CancellationError()
        }
        return try await withTaskCancellationHandler {
            try await wait.value
        } onCancel: {
            work.cancel()
            Task {
                guard let sentence = await Self.endless(rendered, unless: isOver) else { return }
                let isStuck = stuck.withLock { stuck in
                    if isOver.isSet.load(ordering: .relaxed) { return false }
                    stuck = sentence
                    return true
                }
                if isStuck { end.yield(.failure(OutputError(sentence))) }
            }
        }
    }

    /// Waits until work is over, or the render loop has been in one cycle for too long: then it returns a sentence.
    private static func endless(_ rendered: Lock<Renderer>, unless isOver: Flag) async -> String? {
        // Some looks: while the machine has kept the whole process waiting, the cycle could not end.
        var looks = 0
        while !isOver.isSet.load(ordering: .relaxed) {
            try? await Task.sleep(for: .milliseconds(50))
            guard let sentence = rendered.withLock({ $0 }).endlessCycle() else {
                looks = 0
                continue
            }
            looks += 1
            if looks == 5 { return sentence }
        }
        return nil
    }
}
