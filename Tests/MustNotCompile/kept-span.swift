// Samples that outlive the buffer: after the pop the memory belongs to another buffer.
import RenderStack

func make() throws -> Renderer {
    try Renderer { context in
        context.push()
        var top = context.top  // expected-error {{overlapping accesses to 'context', but modification requires exclusive access}}
        context.pop()  // expected-note {{conflicting access is here}}
        var samples = top[0]
        samples[0] = 1
    }
}
