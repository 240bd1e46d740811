// A context that no renderer made.
import RenderStack

func forge() { let context = RenderContext() }  // expected-error {{'RenderContext' initializer is inaccessible due to 'internal' protection level}} expected-error {{missing arguments for parameters #1, 'mode', 'frames', 'sampleTime', 'hostTime' in call}}
