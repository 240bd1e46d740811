import RenderStack
import Synchronization
import Testing

/// A value that a render loop and its test share. The test touches it only while nothing renders.
final class Shared<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// A number that threads share.
final class Counter: Sendable {
    private let number = Atomic<Int>(0)
    var value: Int { number.load(ordering: .acquiring) }
    func add() { number.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

/// The result of one slice of a closure.
struct SliceResult<Value> {
    let value: Value
    let faults: Int
    /// One array per channel of all outputs.
    let output: [[Float]]
}

/// Enough for most tests, small enough to be filled.
let smallLayout = StackLayout(slots: 8, channels: 4, frames: 16)

/// Runs a closure for one slice, not in the dry run.
func renderSlice<Value>(
    frames: Int = 8, layout: StackLayout = smallLayout, channels: Int = 2, auxiliary: [Int] = [],
    _ body: @escaping @Sendable (inout RenderContext) -> Value
) throws -> SliceResult<Value> {
    precondition(frames <= layout.frames)
    let result = Shared<Value?>(nil)
    let renderer = try Renderer(channels: channels, auxiliaryOutputs: auxiliary, layout: layout) { context in
        if context.isDryRun { return }
        result.value = body(&context)
    }
    let block = renderer.renderOffline(frames: frames, cycle: frames)
    return SliceResult(
        value: try #require(result.value), faults: renderer.faultCount,
        output: (0..<block.channelCount).map { block.array($0) })
}

/// Waits for a condition that another thread makes true.
func eventually(within seconds: Double = 30, _ condition: () -> Bool) async throws -> Bool {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(seconds)
    while clock.now < end {
        if condition() { return true }
        try await Task.sleep(for: .milliseconds(2))
    }
    return condition()
}

extension RenderContext {
    /// Writes one value into every sample of a channel.
    mutating func fill(_ value: Float, at index: Int = 0, channel: Int) {
        var buffer = buffer(at: index)
        var samples = buffer[channel]
        for i in samples.indices { samples[i] = value }
    }

    /// Pushes a buffer whose channels have these values.
    mutating func push(_ values: [Float]) {
        push(channels: values.count)
        for (channel, value) in values.enumerated() { fill(value, channel: channel) }
    }

    /// The samples of every channel of a buffer.
    func contents(at index: Int = 0) -> [[Float]] {
        (0..<channelCount(at: index)).map { channel in
            let samples = samples(channel, at: index)
            return samples.indices.map { samples[$0] }
        }
    }

    /// The first sample of every channel, of every buffer, from the top down.
    func firstSamples() -> [[Float]] {
        (0..<bufferCount).map { index in contents(at: index).map { $0[0] } }
    }
}

/// Returns the faults that a renderer reports, with their modules; waits until there are as many.
func faults(of renderer: Renderer, count: Int, during body: () -> Void) async throws -> [Fault] {
    let events = renderer.events
    body()
    let collected = Shared<[Fault]>([])
    let total = Counter()
    let task = Task {
        for await event in events {
            if case .fault(let fault) = event {
                collected.value.append(fault)
                for _ in 0..<fault.count { total.add() }
            }
            if total.value >= count { break }
        }
    }
    _ = try await eventually { total.value >= count }
    task.cancel()
    await task.value
    return collected.value
}
