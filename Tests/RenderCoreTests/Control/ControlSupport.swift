import Glibc
import Synchronization
import Testing

@testable import RenderCore

/// Counts what is made and what is freed, and where.
final class Lives: Sendable {
    let made = Atomic<Int>(0)
    let freed = Atomic<Int>(0)
    /// The number of values that were freed on the thread that is named here.
    let freedOnRenderThread = Atomic<Int>(0)
    let renderThread = Atomic<UInt>(0)

    var alive: Int { made.load(ordering: .acquiring) - freed.load(ordering: .acquiring) }

    func begin() { made.wrappingAdd(1, ordering: .relaxed) }

    func end() {
        if renderThread.load(ordering: .relaxed) == UInt(pthread_self()) {
            freedOnRenderThread.wrappingAdd(1, ordering: .relaxed)
        }
        freed.wrappingAdd(1, ordering: .releasing)
    }
}

/// A value that is counted.
struct Mortal: ~Copyable, Sendable {
    let number: Int
    private let lives: Lives
    init(_ number: Int, _ lives: Lives) {
        self.number = number
        self.lives = lives
        lives.begin()
    }
    deinit { lives.end() }
}

/// An object that is counted, and can do something when it goes.
final class MortalObject: Sendable {
    private let lives: Lives
    private let last: @Sendable () -> Void
    init(_ lives: Lives, last: @escaping @Sendable () -> Void = {}) {
        self.lives = lives
        self.last = last
        lives.begin()
    }
    func touch() {}
    deinit {
        last()
        lives.end()
    }
}

/// The events of a test, in order, from any thread.
final class Record<Element: Sendable>: Sendable {
    private let elements = Lock<[Element]>([])
    func add(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
    var count: Int { elements.withLock { $0.count } }
}

/// Waits until something is so. `false` after a very long while.
func becomesTrue(
    isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool
) async -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
        if ContinuousClock.now > end { return false }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return true
}

/// A thread of its own, to be joined or detached.
final class TestThread: @unchecked Sendable {
    // Unchecked because the handle is written before any other thread has this.
    private var thread = pthread_t()

    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    init(_ run: @escaping @Sendable () -> Void) {
        let body = Unmanaged.passRetained(Body(run)).toOpaque()
        let error = pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
                return nil
            }, body)
        precondition(error == 0)
    }

    func join() { pthread_join(thread, nil) }

    func detach() { pthread_detach(thread) }
}

/// Renders a renderer on a thread of its own until it is stopped.
final class TestDriver: Sendable {
    private let isStopped = Atomic<Bool>(false)
    private let thread: Lock<TestThread?>
    let cycles = Atomic<Int>(0)
    let threadID = Atomic<UInt>(0)

    init(_ renderer: Renderer, frames: Int = 64, watchedBy lives: Lives? = nil) {
        thread = Lock(nil, .output)
        thread.withLock { thread in
            thread = TestThread { [self] in
                threadID.store(UInt(pthread_self()), ordering: .relaxed)
                // The number holds as long as the thread runs: another one may get it afterwards.
                lives?.renderThread.store(UInt(pthread_self()), ordering: .relaxed)
                defer { lives?.renderThread.store(0, ordering: .relaxed) }
                var block = AudioBlock(channels: renderer.channelCount, frames: frames)
                while !isStopped.load(ordering: .relaxed) {
                    renderer.render(into: &block)
                    cycles.wrappingAdd(1, ordering: .relaxed)
                    usleep(200)
                }
            }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }
}

/// Pushes the values that a parameter has, frame by frame.
final class GlideProbe: Generator {
    let parameter: Parameter

    init(_ parameter: consuming Parameter) { self.parameter = parameter }

    convenience init(_ value: Float, glide: Parameter.Curve) {
        self.init(Parameter(value, in: 0...10_000, glide: glide))
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.pushUninitialized(channels: 1)
        let glide = parameter.glide(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = glide[i] }
    }

    /// A renderer of the values, where one frame is a second unless said otherwise.
    func renderer(sampleRate: Double = 1) throws -> Renderer {
        try Renderer(sampleRate: sampleRate, channels: 1) { [self] context in
            context.run(self)
            context.output()
        }
    }
}

extension Renderer {
    /// The next frames of the first channel.
    func values(_ frames: Int, cycle: Int = 512) -> [Float] { renderOffline(frames: frames, cycle: cycle).array(0) }
}

/// Frees and hands over whatever waits, on this thread.
func collectNow(_ renderer: Renderer) {
    _ = renderer.state.inbox.collect()
    Reclaimer.shared.collect()
}
