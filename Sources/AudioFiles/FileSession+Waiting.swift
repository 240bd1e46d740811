internal import RenderCore
internal import Synchronization

extension FileSession {
    private final class Flag: Sendable { let isSet = Atomic<Bool>(false) }

    /// Does work on the session's thread, and waits for it, but not for ever: if the task is cancelled while the render loop
    /// does not end, that is an error. Then the thread stays in the loop, and the files keep what was written before.
    nonisolated func work<Value: Sendable>(
        _ body: @escaping @Sendable (isolated FileSession) throws -> Value
    ) async throws -> Value {
        if let sentence = stuck.withLock({ $0 }) { throw OutputError(sentence) }
        let (ends, end) = AsyncStream.makeStream(of: Result<Value, any Error>.self)
        let isOver = Flag()
        let work = Task {
            let result: Result<Value, any Error>
            do { result = .success(try await body(self)) } catch { result = .failure(error) }
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
                guard let sentence = await endless(unless: isOver) else { return }
                let isStuck = stuck.withLock { stuck in
                    if isOver.isSet.load(ordering: .relaxed) { return false }
                    stuck = sentence
                    return true
                }
                if isStuck { end.yield(.failure(OutputError(sentence))) }
            }
        }
    }

    /// Waits until work is over, or the render loop has been in one cycle for two seconds: then it returns a sentence.
    private nonisolated func endless(unless isOver: Flag) async -> String? {
        // Some looks: while the machine has kept the whole process waiting, the cycle could not end.
        var looks = 0
        while !isOver.isSet.load(ordering: .relaxed) {
            try? await Task.sleep(for: .milliseconds(50))
            guard let sentence = renderer.endlessCycle(after: 2_000_000_000) else {
                looks = 0
                continue
            }
            looks += 1
            if looks == 5 { return sentence }
        }
        return nil
    }
}
