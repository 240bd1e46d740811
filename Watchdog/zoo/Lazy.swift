// Values that are made at their first use.

let lazyCases = [
    blocks("static-let.cold", "readStaticLetCold|ColdNumber.value", readStaticLetCold),
    clean("static-let.warm", "readStaticLetWarm", warm: true, readStaticLetWarm),
    blocks("static-let.array-cold", "readStaticTableCold|ColdTable.values|function for values", readStaticTableCold),
    clean("static-let.array-warm", "readStaticTableWarm", warm: true, readStaticTableWarm),
    blocks("global.cold", "readGlobalCold|coldGlobal", readGlobalCold),
    blocks("lazy-var", "readLazyVariable|Lazily.table", prepare: { lazily = Lazily() }, readLazyVariable),
]

enum ColdNumber { static let value = opaque(42) }  // HERE
enum WarmNumber { static let value = opaque(43) }
enum ColdTable { static let values = (0..<100).map { opaque($0) } }  // HERE
enum WarmTable { static let values = [opaque(1), 2, 3] }
let coldGlobal = opaque(44)  // HERE
final class Lazily {
    lazy var table: [Int] = (0..<100).map { $0 &* 3 }  // HERE
}
nonisolated(unsafe) var lazily = Lazily()

@inline(never) func readStaticLetCold() -> Int {
    let value = ColdNumber.value  // HERE
    return value &+ 1
}

@inline(never) func readStaticLetWarm() -> Int {
    let value = WarmNumber.value
    return value &+ 1
}

@inline(never) func readStaticTableCold() -> Int {
    let value = ColdTable.values[opaque(3)]  // HERE
    return value &+ 1
}

@inline(never) func readStaticTableWarm() -> Int {
    var sum = 0
    for value in WarmTable.values { sum &+= value }
    return sum
}

@inline(never) func readGlobalCold() -> Int {
    let value = coldGlobal  // HERE
    return value &+ 1
}

@inline(never) func readLazyVariable() -> Int {
    let value: Int = lazily.table[opaque(3) as Int]  // HERE
    return value &+ 1
}
