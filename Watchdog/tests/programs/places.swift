// One violation a function, or one kind of it, as people write them: where does the report say that each of them is? For the
// command's tests, built with -O; places.py judges. A line that does it is marked HERE, with the case's name where it stands
// in another function. In tail position, merged with a function that reads the same, inlined: whatever the optimiser does.
import Dispatch
import Foundation
import Glibc
import Synchronization

@inline(never) @_optimize(none) func opaque<V>(_ v: V) -> V { v }
nonisolated(unsafe) var ints = [1, 2, 3]
nonisolated(unsafe) var words = ["a": 1]
nonisolated(unsafe) var counts: [String: Int] = [:]
nonisolated(unsafe) var set: Set<Int> = [1]
nonisolated(unsafe) var text = "some text that is long enough to be on the heap"
nonisolated(unsafe) var anyValue: Any = 1
nonisolated(unsafe) var sinkInt = 0
nonisolated(unsafe) var sinkString = ""
nonisolated(unsafe) var sinkAny: Any? = nil
nonisolated(unsafe) var sinkObject: AnyObject?
nonisolated(unsafe) var sinkClosure: (() -> Int)? = nil
nonisolated(unsafe) var floats: [Float] = [1, 2]
nonisolated(unsafe) var data = Data([1, 2, 3])
let mutex = Mutex([Int]())
let nslock = NSLock()
let recursive = NSRecursiveLock()
let condition = NSCondition()
let queue = DispatchQueue(label: "q")
let semaphore = DispatchSemaphore(value: 0)
let group = DispatchGroup()

class Animal { var name = "x"; init(_ n: String) { name = n }; func speak() -> Int { 1 } }
final class Dog: Animal { var list: [Int] = []; override func speak() -> Int { list.append(1); return 2 } }  // HERE dogSpeak
protocol Shape { func area() -> Double; mutating func grow() }
struct Square: Shape { var s = 1.0, t = 2.0, u = 3.0, v = 4.0; func area() -> Double { s }; mutating func grow() { s += 1 } }
struct Node<T> { var value: T; var children: [Node<T>] }
indirect enum Tree { case leaf, node(Tree, Int, Tree) }
enum Trouble: Error { case bad(String), plain }
struct Matrix { var rows: [[Double]] }
nonisolated(unsafe) var animal: Animal = Animal("a")
nonisolated(unsafe) var dog: Animal = Dog("d")
nonisolated(unsafe) var matrix = Matrix(rows: [[1, 2], [3, 4]])
nonisolated(unsafe) var shape: any Shape = Square()
nonisolated(unsafe) var tree = Tree.leaf
nonisolated(unsafe) var optionalDog: Animal?

