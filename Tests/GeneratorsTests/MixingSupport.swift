import RenderStack
import Synchronization

/// Counts its frames: 1, 2, 3 … as many channels as asked for, each 1000 more than the one before.
final class Ramp: Generator {
    private let position = RenderState<Int>(0)
    let channels: Int
    /// Frames rendered, and the number of runs.
    let frames = Atomic<Int>(0)
    let runs = Atomic<Int>(0)
    init(channels: Int = 1) { self.channels = channels }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let start = position.read(context)
        context.pushUninitialized(channels: channels)
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices { samples[i] = Float(start &+ i &+ 1 &+ 1000 &* channel) }
        }
        let count = context.frameCount
        position.write(start &+ count, context)
        frames.wrappingAdd(count, ordering: .relaxed)
        runs.wrappingAdd(1, ordering: .relaxed)
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { position.write(0, context) }
}

/// A value that can be switched off: then it is not active, and counts how often it was run all the same.
final class Switched: Generator {
    let isOn = Atomic<Bool>(true)
    let runs = Atomic<Int>(0)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        runs.wrappingAdd(1, ordering: .relaxed)
        context.push(channels: 1)
        context.fill(1, channel: 0)
    }

    @_noLocks @_noAllocation
    func isActive(_ context: borrowing RenderContext) -> Bool { isOn.load(ordering: .relaxed) }
}

extension RenderContext {
    /// Writes one value into a channel of the top.
    @_noLocks @_noAllocation
    mutating func fill(_ value: Float, channel: Int) {
        var top = self.top
        var samples = top[channel]
        for i in samples.indices { samples[i] = value }
    }
}

/// Waits up to ten seconds for something that the control side does in its own time.
func becomesTrue(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<1000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return condition()
}

/// The largest step between neighbours.
func largestStep(_ samples: [Float]) -> Float {
    zip(samples, samples.dropFirst()).reduce(0) { max($0, abs($1.1 - $1.0)) }
}
