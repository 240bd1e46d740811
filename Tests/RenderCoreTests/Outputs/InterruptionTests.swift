import Glibc
import Testing

@testable import RenderCore

/// Signals belong to the process: one test at a time.
@Suite(.serialized) struct InterruptionTests {
    private func output() throws -> ClockOutput {
        ClockOutput(try Renderer(channels: 1) { _ in }, period: 64, priority: 0)
    }

    /// Whether Ctrl-C would end the program again.
    private func hasUsualEffect(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return action.__sigaction_handler.sa_handler == nil
    }

    @Test("run(for:) is true when the time is over, and has stopped")
    func time() async throws {
        let output = try output()
        #expect(try await output.run(for: .milliseconds(50)))
        #expect(output.state == .stopped)
        #expect(output.statistics.cycles > 0)
        #expect(await becomesTrue { hasUsualEffect(SIGINT) && hasUsualEffect(SIGTERM) })
    }

    @Test("run(for:) is false when the program is asked to end", arguments: [SIGINT, SIGTERM])
    func signals(number: Int32) async throws {
        let output = try output()
        let run = Task { try await output.run(for: .seconds(600)) }
        #expect(await becomesTrue { output.statistics.cycles > 0 && !hasUsualEffect(number) })
        kill(getpid(), number)
        #expect(try await run.value == false)
        #expect(output.state == .stopped)
        #expect(await becomesTrue { hasUsualEffect(SIGINT) && hasUsualEffect(SIGTERM) })
    }

    @Test("Signals that follow each other at once are one request: the later ones end nothing else, and kill nobody")
    func burst() async throws {
        let (first, second) = (try output(), try output())
        let run = Task { try await first.run(for: .seconds(600)) }
        #expect(await becomesTrue { first.statistics.cycles > 0 && !hasUsualEffect(SIGINT) })
        kill(getpid(), SIGINT)
        usleep(1_000)
        kill(getpid(), SIGINT)
        #expect(try await run.value == false)
        // Nobody waits any more, then somebody else does.
        kill(getpid(), SIGINT)
        let next = Task { try await second.run(for: .milliseconds(400)) }
        #expect(try await next.value)
        #expect(await becomesTrue { hasUsualEffect(SIGINT) && hasUsualEffect(SIGTERM) })
    }

    @Test("A signal that a thread raises itself counts as well")
    func raised() async throws {
        let output = try output()
        let run = Task { try await output.run(for: .seconds(20)) }
        #expect(await becomesTrue { output.statistics.cycles > 0 && !hasUsualEffect(SIGINT) })
        // Threads that dispatch has made block all signals, and those that they make do so too.
        TestThread {
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGINT)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            raise(SIGINT)
        }.join()
        #expect(try await run.value == false)
    }

    @Test("Two outputs that run at once both end, and the signals have their usual effect again")
    func two() async throws {
        let (first, second) = (try output(), try output())
        let short = Task { try await first.run(for: .milliseconds(60)) }
        #expect(await becomesTrue { !hasUsualEffect(SIGINT) })
        let long = Task { try await second.run(for: .seconds(600)) }
        #expect(await becomesTrue { second.state == .running })
        #expect(try await short.value)
        #expect(!hasUsualEffect(SIGINT), "the other one still waits for it")
        long.cancel()
        #expect(try await long.value == false)
        #expect(await becomesTrue { hasUsualEffect(SIGINT) && hasUsualEffect(SIGTERM) })
    }

    @Test("A task that is cancelled ends the run")
    func cancelled() async throws {
        let output = try output()
        let run = Task { try await output.run() }
        #expect(await becomesTrue { output.statistics.cycles > 0 })
        run.cancel()
        #expect(try await run.value == false)
        #expect(output.state == .stopped)
        #expect(await becomesTrue { hasUsualEffect(SIGINT) })
    }
}
