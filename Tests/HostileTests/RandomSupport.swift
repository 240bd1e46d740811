import RenderStack
import TestSupport

/// Random numbers from a seed, so that a run can be made again (as far as threads can be).
struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// 0 ..< `count`.
    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

    /// True once in so many times.
    mutating func hits(oneIn count: Int) -> Bool { below(count) == 0 }

    /// A number as a user types it, and every fourth time one that no user means.
    mutating func number() -> Float {
        let odd: [Float] = [
            .nan, .infinity, -.infinity, 0, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -1, 1e9, -1e30,
        ]
        return hits(oneIn: 4) ? odd[below(odd.count)] : Float.random(in: -2...2_000, using: &self)
    }

    /// A moment: past, now, soon, never.
    mutating func time() -> RenderTime {
        switch below(8) {
        case 0: .now + .milliseconds(below(50) - 10)
        case 1: .sample(Int64(below(100_000)))
        case 2: .sample([.max, .min, -1, 0][below(4)])
        case 3: .host([.max, .min + 1, -1, 0][below(4)])
        default: .immediately
        }
    }

    /// One of the elements.
    mutating func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[below(elements.count)]
    }
}

/// Everything that was made, without keeping it.
final class Census: Sendable {
    private struct Entry: @unchecked Sendable {
        weak var object: AnyObject?
        let name: String
    }
    private let entries = Guarded<[Entry]>([])

    /// Counts an object until it is freed.
    func count<Object: AnyObject>(_ object: Object) -> Object {
        entries.withLock { entries in
            if entries.count % 512 == 511 { entries.removeAll { $0.object == nil } }
            entries.append(Entry(object: object, name: String(describing: type(of: object))))
        }
        return object
    }

    /// Empties what still lives, also what was dropped long ago: a list that was put into itself, by way of others, keeps
    /// itself, and a completion that came late may have put something into one. A message that holds its own renderer
    /// keeps it until it has run, so each renderer renders as many cycles as its waiting messages need.
    func loosen() {
        for object in entries.withLock({ $0.compactMap(\.object) }) {
            (object as? ModuleList)?.removeAll()
            (object as? Mixer)?.removeAll()
            guard let renderer = object as? Renderer else { continue }
            renderer.removeLoop()
            _ = renderer.renderOffline(frames: 20, cycle: 1)
        }
    }

    /// The names of all that still live.
    var living: [String] { entries.withLock { $0.compactMap { entry in entry.object.map { _ in entry.name } } } }
}

/// Uses everything that a module can have.
final class Kitchen: Effect {
    struct Payload: Sendable {
        let token: Token
        let number: Int
    }
    final class Token: Sendable {}

    let level = Parameter(1, in: 0...2)
    let payload: ManagedValue<Payload>
    let array = ManagedArray<Int, Int>()
    let commands = CommandQueue<Int>()
    let port = MessagePort<Float>(capacity: 64)
    let ring = AudioRing(frames: 2_048, channels: 2, sampleRate: 48_000)
    private let sum = RenderState<Int>(0)
    private let shared: SharedState<Int>
    private let line = RenderState(Trusting.Line(1))
    private let prepared: @Sendable () -> Void

    init(_ other: Kitchen?, _ token: Token, prepared: @escaping @Sendable () -> Void) {
        payload = ManagedValue(Payload(token: token, number: 1))
        shared = if let other { SharedState(sharing: other.shared) } else { SharedState(0) }
        self.prepared = prepared
    }

    func prepare(_ preparation: Preparation) {
        line.replace(with: Trusting.Line(preparation.maximumFrameCount))
        shared.replace(with: 1)
        level.value = 1
        prepared()
    }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        var total = sum.read(context)
        payload.with(&context) { payload, _ in total &+= payload.number }
        array.forEach(&context) { element, _ in element &+= 1 }
        var frame = 0
        while let due = commands.next(&context, from: frame) {
            total &+= due.command
            frame = due.frame
        }
        shared.with(&context) { value, _ in value &+= 1 }
        let frames = context.frameCount
        line.with(&context) { line, _ in
            var memory = line.samples.span
            for frame in 0..<frames { memory[frame] += 1 }
        }
        port.send(Float(truncatingIfNeeded: total))
        var grant = ring.reserve(frames: context.frameCount, time: context.time)
        ring.write(context.samples(0), channel: 0, to: &grant)
        ring.commit(grant)
        context.gain(level)
        sum.write(total, context)
    }
}

extension Float {
    @_noLocks @_noAllocation
    fileprivate init(truncatingIfNeeded number: Int) { self = Float(Int32(truncatingIfNeeded: number)) }
}

extension Array where Element: Hashable {
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
