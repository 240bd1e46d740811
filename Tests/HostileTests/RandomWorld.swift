import Foundation
import RenderStack
import TestSupport

/// The objects that the threads of the random program share: three renderers, one of them inside another and one on a
/// second processor, a pool of modules of every kind, outputs, subscriptions and tasks.
final class World: Sendable {
    let census = Census()
    let folder = Folder()
    let renderers: Guarded<[Renderer]>
    let modules = Guarded<[any Module]>([])
    /// The modules that hold the second and the third renderer, for closures of the first alone.
    let joints = Guarded<[any Module]>([])
    let outputs = Guarded<[ClockOutput]>([])
    let subscriptions = Guarded<[Subscription]>([])
    let tasks = Guarded<[Task<Void, Never>]>([])
    let scheduled = Guarded<[ScheduledEvent]>([])
    let sounds: [Sound]
    let files: [String]
    let tone: String

    /// The number of places that the pool of modules has.
    static let size = Makers.all.count

    init(_ dice: inout Dice) async throws {
        tone = try await folder.tone("tone.wav", seconds: 0.2)
        let other = try await folder.tone("other.wav", seconds: 0.05, sampleRate: 44_100)
        files = [tone, other]
        sounds = [
            try Sound(path: tone), try Sound(path: other), Sound(AudioBlock(channels: 1, frames: 7), sampleRate: 8_000),
        ]
        let census = census
        renderers = Guarded((0..<3).map { _ in census.count(Renderer()) })
        for index in Makers.all.indices {
            let module = try Makers.all[index](self, &dice)
            modules.withLock { $0.append(module) }
        }
        join()
    }

    /// Makes the modules that render the second and third renderer inside of the first.
    func join() {
        let all = renderers.now
        let made: [any Module] = [
            census.count(SubRenderer(all[1])), census.count(Parallel([all[2]], workers: 1, priority: 0)),
        ]
        let old = joints.withLock { joints -> [any Module] in
            defer { joints = made }
            return joints
        }
        withExtendedLifetime(old) {}
    }

    /// A module of the pool.
    func module(_ dice: inout Dice) -> any Module {
        let index = dice.below(Self.size)
        // After the end, a completion may still come.
        return modules.withLock { $0.indices.contains(index) ? $0[index] : nil } ?? Gain()
    }

    /// A module of one kind.
    func module<Kind>(_ kind: Kind.Type, _ dice: inout Dice) -> Kind? {
        dice.pick(modules.now.compactMap { $0 as? Kind })
    }

    func renderer(_ dice: inout Dice) -> Renderer {
        renderer(dice.below(3))
    }

    func renderer(_ index: Int) -> Renderer {
        renderers.withLock { $0.indices.contains(index) ? $0[index] : nil } ?? Renderer()
    }

    func keep(_ subscription: Subscription) {
        // A dropped subscription ends outside of the lock.
        let dropped = subscriptions.withLock { all -> Subscription? in
            all.append(subscription)
            return all.count > 24 ? all.removeFirst() : nil
        }
        withExtendedLifetime(dropped) {}
    }

    func keep(_ task: Task<Void, Never>) {
        let dropped = tasks.withLock { all -> Task<Void, Never>? in
            all.append(task)
            return all.count > 24 ? all.removeFirst() : nil
        }
        dropped?.cancel()
    }

    func keep(_ event: ScheduledEvent) {
        let dropped = scheduled.withLock { all -> ScheduledEvent? in
            all.append(event)
            return all.count > 24 ? all.removeFirst() : nil
        }
        dropped?.cancel()
    }

    /// Cancels the events that a late completion has scheduled after the end.
    deinit { for event in scheduled.now { event.cancel() } }

