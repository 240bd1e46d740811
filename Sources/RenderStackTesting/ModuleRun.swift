internal import Dispatch
internal import Glibc
internal import RenderCore
internal import Synchronization

/// A module that is made anew, with its inputs under it, in a renderer of its own.
final class ModuleRun<M: Module> {
    let module: M
    let renderer: Renderer
    /// The number of buffers that go in.
    let inputs: Int
    private let channels: Int
    /// The renderer's events, which therefore do not go to standard error.
    private let mistakes = Mistakes()
    private var listener: Subscription?

    /// Sets the module up; at the frame `resetsAt` it is reset. With `dry` these inputs alone are heard, and no module.
    ///
    /// - Throws: The errors of `make`, and the refusal of the closure.
    init(
        _ contract: ModuleContract<M>, _ sound: TestSound = TestSound(), resetsAt: Int64 = -1,
        dry: Range<Int>? = nil, prepare: (M) -> Void = { _ in }
    ) throws {
        let module = try contract.make()
        prepare(module)
        let (loop, channels) = (contract.loop, contract.channels)
        let inputs = contract.inputs ?? module.stackEffect.pops
        self.module = module
        self.inputs = inputs
        self.channels = channels
        let renderer = Renderer(sampleRate: contract.sampleRate, channels: channels)
        self.renderer = renderer
        let mistakes = self.mistakes
        listener = renderer.on(ListenerExecutor.shared) { mistakes.note($0) }
        TestSound.prepare()
        try renderer.replaceLoop { context in
            var input = dry?.lowerBound ?? 0
            while input < dry?.upperBound ?? inputs {
                sound.push(&context, from: input * channels, channels: channels)
                input += 1
            }
            if dry != nil { return context.outputAll() }
            if context.sampleTime == resetsAt && !context.isDryRun { context.reset(module) }
            loop(module, &context)
            context.outputAll()
        }
    }

    /// Renders on, and keeps nothing of it.
    func skip(frames: Int) {
        var block = AudioBlock(channels: channels, frames: 4_096)
        var left = frames
        while left > 0 {
            renderer.render(into: &block, frames: min(left, 4_096), hostTime: 0, isOffline: true)
            left -= 4_096
        }
    }

    /// Renders on, in cycles of these lengths, over and over.
    func render(frames: Int, cycles: [Int] = [512]) -> [[Float]] {
        var block = AudioBlock(channels: channels, frames: frames)
        var (done, turn) = (0, 0)
        while done < frames {
            let count = min(cycles[turn % cycles.count], frames - done)
            renderer.render(into: &block, from: done, frames: count, hostTime: 0, isOffline: true)
            done += count
            turn += 1
        }
        return (0..<channels).map { block.array($0) }
    }
}

extension ModuleRun {
    /// The first mistake on the render thread, in a sentence; `nil` if there was none. The renderer reports mistakes some
    /// milliseconds later: this waits for the report, ten seconds at most on a machine that is busy.
    var firstMistake: String? {
        if renderer.faultCount == 0 { return nil }
        let end = ContinuousClock.now + .seconds(10)
        while mistakes.first == nil && ContinuousClock.now < end { usleep(500) }
        return mistakes.first ?? "There were \(renderer.faultCount) faults."
    }
}

/// Runs the listeners of contracts on a thread of their own. Swift's own threads are as few as there are processors, and
/// tests that run side by side keep them busy for seconds.
private final class ListenerExecutor: TaskExecutor {
    static let shared = ListenerExecutor()
    private let queue = DispatchQueue(label: "ModuleContract")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// The first mistake that the contract reports.
private final class Mistakes: Sendable {
    private let told = Mutex<String?>(nil)

    var first: String? { told.withLock { $0 } }

    func note(_ event: RenderEvent) {
        guard case .fault(let fault) = event else { return }
        told.withLock { $0 = $0 ?? "Fault at frame \(fault.sampleTime): \(fault)." }
    }
}

/// Compares sounds, which are lists of samples by channel.
enum SoundComparison {
    /// The first frame in which two sounds differ.
    static func firstDifference(_ a: [[Float]], _ b: [[Float]]) -> Int? {
        zip(a, b).compactMap { a, b in
            let count = min(a.count, b.count)
            return a[..<count] == b[..<count] ? nil : (0..<count).first { a[$0] != b[$0] }
        }.min()
    }

    /// The largest magnitude of the difference in each frame from `first` on.
    static func difference(_ a: [[Float]], _ b: [[Float]], from first: Int) -> [Float] {
        var largest: [Float] = []
        for (a, b) in zip(a, b) {
            let count = max(0, min(a.count, b.count) - first)
            if largest.isEmpty { largest = [Float](repeating: 0, count: count) }
            for i in 0..<count {
                let difference = abs(a[first + i] - b[first + i])
                if difference > largest[i] { largest[i] = difference }
            }
        }
        return largest
    }

    /// The largest magnitude.
    static func peak(_ sound: [[Float]]) -> Float {
        var peak: Float = 0
        for channel in sound { for sample in channel where abs(sample) > peak { peak = abs(sample) } }
        return peak
    }
}
