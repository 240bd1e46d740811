import Composition
import Synchronization
import Testing

@testable import RenderCore

/// Random stack operations, done by a renderer and by the model at the same time.
final class StackProgram: @unchecked Sendable {
    // Unchecked because a program is made, rendered and looked at on one thread.
    let seed: UInt64
    var random: SplitMix64
    private(set) var operations = 0
    /// The difference, and the last operations before.
    private(set) var failure: String?
    var trace: [String] = []

    var model = StackModel(layout: StackLayout(), frames: 1, time: 0, outputs: [1])
    private var layout = StackLayout()
    private var outputs: [Int] = []
    private var earlierFaults = 0
    var level = 0
    private(set) var modules: [[ClosureModule]] = []

    static let effects: [StackEffect] = [
        .generates, .edits, .reads, StackEffect(pops: 1, pushes: 0), StackEffect(pops: 2, pushes: 1),
        StackEffect(pops: 0, pushes: 2), StackEffect(pops: 0, pushes: 0),
    ]
    static let levels = 3

    init(seed: UInt64) {
        self.seed = seed
        random = SplitMix64(seed)
    }

    /// Renders slices with some operations in each, until something is different.
    func run(slices: Int, operationsPerSlice: Int) throws {
        layout = StackLayout(slots: random.in(1...4), channels: random.in(1...3), frames: random.in(1...8))
        outputs = (0..<random.in(1...3)).map { _ in random.in(1...4) }
        modules = (0..<Self.levels).map { _ in
            Self.effects.map { effect in
                ClosureModule(effect) { [unowned self] context in
                    if context.isDryRun {
                        context.pop(effect.pops)
                        if effect.pushes > 0 { context.push(effect.pushes) }
                    } else {
                        self.someSteps(&context)
                    }
                }
            }
        }
        // A low rate, because renderers look closer for a second after a change.
        let renderer = try Renderer(
            sampleRate: 50, channels: outputs[0], auxiliaryOutputs: Array(outputs.dropFirst())
        ) { [unowned self] context in
            if context.isDryRun {
                context.push(2)
                for module in self.modules.joined() {
                    context.run(module)
                    context.popAll()
                    context.push(2)
                }
            } else {
                self.model.time = context.sampleTime
                for _ in 0..<operationsPerSlice where self.failure == nil { self.step(&context) }
            }
        }
        renderer.configure(layout: layout)
        for _ in 0..<slices where failure == nil {
            let frames = random.in(1...layout.frames)
            model = StackModel(layout: layout, frames: frames, time: renderer.sampleTime, outputs: outputs)
            (earlierFaults, level) = (renderer.faultCount, 0)
            trace.removeAll(keepingCapacity: true)
            let block = renderer.renderOffline(frames: frames, cycle: frames)
            let heard = (0..<block.channelCount).map { block.array($0) }
            if heard != Array(model.outputs.joined()) { fail("the outputs are \(heard), not \(model.outputs)") }
        }
    }

    // MARK: Steps

    func someSteps(_ context: inout RenderContext) {
        level += 1
        for _ in 0..<random.in(0...8) where failure == nil { step(&context) }
        level -= 1
    }

    private func step(_ context: inout RenderContext) {
        operations += 1
        perform(&context)
        guard failure == nil else { return }
        compare(&context)
        // Far beyond the capacity is far enough.
        if model.buffers.count > 3 * layout.slots + 3 {
            let count = random.in(0...model.reach)
            note("pop(\(count))")
            context.pop(count)
            model.pop(count)
        }
    }

    func note(_ operation: @autoclosure () -> String) { trace.append(operation()) }

    func fail(_ sentence: String) {
        guard failure == nil else { return }
        failure = """
            Seed \(seed), \(layout), slice of \(model.sliceFrames) frames, part \(model.part): \(sentence)
            after \(trace.suffix(60).joined(separator: "; "))
            """
    }

    // MARK: Comparing

    private func compare(_ context: inout RenderContext) {
        if context.bufferCount != model.reach { return fail("\(context.bufferCount) buffers, not \(model.reach)") }
        let faults = unsafe context.core.pointee.faults._withUnsafeGuaranteedRef { $0.total.load(ordering: .relaxed) }
        if faults - earlierFaults != model.faults {
            return fail("\(faults - earlierFaults) faults, not \(model.faults)")
        }
        for index in 0..<model.reach {
            let position = model.buffers.count - 1 - index
            let expected = model.contents(position)
            guard context.channelCount(at: index) == expected.count else {
                return fail("buffer \(index) has \(context.channelCount(at: index)) channels, not \(expected.count)")
            }
            for channel in expected.indices {
                let samples = context.samples(channel, at: index)
                for frame in 0..<model.part.count where samples[frame] != expected[channel][frame] {
                    return fail("buffer \(index)[\(channel)][\(frame)] is \(samples[frame]), not \(expected)")
                }
            }
            guard model.buffers[position].isReal else { continue }
            let buffer = context.buffer(at: index)
            if buffer.isExternal != model.buffers[position].isExternal { return fail("isExternal of \(index)") }
            if buffer.time.sampleTime != model.buffers[position].time { return fail("time of \(index)") }
        }
    }

    /// Keeps numbers so small that every sum of them is exact.
    func bound(_ index: Int, _ context: inout RenderContext) {
        guard let position = model.position(index), model.buffers[position].isReal else { return }
        guard model.contents(position).joined().contains(where: { abs($0) > 4096 }) else { return }
        for channel in 0..<model.channelCount(position) { context.fill(1, at: index, channel: channel) }
        model.edit(position) { _, _, _ in 1 }
    }
}

/// A small generator of random numbers.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z &>> 31)
    }
    mutating func `in`(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }
    /// Returns whether one case in `count` has come.
    mutating func oneIn(_ count: Int) -> Bool { next() % UInt64(count) == 0 }
    mutating func value() -> Float { Float(`in`(-50...50)) }
}
