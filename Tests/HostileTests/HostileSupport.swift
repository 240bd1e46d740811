import Foundation
import Glibc
import RenderStack
import Synchronization
import TestSupport

/// A thread whose end can be waited for with a bound, so that a deadlock fails a test and does not stop all of them.
final class Attempt: Sendable {
    private let isDone = Atomic<Bool>(false)

    /// Begins to run a closure on a thread of its own.
    init(_ body: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread { [self] in
            try? body()
            isDone.store(true, ordering: .releasing)
        }
    }

    /// Waits for the end. `false` after three minutes: under ThreadSanitizer some sounds to stretch take one, on a busy machine.
    func ends() async -> Bool { await becomesTrue(180) { isDone.load(ordering: .acquiring) } }
}

/// Returns whether a closure ends, on a thread of its own.
func ends(_ body: @escaping @Sendable () throws -> Void) async -> Bool { await Attempt(body).ends() }

/// Returns whether all closures end, each on a thread of its own and at the same time.
func allEnd(_ bodies: [@Sendable () throws -> Void]) async -> Bool {
    let attempts = bodies.map { Attempt($0) }
    for attempt in attempts where await !attempt.ends() { return false }
    return true
}

/// The events of a test, in order, from any thread.
final class Notes<Element: Sendable>: Sendable {
    private let elements = Guarded<[Element]>([])
    func add(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
    var count: Int { all.count }
}

/// Renders on a thread of its own until it is stopped, in short cycles without a pause.
final class Driver: Sendable {
    private let isStopped = Atomic<Bool>(false)
    private let attempt = Mutex<Attempt?>(nil)
    let cycles = Atomic<Int>(0)

    init(_ renderer: Renderer, frames: Int = 64, pause: UInt32 = 0) {
        let attempt = Attempt { [self] in
            var block = AudioBlock(channels: renderer.channelCount, frames: frames)
            while !isStopped.load(ordering: .relaxed) {
                renderer.render(into: &block)
                cycles.wrappingAdd(1, ordering: .relaxed)
                if pause > 0 { usleep(pause) }
            }
        }
        self.attempt.withLock { $0 = attempt }
    }

    func stop() async -> Bool {
        isStopped.store(true, ordering: .relaxed)
        let attempt = self.attempt.withLock { $0 }
        return await attempt?.ends() ?? true
    }
}

/// Returns whether the collector still passes events on: what a deadlock of it would stop for the whole process.
func eventsStillCome() async throws -> Bool {
    let renderer = try Renderer { context in if !context.isDryRun { context.pop() } }
    let told = Notes<RenderEvent>()
    let subscription = renderer.by({ $0() }, { told.add($0) })
    _ = renderer.renderOffline(frames: 8)
    defer { subscription.cancel() }
    return await becomesTrue(30) { told.count > 0 }
}

/// Returns whether all samples are numbers.
func isFinite(_ block: borrowing AudioBlock) -> Bool {
    for channel in 0..<block.channelCount where !block.array(channel).allSatisfy({ $0.isFinite }) { return false }
    return true
}

/// A module that runs a closure as it is prepared.
final class Preparing: Effect {
    private let body: @Sendable (Preparation) -> Void
    init(_ body: @escaping @Sendable (Preparation) -> Void) { self.body = body }
    func prepare(_ preparation: Preparation) { body(preparation) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {}
}

/// A delay line as the article shows it: its memory is as long as what it was prepared for, and it trusts that.
final class Trusting: Effect {
    struct Line: ~Copyable, Sendable {
        var samples: RenderMemory<Float>
        init(_ count: Int) { samples = RenderMemory(repeating: 0, count: count) }
    }
    private let line = RenderState(Line(1))
    let preparations = Atomic<Int>(0)

    func prepare(_ preparation: Preparation) {
        preparations.wrappingAdd(1, ordering: .relaxed)
        line.replace(with: Line(preparation.maximumFrameCount * preparation.maximumChannelCount))
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let frames = context.frameCount
        // Twice: both must see the same memory.
        line.with(&context) { line, context in
            var memory = line.samples.span
            let top = context.top
            for channel in 0..<top.channelCount { memory[channel * frames + frames - 1] = 1 }
        }
        line.with(&context) { line, context in
            var memory = line.samples.span
            let top = context.top
            for channel in 0..<top.channelCount { memory[channel * frames] = 0 }
        }
    }
}

/// A folder for the files of one test, removed with the last reference.
final class Folder: Sendable {
    let path: String
    init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("hostile-\(UUID().uuidString)").path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file of a tone, and returns its path.
    func tone(_ name: String, seconds: Double = 1, sampleRate: Double = 48_000) async throws -> String {
        let tone = Oscillator(frequency: 440, level: 0.3)
        let renderer = try Renderer(sampleRate: sampleRate) { context in
            context.run(tone)
            context.output()
        }
        let path = "\(self.path)/\(name)"
        let file = try FileOutput(renderer, path: path)
        try await file.run(for: .seconds(seconds))
        try await file.finish()
        return path
    }
}
