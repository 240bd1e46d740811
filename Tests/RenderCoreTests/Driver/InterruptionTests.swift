import CRender
import Glibc
import Testing

@testable import Outputs
@testable import RenderCore

/// Signals belong to the process: one test at a time.
@Suite(.serialized) final class InterruptionTests {
    /// The effect of the signals outside of a run: here none, so that one that comes late does not end the tests. A
    /// signal that was ignored when the tests started (in a shell's background job) comes all the same.
    private static let usualEffect: @convention(c) @Sendable (Int32) -> Void = { _ in }
    private var before: [Int32: sigaction] = [:]

    init() {
        for number in [SIGINT, SIGTERM] {
            var (old, usual) = (sigaction(), sigaction())
            usual.__sigaction_handler.sa_handler = Self.usualEffect
            sigaction(number, &usual, &old)
            before[number] = old
        }
    }

    deinit {
        for (number, old) in before {
            var old = old
            sigaction(number, &old, nil)
        }
    }

    private func output() throws -> ClockOutput {
        ClockOutput(try Renderer(channels: 1) { _ in }, period: 64, priority: 0)
    }

    /// Returns whether Ctrl-C would do again what it did before the run.
    private func hasUsualEffect(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
            == unsafeBitCast(Self.usualEffect, to: UInt.self)
    }

    @Test("run(for:) is true when the time is over, and has stopped")
    func time() async throws {
        let output = try output()
        var cycles = 0
        // Once more, if the machine has given its thread no processor in that time.
        for _ in 0..<200 where cycles == 0 {
            #expect(try await output.run(for: .milliseconds(50)))
            #expect(output.state == .stopped)
            cycles = output.statistics.cycles
        }
        #expect(cycles > 0)
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

    @Test("Signals that follow each other at once are one request: the later ones end nothing else, no process either")
    func burst() async throws {
        // The request has a length. If the machine keeps the signals back for longer, they are sent once more.
        for _ in 0..<50 {
            let (first, second) = (try output(), try output())
            let run = Task { try await first.run(for: .seconds(600)) }
            #expect(await becomesTrue { first.statistics.cycles > 0 && !hasUsualEffect(SIGINT) })
            let start = HostClock.now
            kill(getpid(), SIGINT)
            usleep(1_000)
            kill(getpid(), SIGINT)
            #expect(try await run.value == false)
            // The first task does not wait any more, then another one does.
            let last = HostClock.now
            kill(getpid(), SIGINT)
            #expect(await becomesTrue { crender_last_interruption() >= last || hasUsualEffect(SIGINT) })
            let isOneRequest =
                crender_last_interruption() >= last
                && crender_last_interruption() - start < Interruption.requestLength
            let next = Task { try await second.run(for: .milliseconds(400)) }
            let isOver = try await next.value
            #expect(await becomesTrue { hasUsualEffect(SIGINT) && hasUsualEffect(SIGTERM) })
            guard isOneRequest else { continue }
            #expect(isOver)
            return
        }
        Issue.record("the signals never came within a quarter of a second")
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
        #expect(await becomesTrue { hasUsualEffect(SIGINT) && hasUsualEffect(SIGTERM) })
    }

    @Test("Two outputs that run at once both end, and the signals have their usual effect again")
    func two() async throws {
        let (first, second) = (try output(), try output())
        let runs = [first, second].map { output in Task { try await output.run(for: .seconds(600)) } }
        #expect(await becomesTrue { first.state == .running && second.state == .running })
        #expect(await becomesTrue { !hasUsualEffect(SIGINT) })
        runs[0].cancel()
        #expect(try await runs[0].value == false)
        #expect(try await first.run(for: .milliseconds(60)))
        #expect(!hasUsualEffect(SIGINT), "the other one still waits for it")
        runs[1].cancel()
        #expect(try await runs[1].value == false)
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
