// Two views of one buffer, both to write.
import RenderStack

func alias(_ context: inout RenderContext) {
    var first = context.top  // expected-error {{overlapping accesses to 'context', but modification requires exclusive access}}
    var second = context.top  // expected-note {{conflicting access is here}}
    var a = first[0]
    var b = second[0]
    a[0] = 1
    b[0] = 2
}
