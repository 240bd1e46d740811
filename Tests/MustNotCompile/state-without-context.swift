// Render state touched from control code.
import RenderStack

let phase = RenderState<Float>(0)
func peek() -> Float { phase.read() }  // expected-error {{missing argument for parameter #1 in call}}
