// Samples that leave the closure.
import RenderStack

func steal(_ context: inout RenderContext) -> MutableSpan<Float> { context.top[0] }  // expected-error {{a function cannot return a ~Escapable result}} expected-error {{cannot use mutating getter on immutable value: 'top' is a get-only property}}
