// Dies in its fifth cycle, in the way that its argument names, with the handlers of Swift's own runtime in place.
import Glibc

nonisolated(unsafe) var sink = 0

@inline(never) func die(_ way: String, _ n: Int) -> Int {
    switch way {
    case "bounds": return [1, 2, 3][n + 5]
    case "overflow": return Int.max - 3 + n
    case "nil": return (n < 100 ? nil : 1)!
    case "fatal": fatalError("at \(n)")
    case "abort": abort()
    case "null": return UnsafePointer<Int>(bitPattern: 8 + n * 8)!.pointee
    case "division": return 10 / (n - 4)
    case "cast": return ((n as Any) as! String).count
    default: return n == -1 ? 0 : die(way, n + 1) + die(way, n + 2)
    }
}

@main struct Crashes {
    static func main() {
        for n in 0..<10 {
            rtwatch_cycle_begin("crashes", 0)
            if n == 4 { sink = die(CommandLine.arguments[1], n) }
            rtwatch_cycle_end()
        }
    }
}
