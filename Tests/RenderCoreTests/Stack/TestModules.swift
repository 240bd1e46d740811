import RenderStack
import Synchronization

/// Pushes a stereo buffer that counts its frames: 1, 2, 3, … as long as it is one module's state.
final class Counting: Generator {
    let name: String
    let resets = Atomic<Int>(0)
    private let next = RenderState<Float>(1)

    init(_ name: String = "Counting") { self.name = name }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var number = next.read(context)
        context.push()
        var top = context.top
        var left = top[0]
        for i in left.indices {
            left[i] = number
            number += 1
        }
        next.write(number, context)
    }
}

/// Pushes a mono buffer of one value, and says what it was prepared for.
final class Constant: Generator {
    let name: String
    let value: Float
    let preparations = Atomic<Int>(0)
    let frames = Atomic<Int>(0)
    let channels = Atomic<Int>(0)
    let rate = Atomic<Int>(0)
    /// The number of times that it was rendered before it was prepared.
    let early = Atomic<Int>(0)

    init(_ value: Float, name: String = "Constant") { (self.value, self.name) = (value, name) }

    func prepare(_ preparation: Preparation) {
        frames.store(preparation.maximumFrameCount, ordering: .relaxed)
        channels.store(preparation.maximumChannelCount, ordering: .relaxed)
        rate.store(Int(preparation.sampleRate), ordering: .relaxed)
        preparations.wrappingAdd(1, ordering: .releasing)
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        if preparations.load(ordering: .acquiring) == 0 { early.wrappingAdd(1, ordering: .relaxed) }
        context.push(channels: 1)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = value }
    }
}

/// Multiplies the top by a constant.
final class Times: Effect {
    let name: String
    let factor: Float
    init(_ factor: Float, name: String = "Times") { (self.factor, self.name) = (factor, name) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.gain(factor) }
}

/// Pops and pushes otherwise than it declares; what it pushes is full of ones.
final class Misbehaving: Module {
    let stackEffect: StackEffect
    private let pops: Int
    private let pushes: Int

    init(declares stackEffect: StackEffect, pops: Int, pushes: Int) {
        self.stackEffect = stackEffect
        self.pops = pops
        self.pushes = pushes
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        if pops > 0 { context.pop(pops) }
        var left = pushes
        while left > 0 {
            context.push(channels: 1)
            var top = context.top
            var samples = top[0]
            for i in samples.indices { samples[i] = 1 }
            left -= 1
        }
    }
}

/// Writes a bad sample into one frame of the top, in some of its slices.
final class Breaking: Effect {
    let resets = Atomic<Int>(0)
    private let bad: Float
    private let frame: Int
    private let channel: Int
    private let first: Int
    private let count: Int
    private let slice = RenderState<Int>(0)

    /// A negative frame is counted from the end.
    init(_ bad: Float, frame: Int, channel: Int = 0, first: Int, count: Int) {
        (self.bad, self.frame, self.channel, self.first, self.count) = (bad, frame, channel, first, count)
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let number = slice.read(context)
        slice.write(number + 1, context)
        if number < first { return }
        if number - first >= count { return }
        var top = context.top
        var samples = top[channel]
        samples[frame < 0 ? samples.count + frame : frame] = bad
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { resets.wrappingAdd(1, ordering: .relaxed) }
}

extension Renderer {
    /// Returns the samples that it renders next, per channel.
    func next(_ frames: Int, cycle: Int = 512) -> [[Float]] {
        let block = renderOffline(frames: frames, cycle: cycle)
        return (0..<block.channelCount).map { block.array($0) }
    }
}
