import Synchronization

@testable import RenderCore
@testable import Sharing

/// Two parameters that control code sets to the same number, in transactions only.
final class Twins: Generator {
    let first = Parameter(0, in: 0...1_000_000, glide: .none)
    let second = Parameter(0, in: 0...1_000_000, glide: .none)
    let third = Parameter(0, in: 0...1, glide: .linear(.milliseconds(5)))
    let torn = Atomic<Int>(0)
    private let life: Life
    init(_ lives: Lives) { life = Life(lives) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        if first.current(context) != second.current(context) { torn.wrappingAdd(1, ordering: .relaxed) }
        context.push(channels: 1)
        let level = third.glide(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices { samples[i] = level[i] }
    }
}

/// A table whose numbers are all the same as long as it lives.
struct Table: ~Copyable, Sendable {
    var numbers: RenderMemory<Int>
    private let life: Life

    init(_ number: Int, _ lives: Lives) {
        numbers = RenderMemory(repeating: number, count: 64)
        life = Life(lives)
    }

    deinit {
        var numbers = numbers
        for index in numbers.indices { numbers[index] = -1 - index }
    }

    var isWhole: Bool {
        for index in numbers.indices where numbers[index] != numbers[0] { return false }
        return true
    }
}

/// A voice that counts the cycles in which it was heard.
struct Voice: ~Copyable, Sendable {
    let key: Int
    var count = 0
    private let life: Life
    init(_ key: Int, _ lives: Lives) {
        self.key = key
        life = Life(lives)
    }
}

/// Values that are read and swapped: a value, a list, a state. A closure runs it.
final class Swapped: Sendable {
    let table: ManagedValue<Table>
    let voices = ManagedArray<Int, Voice>()
    let state: RenderState<Table>
    let torn = Atomic<Int>(0)
    let port = MessagePort<Int>(capacity: 128)
    let sent = Atomic<Int>(0)
    private let lives: Lives

    init(_ lives: Lives) {
        self.lives = lives
        table = ManagedValue(Table(0, lives))
        state = RenderState(Table(0, lives))
    }

    func render(_ context: inout RenderContext) {
        table.with(&context) { table, _ in if !table.isWhole { torn.wrappingAdd(1, ordering: .relaxed) } }
        voices.forEach(&context) { voice, _ in voice.count += 1 }
        state.with(&context) { table, _ in
            if !table.isWhole { torn.wrappingAdd(1, ordering: .relaxed) }
            let next = table.numbers[0] + 1
            for index in table.numbers.indices { table.numbers[index] = next }
        }
        if !context.isDryRun, port.send(Int(context.sampleTime)) { sent.wrappingAdd(1, ordering: .relaxed) }
    }
}

/// A tone that is counted, with a state that is written at each frame.
final class Ticker: Generator {
    private let count = RenderState<Float>(0)
    private let life: Life
    init(_ lives: Lives) { life = Life(lives) }

    @_noLocks @_noAllocation
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        var number = count.read(context)
        var top = context.top
        var samples = top[0]
        for i in samples.indices {
            samples[i] = number
            number = number >= 1 ? 0 : number + 0.01
        }
        count.write(number, context)
    }
}

/// Writes into memory for a slice, made in `prepare`, and counts slices for which the memory is not the one.
final class Sized: Generator {
    struct Memory: ~Copyable, Sendable {
        let life: Life
        var samples: RenderMemory<Float>
        init(_ frames: Int, _ lives: Lives) {
            life = Life(lives)
            samples = RenderMemory(repeating: 0, count: frames)
        }
    }
    private let memory: RenderState<Memory>
    private let lives: Lives
    let slices = Atomic<Int>(0)
    let wrong = Atomic<Int>(0)

    init(_ lives: Lives) {
        self.lives = lives
        memory = RenderState(Memory(1, lives))
    }

    func prepare(_ preparation: Preparation) { memory.replace(with: Memory(preparation.maximumFrameCount, lives)) }

    // The lives of the memory are counted, which the compiler does not let an annotated function touch.
    func process(_ context: inout RenderContext) {
        context.push(channels: 1)
        memory.with(&context) { memory, context in
            let count = context.frameCount
            // Cycles are multiples of each layout's slices.
            if memory.samples.count == count {
                memory.samples[count - 1] += 1
            } else {
                wrong.wrappingAdd(1, ordering: .relaxed)
            }
        }
        slices.wrappingAdd(1, ordering: .relaxed)
    }
}