    /// Ends everything that runs, and releases everything that was made.
    func end() async {
        for output in outputs.withLock({ all in
            defer { all = [] }
            return all
        }) { output.stop() }
        for subscription in subscriptions.withLock({ all in
            defer { all = [] }
            return all
        }) { subscription.cancel() }
        for event in scheduled.now { event.cancel() }
        scheduled.withLock { $0 = [] }
        let waiting = tasks.now
        for task in waiting { task.cancel() }
        for task in waiting { await task.value }
        tasks.withLock { $0 = [] }
        census.loosen()
        let held: [Any] = [modules.now, joints.now, renderers.now]
        modules.withLock { $0 = [] }
        joints.withLock { $0 = [] }
        renderers.withLock { $0 = [] }
        withExtendedLifetime(held) {}
    }
}

/// A random closure as data: what it does with the stack, in order.
indirect enum Step: Sendable {
    case run(any Module)
    case reset(any Module)
    case push(Int, channels: Int)
    case uninitialized(channels: Int)
    case mono
    case pop(Int)
    case remove(Int)
    case duplicate, swap, silence, mixAll, popAll
    case mix(Int)
    case gain(Float)
    case output(Int)
    case outputTo(Int, ClosedRange<Int>)
    case subBlock(Int, Int, [Step])
    case external(Int, [Step])
    case top2

    func take(_ context: inout RenderContext) {
        switch self {
        case .run(let module): context.run(module)
        case .reset(let module): context.reset(module)
        case .push(let count, let channels): context.push(count, channels: channels)
        case .uninitialized(let channels): context.pushUninitialized(channels: channels)
        case .mono:
            var samples = context.pushMono()
            for index in samples.indices { samples[index] = 0.1 }
        case .pop(let count): context.pop(count)
        case .remove(let index): context.remove(at: index)
        case .duplicate: context.duplicate()
        case .swap: context.swap()
        case .silence: context.silence()
        case .mixAll: context.mixAll()
        case .popAll: context.popAll()
        case .mix(let count): context.mix(count)
        case .gain(let gain): context.gain(gain)
        case .output(let count): context.output(count)
        case .outputTo(let number, let channels): context.output(1, to: .auxiliary(number), channels: channels)
        case .subBlock(let offset, let length, let steps):
            context.subBlock(offset: offset, length: length) { context in for step in steps { step.take(&context) } }
        case .external(let offset, let steps):
            var block = AudioBlock(channels: 2, frames: 300)
            context.withExternal(editing: &block, from: offset) { context in for step in steps { step.take(&context) } }
        case .top2:
            context.withTop2 { top, below in
                for channel in 0..<top.channelCount {
                    var samples = top[channel]
                    for index in samples.indices { samples[index] *= 0.5 }
                }
                _ = below.channelCount
            }
        }
    }

    /// Steps that a dry run mostly likes: as many of them are sane as are not.
    static func random(_ world: World, _ dice: inout Dice, count: Int, depth: Int = 0) -> [Step] {
        (0..<count).map { _ in
            switch dice.below(26) {
            case 0...8: .run(world.module(&dice))
            case 9: .reset(world.module(&dice))
            case 10: .push(dice.below(4), channels: dice.below(10) - 1)
            case 11: .uninitialized(channels: 1 + dice.below(8))
            case 12: .mono
            case 13: .pop(dice.below(3))
            case 14: .remove(dice.below(4) - 1)
            case 15: .duplicate
            case 16: .swap
            case 17: .mix(dice.below(4))
            case 18: .gain(dice.number())
            case 19: .output(1)
            case 20: .outputTo(dice.below(3) - 1, (dice.below(3) - 1)...(dice.below(60) + 3))
            case 21 where depth < 3:
                .subBlock(
                    dice.below(200) - 50, dice.below(200) - 50,
                    random(world, &dice, count: dice.below(4), depth: depth + 1))
            case 22 where depth < 3:
                .external(dice.below(400) - 50, random(world, &dice, count: dice.below(4), depth: depth + 1))
            case 23: .top2
            case 24: [.silence, .mixAll, .popAll][dice.below(3)]
            default: .push(1, channels: 2)
            }
        }
    }
}
