import CRender
import Glibc
import RenderCore
import TestSupport
import Testing

@testable import LinuxRealtime

@Suite struct PriorityGuardTests {
    @Test(
        "A thread that the guard has put back gets its priority again after good cycles, and it reports each once",
        .needs(.realTime))
    func returns() async {
        await #expect(processExitsWith: .success) {
            await onThread {
                setLimit(RLIMIT_CPU, soft: 20, hard: 20)
                #expect(crender_make_realtime(1, 100_000) == 0)
                let renderer = Renderer()
                let keeper = PriorityGuard()
                keeper.note(load: 0.1, priority: 1)
                #expect(keeper.news(of: renderer).isEmpty)
                while crender_guard_count() == 0 {}
                keeper.note(load: 9, priority: 1)
                #expect(keeper.news(of: renderer).count { $0.contains("has lost its real-time priority") } == 1)
                #expect(keeper.news(of: renderer).isEmpty)
                for _ in 0..<PriorityGuard.goodCycles - 1 { keeper.note(load: 0.1, priority: 1) }
                // A bad cycle begins the count anew.
                keeper.note(load: 0.9, priority: 1)
                for _ in 0..<PriorityGuard.goodCycles - 1 { keeper.note(load: 0.1, priority: 1) }
                #expect(!crender_thread_policy().is_realtime && keeper.news(of: renderer).isEmpty)
                keeper.note(load: 0.1, priority: 1)
                #expect(crender_thread_policy().is_realtime)
                #expect(keeper.news(of: renderer) == ["The render thread has its real-time priority back."])
                #expect(keeper.takePetitioner() == nil)
            }
        }
    }
}
