package import RenderStack
package import Synchronization

/// Counts its frames: 1, 2, 3 … as many channels as asked for, each 1000 more than the one before.
package final class Ramp: Generator {
    private let position = RenderState<Int>(0)
    package let channels: Int
    /// Frames rendered, and the number of runs.
    package let frames = Atomic<Int>(0)
    package let runs = Atomic<Int>(0)
    package init(channels: Int = 1) { self.channels = channels }

    @_noLocks @_noAllocation
    package func process(_ context: inout RenderContext) {
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
    package func reset(_ context: inout RenderContext) { position.write(0, context) }
}

/// A value that can be switched off: then it is not active, and counts how often it was run all the same.
package final class Switched: Generator {
    package let isOn = Atomic<Bool>(true)
    package let runs = Atomic<Int>(0)
    package init() {}

    @_noLocks @_noAllocation
    package func process(_ context: inout RenderContext) {
        runs.wrappingAdd(1, ordering: .relaxed)
        context.push(channels: 1)
        context.fill(1, channel: 0)
    }

    @_noLocks @_noAllocation
    package func isActive(_ context: borrowing RenderContext) -> Bool { isOn.load(ordering: .relaxed) }
}

extension RenderContext {
    /// Writes one value into a channel of the top.
    @_noLocks @_noAllocation
    package mutating func fill(_ value: Float, channel: Int) {
        var top = self.top
        var samples = top[channel]
        for i in samples.indices { samples[i] = value }
    }
}

/// The largest step between neighbours.
package func largestStep(_ samples: [Float]) -> Float {
    zip(samples, samples.dropFirst()).reduce(0) { max($0, abs($1.1 - $1.0)) }
}
