// Classes, closures, boxes and references.

let objectCases = [
    blocks("class.instance", "makeInstance", makeInstance),
    blocks("class.last-reference", "dropInstance", prepare: { held = Voice() }, dropInstance),
    blocks("existential.big", "boxBigValue", boxBigValue),
    blocks("closure.escaping", "storeClosure", storeClosure),
    blocks("closure.captured-var", "captureVariable", captureVariable),
    blocks("enum.indirect", "growTree", growTree),
    blocks("throw.untyped", "mayThrow|catchUntyped", catchUntyped),
    blocks("weak.first", "makeFirstWeak", prepare: { held = Voice() }, makeFirstWeak),
    blocks("any-hashable", "eraseHashable", eraseHashable),
    blocks("class.subclass-array", "collectVoices", collectVoices),
    blocks("actor.instance", "makeActor", makeActor),
    blocks("managed-buffer", "makeManagedBuffer", makeManagedBuffer),
    blocks("closure.partial-method", "bindMethod", prepare: { held = Voice() }, bindMethod),
    notes("retain.copy", "copyReference", prepare: { (held, heldToo) = (Voice(), nil) }, copyReference),
    notes("retain.loop", "sumOverObjects", prepare: { voices = [Voice(), Voice()] }, sumOverObjects),
    notes("retain.closure-call", "callStoredClosure", prepare: { holdMethod() }, callStoredClosure),
    notes("weak.read", "readWeak", prepare: { holdWeakly() }, readWeak),
    notes("unowned.read", "readUnowned", prepare: { holdUnowned() }, readUnowned),
    notes("class.modify", "callWithAccess", prepare: { held = Voice() }, callWithAccess),
]

func holdMethod() {
    held = Voice()
    stored = held!.sum
}
func holdWeakly() {
    held = Voice()
    weakVoice = held
}
func holdUnowned() {
    held = Voice()
    owner = Owner(held!)
}

class Voice {
    var level = 1
    var next: Voice?
    func sum(_ other: Int) -> Int { level &+ other }
}
final class Choir: Voice {}
final class Owner {
    unowned let voice: Voice
    init(_ voice: Voice) { self.voice = voice }
}
actor Keeper { var value = opaque(1) }
protocol Shape { var area: Int { get } }
struct Circle: Shape {
    var radius: Int
    var area: Int { radius &* 3 }
}
struct Polygon: Shape {
    var a = 1, b = 2, c = 3, d = 4, e = 5
    var area: Int { a &+ e }
}
indirect enum Tree { case leaf(Int), node(Tree, Tree) }
struct Oops: Error { var code = 7 }

nonisolated(unsafe) var held: Voice?
nonisolated(unsafe) var heldToo: Voice?
nonisolated(unsafe) var owner: Owner?
nonisolated(unsafe) weak var weakVoice: Voice?
nonisolated(unsafe) var voices: [Voice] = []
nonisolated(unsafe) var shape: any Shape = Circle(radius: 1)
nonisolated(unsafe) var stored: (Int) -> Int = { $0 }
nonisolated(unsafe) var tree = Tree.leaf(1)
nonisolated(unsafe) var hashable: AnyHashable = 1
nonisolated(unsafe) var keeper: Keeper?
nonisolated(unsafe) var buffer: ManagedBuffer<Int, Int>?

@inline(never) func makeInstance() -> Int {
    held = Voice()  // HERE
    return 1
}

@inline(never) func dropInstance() -> Int {
    held = nil  // HERE
    return 1
}

@inline(never) func boxBigValue() -> Int {
    shape = Polygon(a: opaque(3))  // HERE
    return 1
}

@inline(never) func storeClosure() -> Int {
    let offset = opaque(3)
    stored = { $0 &+ offset }  // HERE
    return 1
}

// The compiler says of what makes a box that it stands on the first line of the function.
@inline(never) func captureVariable() -> Int {  // HERE
    var count = opaque(0)  // HERE
    stored = { (count &+= $0, count).1 }  // HERE
    return 1  // HERE
}

@inline(never) func growTree() -> Int {
    tree = .node(.leaf(opaque(1)), .leaf(2))  // HERE
    return 1
}

@inline(never) func mayThrow(_ value: Int) throws {
    if value > 2 { throw Oops(code: value) }  // HERE
}

@inline(never) func catchUntyped() -> Int {
    do { try mayThrow(opaque(3)) } catch { return 2 }  // HERE
    return 1
}

@inline(never) func makeFirstWeak() -> Int {
    weakVoice = held  // HERE
    return 1
}

@inline(never) func eraseHashable() -> Int {
    hashable = AnyHashable(longText + "!")  // HERE
    return 1
}

@inline(never) func collectVoices() -> Int {
    voices = [Choir(), Voice()]  // HERE
    return 1
}

@inline(never) func makeActor() -> Int {
    keeper = Keeper()  // HERE
    return 1
}

@inline(never) func makeManagedBuffer() -> Int {
    buffer = ManagedBuffer<Int, Int>.create(minimumCapacity: opaque(100)) { _ in 1 }  // HERE
    return 1
}

@inline(never) func bindMethod() -> Int {
    stored = held!.sum  // HERE
    return 1
}

@inline(never) func copyReference() -> Int {
    heldToo = held  // HERE
    return 1
}

@inline(never) func sumOverObjects() -> Int {
    var sum = 0
    for voice in voices { sum = voice.sum(sum) }  // HERE
    return sum
}

@inline(never) func callStoredClosure() -> Int {
    let sum = stored(opaque(1))  // HERE
    return sum &+ 1
}

@inline(never) func readWeak() -> Int {
    let level = weakVoice?.level ?? 0  // HERE
    return level &+ 1
}

@inline(never) func readUnowned() -> Int {
    let level = owner!.voice.sum(1)  // HERE
    return level &+ 1
}

@inline(never) func addOpaquely(_ value: inout Int) { value &+= opaque(1) }

@inline(never) func callWithAccess() -> Int {
    addOpaquely(&held!.level)  // HERE
    return 1
}