// arrays
@inline(never) func appendGrow() { ints.append(7) }  // HERE
@inline(never) func insertFront() -> Int { ints.insert(9, at: 0); return ints.count }  // HERE
@inline(never) func reserveMore() { floats.reserveCapacity(opaque(1000)) }  // HERE
@inline(never) func arrayOfN(_ n: Int) -> [Double] { [Double](repeating: 0, count: n) }  // HERE
@inline(never) func mapThem() -> Int { let d = ints.map { $0 * 2 }; return opaque(d).count }  // HERE
@inline(never) func filterThem() -> Int {
    let odd = opaque(ints).filter { $0 % 2 == 1 }  // HERE
    return opaque(odd).count  // HERE
}
@inline(never) func sortThem() -> Int { var copy = ints; copy.sort(); return opaque(copy)[0] }  // HERE
@inline(never) func copyOnWrite() -> Int {
    var copy = opaque(ints)
    copy[0] = 5  // HERE
    return opaque(copy)[0]  // HERE
}
@inline(never) func sliceToArray() -> [Int] { Array(ints[0..<2]) }  // HERE
@inline(never) func concatenation() -> [Int] { ints + [4] }  // HERE
@inline(never) func writeRow() { matrix.rows[1].append(3) }  // HERE
@inline(never) func nestedLiteral() -> Matrix { Matrix(rows: [[opaque(1)], [2]]) }  // HERE
@inline(never) func zipped() -> Int { opaque(Array(zip(ints, ints))).count }  // HERE
@inline(never) func removeLastAll() { ints.removeAll() }  // HERE
// dictionaries, sets
@inline(never) func dictSet() { words[opaque("b")] = 2 }  // HERE
@inline(never) func dictDefault() { counts[opaque("c"), default: 0] += 1 }  // HERE
@inline(never) func setInsert() { set.insert(opaque(99)) }  // HERE
@inline(never) func grouped() -> Int { Dictionary(grouping: [1, 2, 3, 4], by: { $0 % 2 }).count }  // HERE
@inline(never) func dictKeys() -> [String] { Array(words.keys) }  // HERE
// strings
@inline(never) func interpolate() { sinkString = "value \(opaque(3.5)) and \(opaque(17))" }  // HERE
@inline(never) func concat(_ a: String) -> String { a + text }  // HERE
@inline(never) func split() -> Int { text.split(separator: " ").count }  // HERE
@inline(never) func upper() -> String { text.uppercased() }  // HERE
@inline(never) func describe() -> String { String(describing: opaque(ints)) }  // HERE
@inline(never) func fromCString() -> String { String(cString: strerror(2)) }  // HERE
@inline(never) func formatted() -> String { String(format: "%.2f is a number, and a long text too", 3.25) }  // HERE
@inline(never) func replaced() -> String { text.replacingOccurrences(of: "text", with: "thing") }  // HERE
@inline(never) func hashed() -> [UInt8] { Array(text.utf8) }  // HERE
// printing, files
@inline(never) func printIt() { print("hello", opaque(3)) }  // HERE
@inline(never) func debugPrinted() { debugPrint(opaque(ints)) }  // HERE
@inline(never) func putsIt() { puts("hello") }  // HERE
@inline(never) func exists() -> Bool { FileManager.default.fileExists(atPath: "/etc/passwd") }  // HERE
@inline(never) func readData() -> Int { (try? Data(contentsOf: URL(fileURLWithPath: "/etc/hostname")))?.count ?? 0 }  // HERE
@inline(never) func now() -> Double { Date().timeIntervalSince1970 + Double(getpid()) }  // HERE
@inline(never) func dataAppend() { data.append(contentsOf: [UInt8](repeating: 1, count: 100)) }  // HERE
@inline(never) func environment() -> String? { ProcessInfo.processInfo.environment["HOME"] }  // HERE
@inline(never) func sleepIt() { usleep(100) }  // HERE
@inline(never) func threadSleep() { Thread.sleep(forTimeInterval: 0.0001) }  // HERE
// classes, closures, boxes
@inline(never) func makeAnimal() -> Animal { Animal("new") }  // HERE
@inline(never) func dropAnimal() { optionalDog = nil }  // HERE
@inline(never) func virtualCall() -> Int { dog.speak() }  // HERE dogSpeak
@inline(never) func escaping(_ n: Int) { sinkClosure = { n + sinkInt } }  // HERE
@inline(never) func boxed(_ v: Square) { sinkAny = v }  // HERE
@inline(never) func existential(_ v: Square) -> any Shape { v }  // HERE
@inline(never) func mutateExistential() { shape.grow() }  // HERE
@inline(never) func growTree() { tree = .node(tree, 1, .leaf) }  // HERE
@inline(never) func throwing(_ n: Int) throws -> Int { if n > 0 { throw Trouble.bad(text) }; return n }  // HERE
@inline(never) func generic<T>(_ v: T) -> [T] { [v, v] }  // HERE
@inline(never) func node<T>(_ v: T) -> Node<T> { Node(value: v, children: [Node(value: v, children: [])]) }  // HERE
@inline(never) func lazyOne() -> Int { opaque(ints.lazy.map { $0 + 1 }.reduce(into: [Int]()) { $0.append($1) }).count }  // HERE
// locks, tasks
@inline(never) func mutexAppend() { mutex.withLock { $0.append(1) } }  // HERE
@inline(never) func nsLock() { nslock.lock(); nslock.unlock() }  // HERE
@inline(never) func nsWithLock() -> Int { recursive.withLock { 3 } }  // HERE
@inline(never) func signalIt() { condition.signal() }  // HERE
@inline(never) func makeTask() { Task { sinkInt += 1 } }  // HERE
@inline(never) func detached() { Task.detached { sinkInt += 1 } }  // HERE
@inline(never) func asyncBlock() { queue.async { sinkInt += 1 } }  // HERE
@inline(never) func syncBlock() -> Int { queue.sync { sinkInt } }  // HERE
@inline(never) func waitShort() { _ = semaphore.wait(timeout: .now() + .microseconds(50)) }  // HERE
@inline(never) func randomNumber() -> Int { Int.random(in: 0..<100) }  // HERE
// tails, merged
@inline(never) func tailMalloc(_ n: Int) -> UnsafeMutableRawPointer? { malloc(n) }  // HERE
@inline(never) func tailFree(_ p: UnsafeMutableRawPointer?) { free(p) }  // HERE
@inline(never) func tailOfTail(_ n: Int) -> UnsafeMutableRawPointer? { tailMalloc2(n &+ 1) }
@inline(never) func tailMalloc2(_ n: Int) -> UnsafeMutableRawPointer? { malloc(n &* 2) }  // HERE tailOfTail
@inline(never) func tailClosure(_ c: () -> UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? { c() }  // HERE
struct Left { var items: [Int] = []; @inline(never) mutating func push(_ v: Int) { items.append(v) } }  // HERE leftPush
struct Right { var items: [Int] = []; @inline(never) mutating func push(_ v: Int) { items.append(v) } }  // HERE rightPush
nonisolated(unsafe) var left = Left(), right = Right()
final class First { var v = [Float](); @inline(never) func twin() { v = [Float](repeating: 1, count: 64) } }  // HERE firstTwin
final class Second { var v = [Float](); @inline(never) func twin() { v = [Float](repeating: 1, count: 64) } }  // HERE secondTwin
nonisolated(unsafe) let first = First(), second = Second()
// not @inline(never): where the compiler puts them
func inlinedOne() { sinkObject = Dog("inlined") }  // HERE
func smallHelper(_ n: Int) -> [Int] { [n, n + 1, n + 2] }  // HERE viaHelper
@inline(never) func viaHelper() -> Int { opaque(smallHelper(opaque(4))).count }  // HERE
@inline(never) func deferred() -> Int { defer { ints.append(3) }; return ints.count }  // HERE
@inline(never) func guarded() -> Int {
    guard let first = opaque(words).first else { return 0 }  // HERE
    return first.value + opaque([first.key]).count  // HERE
}
@inline(never) func switched(_ v: Any) -> Int {
    switch v {
    case let s as String: return s.count  // HERE
    case let a as [Int]: return opaque(a + a).count  // HERE
    default: return 0
    }
}
@inline(never) func keyPathed() -> Int { opaque([Square(), Square()].map(\.s)).count }  // HERE

nonisolated(unsafe) var holdPointer: UnsafeMutableRawPointer?
nonisolated(unsafe) var holdPointer2: UnsafeMutableRawPointer?
nonisolated(unsafe) let cases: [(String, () -> Void)] = [
    ("appendGrow", appendGrow), ("insertFront", { sinkInt = insertFront() }), ("reserveMore", reserveMore),
    ("arrayOfN", { h1 = arrayOfN(opaque(100)) }), ("mapThem", { sinkInt = mapThem() }), ("filterThem", { sinkInt = filterThem() }),
    ("sortThem", { sinkInt = sortThem() }), ("copyOnWrite", { sinkInt = copyOnWrite() }), ("sliceToArray", { h2 = sliceToArray() }),
    ("concatenation", { h3 = concatenation() }), ("writeRow", writeRow), ("nestedLiteral", { h4 = nestedLiteral() }),
    ("zipped", { sinkInt = zipped() }), ("dictSet", dictSet), ("dictDefault", dictDefault), ("setInsert", setInsert),
    ("grouped", { sinkInt = grouped() }), ("dictKeys", { h5 = dictKeys() }), ("interpolate", interpolate),
    ("concat", { h6 = concat(text) }), ("split", { sinkInt = split() }), ("upper", { h7 = upper() }), ("describe", { h8 = describe() }),
    ("fromCString", { h9 = fromCString() }), ("formatted", { h10 = formatted() }), ("replaced", { h11 = replaced() }),
    ("hashed", { h12 = hashed() }), ("printIt", printIt), ("debugPrinted", debugPrinted), ("putsIt", putsIt),
    ("exists", { sinkInt = exists() ? 1 : 0 }), ("readData", { sinkInt = readData() }), ("now", { sinkInt = Int(now()) }),
    ("dataAppend", dataAppend), ("environment", { h13 = environment() }), ("sleepIt", sleepIt), ("threadSleep", threadSleep),
    ("makeAnimal", { h14 = makeAnimal() }), ("dropAnimal", dropAnimal), ("dogSpeak", { sinkInt = virtualCall() }),
    ("escaping", { escaping(opaque(3)) }), ("boxed", { boxed(opaque(Square())) }), ("existential", { h15 = existential(Square()) }),
    ("mutateExistential", mutateExistential), ("growTree", growTree), ("throwing", { sinkInt = (try? throwing(opaque(1))) ?? 0 }),
    ("generic", { h16 = generic(opaque(2.5)) }), ("node", { h17 = node(opaque(3)) }), ("lazyOne", { sinkInt = lazyOne() }),
    ("mutexAppend", mutexAppend), ("nsLock", nsLock), ("nsWithLock", { sinkInt = nsWithLock() }), ("signalIt", signalIt),
    ("makeTask", makeTask), ("detached", detached), ("asyncBlock", asyncBlock), ("syncBlock", { sinkInt = syncBlock() }),
    ("waitShort", waitShort), ("randomNumber", { sinkInt = randomNumber() }),
    ("tailMalloc", { holdPointer = tailMalloc(opaque(10)) }), ("tailFree", { tailFree(holdPointer) }),
    ("tailOfTail", { holdPointer2 = tailOfTail(opaque(10)) }), ("tailClosure", { holdPointer2 = tailClosure(opaque({ malloc(33) })) }),
    ("leftPush", { left.push(opaque(1)) }), ("rightPush", { right.push(opaque(1)) }), ("firstTwin", { first.twin() }),
    ("secondTwin", { second.twin() }), ("inlinedOne", inlinedOne), ("viaHelper", { sinkInt = viaHelper() }),
    ("deferred", { sinkInt = deferred() }), ("guarded", { sinkInt = guarded() }), ("switched", { sinkInt = switched(opaque([1, 2])) }),
    ("keyPathed", { sinkInt = keyPathed() }), ("removeLastAll", removeLastAll),
]
nonisolated(unsafe) var h1: [Double] = [], h2: [Int] = [], h3: [Int] = [], h4 = Matrix(rows: []), h5: [String] = [], h6 = "", h7 = "",
    h8 = "", h9 = "", h10 = "", h11 = "", h12: [UInt8] = [], h13: String?, h14: Animal?, h15: (any Shape)?, h16: [Double] = [],
    h17: Node<Int>?

@main struct Main {
    static func main() {
        optionalDog = Animal("gone")
        for one in cases {
            ints = Array(opaque([3, 1, 2, 4])[0..<3])   // on the heap, and full
            rtwatch_cycle_begin("places", 0)
            one.1()
            rtwatch_cycle_end()
        }
        let names = cases.map(\.0).joined(separator: "\n") + "\n"
        FileHandle.standardError.write(Data(names.utf8))
    }
}
