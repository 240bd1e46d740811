import DiskStreaming
import RenderCore
import TestSupport
import Testing

@testable import AudioFiles

/// The thread that looks after players and recorders, which come and go.
@Suite struct DiskThreadTests {
    /// Something that is served, and that must not end under a lock: its `deinit` may run code of a user.
    private final class Client: DiskClient {
        private let need: DiskNeed
        init(_ need: DiskNeed) { self.need = need }
        deinit { HeldLocks.expectNone(before: "a client of the disk thread ends") }
        func serveDisk() -> DiskNeed { need }
    }

    @Test("A client that ends while the disk thread looks at its list ends under no lock")
    func ending() async {
        // Keeps the thread looking without a pause.
        let restless = Client(.more)
        DiskThread.shared.add(restless)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var living: [Client] = []
                    for round in 0..<100_000 {
                        let client = Client(.none)
                        DiskThread.shared.add(client)
                        if living.count < 8 { living.append(client) } else { living[round % 8] = client }
                    }
                }
            }
        }
        withExtendedLifetime(restless) {}
    }
}
