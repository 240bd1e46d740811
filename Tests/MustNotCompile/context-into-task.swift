// A context taken to another thread.
import RenderStack

func escape() throws -> Renderer {
    try Renderer { context in  // expected-note {{parameter 'context' is declared 'inout'}} expected-note {{closure captures 'context' which is accessible to code in the current task}}
        Task { context.pop() }  // expected-error {{escaping closure captures 'inout' parameter 'context'}} expected-error {{passing closure as a 'sending' parameter risks causing data races between code in the current task and concurrent execution of the closure}} expected-note {{captured here}}
    }
}
