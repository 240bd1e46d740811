import Dispatch
import Foundation
import RenderStack
import Synchronization
import TestSupport
import Testing

/// Modules whose last reference is the one of a mixer or a list: their `deinit` may wait for another thread that asks the
/// same mixer or list, since no lock is held while it runs.
@Suite struct LastReferenceTests {
    @Test("A mixer with many sources holds no lock while it frees one")
    func mixer() async throws {
        let mixer = Mixer(channels: 1)
        let resident = mixer.append(Still())
        for _ in 0..<800 { mixer.append(Still(), fadesIn: false) }
        let renderer = try Renderer(channels: 1) { context in
            context.run(mixer)
            context.output()
        }
        let freed = Atomic<Int>(0)
        let held = Atomic<Int>(0)
        for turn in 0..<60 {
            let source = mixer.append(
                Asking { [weak mixer] in
                    let mixer = mixer
                    if !isDone(within: 30, { mixer?.insert(resident, at: 0) }) { held.add(1, ordering: .relaxed) }
                    freed.add(1, ordering: .relaxed)
                }, fadesIn: false)
            if turn % 2 == 0 { _ = renderer.renderOffline(frames: 64) }
            mixer.remove(source)
            _ = renderer.renderOffline(frames: 512, cycle: 256)
            if held.load(ordering: .relaxed) > 0 { break }
        }
        mixer.remove(resident)
        #expect(await becomesTrue { freed.load(ordering: .relaxed) >= 59 || held.load(ordering: .relaxed) > 0 })
        #expect(held.load(ordering: .relaxed) == 0)
    }

    @Test("A transaction that throws frees what it has added, with no lock held")
    func thrown() async throws {
        struct Stop: Error {}
        let (mixer, list) = (Mixer(channels: 1), ModuleList(mixing: 1))
        let renderer = try Renderer(channels: 1) { context in
            context.run(mixer)
            context.run(list)
            context.mix(2)
            context.output()
        }
        let freed = Atomic<Int>(0)
        let held = Atomic<Int>(0)
        for turn in 0..<40 {
            try? renderer.transaction {
                mixer.append(
                    Asking {
                        if !isDone(within: 30, { mixer.append(Still()) }) { held.add(1, ordering: .relaxed) }
                        freed.add(1, ordering: .relaxed)
                    })
                list.append(
                    Asking {
                        if !isDone(within: 30, { list.append(Still()) }) { held.add(1, ordering: .relaxed) }
                        freed.add(1, ordering: .relaxed)
                    })
                throw Stop()
            }
            if turn % 2 == 0 { _ = renderer.renderOffline(frames: 64) }
            if held.load(ordering: .relaxed) > 0 { break }
        }
        #expect(
            await becomesTrue {
                _ = renderer.renderOffline(frames: 64)
                return freed.load(ordering: .relaxed) >= 40
            })
        #expect(held.load(ordering: .relaxed) == 0)
    }
}

/// Returns whether another thread comes back from a closure.
private func isDone(within seconds: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
    let end = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body()
        end.signal()
    }
    return end.wait(timeout: .now() + .seconds(seconds)) == .success
}

/// A source that is never heard.
private final class Still: Generator {
    func isActive(_ context: borrowing RenderContext) -> Bool { false }
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.push(channels: 1) }
}

/// A source that does something when it is freed.
private final class Asking: Generator {
    private let act: @Sendable () -> Void
    init(_ act: @escaping @Sendable () -> Void) { self.act = act }
    deinit { act() }
    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.push(channels: 1) }
}
