import CBench
import Foundation
import RenderStack
import Synchronization

/// Measurements by the clock: the tail of the cycle's time, and the start.
enum Live {
    /// Takes the cycles' times out of the render closure.
    private final class Times: Sendable {
        let port = MessagePort<Int64>(capacity: 8_192)
    }

    struct Tail {
        var voices = 0
        var period = 0.0
        var times: [Double] = []
        /// The longest times for which a thread that only spins did not run, in nanoseconds.
        var stalls: [Double] = []
        var missed = 0
    }

    /// W2 at half of the load, on the clock output.
    static func tail(seconds: Double) async throws -> Tail {
        var tail = Tail()
        tail.period = Double(Score.cycle) * 1e9 / Score.sampleRate
        tail.voices = 256
        // Finds the number of voices that take half of a cycle. It measures with as many, since voices that no longer
        // fit in a cache cost more, and beside a thread that spins, which may have the other half of the same
        // processor.
        let neighbour = Spinner()
        neighbour.start()
        for _ in 0..<3 {
            let cost = try cost(ofVoices: tail.voices)
            tail.voices = min(8_000, max(1, Int(0.5 * tail.period * Double(tail.voices) / cost)))
        }
        _ = neighbour.stop()
        let voices = try Voices.modules(tail.voices)
        let sub = SubRenderer(voices)
        let times = Times()
        let renderer = try Renderer { context in
            let start = HostClock.now
            context.run(sub)
            context.output()
            _ = times.port.send(HostClock.now - start)
        }
        let output = ClockOutput(renderer, period: Score.cycle)
        let spinner = Spinner()
        spinner.start()
        try output.start()
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(20))
            _ = times.port.drain { tail.times.append(Double($0)) }
        }
        output.stop()
        tail.stalls = spinner.stop()
        tail.missed = output.statistics.missedDeadlines
        return tail
    }

    /// Returns the cost of a cycle behind the first second, in which all modules are searched for samples that are no
    /// numbers.
    private static func cost(ofVoices count: Int) throws -> Double {
        let trial = try Voices.modules(count)
        var block = AudioBlock(channels: 2, frames: Score.cycle)
        var cost: [Double] = []
        for _ in 0..<1_200 {
            let start = HostClock.now
            trial.render(into: &block, hostTime: 0)
            cost.append(Double(HostClock.now - start))
        }
        return median(Array(cost.suffix(400)))
    }

    /// A thread that looks at the clock without a pause, at the render thread's priority, and notes when it was not there.
    final class Spinner: @unchecked Sendable {
        // Unchecked because `stalls` is the thread's until it has been joined.
        private var stalls: [Double] = []
        private let mustEnd = Atomic<Bool>(false)
        private var thread: Thread?
        private let hasEnded = DispatchSemaphore(value: 0)

        func start() {
            let thread = Thread { [self] in
                var last = HostClock.now
                while !mustEnd.load(ordering: .relaxed) {
                    let now = HostClock.now
                    if now - last > 10_000 { stalls.append(Double(now - last)) }
                    last = now
                }
                hasEnded.signal()
            }
            thread.start()
            self.thread = thread
        }

        func stop() -> [Double] {
            mustEnd.store(true, ordering: .relaxed)
            hasEnded.wait()
            return stalls
        }
    }

    struct Start {
        /// Nanoseconds from the start of the process to the first cycle.
        var firstSample: Double
        /// Kilobytes, from the kernel.
        var resident, locked: Int
    }

    /// From the start of the process to the first sample on the clock output, and what memory it has then.
    static func start() async throws -> Start {
        let tone = Oscillator(frequency: 440, level: 0.1)
        let first = FirstCycle()
        let renderer = try Renderer { context in
            context.run(tone)
            context.output()
            context.run(first)
        }
        let output = ClockOutput(renderer, period: Score.cycle)
        try output.start()
        while first.time.load(ordering: .relaxed) == 0 { try await Task.sleep(for: .milliseconds(1)) }
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        func kilobytes(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
            return Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "") ?? 0
        }
        let result = Start(
            firstSample: Double(first.time.load(ordering: .relaxed) - processStart()), resident: kilobytes("VmRSS"),
            locked: kilobytes("VmLck"))
        output.stop()
        return result
    }

    final class FirstCycle: Tap {
        let time = Atomic<Int64>(0)
        @_noLocks @_noAllocation
        func process(_ context: inout RenderContext) {
            if time.load(ordering: .relaxed) == 0 { time.store(HostClock.now, ordering: .relaxed) }
        }
    }

    /// Returns the host time at which this process began: RENDERSTACK_BENCH_START, which the program that starts it has
    /// set, because the kernel's own note is in hundredths of a second.
    private static func processStart() -> Int64 {
        ProcessInfo.processInfo.environment["RENDERSTACK_BENCH_START"].flatMap { Int64($0) } ?? HostClock.now
    }
}
