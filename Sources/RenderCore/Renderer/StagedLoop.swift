internal import Synchronization

/// A render loop with the findings of its dry run.
struct Loop: Sendable {
    let renderLoop: RenderLoop
    /// The modules that the dry run met, and newcomers; without those inside of others.
    var modules: [any Module]
    let paths: SignalPaths
}

/// A loop that a transaction puts in the place of another one, in the cycle in which its other changes appear.
///
/// Until then the renderer has the modules of both loops, and a closure that asks each time which of them is to run. So
/// the render thread changes over at a frame, and nothing is left to be prepared at that moment.
final class StagedLoop: Sendable {
    let loop: Loop
    private let number: Int
    private let choice: LoopChoice
    private let hasBeenChosen = Atomic<Bool>(false)

    init(_ loop: Loop, _ choice: LoopChoice) {
        self.loop = loop
        self.choice = choice
        number = choice.makeNumber()
    }

    /// Indicates whether the render thread has changed over to it.
    var isChosen: Bool { hasBeenChosen.load(ordering: .acquiring) }

    /// Changes over to it. On the render thread.
    func choose() {
        choice.current.store(number, ordering: .relaxed)
        hasBeenChosen.store(true, ordering: .releasing)
    }

    /// Returns a closure that runs the loop that was chosen last, or the first one.
    static func renderLoop(_ first: Loop, _ staged: [StagedLoop], _ choice: LoopChoice) -> RenderLoop {
        if staged.isEmpty { return first.renderLoop }
        return { context in
            let number = choice.current.load(ordering: .relaxed)
            for staged in staged where staged.number == number { return staged.loop.renderLoop(&context) }
            first.renderLoop(&context)
        }
    }
}

/// The number of the staged loop that a renderer has changed over to last.
final class LoopChoice: Sendable {
    let current = Atomic<Int>(0)
    private let last = Atomic<Int>(0)

    func makeNumber() -> Int { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

extension Renderer.Control {
    /// The closure that the render thread runs.
    var renderLoop: RenderLoop { StagedLoop.renderLoop(loop, staged, choice) }

    /// The ways through the loop, and through those that wait for their transaction.
    var paths: [SignalPaths] { [loop.paths] + staged.map(\.loop.paths) }

    /// The modules of the loop, and of those that wait for their transaction.
    var modules: [any Module] {
        if staged.isEmpty { return loop.modules }
        var known = Set(loop.modules.map(ObjectIdentifier.init))
        return staged.reduce(into: loop.modules) { modules, staged in
            modules += staged.loop.modules.filter { known.insert(ObjectIdentifier($0)).inserted }
        }
    }
}

extension Renderer {
    /// Stages a loop in a transaction; where that has no place left for a message the loop is put in place at once.
    func stage(_ staged: StagedLoop, in transaction: Transaction) {
        let message = Message { _ in
            staged.choose()
        } completion: { [weak self] end in
            self?.settle(staged, isChosen: end == .hasRun)
        }
        do throws(MessageQueueFull) {
            try transaction.stage(message, for: state.inbox)
        } catch {
            settle(staged, isChosen: true)
        }
    }

    /// Makes a staged loop the only one, or forgets it.
    private func settle(_ staged: StagedLoop, isChosen: Bool) {
        change { control in
            // Another loop was put in its place meanwhile.
            guard let index = control.staged.firstIndex(where: { $0 === staged }) else { return false }
            control.staged.remove(at: index)
            if isChosen { control.loop = staged.loop }
            control.loopID = nil
            return true
        }
    }
}
