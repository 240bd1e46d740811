// Arrays, dictionaries and what they cost.

let valueCases = [
    blocks("array.append", "appendToArray", prepare: { fillUp() }, appendToArray),
    blocks("array.literal", "makeArrayLiteral", makeArrayLiteral),
    blocks("array.map", "mapArray", warm: true, mapArray),
    blocks("array.filter", "filterArray", filterArray),
    blocks("array.sorted", "sortArray", sortArray),
    blocks("array.repeating", "repeatIntoArray", repeatIntoArray),
    blocks("array.reserve", "reserveArray", prepare: { full = [1, 2, 3] }, reserveArray),
    blocks("array.copy-on-write", "writeSharedArray", prepare: { other = shared }, writeSharedArray),
    blocks("array.from-slice", "copySlice", copySlice),
    blocks("array.joined", "joinArrays", joinArrays),
    blocks("array.last-reference", "dropArray", prepare: { full = [1, 2, 3].map { $0 + opaque(1) } }, dropArray),
    blocks("array.reversed", "reverseArray", reverseArray),
    blocks("array.insert", "insertIntoArray", prepare: { fillUp() }, insertIntoArray),
    blocks("array.of-existentials", "collectShapes", collectShapes),
    blocks("dictionary.insert", "insertIntoDictionary", prepare: { counts = [:] }, insertIntoDictionary),
    blocks("dictionary.literal", "makeDictionary", makeDictionary),
    blocks("set.insert", "insertIntoSet", prepare: { members = [] }, insertIntoSet),
    blocks("array.large-temporary", "useLargeTemporary", useLargeTemporary),
    blocks("array.zip-sequence", "eraseSequence", eraseSequence),
]

nonisolated(unsafe) var full: [Int] = []
/// Makes an array without room for one more.
func fillUp() {
    full = [1]
    while full.count < full.capacity { full.append(1) }
}
nonisolated(unsafe) var other: [Int] = []
nonisolated(unsafe) var shared = (0..<64).map { $0 }
nonisolated(unsafe) var counts: [Int: Int] = [:]
nonisolated(unsafe) var members: Set<Int> = []
nonisolated(unsafe) var shapes: [any Shape] = []

@inline(never) func appendToArray() -> Int {
    full.append(opaque(2))  // HERE
    return 1
}

@inline(never) func makeArrayLiteral() -> Int {
    full = [opaque(1), opaque(2), opaque(3)]  // HERE
    return 1
}

@inline(never) func mapArray() -> Int {
    let doubled = shared.map { $0 &* 2 }  // HERE
    return doubled[opaque(3)]  // HERE
}

@inline(never) func filterArray() -> Int {
    let odd = shared.filter { $0 & 1 == 1 }  // HERE
    return odd[opaque(3)]  // HERE
}

@inline(never) func sortArray() -> Int {
    other = shared.sorted { $0 > $1 }  // HERE
    return 1
}

@inline(never) func repeatIntoArray() -> Int {
    other = Array(repeating: 0, count: opaque(100))  // HERE
    return 1
}

@inline(never) func reserveArray() -> Int {
    full.reserveCapacity(opaque(1000))  // HERE
    return 1
}

@inline(never) func writeSharedArray() -> Int {
    shared[3] = opaque(5)  // HERE
    return 1
}

@inline(never) func copySlice() -> Int {
    other = Array(shared[opaque(2)..<10])  // HERE
    return 1
}

@inline(never) func joinArrays() -> Int {
    other = shared + full  // HERE
    return 1
}

@inline(never) func dropArray() -> Int {
    full = []  // HERE
    return 1
}

@inline(never) func reverseArray() -> Int {
    other = shared.reversed()  // HERE
    return 1
}

@inline(never) func insertIntoArray() -> Int {
    full.insert(opaque(7), at: 0)  // HERE
    return 1
}

@inline(never) func collectShapes() -> Int {
    shapes = [Circle(radius: opaque(1)), Circle(radius: 2)]  // HERE
    return 1
}

@inline(never) func insertIntoDictionary() -> Int {
    counts[opaque(5)] = 1  // HERE
    return 1
}

@inline(never) func makeDictionary() -> Int {
    counts = [opaque(1): 2, 3: 4]  // HERE
    return 1
}

@inline(never) func insertIntoSet() -> Int {
    members.insert(opaque(5))  // HERE
    return 1
}

@inline(never) func useLargeTemporary() -> Int {
    // More than a kilobyte: from the heap.
    let sum = withUnsafeTemporaryAllocation(of: Int.self, capacity: opaque(4096)) { buffer in  // HERE
        buffer.initialize(repeating: 1)
        return buffer[opaque(7)]
    }  // HERE
    return sum + 1
}

@inline(never) func eraseSequence() -> Int {
    let erased = opaque(AnySequence(shared))  // HERE
    var sum = 0
    for value in erased { sum &+= value }  // HERE
    return sum
}
