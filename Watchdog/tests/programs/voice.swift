// A Swift "audio thread" with faults, for the command's tests. The comment names what the report must say of the line.

#if canImport(Glibc)
import Glibc
#endif

protocol Shape { func area() -> Float }
struct Box: Shape { var side: Float; func area() -> Float { side * side } }
final class Node { var value: Float = 1 }

extension Array where Element == Float {
    @inline(never) func doubled() -> [Float] { map { $0 * 2 } }                     // doubled
}

final class Voice {
    var history: [Float] = []
    static let table: [Float] = (0..<512).map { Float($0) }

    @inline(never) func grow(_ sample: Float) { history.append(sample) }            // grow
    @inline(never) func log(_ cycle: Int) { print("cycle \(cycle)") }               // log
    @inline(never) func make() -> Node { Node() }                                   // make
    @inline(never) func cast(_ any: Any) -> Float { (any as? any Shape)?.area() ?? 0 }   // cast
    @inline(never) func clean(_ sample: Float) -> Float { sample * 0.5 }

    func render(_ cycle: Int) -> Float {
        grow(Float(cycle))
        log(cycle)
        return make().value + cast(Box(side: 2)) + (history.doubled().last ?? 0) + clean(1)
    }
}

let voice = Voice()
var total: Float = 0
for cycle in 0..<50 {
    rtwatch_cycle_begin("swift", 5_000_000)
    total += voice.render(cycle)
    rtwatch_cycle_end()
    usleep(200)
}
exit(total > 0 ? 0 : 1)
