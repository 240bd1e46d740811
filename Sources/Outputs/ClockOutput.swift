public import RenderCore

/// Drives a renderer by the clock of the machine: for programs without sound hardware, for tests, for servers.
///
///     let output = ClockOutput(renderer, period: 256)
///     try output.start()
///
/// It renders a cycle of `period` frames at its deadline, a fixed time after the one before whatever happens in
/// between, and throws the samples away: a tap keeps the ones that are needed. Its thread has real-time priority if the
/// system allows it, or rtkit gives it; if not, ``OutputEvent/notice(_:)`` says so and the output goes on without.
///
/// A render loop that does not end holds its thread forever: a notice names the module in which it is, ``stop()`` returns
/// all the same, and ``start()`` throws as long as it lasts.
///
/// Threads: control.
public final class ClockOutput: RenderOutput, CoredOutput {
    package let core: OutputCore
    private let period: Int
    private let sampleRate: Double
    private let priority: Int

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - renderer: The renderer to drive.
    ///   - sampleRate: Frames per second; by default the renderer's own.
    ///   - period: Frames in a cycle, 1…65,536.
    ///   - priority: The real-time priority of its thread, 1…99; 0 for an ordinary thread.
    /// - Precondition: The numbers are in range.
    public init(_ renderer: Renderer, sampleRate: Double? = nil, period: Int = 256, priority: Int = 70) {
        demand((1...65_536).contains(period), "ClockOutput: a period of \(period) frames; it must be 1…65,536")
        demand((0...99).contains(priority), "ClockOutput: a priority of \(priority); it must be 0…99")
        core = OutputCore(renderer, called: "a ClockOutput", runsServers: false)
        self.period = period
        self.priority = priority
        self.sampleRate = sampleRate ?? renderer.sampleRate
    }

    /// Notices and missed deadlines, from now on.
    public var events: AsyncStream<OutputEvent> { core.events }

    /// The state of the output.
    public var state: OutputState { core.state }

    /// The statistics since the output was started last.
    public var statistics: OutputStatistics { core.statistics }

    /// Begins to render. The statistics begin anew.
    ///
    /// - Throws: ``/RenderCore/OutputError`` if another output drives the renderer, if the render loop of the run before has not
    ///   ended, if the system has no thread left, or if the sample rate is not 1…1,000,000.
    public func start() throws {
        try core.start(thread: "rs-clock", priority: priority, sampleRate: sampleRate) { [period, sampleRate] run in
            Self.render(run, period, Double(period) * 1e9 / sampleRate)
        }
    }

    /// Ends after the cycle that is being rendered, and waits for that, two seconds at most: for a render loop that
    /// does not end it says so, and returns. May be started again.
    public func stop() { core.stop() }

    /// Renders cycle after cycle, each at its time.
    private static func render(_ run: OutputRun, _ period: Int, _ nanoseconds: Double) {
        var block = AudioBlock(channels: run.channelCount, frames: period)
        var start = HostClock.now + Int64(nanoseconds)
        var cycle: Int64 = 0
        while run.goesOn {
            // Deadlines count from the first and not from the last: nothing adds up.
            var due = start + Int64(Double(cycle) * nanoseconds)
            guard run.sleep(until: due) else { break }
            let woken = HostClock.now
            if Double(woken - due) >= nanoseconds {
                // More than a cycle late: this one was missed, and others too if it is more. Begin anew from here.
                run.noteMissedDeadline(at: woken)
                start = woken
                cycle = 0
                due = woken
            }
            run.render(into: &block, hostTime: due)
            cycle += 1
        }
    }
}
