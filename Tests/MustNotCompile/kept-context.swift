// A context that outlives its cycle.
import RenderStack

func keep(_ context: inout RenderContext) -> RenderContext { context }  // expected-error {{a function cannot return a ~Escapable result}}
