import Glibc
import RealtimeWatch
import Synchronization

// Cases that belong on an audio thread: nothing of this may be reported in the tiers 1 and 2, cold or warm.

let cleanCases = [
    clean("throw.typed", "catchTyped", warm: true, catchTyped),
    clean("throw.typed-cold", "catchTypedCold", catchTypedCold),
    clean("atomic.add", "addAtomically", prepare: { _ = counter.load(ordering: .relaxed) }, addAtomically),
    clean(
        "atomic.exchange", "exchangeAtomically", prepare: { _ = counter.load(ordering: .relaxed) }, exchangeAtomically),
    clean("span.sum", "sumSpan", prepare: { other = Array(0..<64) }, sumSpan),
    clean("inline-array", "fillInlineArray", fillInlineArray),
    clean("temporary-allocation", "useTemporary", useTemporary),
    clean("simd", "computeVectors", computeVectors),
    clean("array.write-own", "writeOwnArray", prepare: { full = Array(0..<64) }, writeOwnArray),
    clean(
        "array.append-reserved", "appendReserved",
        prepare: {
            full = []; full.reserveCapacity(64)
        }, appendReserved),
    clean("generic.specialised", "callSpecialised", callSpecialised),
    clean("closure.non-escaping", "callNonEscaping", callNonEscaping),
    clean("existential.small", "boxSmallValue", prepare: { shape = Circle(radius: 1) }, boxSmallValue),
    clean("enum.payload", "switchOverEnum", switchOverEnum),
    clean("string.small", "compareSmallString", compareSmallString),
    clean("tuple", "swapTuple", swapTuple),
    clean("libm", "callLibm", callLibm),
    clean("memcpy", "copyMemory", prepare: { _ = bytes }, copyMemory),
    clean("trylock", "tryInVain", prepare: { pthread_mutex_lock(taken) }, tryInVain),
    clean("dictionary.lookup", "lookUp", prepare: { counts = [1: 2, 3: 4] }, lookUp),
    clean("class.method", "callMethod", prepare: { held = Voice() }, callMethod),
    clean("permitted", "allocatePermitted", allocatePermitted),
    clean("nested-cycle", "enterAgain", enterAgain),
    clean("thread.self", "askThread", askThread),
]

enum Trouble: Error { case small(Int), large }
enum ColdTrouble: Error { case first(Int), second(Float) }
enum Event {
    case note(Int, Float), off
}
let counter = Atomic(0)
nonisolated(unsafe) let taken = made(cell(pthread_mutex_t())) { pthread_mutex_init($0, nil) }

@inline(never) func throwTyped(_ value: Int) throws(Trouble) -> Int {
    if value > 2 { throw .small(value) }
    return value
}

@inline(never) func catchTyped() -> Int {
    do { return try throwTyped(opaque(3)) } catch { return 2 }
}

@inline(never) func throwTypedCold(_ value: Int) throws(ColdTrouble) -> Int {
    if value > 2 { throw .first(value) }
    return value &+ 1
}

@inline(never) func catchTypedCold() -> Int {
    do { return try throwTypedCold(opaque(3)) } catch { return 3 }
}

@inline(never) func addAtomically() -> Int {
    counter.add(1, ordering: .relaxed).newValue
}

@inline(never) func exchangeAtomically() -> Int {
    counter.compareExchange(expected: 1, desired: 2, ordering: .acquiringAndReleasing).original
}

@inline(never) func sumSpan() -> Int {
    let numbers = other
    let span = numbers.span
    var sum = 0
    for i in span.indices { sum &+= span[i] }
    return sum
}

@inline(never) func fillInlineArray() -> Int {
    var values = InlineArray<64, Int>(repeating: opaque(1))
    for i in values.indices { values[i] &+= i }
    return values[opaque(5)]
}

@inline(never) func useTemporary() -> Int {
    withUnsafeTemporaryAllocation(of: Float.self, capacity: 64) { buffer in
        buffer.initialize(repeating: 1)
        return Int(buffer[opaque(7)])
    }
}

@inline(never) func computeVectors() -> Int {
    var sum = SIMD8<Float>(repeating: opaque(1.0 as Float))
    for _ in 0..<opaque(10) { sum = (sum * 1.5).squareRoot() }
    return Int(sum.sum())
}

@inline(never) func writeOwnArray() -> Int {
    for i in full.indices { full[i] &+= 1 }
    return full[opaque(3)]
}

@inline(never) func appendReserved() -> Int {
    full.append(opaque(1))
    return full.count
}

@inline(never) func add<Number: FixedWidthInteger>(_ a: Number, _ b: Number) -> Number { a &+ b }

@inline(never) func callSpecialised() -> Int {
    add(opaque(1), 2) &+ Int(add(UInt8(truncatingIfNeeded: opaque(1)), 2))
}

@inline(never) func twice(_ body: (Int) -> Int) -> Int { body(1) &+ body(2) }

@inline(never) func callNonEscaping() -> Int {
    let offset = opaque(3)
    return twice { $0 &+ offset }
}

@inline(never) func boxSmallValue() -> Int {
    shape = Circle(radius: opaque(2))
    return shape.area
}

@inline(never) @_optimize(none) func event(_ number: Int) -> Event { number > 2 ? .note(number, 1) : .off }

@inline(never) func switchOverEnum() -> Int {
    switch event(opaque(3)) {
    case .note(let number, _): number
    case .off: 0
    }
}

@inline(never) func compareSmallString() -> Int {
    let name: StaticString = "level"
    return name.utf8CodeUnitCount
}

@inline(never) func swapTuple() -> Int {
    var pair = (opaque(1), opaque(2))
    swap(&pair.0, &pair.1)
    return pair.0
}

@inline(never) func callLibm() -> Int {
    Int(sinf(opaque(1.0 as Float)) + powf(opaque(2), 0.3) + tanhf(opaque(0.3)))
}

@inline(never) func copyMemory() -> Int {
    memcpy(bytes, bytes + 4096, 4096)
    memset(bytes, 0, 4096)
    return 1
}

@inline(never) func tryInVain() -> Int {
    Int(pthread_mutex_trylock(taken))
}

@inline(never) func lookUp() -> Int {
    counts[opaque(3)] ?? 0
}

@inline(never) func callMethod() -> Int {
    held!.sum(opaque(1))
}

@inline(never) func allocatePermitted() -> Int {
    RealtimeWatch.permitted { full = Array(repeating: 1, count: opaque(100)) }
    return 1
}

@inline(never) func enterAgain() -> Int {
    RealtimeWatch.enter("inner")
    RealtimeWatch.exit()
    return 1
}

@inline(never) func askThread() -> Int {
    Int(truncatingIfNeeded: pthread_self())
}
