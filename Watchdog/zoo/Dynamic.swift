// Casts, metadata, key paths, which the runtime looks up.

let dynamicCases = [
    mayBlock("cast.class", "castToClass", warm: true, prepare: { held = Solo() }, castToClass),
    clean("cast.final-class", "castToFinalClass", prepare: { held = Choir() }, castToFinalClass),
    blocks("cast.protocol-cold", "castToProtocolCold", prepare: { anything = FirstCase() }, castToProtocolCold),
    mayBlock("cast.protocol-warm", "castToProtocol", warm: true, prepare: { anything = SecondCase() }, castToProtocol),
    mayBlock("cast.value", "castToValue", warm: true, prepare: { anything = opaque(4) }, castToValue),
    mayBlock("cast.is", "askForType", warm: true, prepare: { anything = opaque(4) }, askForType),
    blocks("metadata.generic-cold", "typeOf|useGenericCold", useGenericCold),
    blocks("metadata.nested-cold", "nestedTypeOf|useNestedGenericCold", useNestedGenericCold),
    mayBlock("metadata.generic-warm", "typeOf|useGenericWarm", warm: true, useGenericWarm),
    blocks("key-path.literal-cold", "makeKeyPath", makeKeyPath),
    blocks("key-path.append", "appendKeyPaths", prepare: { path = \Frame.inner }, appendKeyPaths),
    blocks("mirror", "reflect", reflect),
    blocks("type-name", "nameType", nameType),
    blocks("codable.any-box", "boxIntoAny", boxIntoAny),
]

protocol Playable { func play() -> Int }
struct FirstCase: Playable { func play() -> Int { 1 } }
struct SecondCase: Playable { func play() -> Int { 2 } }
struct Pair<A, B> { var a: A, b: B }
final class Node<A> {
    var a: A
    init(_ a: A) { self.a = a }
}
class Solo: Voice {}
struct Inner { var value = 1 }
struct Frame { var inner = Inner() }
struct ColdA {}
struct ColdB {}
struct ColdC { var large = (1, 2, 3, 4, 5) }

nonisolated(unsafe) var anything: Any = 1
nonisolated(unsafe) var path: PartialKeyPath<Frame> = \Frame.inner

@inline(never) func castToClass() -> Int {
    let solo = held as? Solo  // HERE
    return solo == nil ? 1 : 2
}

@inline(never) func castToFinalClass() -> Int {
    let choir = held as? Choir
    return choir == nil ? 1 : 2
}

@inline(never) func castToProtocolCold() -> Int {
    let playable = anything as? any Playable  // HERE
    return playable == nil ? 1 : 2  // HERE
}

@inline(never) func castToProtocol() -> Int {
    var sum = 0
    for _ in 0..<opaque(3) { sum &+= (anything as? any Playable)?.play() ?? 0 }  // HERE
    return sum
}

@inline(never) func castToValue() -> Int {
    let number = anything as? Int  // HERE
    return number ?? 1
}

@inline(never) func askForType() -> Int {
    let isText = anything is String  // HERE
    return isText ? 1 : 2
}

@inline(never) @_optimize(none) func typeOf<A>(_ value: A) -> Any.Type { Pair<A, Pair<A, A>>.self }  // HERE
@inline(never) @_optimize(none) func nestedTypeOf<A>(_ value: A) -> Any.Type { Node<[Pair<A, A>]>.self }  // HERE

@inline(never) func useGenericCold() -> Int {
    let type = typeOf(ColdA())  // HERE
    return type == Int.self ? 1 : 2
}

@inline(never) func useNestedGenericCold() -> Int {
    let type = nestedTypeOf(ColdB())  // HERE
    return type == Int.self ? 1 : 2
}

@inline(never) func useGenericWarm() -> Int {
    let type = typeOf(opaque(longText.utf8.count))  // HERE
    return type == Int.self ? 1 : 2
}

@inline(never) func makeKeyPath() -> Int {
    path = opaque(\Frame.inner.value as PartialKeyPath<Frame>)  // HERE
    return 1
}

@inline(never) func appendKeyPaths() -> Int {
    path = (path as! KeyPath<Frame, Inner>).appending(path: \Inner.value)  // HERE
    return 1
}

@inline(never) func reflect() -> Int {
    let mirror = Mirror(reflecting: Frame())  // HERE
    let count = mirror.children.count  // HERE
    return count &+ 1
}

@inline(never) func nameType() -> Int {
    text = String(reflecting: Pair<ColdA, ColdB>.self)  // HERE
    return 1
}

@inline(never) func boxIntoAny() -> Int {
    anything = ColdC()  // HERE
    return 1
}
