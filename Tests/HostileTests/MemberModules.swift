import RenderStack
import Synchronization
import TestSupport

/// Multiplies, and counts how often it is prepared and reset.
final class Scale: Effect {
    let factor: Float
    private let frames: Int
    let name: String
    let rate = Atomic<Int>(0)
    let resets = Atomic<Int>(0)

    init(_ factor: Float = 2, latency: Int = 0, name: String = "Scale") {
        (self.factor, frames, self.name) = (factor, latency, name)
    }

    func latency(at sampleRate: Double) -> Int { frames }

    func prepare(_ preparation: Preparation) { rate.store(Int(preparation.sampleRate), ordering: .relaxed) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var top = context.top
        for channel in 0..<top.channelCount {
            var samples = top[channel]
            for i in samples.indices { samples[i] *= factor }
        }
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { resets.wrappingAdd(1, ordering: .relaxed) }
}

/// Counts frames from 1 on: a state that a reset brings back.
final class Counter: Generator {
    private let position = RenderState(0)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var now = position.read(context)
        context.pushUninitialized(channels: 1)
        var top = context.top
        var samples = top[0]
        for i in samples.indices {
            now &+= 1
            samples[i] = Float(now)
        }
        position.write(now, context)
    }

    @_noLocks @_noAllocation
    func reset(_ context: inout RenderContext) { position.write(0, context) }
}

/// Runs two effects, of which it lists those that the test names.
final class Pair<First: Module, Second: Module>: Effect {
    let first: Member<First>
    let second: Member<Second>
    let name: String
    private let listed: Mutex<[any Module]>

    init(_ first: First, _ second: Second, name: String = "Pair", lists listed: [any Module]? = nil) {
        self.first = Member(first)
        self.second = Member(second)
        self.name = name
        self.listed = Mutex(listed ?? [first, second])
    }

    var members: [any Module] {
        get { listed.withLock { $0 } }
        set { listed.withLock { $0 = newValue } }
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.run(first)
        context.run(second)
    }
}

/// A counter and an effect on it: a voice.
final class CountingVoice: Generator {
    let counter = Member(Counter())
    let scale: Member<Scale>
    init(_ scale: Scale) { self.scale = Member(scale) }
    var members: [any Module] { [counter.module, scale.module] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.run(counter)
        context.run(scale)
    }
}

/// Runs another module that it gets later: itself, for instance.
final class Circle: Effect {
    private let inner: Mutex<(any Module)?> = Mutex(nil)
    private let chain = Member(ModuleList(chaining: []))
    var member: (any Module)? {
        get { inner.withLock { $0 } }
        set {
            inner.withLock { $0 = newValue }
            chain.module.modules = newValue.map { [$0] } ?? []
        }
    }
    var members: [any Module] { [chain.module] + (member.map { [$0] } ?? []) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) { context.run(chain) }
}

/// Makes one sample that is no number when the test asks for it.
final class Poison: Effect {
    let isDue = Atomic<Bool>(false)

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        let value: Float = isDue.exchange(false, ordering: .relaxed) ? .nan : 1
        var top = context.top
        var samples = top[0]
        samples[samples.count - 1] *= value
    }
}

/// One sample of 1 at a frame, the rest is silence.
final class Click: Generator {
    let frame: Int64
    init(at frame: Int64 = 0) { self.frame = frame }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        let first = context.sampleTime
        var top = context.top
        var samples = top[0]
        for i in samples.indices where first &+ Int64(i) == frame { samples[i] = 1 }
    }
}

/// A sound that is late by its own account.
final class LateClick: Generator {
    let click: Member<Click>
    let late: Member<Late>
    init(_ frames: Int, at frame: Int64 = 0) {
        click = Member(Click(at: frame))
        late = Member(Late(frames))
    }
    var members: [any Module] { [click.module, late.module] }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.run(click)
        context.run(late)
    }
}

/// Ones for some frames; then it is not active any more.
final class Brief: Generator {
    private let left: RenderState<Int>
    init(frames: Int) { left = RenderState(frames) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var count = left.read(context)
        context.push(channels: 1)
        var top = context.top
        var samples = top[0]
        for i in samples.indices where count > 0 {
            samples[i] = 1
            count &-= 1
        }
        left.write(count, context)
    }

    @_noLocks @_noAllocation
    func isActive(_ context: borrowing RenderContext) -> Bool { left.read(context) > 0 }
}
